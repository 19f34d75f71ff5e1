// furlong tune
//
// The folder: the run directories, as in a sweep's; tune.json, rewritten whenever a run ends; best.toml and report.html
// at the end. A run stops at the end of each rung, and goes on in the next from its checkpoint.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <iostream>

#include "federated/evaluation/evaluation.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/evaluation.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/report/report.hpp"
#include "tools/runs/child_runs.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/figures_json.hpp"
#include "tools/runs/messages.hpp"
#include "tools/runs/prepared_run.hpp"
#include "tools/runs/read_run.hpp"
#include "tools/runs/scenario_settings.hpp"
#include "tools/runs/scored_on.hpp"
#include "tools/sweep/sweep_plan.hpp"
#include "tools/sweep/tuning.hpp"
#include "tools/sweep/value_range.hpp"

namespace furlong::tools {

namespace {

struct tune_options : many_runs_options {  ///< of one scenario
  std::vector<std::string> ranges;         ///< "key=LOW..HIGH"
  std::size_t samples = 27;                ///< settings drawn from the ranges
  std::string metric;                   ///< "eval.validation.rmse"; empty: by which the scenario selects the best model
  std::optional<std::uint64_t> budget;  ///< rounds of all runs; nothing: what lets the best end whole
  std::size_t factor = 3;               ///< of settings from rung to rung
};

constexpr const char* groups_key = "evaluation.groups";
constexpr const char* metric_key = "evaluation.metric";
constexpr std::string_view metric_prefix = "eval.validation.";

/// Keys that tune sets itself.
std::vector<error> reserved_keys(const sweep_request& request) {
  std::vector<error> problems;
  const auto check = [&](const std::string& place, const std::string& key) {
    const auto complain = [&](std::string why, std::string fix) {
      problems.push_back({error::kind::usage, place, std::move(why), std::move(fix)});
    };
    if (key == groups_key) complain("tune evaluates the validation clients alone", "omit it");
    if (key == metric_key) complain("is what --metric says", "write --metric eval.validation.rmse, for example");
  };
  for (const auto& set : request.overrides) check("--set " + set.key, set.key);
  for (const auto& option : request.grid) {
    const auto key = option.text.substr(0, option.text.find('='));
    const auto place = option.name() + " " + key;
    if (key.starts_with("scenario."))
      problems.push_back({error::kind::usage, place, "is not a setting to choose",
                          "choose keys of the algorithm, the model or the participation"});
    else
      check(place, key);
  }
  return problems;
}

/// What all runs share: how they are compared, and how long they are.
struct tune_facts {
  std::string metric;
  bool smaller_is_better = true;
  std::uint64_t rounds = 0;
  bool language_model = false;
  bool keep_best = false;   ///< evaluation.select
  std::uint64_t every = 0;  ///< evaluation.every
};

/// Reads the data of a setting once: what is wrong with them is found before anything runs.
result<tune_facts> look_at_data(const std::string& resolved, sweep_plan& plan) {
  auto scenario = scenarios::parse_scenario_text(resolved, plan.runs.front().file.string());
  if (!scenario) return fail(error::kind::usage, "", scenario.error().front().text());
  const auto rounds = scenario->values.has("scenario.rounds") ? scenario->values.integer("scenario.rounds") : 0;
  if (rounds == 0)
    return fail(error::kind::usage, plan.runs.front().file.string(),
                "does not say how many rounds a whole run has, which tune divides",
                "write --set scenario.rounds=500, for example, which replaces scenario.epochs and scenario.until");
  const auto opened = open_prepared_run(std::move(*scenario));
  if (!opened) return tl::unexpected(opened.error());
  plan.notes.print_new(plan.runs.front().row.run, opened->scenario.notes);
  const auto metric = federated::selection_metric(*opened->experiment.settings.evaluation);
  const auto figure = metric.substr(metric.find('.') + 1);
  return tune_facts{"eval." + metric,
                    federated::smaller_is_better(*opened->experiment.model, figure),
                    static_cast<std::uint64_t>(rounds),
                    opened->experiment.model->objective() == models::objective::next_token,
                    opened->experiment.settings.evaluation->keep_best,
                    opened->experiment.settings.evaluation->every};
}

/// Settings are ranked by figures of the same examples: fails if they choose different data, or a language model's
/// tokens.
result<void> check_comparable(const sweep_plan& plan, const tune_facts& facts) {
  const auto decides = [&](const std::string& key) {
    return chooses_scored(key) || (facts.language_model && (key == "data.tokens" || key == "data.vocabulary"));
  };
  const auto& first = plan.runs.front();
  const auto known = scenario_settings(first.resolved);
  for (const auto& run : plan.runs) {
    if (run.row.point.seed != first.row.point.seed) continue;
    for (const auto& [key, value] : scenario_settings(run.resolved)) {
      const auto* setting = find_setting(known, key);
      if (!decides(key) || (setting != nullptr && *setting == value)) continue;
      return fail(
          error::kind::usage, key,
          fmt::format("is {} in one setting and {} in another: they would be scored on different {}, and their "
                      "figures not be comparable",
                      setting == nullptr ? "not set" : *setting, value, chooses_scored(key) ? "examples" : "tokens"),
          "tune each value on its own");
    }
  }
  return {};
}

tuning make_tuning(const tune_options& options, const sweep_plan& plan, const tune_facts& facts) {
  tuning made;
  made.scenario = plan.runs.front().row.scenario;
  made.metric = facts.metric;
  made.smaller_is_better = facts.smaller_is_better;
  made.axes = plan.axes;
  for (const auto& run : plan.runs) {
    if (made.settings.empty() || made.settings.back().runs.back().run.row.point.indices != run.row.point.indices)
      made.settings.push_back({plan.label(run), {}});
    made.settings.back().runs.push_back({run, {}});
  }
  for (const auto& run : made.settings.front().runs) made.seeds.push_back(run.run.row.point.seed);
  made.halving = {made.settings.size(), made.seeds.size(), facts.rounds, options.factor, options.budget};
  return made;
}

/// The validation figure of a run that was evaluated after this round: with evaluation.select = "best" that of the
/// model that a run of so many rounds would end with. Evaluations at the ends of earlier rungs are none of its
/// candidates. Nothing: it was not.
std::optional<rung_figure> figure_after(std::uint64_t round, const std::filesystem::path& run, const tuning& state,
                                        const tune_facts& facts) {
  std::ifstream metrics(run / "metrics.jsonl");
  const auto figure = state.metric.substr(metric_prefix.size());
  rung_figure found{round, std::nullopt, 0, 0};
  for (std::string line; std::getline(metrics, line);) {
    const auto row = json::parse(line, nullptr, false);
    if (!row.is_object() || !row.contains("eval")) continue;
    const auto evaluated = row.value("round", std::uint64_t{0});
    const bool last = evaluated == round;
    const bool candidate = facts.keep_best && facts.every > 0 && evaluated % facts.every == 0;
    const auto scored = row["eval"].value("validation", json::object());
    const auto value = scored.value(figure, json());
    if (value.is_number() && (last || candidate)) {
      const double now = value.get<double>();
      if (!found.value || !facts.keep_best || (state.smaller_is_better ? now < *found.value : now > *found.value))
        found = {round, now, scored.value("examples", std::uint64_t{0}), scored.value("clients", std::uint64_t{0})};
    }
    if (last) return found;
  }
  return std::nullopt;
}

class rung_trainer {
 public:
  rung_trainer(const tune_options& options, const sweep_folder& folder, const tune_facts& facts, sweep_plan& plan,
               tuning& state)
      : options_(options), folder_(folder), facts_(facts), plan_(plan), state_(state) {}

