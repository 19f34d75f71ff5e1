// What a trainer says of its problem: the reply to an open request. docs/trainer-protocol.md.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "scenarios/python/problem.hpp"

namespace furlong::scenarios {

constexpr int trainer_protocol = 2;

struct problem_description {
  std::vector<problem_parameter> parameters;
  std::vector<problem_client> clients;  ///< only of the first trainer
  std::vector<models::model_metric> metrics;
  bool predicts = false;
  bool has_labels = false;
  bool scores_clients = false;  ///< some of the metrics are of all scored examples of a client together
  bool has_gradient = true;
  bool fits = false;   ///< has a fit() of its own,
  bool plain = false;  ///< which takes plain gradient steps
  option_values options;
  std::optional<algorithm_description> algorithm;  ///< where one is opened too
  std::vector<problem_constant> constants;
  std::vector<std::pair<std::string, std::string>> aliases;
  std::string constants_sha256;  ///< of the values of constants; empty: there are none
  std::string arithmetic;        ///< what results depend on besides the class; empty: unknown
  source_code code;
};

/// Reads a reply. Fails (kind usage) if it is of another protocol, and (kind data) if it does not follow it.
[[nodiscard]] result<problem_description> read_description(std::span<const std::byte> reply);
/// A later trainer must have the code and the constants of the first. Fails (kind runtime) otherwise, naming them.
[[nodiscard]] result<void> check_same(const problem_description& first, const problem_description& later,
                                      const std::string& problem);
/// Where each constant begins in the memory that all trainers have them in, then its size; in bytes.
[[nodiscard]] std::vector<std::size_t> constant_starts(std::span<const problem_constant> constants);
/// The first example of each part of each client, then the number of all. Fails (kind data) if it exceeds 32 bits.
[[nodiscard]] result<std::vector<std::uint32_t>> example_starts(std::span<const problem_client> clients);

}  // namespace furlong::scenarios
