#include "tools/run_end.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iostream>

#include "tools/exit_code.hpp"
#include "tools/json.hpp"
#include "tools/report/report.hpp"

namespace furlong::tools {

namespace {

/// summary.json and report.html of a run that has ended; the closing table on stdout.
result<void> conclude(const session& of, const run_directory& folder, const federated::run_outcome& outcome,
                      federated::private_store& store, output_format format) {
  auto own = read_private_facts(store, outcome.state.version);
  if (!own) return tl::unexpected(own.error());
  const auto summary = summary_json(of, outcome, *own);
  if (auto written = write_atomically(folder.summary(), summary.dump(2)); !written) return written;
  auto record = read_run(folder.root());
  if (!record) return tl::unexpected(record.error());
  if (auto written = write_report({&*record, 1}, folder.report()); !written) return written;
  if (format == output_format::json) {
    std::cout << summary.dump(2) << '\n';
    return {};
  }
  std::cout << comparison_table({&*record, 1});
  fmt::print("{:.1f} s, of these {:.1f} s training; model {}\nreport: {}\n", outcome.state.wall_seconds,
             outcome.state.train_seconds, summary["model_sha256"].get<std::string>().substr(0, 16),
             folder.report().string());
  return {};
}

/// What is wrong with how a run went, though it ran to its end; empty: nothing.
std::string verdict(const session& of, const federated::run_outcome& outcome) {
  for (const auto* group : {&outcome.evaluation.validation, &outcome.evaluation.seen, &outcome.evaluation.unseen})
    if (*group && !std::isfinite((*group)->loss)) return "training diverged: the loss is not finite";
  if (std::ranges::equal(outcome.state.model.values(), initial_model(of.experiment).values()))
    return "no update was of use: the model is as it was at first";
  return {};
}

}  // namespace

int report_failure(const error& why) {
  std::cerr << "furlong: " << why.text() << '\n';
  return exit_code_of(why);
}

int end_run(const session& of, const run_directory& folder, const result<federated::run_outcome>& outcome,
            federated::private_store& store, output_format format) {
  if (!outcome) return report_failure(outcome.error());
  if (outcome->interrupted) {
    fmt::print(stderr, "furlong: stopped after round {}; go on with --resume --out {}\n", outcome->state.version,
               folder.root().string());
    return interrupted;
  }
  if (auto concluded = conclude(of, folder, *outcome, store, format); !concluded)
    return report_failure(concluded.error());
  if (const auto wrong = verdict(of, *outcome); !wrong.empty())
    return report_failure(
        {error::kind::runtime, of.scenario.name, wrong,
         "lower algorithm.client.lr or algorithm.server.lr, and look for rejections in " + folder.events().string()});
  return done;
}

}  // namespace furlong::tools
