#include "tools/cli/run_end.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <spdlog/spdlog.h>

#include "federated/participation/uniform.hpp"
#include "federated/rounds/divergence.hpp"
#include "federated/rounds/tensor_layouts.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/training.hpp"
#include "storage/checkpoint.hpp"
#include "tools/cli/failure.hpp"
#include "tools/cli/group_json.hpp"
#include "tools/cli/json.hpp"
#include "tools/cli/privacy_json.hpp"
#include "tools/cli/trained_run.hpp"
#include "tools/compare/comparison_table.hpp"
#include "tools/compare/read_run.hpp"
#include "tools/compare/run_figures.hpp"
#include "tools/report/report.hpp"

namespace furlong::tools {

namespace {

/// A problem of a completed run, and its fix.
struct complaint {
  std::string why;
  std::string fix;
};

/// summary.json and report.html of a run that has ended; the closing table on stdout.
result<void> conclude(const session& of, const run_directory& folder, const federated::run_outcome& outcome,
                      const std::optional<complaint>& wrong, federated::private_store& store,
                      std::optional<output_format> format) {
  auto own = read_private_facts(store, outcome.state.version);
  if (!own) return tl::unexpected(own.error());
  auto summary = summary_json(of, outcome, *own);
  auto groups = client_groups_json(of, outcome, folder.events());
  if (!groups) return tl::unexpected(groups.error());
  if (!groups->is_null()) summary["client_groups"] = std::move(*groups);
  if (wrong) summary["failed"] = wrong->why + "; " + wrong->fix;
  if (auto written = write_atomically(folder.summary(), json_text(summary)); !written) return written;
  auto record = read_run(folder.root());
  if (!record) return tl::unexpected(record.error());
  if (auto written = write_report({&*record, 1}, folder.report()); !written) return written;
  if (format == output_format::json) {
    std::cout << json_text(summary) << '\n';
    return {};
  }
  if (!format) return {};
  std::cout << comparison_table({&*record, 1});
  if (summary.contains("privacy")) fmt::print("{}\n", privacy_line(summary["privacy"]));
  if (summary.contains("privacy") && summary["privacy"].value("spent", false))
    fmt::print("the run ended at {} rounds: another one could exceed privacy.target_epsilon\n", outcome.state.version);
  fmt::print("{:.1f} s, of these {:.1f} s training; model {}\nreport: {}\n", outcome.state.wall_seconds,
             outcome.state.train_seconds, summary["model_sha256"].get<std::string>().substr(0, 16),
             folder.report().string());
  return {};
}

/// The fix for updates rejected for this reason.
std::string_view fix_of(federated::rejection why) {
  switch (why) {
    case federated::rejection::norm_bound:
      return "lower algorithm.client.lr, or raise algorithm.aggregation.max_norm; algorithm.aggregation.norm_bound = "
             "\"clip\" makes clients scale their updates to the limits, and \"fixed\" turns these off";
    case federated::rejection::not_finite:
    case federated::rejection::attention_range: return "lower algorithm.client.lr";
    case federated::rejection::weight_bound: return "raise algorithm.aggregation.max_weight";
    default: return "see events.jsonl";
  }
}

std::uint64_t rejected_by(const federated::accounting& counts) {
  return std::accumulate(counts.rejected.begin(), counts.rejected.end(), std::uint64_t{0});
}

/// "3 of 5 updates were rejected (3 norm-bound)", and the fix for the most frequent reason.
complaint of_rejections(const federated::accounting& counts) {
  const auto& by_reason = counts.rejected;
  std::string reasons;
  for (std::size_t i = 0; i < by_reason.size(); ++i)
    if (by_reason[i] > 0)
      reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", by_reason[i],
                             federated::to_string(static_cast<federated::rejection>(i)));
  const auto most = std::ranges::max_element(by_reason) - by_reason.begin();
  const auto refused = rejected_by(counts);
  return {fmt::format("{} of {} updates were rejected ({})", refused, refused + counts.folded, reasons),
          std::string(fix_of(static_cast<federated::rejection>(most)))};
}

/// Notes events that the run ended before.
void note_late_events(const std::vector<federated::event_settings>& events, const federated::server_state& ended) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto& event = events[i];
    const double seconds = federated::to_seconds(ended.now);
    if (event.at_round && event.round > ended.version)
      fmt::print(stderr, "note: event[{}] at round {} did not happen: the run ended after round {}\n", i + 1,
                 event.round, ended.version);
    if (!event.at_round && event.seconds > seconds)
      fmt::print(stderr, "note: event[{}] at {:.6g} s did not happen: the run ended at {:.6g} s\n", i + 1,
                 event.seconds, seconds);
  }
}

