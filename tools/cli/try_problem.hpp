// A first evaluation of a Python class, so that its mistakes show before a run and not after it.
#pragma once

#include <optional>

#include "federated/protocol/messages.hpp"
#include "tools/runs/prepared_run.hpp"

namespace furlong::tools {

/// Scores at most two examples of a client of each group that the run evaluates, with the initial values, by the
/// personalize() and outputs() of an algorithm in Python, and predicts them if the class can, after all its trainers
/// were opened. Nothing to do where the model is no Python class. Changes no result: nothing is kept or drawn. Fails
/// (kind model) as the class does; with python.on_error = "drop" a failure is a warning.
/// @param threads that the run computes with
/// @param here    the clients of this node; nothing: all
[[nodiscard]] result<void> try_problem(const prepared_run& run, std::size_t threads,
                                       const std::optional<federated::client_range>& here = {});

}  // namespace furlong::tools
