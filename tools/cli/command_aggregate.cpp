// furlong aggregate
#include <fmt/format.h>

#include "actors/federation/processes.hpp"
#include "scenarios/schema/node_scenario.hpp"
#include "scenarios/schema/parts.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/cli/expiry_watch.hpp"
#include "tools/cli/federation.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/messages.hpp"
#include "tools/runs/prepared_run.hpp"
#include "tools/runs/stop_signal.hpp"

namespace furlong::tools {

namespace {

struct aggregate_options {
  std::string server;
  std::string listen;
  std::string advertise;
  std::string operators;
  std::string advertise_operator;
  std::string name;
  std::size_t threads = 2;
  std::vector<std::string> own;  ///< "KEY=FILE"
  double give_up = 0.0;          ///< seconds without a parent; 0: never
  trust_options trust;
  std::string log_level = "info";
};

result<federated::experiment> prepare(const std::vector<scenarios::setting_override>& files,
                                      const federated::protocol::welcome& got) {
  auto scenario = scenarios::parse_node_scenario(got.scenario);
  if (!scenario) return tl::unexpected(scenario.error());
  const auto own = scenarios::aggregator_settings(*scenario, files);
  if (!own) return tl::unexpected(own.error());
  if (!own->empty()) scenario = scenarios::parse_node_scenario(got.scenario, *own);
  if (!scenario) return tl::unexpected(scenario.error());
  if (auto same = scenarios::check_parts(*scenario, got.parts); !same) return tl::unexpected(same.error());
  auto opened = open_without_data(*scenario, got.facts);
  if (opened) opened->run = got.run;
  const auto missing = opened ? std::string() : scenarios::missing_file(*scenario);
  if (missing.empty()) return opened;
  return fail(error::kind::usage, "--own", missing + " is missing, and without it " + opened.error().text(),
              "name it: --own " + missing + "=FILE");
}

int aggregate_command(const aggregate_options& options) {
  if (auto enough = check_open_files(); !enough) return report_failure(enough.error());
  log_to_stderr(options.log_level);
  actors::federation::aggregator_setup setup;
  const auto parent = read_address("--server", options.server);
  if (!parent) return report_failure(parent.error());
  const auto listen = read_address("--listen", options.listen);
  if (!listen) return report_failure(listen.error());
  std::vector used{*parent, *listen};
  if (!options.operators.empty()) {
    const auto operators = read_address("--operator", options.operators);
    if (!operators) return report_failure(operators.error());
    if (auto known = check_advertised("--advertise-operator", options.advertise_operator, *operators); !known)
      return report_failure(known.error());
    setup.operators = *operators;
    used.push_back(*operators);
  }
  if (auto known = check_advertised("--advertise", options.advertise, *listen); !known)
    return report_failure(known.error());
  if (auto safe = check_trust(options.trust, used); !safe) return report_failure(safe.error());
  auto credentials = load_operator(options.trust);
  if (!credentials) return report_failure(credentials.error());
  setup.parent = *parent;
  setup.listen = *listen;
  setup.advertise = options.advertise;
  setup.advertise_operators = options.advertise_operator;
  setup.tls = std::move(*credentials);
  setup.name = !options.name.empty() ? options.name
               : setup.tls           ? setup.tls->operator_tier.facts.common_name
                                     : options.listen;
  if (auto fit = check_name(setup.name); !fit) return report_failure(fit.error());
  setup.threads = options.threads;
  setup.give_up = options.give_up;
  const auto files = scenarios::read_own_files(options.own);
  if (!files) return report_failure(files.error());
  setup.prepare = [&](const federated::protocol::welcome& got) { return prepare(*files, got); };
  setup.on_listening = [](std::uint16_t port, std::uint16_t operators) {
    fmt::print(stderr, "furlong: nodes join at port {}\n", port);
    if (operators != 0) fmt::print(stderr, "furlong: aggregators join at port {}\n", operators);
    std::fflush(stderr);
  };
  const expiry_watch watch(tiers_of(setup.tls));
  watch_for_stop(stops_after_work);
  const auto ended = actors::federation::run_aggregator(stop_requested(), setup);
  if (!ended) return report_failure(ended.error());
  fmt::print(stderr, "furlong: {}\n", for_people(*ended));
  return stop_requested() ? interrupted : done;
}

}  // namespace

void add_aggregate(CLI::App& app, command& chosen) {
  const auto [sub, options] =
      add_command(app, chosen, "aggregate", "aggregate the updates of nodes for a server", aggregate_command);
  sub->add_option("--server", options->server, "the --operator address of the server, or of an aggregator")
      ->required()
      ->option_text("HOST:PORT");
  sub->add_option("--listen", options->listen, "where nodes join; port 0: one that is free")
      ->required()
      ->option_text("HOST:PORT");
  sub->add_option("--advertise", options->advertise, "where nodes reach it, if not at --listen")
      ->option_text("HOST:PORT");
  auto* operators = sub->add_option("--operator", options->operators, "where other aggregators join (default: nowhere)")
                        ->option_text("HOST:PORT");
  sub->add_option("--advertise-operator", options->advertise_operator, "where they reach it, if not at --operator")
      ->needs(operators)
      ->option_text("HOST:PORT");
  repeated(sub->add_option("--own", options->own,
                           "this aggregator's own file of another key of the model, the algorithm or the rule"),
           "KEY=FILE");
  sub->add_option("--name", options->name, "in logs (default: of the certificate)")->option_text("NAME");
  add_trust(sub, options->trust);
  add_threads(sub, options->threads, "scheduler threads (default 2)");
  add_give_up(sub, options->give_up);
  add_log_level(sub, options->log_level, "of stderr (default info)");
}

}  // namespace furlong::tools