/// Warns about a run of which most updates were rejected.
void warn_of_rejections(const federated::accounting& counts) {
  if (rejected_by(counts) <= counts.folded) return;
  const auto found = of_rejections(counts);
  spdlog::warn("{}; {}", found.why, found.fix);
}

/// Of a run whose rounds were all abandoned.
complaint of_abandoned_rounds(const federated::run_settings& settings) {
  const auto& participation = *settings.participation;
  if (settings.privacy->secure_aggregation)
    return {
        fmt::format("in every round too few clients reported to open the sum of their masked updates, or fewer than "
                    "participation.min_reports = {}",
                    participation.min_reports),
        "select more clients (participation.per_round, over_selection), or lower the rates of [dropout]; "
        "events.jsonl has the reason of each round"};
  if (participation.min_reports > 1)
    return {fmt::format("every round had fewer reports than participation.min_reports = {}", participation.min_reports),
            "lower participation.min_reports, or select more clients (participation.per_round, over_selection)"};
  return {"every round was abandoned", "see events.jsonl for the reasons"};
}

/// The reason why a model did not change: learning rates matter only if updates with examples were aggregated.
complaint of_no_use(const session& of, const federated::accounting& counts, const std::string& lower) {
  const auto& settings = of.experiment.settings;
  const auto unchanged = [](complaint found) {
    found.why += "; the model is unchanged";
    return found;
  };
  if (counts.folded == 0 && rejected_by(counts) > counts.abandoned) return unchanged(of_rejections(counts));
  const double deadline = settings.participation->deadline;
  const auto dropped = std::accumulate(counts.dropped.begin(), counts.dropped.end(), std::uint64_t{0});
  if (counts.folded == 0 && deadline > 0 && counts.late + counts.in_flight() > counts.abandoned + dropped)
    return unchanged({fmt::format("no update came within participation.deadline = {} s", deadline),
                      "raise it, or give clients less work (algorithm.client.epochs)"});
  if (counts.folded == 0 && counts.abandoned > 0) return unchanged(of_abandoned_rounds(settings));
  if (counts.clients_trained == 0)
    return unchanged({"no client finished a task", "see events.jsonl for the reasons (cause)"});
  if (counts.examples == 0)
    return unchanged({"no selected client had an example to train on",
                      "give clients more examples (data.split, data.max_examples), or select more clients"});
  if (counts.folded == 0) return unchanged({"no update was applied", lower});
  const bool queries = settings.algorithm->traits.splits_support && settings.reconstruction->split;
  return unchanged({fmt::format("{} updates were aggregated, and none changed a value of the model", counts.folded),
                    std::string("raise algorithm.client.lr or algorithm.server.lr") +
                        (queries ? "; clients with one batch have no query batch to learn from: for them lower "
                                   "algorithm.client.batch_size"
                                 : "")});
}

