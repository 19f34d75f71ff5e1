// furlong serve
#include <fmt/format.h>
#include <iostream>
#include <spdlog/spdlog.h>
#include <thread>

#include "actors/federation/processes.hpp"
#include "actors/federation/run_log.hpp"
#include "federated/client/secure_update.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/attack.hpp"
#include "federated/settings/evaluation.hpp"
#include "scenarios/schema/node_scenario.hpp"
#include "scenarios/schema/parts.hpp"
#include "tools/cli/closing_table.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/cli/expiry_watch.hpp"
#include "tools/cli/federation.hpp"
#include "tools/cli/serve_board.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/messages.hpp"
#include "tools/runs/run_outputs.hpp"
#include "tools/runs/run_start.hpp"
#include "tools/runs/stop_signal.hpp"

namespace furlong::tools {

namespace {

struct serve_options {
  run_options run;  ///< scenario, overrides, seed, out, threads, resume, format, log_level
  std::string listen;
  std::string operators;         ///< empty: no aggregators
  std::string dashboard;         ///< empty: none
  std::filesystem::path ledger;  ///< of aggregated updates; empty: none
  trust_options trust;
};

using actors::federation::server_setup;

result<server_setup> make_setup(const serve_options& options) {
  server_setup setup;
  auto listen = read_address("--listen", options.listen);
  if (!listen) return tl::unexpected(listen.error());
  setup.listen = *listen;
  std::vector<actors::net::host_port> addresses{*listen};
  if (!options.operators.empty()) {
    auto port = read_address("--operator", options.operators);
    if (!port) return tl::unexpected(port.error());
    setup.operators = *port;
    addresses.push_back(*port);
  }
  if (auto safe = check_trust(options.trust, addresses); !safe) return tl::unexpected(safe.error());
  auto credentials = load_operator(options.trust);
  if (!credentials) return tl::unexpected(credentials.error());
  setup.tls = std::move(*credentials);
  setup.threads = options.run.threads > 0 ? options.run.threads : std::max(2U, std::thread::hardware_concurrency());
  return setup;
}

/// Notes parts of a scenario that nodes decide themselves.
void print_what_is_simulated(const scenarios::scenario& scenario) {
  for (const auto& [key, place] : scenario.places)
    if (key.starts_with("devices.") || key.starts_with("dropout."))
      fmt::print(stderr, "note: {} has no effect: clients are on nodes and not simulated\n", key);
  if (scenario.records.contains("event"))
    fmt::print(stderr, "note: [[event]] has no effect: a server cannot inject faults into real nodes\n");
  if (scenario.values.integer("checkpoint.keep") > 0)
    fmt::print(stderr, "note: checkpoint.keep has no effect: private values are on nodes\n");
}

/// Notes that clients who may be anybody are hardly bounded, where they could be.
void print_wide_limits(const federated::run_settings& settings) {
  const auto bound = settings.aggregation->norm_bound;
  if (bound == federated::norm_bound_kind::clip || settings.algorithm->traits.exact_state ||
      settings.privacy->clip > 0 || settings.privacy->secure_aggregation)
    return;
  fmt::print(stderr,
             "note: algorithm.aggregation.norm_bound is \"{}\", which accepts updates many times as large as others: "
             "with \"clip\" a few hostile clients do little harm\n",
             bound == federated::norm_bound_kind::fixed ? "fixed" : "adaptive");
}

/// The observer with a ledger of the updates in each version; must outlive it.
federated::run_observer keeping(fold_ledger& ledger, federated::run_observer observer) {
  observer.on_round = [&ledger, next = std::move(observer.on_round)](const federated::round_report& report) {
    if (auto added = ledger.add(report); !added) return added;
    return next(report);
  };
  return observer;
}

/// The listening ports: opened before the run has a folder.
struct open_ports {
  std::unique_ptr<actors::federation::server> server;
  std::unique_ptr<serve_board> board;  ///< null: there is no dashboard
};

result<open_ports> listen(const prepared_run& run, const serve_options& options, server_setup setup) {
  open_ports opened;
  if (!options.dashboard.empty()) {
    auto board = serve_board::open(options.dashboard, run);
    if (!board) return tl::unexpected(board.error());
    opened.board = std::move(*board);
  }
  auto server = actors::federation::server::open(run.experiment, std::move(setup));
  if (!server) return tl::unexpected(server.error());
  opened.server = std::move(*server);
  return opened;
}

/// A finished run does not wait for clients. Reports how it ended.
int tell_end(const run_directory& folder, const json& summary, output_format format) {
  const auto place = folder.root().string();
  // Not the exit code of a failing run, after which a supervisor may retry: a retry would not help.
  if (const auto failed = summary.value("failed", ""); !failed.empty())
    return report_failure(
        {error::kind::usage, place, "the run is over, and failed: " + failed, "start another run in another --out"});
  if (format == output_format::json) std::cout << json_text(summary) << '\n';
  fmt::print(stderr, "furlong: {}: the run is over, after {} rounds; raise scenario.rounds to continue\n", place,
             summary.value("rounds", std::uint64_t{0}));
  return done;
}

int serve(const prepared_run& run, run_directory& folder, const serve_options& options, const open_ports& ports,
          const std::vector<actors::tls::tier_credentials>& tiers) {
  watch_for_stop(stops_after_round);  // from here on there is a folder
  auto start = begin_run(run, folder, options.run.resume, options.run.log_level, store_holder::nodes);
  if (!start) return report_failure(start.error());
  actors::federation::log_run(run.experiment.run);
  spdlog::default_logger()->flush_on(spdlog::level::info);  // connections are observed while the server runs
  auto outputs = run_outputs::open(folder, start->state, run.experiment);
  if (!outputs) return report_failure(outputs.error());
  auto observer = (*outputs)->observer();
  std::optional<fold_ledger> ledger;
  if (!options.ledger.empty()) {
    auto opened = fold_ledger::open(options.ledger, start->state);
    if (!opened) return report_failure(opened.error());
    ledger.emplace(std::move(*opened));
    observer = keeping(*ledger, std::move(observer));
  }
  actors::federation::server_watcher watcher;
  if (ports.board) {
    observer = ports.board->watching(std::move(observer));
    watcher.on_tick = [&ports](const actors::federation::federation_view& view) { ports.board->show(view); };
    fmt::print(stderr, "furlong: dashboard at {}\n", ports.board->server().url());
    if (const auto caution = ports.board->server().caution(); !caution.empty()) spdlog::warn("{}", caution);
  }
  watcher.on_listening = [](std::uint16_t gateway, std::uint16_t operators) {
    spdlog::info("nodes: port {}; aggregators: {}", gateway, operators == 0 ? "none" : std::to_string(operators));
    fmt::print(stderr, "furlong: nodes join at port {}{}\n", gateway,
               operators == 0 ? "" : fmt::format(", aggregators at port {}", operators));
    std::fflush(stderr);
  };
  watcher.on_waiting = [](const std::string& text) {
    spdlog::info("{}", text);
    fmt::print(stderr, "furlong: {}\n", text);
  };
  const expiry_watch watch(tiers);
  auto outcome = ports.server->run(std::move(start->state), observer, watcher, stop_requested());
  if (auto written = (*outputs)->finish(); !written) return report_failure(written.error());
  return end_run(run, folder, outcome, *start->store, options.run.format);
}

int serve_command(const serve_options& options) {
  stop_before_work();
  if (auto enough = check_open_files(); !enough) return report_failure(enough.error());
  auto setup = make_setup(options);
  if (!setup) return report_failure(setup.error());
  auto overrides = options.run.overrides;
  if (options.run.seed) overrides.push_back(seed_override(*options.run.seed));
  auto scenario = scenarios::parse_scenario(options.run.scenario, overrides);
  if (!scenario) return report_problems(scenario.error());
  const auto& algorithm = *scenario->settings.algorithm;
  if (!algorithm.traits.sends)
    return report_failure({error::kind::usage, "algorithm.kind",
                           "is " + algorithm.kind + ", which sends nothing to clients", "use furlong run"});
  if (algorithm.traits.sees_updates)
    return report_failure({error::kind::usage, "python.algorithm",
                           "has cohort(), which sees the updates of single clients: not in a federation",
                           "use furlong run, or a class with step() alone"});
  if (scenario->settings.attack->entry != nullptr)
    return report_failure({error::kind::usage, "attack.kind", "is set, and attacks are simulated: not in a federation",
                           "remove it, or use furlong run"});
  if (const auto& rule = scenario->settings.aggregation->rule; rule.traits.holds_updates)
    return report_failure({error::kind::usage, "algorithm.aggregation.rule",
                           "is " + rule.kind + ", which needs the updates of single clients: not in a federation",
                           "use furlong run, or a rule of sums, such as buckets"});
  if (scenario->settings.evaluation->groups.at(static_cast<std::size_t>(federated::group::train)))
    return report_failure({error::kind::usage, "evaluation.groups",
                           "has \"train\": nodes do not score the examples that their clients train on",
                           "remove it, or use furlong run"});
  run_directory folder(options.run.out.empty() ? std::filesystem::path("runs") /
                                                     (scenario->name + "-" + std::to_string(scenario->settings.seed))
                                               : options.run.out);
  if (!options.run.resume && !folder.vacant()) return report_failure(folder.create(or_resume).error());
  print_what_is_simulated(*scenario);
  auto ready = open_prepared_run(std::move(*scenario), clients_are::on_nodes);
  if (!ready) return report_failure(ready.error());
  auto& experiment = ready->experiment;
  setup->scenario = scenarios::node_toml(ready->scenario);
  setup->parts = scenarios::code_text(scenarios::told_parts_of(ready->scenario));
  experiment.terms = federated::terms_of(experiment.run, setup->scenario, experiment.clients->facts());
  for (const auto& note : ready->scenario.notes) fmt::print(stderr, "note: {}\n", for_people(note));
  print_wide_limits(experiment.settings);
  if (options.run.accept_changed_code) ready->change = code_change::accepted;
  if (options.run.resume) {
    const auto end = find_end(*ready, folder, store_holder::nodes);
    if (!end) return report_failure(end.error());
    if (!end->is_null()) return tell_end(folder, *end, options.run.format);
  }
  const auto tiers = tiers_of(setup->tls);
  const auto ports = listen(*ready, options, std::move(*setup));
  if (!ports) return report_failure(ports.error());
  return serve(*ready, folder, options, *ports, tiers);
}

}  // namespace

void add_serve(CLI::App& app, command& chosen) {
  const auto [sub, options] = add_command(app, chosen, "serve", "run a scenario over nodes that join", serve_command);
  auto& run = options->run;
  sub->add_option("scenario", run.scenario, "scenario file")->required()->option_text("SCENARIO");
  sub->add_option("--listen", options->listen, "where nodes join; port 0: one that is free")
      ->required()
      ->option_text("HOST:PORT");
  sub->add_option("--operator", options->operators, "where aggregators join (default: nowhere)")
      ->option_text("HOST:PORT");
  sub->add_option("--dashboard", options->dashboard, "where a page shows the state (default: nowhere)")
      ->option_text("HOST:PORT");
  add_trust(sub, options->trust);
  add_overrides(sub, run.overrides);
  add_seed(sub, run.seed, "replaces scenario.seed");
  sub->add_option("--out", run.out, "run directory (default runs/NAME-SEED)")->option_text("DIR");
  add_threads(sub, run.threads, "scheduler threads (default: one per core)");
  sub->add_flag("--resume", run.resume,
                "go on from the checkpoint in the run directory; if there is no run yet, start it with a warning");
  add_accept_changed_code(sub, run.accept_changed_code);
  sub->add_option("--ledger", options->ledger, "append a line with the updates of each version to this file")
      ->option_text("FILE");
  add_log_level(sub, run.log_level, "of log.txt (default info)");
  add_format(sub, run.format);
}

}  // namespace furlong::tools
