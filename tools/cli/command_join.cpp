// furlong join
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "actors/federation/processes.hpp"
#include "actors/tls/identity.hpp"
#include "federated/client/secure_update.hpp"
#include "federated/settings/aggregation.hpp"
#include "scenarios/schema/node_scenario.hpp"
#include "scenarios/schema/parts.hpp"
#include "scenarios/schema/run_terms.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/cli/expiry_watch.hpp"
#include "tools/cli/federation.hpp"
#include "tools/cli/try_problem.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/messages.hpp"
#include "tools/runs/node_store.hpp"
#include "tools/runs/prepared_run.hpp"
#include "tools/runs/stop_signal.hpp"

namespace furlong::tools {

namespace {

struct join_options {
  std::string server;
  std::string clients;
  std::filesystem::path data;
  std::filesystem::path store;
  /// For a run whose data and model, or whose algorithm, are a Python class.
  scenarios::node_classes python;
  std::filesystem::path key_file;
  std::vector<std::string> own;  ///< "KEY=FILE"
  bool accept_changed_data = false;
  bool accept_changed_code = false;
  std::vector<std::string> require;
  bool accept_state_loss = false;
  std::size_t threads = 1;
  double give_up = 0.0;  ///< seconds without a session; 0: never
  trust_options trust;
  bool operator_trust = false;
  std::string log_level = "info";
};

using federated::client_range;
using federated::protocol::welcome;

bool same(const models::data_facts& a, const models::data_facts& b) {
  return a.features == b.features && a.clients == b.clients && a.labels == b.labels && a.classes == b.classes &&
         a.words == b.words;
}

result<actors::federation::prepared_run> prepare(const join_options& options,
                                                 const std::vector<scenarios::run_term>& terms,
                                                 const std::vector<scenarios::setting_override>& files,
                                                 const client_range& clients, const welcome& got) {
  auto scenario = scenarios::parse_node_scenario(got.scenario);
  if (!scenario) return tl::unexpected(scenario.error());
  if (auto kept = scenarios::check_terms(terms, *scenario); !kept) return tl::unexpected(kept.error());
  const auto described = scenarios::run_id(*scenario);
  auto own = scenarios::own_settings(*scenario, options.data, options.python, options.key_file, files);
  if (!own) return tl::unexpected(own.error());
  scenario = scenarios::parse_node_scenario(got.scenario, *own);
  if (!scenario) return tl::unexpected(scenario.error());
  if (auto fits = scenarios::check_size(*scenario, got.facts); !fits) return tl::unexpected(fits.error());
  if (auto same = scenarios::check_parts(*scenario, got.parts); !same) return tl::unexpected(same.error());
  auto opened = open_prepared_run(std::move(*scenario), clients_are::on_nodes, clients);
  if (!opened) return tl::unexpected(opened.error());
  for (const auto& note : opened->data.notes) spdlog::warn("{}", note);
  if (auto works = try_problem(*opened, options.threads, clients); !works) return tl::unexpected(works.error());
  auto& experiment = opened->experiment;
  const auto here = experiment.clients->facts();
  if (!same(here, got.facts))
    return fail(error::kind::data, options.data.string(),
                fmt::format("has {} clients and {} features, and the server's data {} and {}", here.clients,
                            here.features, got.facts.clients, got.facts.features),
                "give this node the data that the scenario is about");
  experiment.run = got.run;
  experiment.terms = federated::terms_of(got.run, got.scenario, got.facts);
  auto data = digest_of(opened->data, experiment.settings);
  if (!data) return tl::unexpected(data.error());
  auto store = open_node_store(
      experiment, got,
      {options.store, clients, std::move(*data), described, opened->code, options.accept_changed_data,
       options.accept_state_loss, options.accept_changed_code ? code_change::accepted : code_change::offered});
  if (!store) return tl::unexpected(store.error());
  return actors::federation::prepared_run{std::move(experiment), std::move(store->values), store->claim,
                                          std::move(store->note_served), std::move(store->confirmed)};
}

/// Checks the node's own files before the connection; returns the claim about its store.
result<void> check_own(const join_options& options, const client_range& clients,
                       actors::federation::node_setup& setup) {
  if (setup.tls) {
    const auto& allowed = setup.tls->identity.clients;
    if (!allowed.contains(clients.first) || !allowed.contains(clients.last))
      return fail(error::kind::usage, "--clients",
                  fmt::format("{} are not all of the certificate in {}, which is for {}", options.clients,
                              options.trust.tls.string(), actors::tls::to_string(allowed)),
                  "name clients of these, or issue a certificate for more");
  }
  if (!options.data.empty() && !std::filesystem::exists(options.data))
    return fail(error::kind::data, options.data.string(), "the folder does not exist",
                "name the folder with the data of this node's clients");
  auto claim = check_node_store(options.store, options.key_file, clients);
  if (!claim) return tl::unexpected(claim.error());
  setup.claim = *claim;
  setup.claim.accepts_loss = options.accept_state_loss;
  return {};
}

/// A node certificate, or one of the operator's tier.
result<void> load_credentials(const join_options& options, actors::federation::node_setup& setup) {
  setup.at_operator_port = options.operator_trust;
  if (options.operator_trust) {
    auto loaded = load_operator(options.trust);
    if (!loaded) return tl::unexpected(loaded.error());
    setup.operator_tls = std::move(*loaded);
    return {};
  }
  auto loaded = load_node(options.trust);
  if (!loaded) return tl::unexpected(loaded.error());
  setup.tls = std::move(*loaded);
  return {};
}

int join_command(const join_options& options) {
  if (auto enough = check_open_files(); !enough) return report_failure(enough.error());
  log_to_stderr(options.log_level);
  actors::federation::node_setup setup;
  const auto server = read_address("--server", options.server);
  if (!server) return report_failure(server.error());
  if (auto safe = check_trust(options.trust, {*server}); !safe) return report_failure(safe.error());
  if (auto loaded = load_credentials(options, setup); !loaded) return report_failure(loaded.error());
  const auto clients = read_clients(options.clients);
  if (!clients) return report_failure(clients.error());
  if (auto sound = check_own(options, *clients, setup); !sound) return report_failure(sound.error());
  std::vector<scenarios::run_term> terms;
  for (const auto& text : options.require) {
    auto term = scenarios::read_term(text);
    if (!term) return report_failure(term.error());
    terms.push_back(std::move(*term));
  }
  const auto files = scenarios::read_own_files(options.own);
  if (!files) return report_failure(files.error());
  setup.server = *server;
  setup.clients = *clients;
  setup.threads = options.threads;
  setup.give_up = options.give_up;
  setup.prepare = [&](const welcome& got) { return prepare(options, terms, *files, *clients, got); };
  const expiry_watch watch(setup.at_operator_port ? tiers_of(setup.operator_tls) : tiers_of(setup.tls));
  watch_for_stop(stops_after_work);
  const auto ended = actors::federation::run_node(stop_requested(), setup);
  if (!ended) return report_failure(ended.error());
  fmt::print(stderr, "furlong: {}\n", for_people(*ended));
  return stop_requested() ? interrupted : done;
}

}  // namespace

void add_join(CLI::App& app, command& chosen) {
  const auto [sub, options] =
      add_command(app, chosen, "join", "host clients: their data and private values stay here", join_command);
  sub->add_option("--server", options->server, "the server's --listen address")->required()->option_text("HOST:PORT");
  sub->add_option("--clients", options->clients, "hosted by this node")->required()->option_text("FIRST-LAST");
  sub->add_option("--data", options->data, "their data, where the scenario's source reads files")->option_text("DIR");
  sub->add_option("--store", options->store, "their private values")->required()->option_text("DIR");
  sub->add_option("--python", options->python.problem, "this node's own data and model, where the run needs them")
      ->option_text("FILE.py:CLASS");
  sub->add_option("--algorithm", options->python.algorithm, "this node's own algorithm, where the run needs it")
      ->option_text("FILE.py:CLASS");
  sub->add_option("--devices", options->python.devices, "this node's own devices, such as cuda:0,cuda:1")
      ->delimiter(',')
      ->option_text("DEVICES");
  repeated(sub->add_option("--own", options->own,
                           "this node's own file of another key of the data, the model, the algorithm or the rule"),
           "KEY=FILE");
  sub->add_option("--key-file", options->key_file, "encrypts the store; made when it does not exist")
      ->option_text("FILE");
  sub->add_flag("--accept-changed-data", options->accept_changed_data,
                "continue with data that have changed since the node first took part; they are split again");
  add_accept_changed_code(sub, options->accept_changed_code);
  repeated(sub->add_option("--require", options->require,
                           "join no run whose scenario breaks this term, KEY=VALUE, KEY>=NUMBER or KEY<=NUMBER"),
           "TERM");
  sub->add_flag("--accept-state-loss", options->accept_state_loss,
                "restart clients whose private values were lost or are no longer valid");
  add_trust(sub, options->trust);
  sub->add_flag("--operator-trust", options->operator_trust,
                "a node of the operator: --server is its --operator address, --tls an aggregator's folder");
  add_threads(sub, options->threads, "clients that train at once (default 1)");
  add_give_up(sub, options->give_up);
  add_log_level(sub, options->log_level, "of stderr (default info)");
}

}  // namespace furlong::tools