std::optional<complaint> verdict(const session& of, const federated::run_outcome& outcome) {
  const std::string lower =
      "lower algorithm.client.lr or algorithm.server.lr; see log.txt, and events.jsonl for rejected updates";
  if (const auto why = federated::divergence_of(outcome.state))
    return complaint{std::string(divergence_text) + ": " + *why, lower};
  const auto made = outcome.state.chosen();
  const auto first = initial_model(of.experiment);
  const auto is_new = [](const auto& values, const auto& old) {
    return !std::ranges::equal(values.values(), old.values());
  };
  const bool sends_model = of.experiment.parts.sends_model;
  // Where clients report groups alone the server may learn nothing else.
  if (is_new(made.model, first) || (!sends_model && is_new(*made.added, initial_added(of.experiment, first))))
    return std::nullopt;
  return of_no_use(of, outcome.state.counts, lower);
}

constexpr std::uint32_t most_clients = 2000;
constexpr std::uint32_t draw_of_picture = 3;  // in addition to the draws of the evaluation groups

/// The values of all clients of a run, by client.
struct run_embeddings {
  std::string what;
  std::map<std::uint32_t, std::vector<float>> rows;
  option_values data = {};
};

/// Tensors with values per client: whole private ones, or its row of a table over clients. Not those with a row per
/// feature: they describe features.
std::vector<std::string> names_of(const federated::experiment& e, bool is_private) {
  std::vector<std::string> names;
  for (std::size_t t = 0; t < e.parts.model->count(); ++t) {
    const auto index = (*e.parts.model)[t].index;
    const auto wanted = is_private ? models::row_index::none : models::row_index::by_client;
    if (e.parts.slots[t].is_private == is_private && index == wanted) names.push_back((*e.parts.model)[t].name);
  }
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : " and ") + name;
  return out;
}

result<run_embeddings> read_private(const trained_run& run, const std::vector<std::string>& names) {
  run_embeddings made{listed(names), {}};
  auto visited =
      run.store->visit([&](std::uint32_t client, std::uint64_t /*version*/, const models::private_parameters& value) {
        auto& row = made.rows[client];
        for (const auto& name : names)
          if (const auto tensor = value.shape()->find(name)) {
            const auto values = value.tensor(*tensor);
            row.insert(row.end(), values.begin(), values.end());
          }
      });
  if (!visited) return tl::unexpected(visited.error());
  return made;
}

run_embeddings read_tables(const trained_run& run, const std::vector<std::string>& names) {
  run_embeddings made{listed(names), {}};
  for (const auto& name : names) {
    const auto tensor = run.model.shape()->find(name).value();
    const std::size_t cols = (*run.model.shape())[tensor].cols;
    for (const auto client : run.of.experiment.clients->training()) {
      const auto row = run.model.tensor(tensor).subspan(client * cols, cols);
      auto& to = made.rows[client];
      to.insert(to.end(), row.begin(), row.end());
    }
  }
  return made;
}

result<run_embeddings> read_embeddings(const trained_run& run, const std::filesystem::path& folder) {
  if (auto complete = check_private_values(run); !complete) return tl::unexpected(complete.error());
  const auto own = names_of(run.of.experiment, true);
  if (run.store != nullptr && !own.empty()) return read_private(run, own);
  const auto tables = names_of(run.of.experiment, false);
  if (!tables.empty()) return read_tables(run, tables);
  return fail(error::kind::usage, folder.string(),
              "has no user embeddings: nothing private is stored, and the model has no table over clients",
              "omit --embeddings");
}

/// The most frequent class, the lowest on ties; or the mean.
float main_label(std::span<const float> labels, bool classes) {
  if (labels.empty()) return 0.0F;
  double sum = 0.0;
  std::map<float, std::size_t> counts;
  for (const float label : labels) {
    sum += static_cast<double>(label);
    ++counts[label];
  }
  if (!classes) return static_cast<float>(sum / static_cast<double>(labels.size()));
  return std::ranges::max_element(counts, {}, [](const auto& of) { return of.second; })->first;
}

/// Identifies the data of a run.
option_values data_of(const trained_run& run) {
  auto data = run.of.scenario.data;
  data.set("source", run.of.scenario.data_source);
  data.set("the number of clients", std::int64_t{run.of.experiment.clients->facts().clients});
  return data;
}

