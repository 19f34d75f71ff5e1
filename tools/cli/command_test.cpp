// furlong test
#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <unistd.h>

#include "tools/cli/command_line.hpp"
#include "tools/cli/test_proposal.hpp"
#include "tools/cli/test_results.hpp"
#include "tools/expectations/expectations.hpp"
#include "tools/runs/child_runs.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/messages.hpp"
#include "tools/runs/prepared_run.hpp"
#include "tools/runs/run_directory.hpp"

namespace furlong::tools {

namespace {

enum class test_format : std::uint8_t { text, json, junit };

struct test_options {
  std::vector<std::filesystem::path> scenarios;
  std::vector<scenarios::setting_override> overrides;  ///< of all of them, and of their baselines
  std::vector<std::uint64_t> seeds;                    ///< likewise; empty: those of the files
  bool smoke = false;                                  ///< their small variants
  std::filesystem::path out;                           ///< folder of the runs; empty: a temporary one
  std::size_t jobs = 1;                                ///< runs at once; 0: one per core
  std::size_t threads = 0;                             ///< of each run; 0: one per core, or one with several jobs
  bool propose = false;                                ///< print bounds instead of judging
  double spread = 3.0;                                 ///< of them, in standard deviations
  bool keep = false;                                   ///< do not remove the temporary folder
  test_format format = test_format::text;
};

const std::map<std::string, test_format> test_formats = {
    {"text", test_format::text}, {"json", test_format::json}, {"junit", test_format::junit}};

/// A run that one or several scenarios need.
struct planned_run {
  std::string name;  ///< of its folder
  scenarios::scenario scenario;
  std::string resolved;  ///< the scenario as a file
  bool ended = false;
  bool timed = false;  ///< its time is that of a scenario
  child_end end;
};

/// A scenario to check.
struct tested {
  scenarios::scenario scenario;
  std::size_t run = 0;                                     ///< its own
  std::map<std::filesystem::path, std::size_t> baselines;  ///< runs to compare with
};

/// The folder of the runs: given by the caller, or temporary.
class workplace {
 public:
  [[nodiscard]] static result<workplace> make(const test_options& options) {
    workplace made;
    std::error_code why;
    if (!options.out.empty()) {
      made.root_ = options.out;
      std::filesystem::create_directories(made.root_, why);
    } else {
      auto name = (std::filesystem::temp_directory_path(why) / "furlong-test-XXXXXX").string();
      if (!why && ::mkdtemp(name.data()) == nullptr) why.assign(errno, std::generic_category());
      made.root_ = name;
      made.temporary_ = !options.keep;
    }
    if (why)
      return fail(error::kind::runtime, made.root_.string(), "cannot be made: " + why.message(),
                  "name another folder with --out");
    made.lock_.emplace(made.root_);
    if (auto locked = made.lock_->lock(); !locked) return tl::unexpected(locked.error());
    return made;
  }
  ~workplace() {
    std::error_code ignored;
    if (temporary_) std::filesystem::remove_all(root_, ignored);
  }
  workplace(workplace&& source) noexcept
      : root_(std::move(source.root_)),
        temporary_(std::exchange(source.temporary_, false)),
        lock_(std::move(source.lock_)) {}
  workplace& operator=(workplace&&) = delete;
  workplace(const workplace&) = delete;
  workplace& operator=(const workplace&) = delete;

  [[nodiscard]] std::filesystem::path path(const planned_run& run, const char* extension = "") const {
    return root_ / (run.name + extension);
  }
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

 private:
  workplace() = default;
  std::filesystem::path root_;
  bool temporary_ = false;
  std::optional<run_directory> lock_;  ///< against a concurrent `furlong test` here, which would remove these runs
};

/// All runs of an invocation; runs shared by scenarios run once.
class plan {
 public:
  explicit plan(const test_options& options) : options_(options) {}

  /// Adds a scenario and its baselines, with each seed. Appends their problems to `problems`.
  void add(const std::filesystem::path& file, std::vector<scenarios::problem>& problems) {
    if (options_.seeds.empty()) return add(file, options_.overrides, problems);
    const auto before = problems.size();
    for (auto seed = options_.seeds.begin(); seed != options_.seeds.end() && problems.size() == before; ++seed) {
      auto overrides = options_.overrides;
      overrides.push_back(seed_override(*seed));
      add(file, overrides, problems);
    }
  }