  /// Trains all rungs. False: interrupted.
  result<bool> run() {
    for (std::size_t rung = 0; rung < state_.rungs.size(); ++rung) {
      const auto ran = run_rung(rung);
      if (!ran || !*ran) return ran;
    }
    return true;
  }

  result<void> write(bool ended) const {
    return write_atomically(folder_.tune_file(), json_text(tune_json(state_, ended)));
  }

 private:
  result<bool> run_rung(std::size_t rung) {
    const auto rounds = state_.rungs[rung].rounds;
    std::vector<child_run> children;
    std::vector<tuned_run*> runs;
    const auto active = state_.in_rung(rung);
    for (const auto i : active)
      for (auto& run : state_.settings[i].runs) {
        if (run.figures.size() > rung) continue;
        if (rung > 0 && !run.figures.back().value) {  // failed before: it does not go on
          run.figures.push_back(run.figures.back());
          continue;
        }
        auto child = folder_.child_of(run.run, options_.threads, options_.accept_changed_code, rounds);
        if (!child) return tl::unexpected(child.error());
        children.push_back(std::move(*child));
        runs.push_back(&run);
      }
    fmt::print(stderr, "rung {} of {}: {} settings to round {}\n", rung + 1, state_.rungs.size(), active.size(),
               rounds);
    result<void> kept;
    const auto ran =
        run_children(children, or_one_per_core(options_.jobs), [&](std::size_t child, const child_end& end) {
          if (auto taken = take(*runs[child], rounds, end); !taken && kept) kept = taken;
          if (auto written = write(false); !written && kept) kept = written;
        });
    if (!kept) return tl::unexpected(kept.error());
    if (!ran || !*ran) return ran;
    return std::ranges::all_of(runs, [&](const auto* run) { return run->figures.size() > rung; });
  }

