// What a figure was scored on: figures of different data, problems, texts, examples or clients are neither ranked nor
// paired.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/runs/run_record.hpp"

namespace furlong::tools {

/// True of a setting that determines the examples that are scored: those of [data], but for the folder and for what is
/// a fact of its own (tokens, vocabulary, how many clients there are). Of a Python class its name.
[[nodiscard]] bool chooses_scored(std::string_view key);

/// A fact about a figure. Facts that a run does not state (it is of an older version) are left out.
struct scored_fact {
  std::string name;      ///< "problem", "vocabulary", "examples", ...
  std::string value;     ///< "23"
  bool of_seed = false;  ///< differs from seed to seed, as a split does: only runs of a seed can be compared by it
};
using scored_facts = std::vector<scored_fact>;

/// The facts about a figure of a finished run: of its data and problem, and of an evaluation's figure
/// ("eval.GROUP.KEY", "best.value", "time_to_target.virtual_seconds") also the group's examples and clients, or the
/// target.
[[nodiscard]] scored_facts facts_about(const run_record& run, const std::string& figure);
/// The group of an evaluation that a figure is of, of that run; empty: it is of the whole run.
[[nodiscard]] std::string group_of(const run_record& run, const std::string& figure);
/// True unless both state a fact, and differently.
[[nodiscard]] bool same_scored(const scored_facts& a, const scored_facts& b);
/// The value of a fact; null: it is not stated.
[[nodiscard]] const std::string* value_of_fact(const scored_facts& facts, std::string_view name);

}  // namespace furlong::tools