  [[nodiscard]] const std::vector<tested>& tests() const { return tests_; }
  [[nodiscard]] planned_run& run(std::size_t index) { return runs_[index]; }
  [[nodiscard]] std::size_t size() const { return runs_.size(); }

 private:
  void add(const std::filesystem::path& file, const std::vector<scenarios::setting_override>& overrides,
           std::vector<scenarios::problem>& problems) {
    auto parsed = parse_variant(file, overrides, options_.smoke);
    if (!parsed) {
      problems.insert(problems.end(), parsed.error().begin(), parsed.error().end());
      return;
    }
    tested test{std::move(*parsed), 0, {}};
    test.run = run_of(test.scenario);
    for (const auto& expected : test.scenario.expectations) {
      if (expected.kind != scenarios::expectation_kind::within || test.baselines.contains(expected.baseline)) continue;
      const auto baseline = parse_variant(expected.baseline, overrides, options_.smoke);
      if (baseline)
        test.baselines.emplace(expected.baseline, run_of(*baseline));
      else
        problems.insert(problems.end(), baseline.error().begin(), baseline.error().end());
    }
    tests_.push_back(std::move(test));
  }

  std::size_t run_of(scenarios::scenario scenario) {
    scenario.expectations.clear();  // checked here; they do not change the run
    auto resolved = scenarios::resolved_toml(scenario);
    const auto same = std::ranges::find(runs_, resolved, &planned_run::resolved);
    if (same != runs_.end()) return static_cast<std::size_t>(same - runs_.begin());
    const auto first = scenario.name + (options_.smoke ? "-smoke" : "") +
                       (options_.seeds.size() > 1 ? fmt::format("-seed={}", scenario.settings.seed) : "");
    auto name = first;
    for (int number = 2; !names_.insert(name).second; ++number) name = fmt::format("{}-{}", first, number);
    runs_.push_back({std::move(name), std::move(scenario), std::move(resolved), false, false, {}});
    return runs_.size() - 1;
  }