  /// The figure of a run that has ended its part of a rung. A setting under which training diverges is a bad one; any
  /// other failure is none of the setting's and ends the tuning.
  result<void> take(tuned_run& tuned, std::uint64_t rounds, const child_end& end) {
    const auto& name = tuned.run.row.run;
    plan_.notes.print_new(name, notes_in(text_of(folder_.log(tuned.run, ".stderr"))));
    folder_.take(tuned.run, end.code);
    const auto& row = tuned.run.row;
    const auto ended = figure_after(rounds, folder_.run(tuned.run), state_, facts_);
    if (row.status == run_status::failed && !row.summary.is_null()) {
      tuned.figures.push_back({rounds, std::nullopt, 0, 0});
    } else if (row.status != run_status::failed && ended) {
      tuned.figures.push_back(*ended);
    } else if (row.status == run_status::failed) {
      return fail(row.code == data ? error::kind::data : error::kind::runtime, name, row.why,
                  "repeat the command to continue");
    }
    if (const auto& figures = tuned.figures; !figures.empty() && figures.back().rounds == rounds)
      fmt::print(stderr, "{} round {}: {} ({:.1f} s)\n", name, rounds,
                 figures.back().value ? fmt::format("{:.6g}", *figures.back().value) : "no usable result: " + row.why,
                 end.seconds);
    return {};
  }