/// The clients that all runs have.
std::vector<std::uint32_t> common_clients(const std::vector<const run_embeddings*>& of) {
  std::vector<std::uint32_t> common;
  for (const auto& entry : of.front()->rows)
    if (std::ranges::all_of(of, [&](const run_embeddings* one) { return one->rows.contains(entry.first); }))
      common.push_back(entry.first);
  return common;
}

embedding_figures figures_of(const trained_run& run, const run_embeddings& from,
                             const std::vector<std::uint32_t>& clients) {
  embedding_figures made;
  made.data = from.data;
  made.what = from.what;
  made.classes = run.of.experiment.model->objective() == models::objective::categorical;
  made.clients = clients;
  made.class_names = run.of.data.classes;
  const bool labelled = run.of.experiment.model->objective() != models::objective::next_token;
  models::examples scratch;
  for (const auto client : clients) {
    const auto& row = from.rows.at(client);
    made.width = row.size();
    made.values.insert(made.values.end(), row.begin(), row.end());
    if (!labelled) continue;
    const auto data = run.of.experiment.clients->load(client, federated::part::train, scratch);
    made.labels.push_back(main_label(data.labels, made.classes));
  }
  return made;
}

}  // namespace

int report_stop(std::uint64_t round, const run_directory& folder) {
  fmt::print(stderr, "furlong: stopped after round {}; continue with --resume --out {}\n", round,
             folder.root().string());
  return interrupted;
}

namespace {

/// The model failed: up to where the run is kept, and how it goes on.
error with_kept_state(const session& run, const run_directory& folder, error why) {
  const auto place = " --out " + folder.root().string();
  const auto state = storage::has_checkpoint(folder.checkpoint())
                         ? read_state(run, folder)
                         : result<federated::server_state>(tl::unexpected(error{}));
  const auto kept = state ? fmt::format(
                                "the run is kept up to round {}: correct the class and continue with --resume "
                                "--accept-changed-code{}",
                                state->version, place)
                          : "no round is kept: correct the class and start again with --resume" + place;
  why.fix += (why.fix.empty() ? "" : "; ") + kept;
  return why;
}

}  // namespace

int end_run(const session& of, const run_directory& folder, const result<federated::run_outcome>& outcome,
            federated::private_store& store, std::optional<output_format> format) {
  if (!outcome)
    return report_failure(outcome.error().what == error::kind::model ? with_kept_state(of, folder, outcome.error())
                                                                     : outcome.error());
  if (outcome->interrupted) return report_stop(outcome->state.version, folder);
  const auto wrong = verdict(of, *outcome);
  if (auto concluded = conclude(of, folder, *outcome, wrong, store, format); !concluded)
    return report_failure(concluded.error());
  warn_of_rejections(outcome->state.counts);
  note_late_events(*of.experiment.settings.events, outcome->state);
  if (wrong) return report_failure({error::kind::runtime, folder.root().string(), wrong->why, wrong->fix});
  return done;
}

result<void> add_embeddings(std::vector<run_record>& runs) {
  std::vector<trained_run> opened;
  std::vector<run_embeddings> all;
  for (const auto& one : runs) {
    auto run = open_trained_run(run_directory(one.directory));
    if (!run) return tl::unexpected(run.error());
    auto found = read_embeddings(*run, one.directory);
    if (!found) return tl::unexpected(found.error());
    found->data = data_of(*run);
    opened.push_back(std::move(*run));
    all.push_back(std::move(*found));
  }
  const random_stream stream(opened.front().of.experiment.settings.seed, purpose::scored_clients, 0, draw_of_picture);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<const run_embeddings*> alike;
    for (std::size_t j = 0; j < runs.size(); ++j)
      if (data_difference(all[i].data, all[j].data).empty()) alike.push_back(&all[j]);
    runs[i].embeddings =
        figures_of(opened[i], all[i], federated::draw_uniformly(common_clients(alike), most_clients, stream));
  }
  return {};
}

}  // namespace furlong::tools
