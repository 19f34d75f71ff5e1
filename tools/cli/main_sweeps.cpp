// The command line of sweep and tune.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/cli/command_line.hpp"
#include "tools/cli/commands.hpp"

namespace furlong::tools {

namespace {

/// An option that may be given often, with one value each.
CLI::Option* repeated(CLI::Option* option, const std::string& value) {
  return option->option_text(value)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

/// --grid and --with. The returned function gives them in the order of the command line, once it is parsed.
std::function<std::vector<grid_option>()> add_grid(CLI::App* to) {
  auto texts = std::make_shared<std::map<bool, std::vector<std::string>>>();
  const auto* grid =
      repeated(to->add_option("--grid", (*texts)[false], "values of a key; several keys make every combination"),
               "key=v1,v2,...");
  const auto* with = repeated(to->add_option("--with", (*texts)[true],
                                             "values of a further key that change together with those of the --grid "
                                             "before it, the first with the first"),
                              "key=w1,w2,...");
  return [to, texts, grid, with] {
    std::vector<grid_option> ordered;
    std::map<bool, std::size_t> next;
    for (const auto* option : to->parse_order())
      if (option == grid || option == with) {
        const bool tied = option == with;
        ordered.push_back({texts->at(tied).at(next[tied]++), tied});
      }
    return ordered;
  };
}

void add_seeds(CLI::App* to, std::vector<std::uint64_t>& seeds, const std::string& doc) {
  repeated(to->add_option("--seeds", seeds, doc)->delimiter(',')->transform(seed_number()), "N,N,...");
}

void add_processes(CLI::App* to, std::size_t& jobs, std::size_t& threads) {
  to->add_option("--jobs", jobs, "runs at once (default: one per core)")->check(CLI::Range(1, 1024))->option_text("N");
  to->add_option("--threads", threads, "scheduler threads of a run (default 1)")
      ->check(CLI::Range(1, 1024))
      ->option_text("N");
}

constexpr auto small_variant = "the small variant: the [smoke] table, else three rounds";

void add_sweep(CLI::App& app, command& chosen) {
  auto options = std::make_shared<sweep_options>();
  auto* sub = app.add_subcommand("sweep", "run scenarios for every combination of some values, and compare");
  sub->add_option("scenarios", options->what.scenarios, "scenario files, each with a name of its own")
      ->required()
      ->option_text("SCENARIO...");
  const auto grid = add_grid(sub);
  add_seeds(sub, options->what.seeds, "runs every combination with each of them");
  add_overrides(sub, options->what.overrides);
  sub->add_option("--out", options->out, "folder of the runs (default runs/NAME-sweep, NAME of the first scenario)")
      ->option_text("DIR");
  add_processes(sub, options->jobs, options->threads);
  sub->add_flag("--smoke", options->what.smoke, small_variant);
  add_format(sub, options->format);
  sub->callback([options, grid, &chosen] {
    options->what.grid = grid();
    chosen = [options] { return sweep_command(*options); };
  });
}

void add_tune(CLI::App& app, command& chosen) {
  auto options = std::make_shared<tune_options>();
  options->what.scenarios.resize(1);
  auto* sub =
      app.add_subcommand("tune", "find the best of many settings by the validation clients, at a part of the cost");
  sub->add_option("scenario", options->what.scenarios.front(), "scenario file")->required()->option_text("SCENARIO");
  const auto grid = add_grid(sub);
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
  add_seeds(sub, options->what.seeds, "trains every setting with each of them, and compares the means");
  add_overrides(sub, options->what.overrides);
  sub->add_option("--out", options->out, "folder of the runs (default runs/NAME-tune)")->option_text("DIR");
  add_processes(sub, options->jobs, options->threads);
  sub->add_flag("--smoke", options->what.smoke, small_variant);
  add_format(sub, options->format);
  sub->callback([options, grid, &chosen] {
    options->what.grid = grid();
    chosen = [options] { return tune_command(*options); };
  });
}

}  // namespace

void add_sweeps(CLI::App& app, command& chosen) {
  add_sweep(app, chosen);
  add_tune(app, chosen);
}

}  // namespace furlong::tools
