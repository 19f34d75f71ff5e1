// Combinations of [participation] and [private].
#include <array>
#include <cmath>

#include "scenarios/draft.hpp"

namespace furlong::scenarios {

namespace {

void check_cohort(draft& of) {
  const std::string one = "participation.per_round";
  const std::string other = "participation.fraction";
  if (of.is_set(one) && of.is_set(other))
    of.report(other, "stands beside " + one + ", and only one of them can hold", "remove one");
  else if (!of.is_set(one) && !of.is_set(other))
    of.report(one, "is missing, and " + other + " too", "add per_round = 100 to [participation]");
}

/// What per_round bounds from above or from below; where it is a share, fit() looks.
void check_sizes(draft& of) {
  const std::string wanted = "participation.per_round";
  if (!of.is_set(wanted) || !of.good({wanted})) return;
  const auto per_round = of.values.integer(wanted);
  const std::string reports = "participation.min_reports";
  if (of.good({reports}) && of.values.integer(reports) > per_round)
    of.report(reports, "is more than the " + std::to_string(per_round) + " reports that close a round",
              "lower it, or raise participation.per_round");
  const std::string candidates = "participation.candidates";
  if (!of.good({candidates, "participation.policy", "participation.over_selection"}) ||
      of.values.text("participation.policy") != "power-of-choice" || of.values.integer(candidates) == 0)
    return;
  const double asked = std::ceil(static_cast<double>(per_round) * of.values.number("participation.over_selection"));
  if (static_cast<double>(of.values.integer(candidates)) < asked)
    of.report(candidates,
              "is fewer than the " + value_text(static_cast<std::int64_t>(asked)) + " clients that are asked of them",
              "raise it, or write 0 for twice as many");
}

/// Where several have arrived over a network the step is the mean of their ways: no weight belongs there.
void settle_whole_model(draft& of) {
  const std::string rule = "algorithm.aggregation.rule";
  if (!of.good({rule}) || of.values.text(rule) != "mean") return;
  if (of.is_set(rule))
    of.notes.push_back(rule + " has no effect: update = \"model\" takes one client's model at a time");
  of.rule = federated::find_rule("uniform-mean");
  of.values.set(rule, of.rule->kind);
}

void check_async(draft& of) {
  const std::string buffer = "participation.buffer";
  if (!of.good({buffer, "participation.update"})) return;
  if (of.values.text("participation.update") == "model") {
    if (of.is_set(buffer) && of.values.integer(buffer) != 1)
      of.report(buffer, "gathers updates, and update = \"model\" takes one client's model at a time",
                "remove it, or write update = \"change\"");
    of.values.set(buffer, std::int64_t{1});
    settle_whole_model(of);
  } else {
    note_unused(of, "participation", {"mixing"}, "update is \"change\"");
  }
  if (!of.good({"participation.weighting"})) return;
  const auto& weighting = of.values.text("participation.weighting");
  const auto why = "weighting is " + toml_string(weighting);
  if (weighting != "polynomial") note_unused(of, "participation", {"staleness_exponent"}, why);
  if (weighting != "hinge") note_unused(of, "participation", {"hinge_slope", "hinge_from"}, why);
}

void check_mode(draft& of) {
  const std::string mode = "participation.mode";
  if (!of.good({mode})) return;
  const auto why = "mode is " + quoted(of, mode);
  if (of.values.text(mode) == "async") {
    note_unused(of, "participation",
                {"per_round", "fraction", "over_selection", "selection_timeout", "deadline", "min_reports"}, why);
    return check_async(of);
  }
  check_cohort(of);
  check_sizes(of);
  note_unused(of, "participation",
              {"buffer", "concurrency", "max_staleness", "weighting", "staleness_exponent", "hinge_slope", "hinge_from",
               "update", "mixing"},
              why);
}

void check_reconnect(draft& of) {
  const std::string key = "participation.reconnect";
  if (!of.good({key})) return;
  const auto& window = of.values.numbers(key);
  if (window.size() != 2)
    return of.report(key, "has " + std::to_string(window.size()) + " items, needs 2",
                     "write the least and the most seconds, such as [60, 600]");
  if (window[0] > window[1])
    of.report(
        key,
        "begins with " + number_text(window[0]) + ", more than the " + number_text(window[1]) + " that it ends with",
        "swap them");
}

void check_private_store(draft& of) {
  if (of.algorithm->traits.keeps_state) return;
  note_unused(of, "private", {"commit", "layout", "open_shards", "key_file"},
              of.algorithm->kind + " keeps nothing from round to round");
}

}  // namespace

void check_participation(draft& of) {
  check_reconnect(of);
  if (of.algorithm == nullptr) return;
  check_private_store(of);
  if (!of.algorithm->traits.sends)
    return note_unused(
        of, "participation",
        {"per_round", "fraction", "policy", "candidates", "retry", "min_reports", "buffer", "concurrency",
         "max_staleness", "weighting", "staleness_exponent", "hinge_slope", "hinge_from", "update", "mixing"},
        algorithm_word(of) + " uses all clients' data");
  check_mode(of);
  if (of.good({"participation.policy"}) && of.values.text("participation.policy") != "power-of-choice")
    note_unused(of, "participation", {"candidates"}, "policy is " + quoted(of, "participation.policy"));
}

}  // namespace furlong::scenarios
