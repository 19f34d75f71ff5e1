#include "tools/cli/command_line.hpp"

namespace furlong::tools {

namespace {

void add_trust(CLI::App* to, trust_options& trust) {
  to->add_option("--tls", trust.tls, "folder that `certs issue` made for this process")->option_text("DIR");
  to->add_flag("--insecure", trust.insecure, "neither encrypt nor authenticate; on this machine only");
  to->add_flag("--i-know", trust.i_know, "with --insecure: beyond this machine too");
}

void add_threads(CLI::App* to, std::size_t& threads, const std::string& doc) {
  to->add_option("--threads", threads, doc)->check(CLI::Range(1, 1024))->option_text("N");
}

void add_give_up(CLI::App* to, double& give_up) {
  to->add_option("--give-up", give_up, "fail after so long without a session; 0: try forever (default 0)")
      ->check(CLI::Range(0.0, 1e9))
      ->option_text("SECONDS");
}

void add_serve(CLI::App& app, command& chosen) {
  auto options = std::make_shared<serve_options>();
  auto& run = options->run;
  auto* sub = app.add_subcommand("serve", "run a scenario over nodes that join");
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
  sub->add_option("--seed", run.seed, "replaces scenario.seed")->transform(seed_number())->option_text("N");
  sub->add_option("--out", run.out, "run directory (default runs/NAME-SEED)")->option_text("DIR");
  add_threads(sub, run.threads, "scheduler threads (default: one per core)");
  sub->add_flag("--resume", run.resume, "go on from the checkpoint in the run directory");
  sub->add_option("--ledger", options->ledger, "append a line with the updates of each version to this file")
      ->option_text("FILE");
  add_log_level(sub, run.log_level, "of log.txt (default info)");
  add_format(sub, run.format);
  sub->callback([options, &chosen] { chosen = [options] { return serve_command(*options); }; });
}

void add_aggregate(CLI::App& app, command& chosen) {
  auto options = std::make_shared<aggregate_options>();
  auto* sub = app.add_subcommand("aggregate", "aggregate the updates of nodes for a server");
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
  sub->add_option("--name", options->name, "in logs (default: of the certificate)")->option_text("NAME");
  add_trust(sub, options->trust);
  add_threads(sub, options->threads, "scheduler threads (default 2)");
  add_give_up(sub, options->give_up);
  add_log_level(sub, options->log_level, "of stderr (default info)");
  sub->callback([options, &chosen] { chosen = [options] { return aggregate_command(*options); }; });
}

void add_join(CLI::App& app, command& chosen) {
  auto options = std::make_shared<join_options>();
  auto* sub = app.add_subcommand("join", "host clients: their data and private values stay here");
  sub->add_option("--server", options->server, "the server's --listen address")->required()->option_text("HOST:PORT");
  sub->add_option("--clients", options->clients, "hosted by this node")->required()->option_text("FIRST-LAST");
  sub->add_option("--data", options->data, "their data, where the scenario's source reads files")->option_text("DIR");
  sub->add_option("--store", options->store, "their private values")->required()->option_text("DIR");
  sub->add_option("--python", options->problem, "this node's own data and model, where the run needs them")
      ->option_text("FILE.py:CLASS");
  sub->add_option("--key-file", options->key_file, "encrypts the store; made when it does not exist")
      ->option_text("FILE");
  sub->add_flag("--accept-changed-data", options->accept_changed_data,
                "continue with data that have changed since the node first took part; they are split again");
  sub->add_flag("--require-secure-aggregation", options->secure_only, "join no run without privacy.secure_aggregation");
  sub->add_flag("--accept-state-loss", options->accept_state_loss,
                "restart clients whose private values were lost or are no longer valid");
  add_trust(sub, options->trust);
  sub->add_flag("--operator-trust", options->operator_trust,
                "a node of the operator: --server is its --operator address, --tls an aggregator's folder");
  add_threads(sub, options->threads, "clients that train at once (default 1)");
  add_give_up(sub, options->give_up);
  add_log_level(sub, options->log_level, "of stderr (default info)");
  sub->callback([options, &chosen] { chosen = [options] { return join_command(*options); }; });
}

}  // namespace

void add_federation(CLI::App& app, command& chosen) {
  add_serve(app, chosen);
  add_aggregate(app, chosen);
  add_join(app, chosen);
}

}  // namespace furlong::tools
