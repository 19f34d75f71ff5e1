#include "tools/cli/run_end.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iostream>
#include <numeric>
#include <optional>
#include <spdlog/spdlog.h>

#include "tools/cli/exit_code.hpp"
#include "tools/cli/failure.hpp"
#include "tools/cli/json.hpp"
#include "tools/report/report.hpp"

namespace furlong::tools {

namespace {

/// What is wrong with how a run went, though it ran to its end, and what to do about it.
struct complaint {
  std::string why;
  std::string mend;
};

/// summary.json and report.html of a run that has ended; the closing table on stdout.
result<void> conclude(const session& of, const run_directory& folder, const federated::run_outcome& outcome,
                      const std::optional<complaint>& wrong, federated::private_store& store, output_format format) {
  auto own = read_private_facts(store, outcome.state.version);
  if (!own) return tl::unexpected(own.error());
  auto summary = summary_json(of, outcome, *own);
  if (wrong) summary["failed"] = wrong->why + "; " + wrong->mend;
  if (auto written = write_atomically(folder.summary(), json_text(summary)); !written) return written;
  auto record = read_run(folder.root());
  if (!record) return tl::unexpected(record.error());
  if (auto written = write_report({&*record, 1}, folder.report()); !written) return written;
  if (format == output_format::json) {
    std::cout << json_text(summary) << '\n';
    return {};
  }
  std::cout << comparison_table({&*record, 1});
  fmt::print("{:.1f} s, of these {:.1f} s training; model {}\nreport: {}\n", outcome.state.wall_seconds,
             outcome.state.train_seconds, summary["model_sha256"].get<std::string>().substr(0, 16),
             folder.report().string());
  return {};
}

/// What to do about updates that are refused for this.
std::string_view mend_of(federated::rejection why) {
  switch (why) {
    case federated::rejection::norm_bound:
      return "lower algorithm.client.lr, or raise algorithm.aggregation.max_norm; limits that adapt are off with "
             "algorithm.aggregation.norm_bound = \"fixed\"";
    case federated::rejection::not_finite:
    case federated::rejection::attention_range: return "lower algorithm.client.lr";
    case federated::rejection::weight_bound: return "raise algorithm.aggregation.max_weight";
    default: return "see events.jsonl";
  }
}

/// A run whose updates were refused for the most part ends like any other: says so.
void warn_of_rejections(const federated::protocol::accounting& counts) {
  const auto& by_reason = counts.rejected;
  const auto refused = std::accumulate(by_reason.begin(), by_reason.end(), std::uint64_t{0});
  if (refused <= counts.folded) return;
  std::string reasons;
  for (std::size_t i = 0; i < by_reason.size(); ++i)
    if (by_reason[i] > 0)
      reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", by_reason[i],
                             federated::to_string(static_cast<federated::rejection>(i)));
  const auto most = std::ranges::max_element(by_reason) - by_reason.begin();
  spdlog::warn("{} of {} updates were refused ({}); {}", refused, refused + counts.folded, reasons,
               mend_of(static_cast<federated::rejection>(most)));
}

/// Why a model stayed as it was: rates are to blame only where clients had something to learn from.
complaint of_no_use(const session& of, const federated::protocol::accounting& counts, const std::string& lower) {
  const std::string as_before = ": the model is as it was at first";
  if (counts.clients_trained == 0)
    return {"no client finished a task" + as_before, "look in events.jsonl for what became of them"};
  if (counts.examples == 0)
    return {"no client that was asked had an example to train on" + as_before,
            "give clients more examples (data.split, data.max_examples), or ask more clients"};
  const auto& settings = of.experiment.settings;
  const bool queries = settings.algorithm.traits.splits_support && settings.reconstruction.split;
  return {"no update was of use" + as_before,
          lower + (queries ? "; clients with one batch have no query batch to learn from: for them lower "
                             "algorithm.client.batch_size"
                           : "")};
}

std::optional<complaint> verdict(const session& of, const federated::run_outcome& outcome) {
  const std::string lower = "lower algorithm.client.lr or algorithm.server.lr, and look for rejections in events.jsonl";
  const auto diverged_by = [&](const std::string& why) {
    return complaint{std::string(divergence_text) + ": " + why, lower};
  };
  for (const auto* group : {&outcome.evaluation.validation, &outcome.evaluation.seen, &outcome.evaluation.unseen})
    if (*group && !std::isfinite((*group)->loss)) return diverged_by("the loss is not finite");
  if (const auto& why = outcome.state.losses.diverged; !why.empty()) return diverged_by(why);
  const auto& counts = outcome.state.counts;
  const auto diverged = counts.rejected[static_cast<std::size_t>(federated::rejection::not_finite)];
  if (diverged > counts.folded)
    return diverged_by(fmt::format("{} updates were not finite, {} were aggregated", diverged, counts.folded));
  if (std::ranges::equal(outcome.state.chosen().model.values(), initial_model(of.experiment).values()))
    return of_no_use(of, counts, lower);
  return std::nullopt;
}

}  // namespace

int end_run(const session& of, const run_directory& folder, const result<federated::run_outcome>& outcome,
            federated::private_store& store, output_format format) {
  if (!outcome) return report_failure(outcome.error());
  if (outcome->interrupted) {
    fmt::print(stderr, "furlong: stopped after round {}; go on with --resume --out {}\n", outcome->state.version,
               folder.root().string());
    return interrupted;
  }
  const auto wrong = verdict(of, *outcome);
  if (auto concluded = conclude(of, folder, *outcome, wrong, store, format); !concluded)
    return report_failure(concluded.error());
  warn_of_rejections(outcome->state.counts);
  if (wrong) return report_failure({error::kind::runtime, folder.root().string(), wrong->why, wrong->mend});
  return done;
}

}  // namespace furlong::tools