  const tune_options& options_;
  const sweep_folder& folder_;
  const tune_facts& facts_;
  sweep_plan& plan_;
  tuning& state_;
};

/// Takes what an earlier process did. Fails if the folder has other content.
result<void> recall(tuning& state, const sweep_folder& folder, bool accepts_code) {
  known_data data;
  for (auto& setting : state.settings)
    for (auto& run : setting.runs)
      if (auto known = folder.recall(run.run, data, accepts_code); !known) return known;
  const auto before = read_object(folder.tune_file());
  return !before.is_null() ? recall_figures(state, before, folder.tune_file().string()) : result<void>();
}

/// The scenario of the best setting, as the user's command would have it, for the first seed.
result<void> write_best(const tune_options& options, const tuning& state, const std::filesystem::path& file) {
  const auto& best = state.settings[state.order().front()];
  const auto& run = best.runs.front().run;
  const auto scenario =
      parse_variant(run.file, overrides_for(options.request, state.axes, run.row.point), options.request.smoke);
  if (!scenario) return fail(error::kind::usage, run.file.string(), scenario.error().front().text());
  return write_atomically(
      file, fmt::format("# Chosen by furlong tune among {} settings: {}\n"
                        "# {} = {:.6g} after {} rounds, {} {}.\n\n{}",
                        state.settings.size(), best.label, state.metric, best.figure(best.rungs() - 1).value_or(0.0),
                        best.rounds(), state.seeds.size() > 1 ? "mean of the seeds" : "seed",
                        fmt::join(state.seeds, ", "), scenarios::resolved_toml(*scenario)));
}

result<void> write_picture(const tuning& state, const sweep_folder& folder) {
  std::vector<run_record> records;
  for (const auto i : state.order())
    for (const auto& run : state.settings[i].runs) {
      auto record = read_run(folder.run(run.run));
      if (!record) return tl::unexpected(record.error());
      record->name = state.settings[i].label;
      records.push_back(std::move(*record));
    }
  return write_report(records, folder.report());
}

int conclude_tuning(const tune_options& options, const tuning& state, const sweep_folder& folder) {
  const auto& best = state.settings[state.order().front()];
  const auto figure = best.figure(best.rungs() - 1);
  if (!figure)
    return report_failure({error::kind::runtime, folder.tune_file().string(), "no setting has a usable result",
                           "lower the learning rates"});
  const auto file = folder.tune_file().parent_path() / "best.toml";
  if (auto written = write_best(options, state, file); !written) return report_failure(written.error());
  if (auto written = write_picture(state, folder); !written) return report_failure(written.error());
  if (options.format == output_format::json) {
    std::cout << json_text(tune_json(state, true)) << '\n';
    return done;
  }
  const auto share = 100.0 * static_cast<double>(state.trained()) / static_cast<double>(state.whole());
  for (const auto& warning : state.warnings()) fmt::print(stderr, "warning: {}\n", for_people(warning));
  fmt::print("{}best: {}\n{} rounds trained, {:.0f} % of the {} of all settings\n", tune_table(state), best.label,
             state.trained(), share, state.whole());
  fmt::print("scenario: {}\ntable: {}\nreport: {}\n", file.string(), folder.tune_file().string(),
             folder.report().string());
  return done;
}

/// The options with what tune sets itself: the drawn settings, the metric, and no evaluation of test parts.
tl::expected<sweep_request, std::vector<error>> complete_request(const tune_options& options) {
  auto request = options.request;
  std::vector<error> problems;
  if (const auto ranges = parse_ranges(options.ranges); !ranges) {
    problems = ranges.error();
  } else {
    const auto drawn = draw_settings(*ranges, options.samples, request.seeds.empty() ? 1 : request.seeds.front());
    request.grid.insert(request.grid.end(), drawn.begin(), drawn.end());
  }
  const auto reserved = reserved_keys(request);
  problems.insert(problems.end(), reserved.begin(), reserved.end());
  if (!options.metric.empty() && !options.metric.starts_with(metric_prefix))
    problems.push_back({error::kind::usage, "--metric " + options.metric, "is no figure of the validation clients",
                        "write --metric eval.validation.rmse, for example"});
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  if (!options.metric.empty())
    request.overrides.push_back({metric_key, options.metric.substr(metric_prefix.size()), "--metric"});
  return request;
}

int tune_command(const tune_options& given) {
  auto options = given;
  if (auto request = complete_request(given))
    options.request = std::move(*request);
  else
    return report_all(request.error());
  auto blind = options.request;
  blind.overrides.push_back({groups_key, "[\"validation\"]", "tune"});
  auto plan = make_plan(blind);
  if (!plan) return usage;
  plan->notes.print(plan->runs.size());
  const auto facts = look_at_data(plan->runs.front().resolved, *plan);
  if (!facts) return report_failure(facts.error());
  if (auto comparable = check_comparable(*plan, *facts); !comparable) return report_failure(comparable.error());
  auto tuned = make_tuning(options, *plan, *facts);
  auto rungs = plan_rungs(tuned.halving);
  if (!rungs) return report_failure(rungs.error());
  tuned.rungs = std::move(*rungs);

  const auto root = options.out.empty() ? std::filesystem::path("runs") / (tuned.scenario + "-tune") : options.out;
  const auto folder = sweep_folder::open(root, sweep_folder::kind::tuning);
  if (!folder) return report_failure(folder.error());
  if (auto recalled = recall(tuned, *folder, options.accept_changed_code); !recalled)
    return report_failure(recalled.error());
  rung_trainer trainer(options, *folder, *facts, *plan, tuned);
  if (auto written = trainer.write(false); !written) return report_failure(written.error());
  const auto ran = trainer.run();
  if (!ran) return report_failure(ran.error());
  if (!*ran) {
    fmt::print(stderr, "furlong: stopped; repeat the command to continue\n");
    return interrupted;
  }
  if (auto written = trainer.write(true); !written) return report_failure(written.error());
  return conclude_tuning(options, tuned, *folder);
}

}  // namespace

void add_tune(CLI::App& app, command& chosen) {
  const auto [sub, options] =
      add_command(app, chosen, "tune",
                  "find the best of many settings by the validation clients, at a part of the cost", tune_command);
  options->request.scenarios.resize(1);
  sub->add_option("scenario", options->request.scenarios.front(), "scenario file")->required()->option_text("SCENARIO");
  add_grid(sub, options->request.grid);
  repeated(
      sub->add_option("--range", options->ranges,
                      "values of a key that are drawn between two ends, evenly, or with log:LOW..HIGH evenly in the "
                      "logarithm"),
      "key=LOW..HIGH");
  sub->add_option("--samples", options->samples,
                  "settings drawn from the ranges, for each combination of the grid (default 27)")
      ->transform(whole_number(1, 100'000))
      ->option_text("N");
  sub->add_option("--metric", options->metric,
                  "figure of the validation clients to compare by (default: the one that evaluation.metric names)")
      ->option_text("eval.validation.KEY");
  sub->add_option("--budget", options->budget,
                  "rounds of all runs together (default: as many as let the best settings be trained whole)")
      ->transform(whole_number(1, UINT32_MAX))
      ->option_text("ROUNDS");
  sub->add_option("--factor", options->factor, "every rung keeps the best of this many settings (default 3)")
      ->transform(whole_number(2, 1000))
      ->option_text("N");
  add_many_runs(sub, *options, "trains every setting with each of them, and compares the means",
                "folder of the runs (default runs/NAME-tune)");
}

}  // namespace furlong::tools