  const test_options& options_;
  std::vector<tested> tests_;
  std::vector<planned_run> runs_;
  std::set<std::string> names_;
};

/// Removes a run of an earlier `furlong test`, ended or killed: it runs again with this build. Such a run has its
/// scenario next to it; `furlong run` rejects other folders.
result<void> remove_earlier(const planned_run& run, const workplace& place) {
  if (!std::filesystem::exists(place.path(run, ".toml"))) return {};
  wait_for_earlier(place.path(run, ".stderr"), [&] {
    fmt::print(stderr, "note: {}: waiting until a process of an earlier test has stopped\n", run.name);
  });
  const run_directory folder(place.path(run));
  if (!folder.is_of_run()) return {};
  std::error_code why;
  std::filesystem::remove_all(folder.root(), why);
  if (why) return fail(error::kind::runtime, folder.root().string(), "cannot be removed: " + why.message());
  return {};
}

/// Runs those that have not run. False: interrupted.
result<bool> run_all(const std::vector<std::size_t>& needed, plan& schedule, const workplace& place,
                     const test_options& options) {
  std::vector<child_run> children;
  std::vector<std::size_t> runs;
  for (const auto index : needed) {
    const auto& planned = schedule.run(index);
    if (planned.ended || std::ranges::find(runs, index) != runs.end()) continue;
    if (auto removed = remove_earlier(planned, place); !removed) return tl::unexpected(removed.error());
    const auto scenario = place.path(planned, ".toml");
    if (auto written = write_atomically(scenario, planned.resolved); !written) return tl::unexpected(written.error());
    child_run child{{"run", scenario.string(), "--out", place.path(planned).string(), "--format", "json"},
                    place.path(planned, ".stdout"),
                    place.path(planned, ".stderr")};
    const auto threads = options.threads == 0 && options.jobs != 1 ? 1 : options.threads;
    if (threads > 0) child.arguments.insert(child.arguments.end(), {"--threads", std::to_string(threads)});
    children.push_back(std::move(child));
    runs.push_back(index);
  }
  return run_children(children, or_one_per_core(options.jobs), [&](std::size_t i, const child_end& end) {
    auto& planned = schedule.run(runs[i]);
    planned.ended = true;
    planned.end = end;
  });
}

result<json> summary_of(const planned_run& run, const workplace& place) {
  const auto file = place.path(run) / "summary.json";
  if (run.end.code != done && !(run.end.code == failure && std::filesystem::exists(file)))
    return fail(error::kind::runtime, run.name, fmt::format("its run ended with exit code {}", run.end.code));
  auto summary = read_object(file);
  if (summary.is_null()) return fail(error::kind::data, file.string(), "is missing or no JSON");
  return summary;
}

/// The output of a failed run, a line each, indented.
std::string last_words(const std::filesystem::path& file) {
  std::string text;
  std::string line;
  for (std::istringstream input(text_of(file)); std::getline(input, line);)
    if (!line.empty()) text += "     " + line + "\n";
  return text;
}

/// The exit code for a failed run. CTest skips a test whose data are missing; damaged data must not be treated as
/// missing.
int code_of_failure(int child, const scenarios::scenario& scenario) {
  if (child == data) return scenarios::data_absent(scenario) ? data : usage;
  return child == usage || child == interrupted ? child : failure;
}

result<findings> judge(const tested& test, plan& schedule, const workplace& place) {
  const auto& own = schedule.run(test.run);
  const auto summary = summary_of(own, place);
  if (!summary) return tl::unexpected(summary.error());
  auto found = judge_expectations(test.scenario.expectations, *summary, [&](const std::filesystem::path& baseline) {
    return summary_of(schedule.run(test.baselines.at(baseline)), place);
  });
  auto always = judge_invariants(place.path(own));
  if (!always) return tl::unexpected(always.error());
  if (own.end.code != done)  // a failure that is expected may be a divergence
    std::erase_if(*always, [](const finding& judged) { return judged.name == "finite"; });
  found.insert(found.end(), always->begin(), always->end());
  return found;
}

/// True if the scenario expects that its run ends without a usable result, and it did.
bool failed_as_expected(const tested& test, const planned_run& own, const workplace& place) {
  return own.end.code == failure && std::filesystem::exists(place.path(own) / "summary.json") &&
         std::ranges::find(test.scenario.expectations, "failed", &scenarios::expectation::key) !=
             test.scenario.expectations.end();
}

/// Runs and checks one scenario.
test_result test_one(const tested& test, plan& schedule, const workplace& place, const test_options& options,
                     std::size_t& broken) {
  const bool text = options.format == test_format::text;
  test_result made{test.scenario.name, test.scenario.file, test.scenario.settings.seed};
  const auto fails = [&](const error& why) {
    made.code = report_failure(why);
    made.error = why.text();
    return made;
  };
  if (text) {
    fmt::print("{} ({}{}{})\n", test.scenario.name, for_people(test.scenario.file), options.smoke ? ", smoke" : "",
               options.seeds.size() > 1 ? fmt::format(", seed {}", made.seed) : "");
    std::cout.flush();
    std::fflush(stdout);
  }
  std::vector<std::size_t> needed = {test.run};
  for (const auto& [file, run] : test.baselines) needed.push_back(run);
  const auto ran = run_all(needed, schedule, place, options);
  if (!ran) return fails(ran.error());
  if (!*ran) {
    made.code = interrupted;
    made.error = "stopped";
    return made;
  }
  for (const auto index : needed) {
    auto& run = schedule.run(index);
    if (!std::exchange(run.timed, true)) made.seconds += run.end.seconds;
  }
  for (const auto index : needed) {
    const auto& run = schedule.run(index);
    if (run.end.code == done || (index == test.run && failed_as_expected(test, run, place))) continue;
    ++broken;
    made.code = code_of_failure(run.end.code, run.scenario);
    const auto words = last_words(place.path(run, ".stderr"));
    made.error = fmt::format("{}: its run ended with exit code {}\n{}", run.name, run.end.code, words);
    if (text) fmt::print("FAIL {}", made.error);
    return made;
  }
  auto found = judge(test, schedule, place);
  if (!found) return fails(found.error());
  made.conditions = std::move(*found);
  if (text)
    for (const auto& line : made.conditions) fmt::print("{}\n", line_of(line));
  if (std::ranges::count(made.conditions, false, &finding::held) > 0) made.code = expectation_failed;
  return made;
}

void print_results(const test_results& results, const test_options& options) {
  switch (options.format) {
    case test_format::json: std::cout << json_text(to_json(results)) << '\n'; return;
    case test_format::junit: std::cout << junit_xml(results); return;
    case test_format::text: break;
  }
  if (!results.problems.empty() || results.code == interrupted) return;
  fmt::print("{} scenario{}: {} held, {} failed{}\n", results.scenarios.size(),
             results.scenarios.size() == 1 ? "" : "s", results.count(true), results.count(false),
             results.broken > 0 ? fmt::format(", {} did not run", results.broken) : "");
  if (options.keep && options.out.empty()) fmt::print("kept in {}\n", results.folder);
}

/// Prints bounds for each scenario, from its runs with all seeds.
int propose(plan& planned, const workplace& place, const test_options& options) {
  std::map<std::string, std::vector<proposed_run>> runs;
  for (const auto& test : planned.tests()) {
    const auto& run = planned.run(test.run);
    const auto summary = summary_of(run, place);
    if (!summary || run.end.code != done) {
      fmt::print(stderr, "furlong: {}: its run ended with exit code {}\n{}", run.name, run.end.code,
                 last_words(place.path(run, ".stderr")));
      return code_of_failure(run.end.code, run.scenario);
    }
    auto& known = runs[test.scenario.file];
    if (std::ranges::find(known, test.scenario.settings.seed, &proposed_run::seed) == known.end())
      known.push_back({test.scenario.settings.seed, *summary});
  }
  for (const auto& [file, seeds] : runs)
    fmt::print("# {}\n{}", for_people(file),
               proposed_bounds(options.smoke ? "smoke.expect" : "expect", seeds, options.spread));
  return done;
}

int test_command(const test_options& options) {
  plan schedule(options);
  test_results found;
  found.smoke = options.smoke;
  for (const auto& file : options.scenarios) schedule.add(file, found.problems);
  if (!found.problems.empty()) {
    found.code = report_problems(found.problems);
    print_results(found, options);
    return found.code;
  }
  const auto place = workplace::make(options);
  if (!place) return report_failure(place.error());
  if (options.keep || !options.out.empty()) found.folder = place->root().string();
  if (options.jobs != 1 || options.propose) {
    std::vector<std::size_t> every(schedule.size());
    std::iota(every.begin(), every.end(), std::size_t{0});
    const auto ran = run_all(every, schedule, *place, options);
    if (!ran) return report_failure(ran.error());
    if (!*ran) found.code = interrupted;
  }
  if (options.propose && found.code == done) return propose(schedule, *place, options);
  for (const auto& test : schedule.tests()) {
    if (found.code == interrupted) break;
    found.scenarios.push_back(test_one(test, schedule, *place, options, found.broken));
    found.code = graver(found.code, found.scenarios.back().code);
  }
  if (found.code == interrupted) std::cerr << "furlong: stopped\n";
  print_results(found, options);
  return found.code;
}

}  // namespace

void add_test(CLI::App& app, command& chosen) {
  const auto [sub, options] =
      add_command(app, chosen, "test", "run scenarios and check their expectations and the invariants", test_command);
  sub->add_option("scenarios", options->scenarios, "scenario files")->required()->option_text("SCENARIO...");
  add_overrides(sub, options->overrides);
  repeated(sub->add_option("--seeds,--seed", options->seeds,
                           "replace scenario.seed of all of them and of their baselines: each runs with every seed")
               ->delimiter(',')
               ->transform(seed_number()),
           "N,N,...");
  sub->add_flag("--smoke", options->smoke, "their small variants: the [smoke] table, else three rounds");
  sub->add_option("--out", options->out, "folder of the runs (default: a temporary one)")->option_text("DIR");
  add_jobs(sub, options->jobs, "runs at once; results come when all have ended (default 1)");
  add_threads(sub, options->threads, "scheduler threads of a run (default: one per core, or 1 with --jobs)");
  sub->add_flag("--propose", options->propose,
                "print bounds for [expect] instead of judging: the means over the seeds, and their spread; of one seed "
                "the hash of the model");
  sub->add_option("--spread", options->spread, "of --propose: standard deviations on either side (default 3)")
      ->check(number_between(0.0, 1000.0))
      ->option_text("K");
  sub->add_flag("--keep", options->keep, "do not remove the temporary folder");
  sub->add_option("--format", options->format, "of stdout (default text)")
      ->transform(one_of(test_formats))
      ->option_text("text|json|junit");
}

}  // namespace furlong::tools
