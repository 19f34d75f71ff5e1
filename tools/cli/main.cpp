#include "tools/cli/main.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fmt/format.h>
#include <functional>
#include <iostream>
#include <new>
#include <spdlog/spdlog.h>
#include <sstream>
#include <sys/resource.h>

#include "federated/settings/devices.hpp"
#include "scenarios/python/trainer_output.hpp"
#include "tools/cli/audit.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/failure.hpp"
#include "tools/cli/messages.hpp"
#include "tools/cli/version.hpp"

namespace furlong::tools {

namespace {

const std::map<std::string, engine_kind> engines = {{"actors", engine_kind::actors},
                                                    {"reference", engine_kind::reference}};
const std::map<std::string, federated::availability_kind> trace_kinds = {
    {"diurnal", federated::availability_kind::diurnal},
    {"markov", federated::availability_kind::markov},
    {"bernoulli", federated::availability_kind::bernoulli},
    {"always", federated::availability_kind::always}};
const std::map<std::string, scenarios::foreign_trace> foreign_traces = {
    {"auto", scenarios::foreign_trace::automatic},
    {"fedscale", scenarios::foreign_trace::fedscale},
    {"flash", scenarios::foreign_trace::flash}};
const std::map<std::string, test_format> test_formats = {
    {"text", test_format::text}, {"json", test_format::json}, {"junit", test_format::junit}};
const std::map<std::string, certs::role> certificate_roles = {
    {"server", certs::role::server}, {"aggregator", certs::role::aggregator}, {"node", certs::role::node}};

void add_run(CLI::App& app, command& chosen) {
  auto options = std::make_shared<run_options>();
  auto* sub = app.add_subcommand("run", "run a scenario");
  sub->add_option("scenario", options->scenario, "scenario file")->required()->option_text("SCENARIO");
  add_overrides(sub, options->overrides);
  sub->add_option("--seed", options->seed, "replaces scenario.seed")->transform(seed_number())->option_text("N");
  sub->add_option("--out", options->out, "run directory (default runs/NAME-SEED)")->option_text("DIR");
  sub->add_option("--threads", options->threads, "scheduler threads (default: one per core)")
      ->check(CLI::Range(1, 1024))
      ->option_text("N");
  sub->add_flag("--resume", options->resume, "go on from the checkpoint in the run directory");
  sub->add_option("--stop-after", options->stop_after,
                  "evaluate and stop after this round, with exit code 5; --resume goes on")
      ->transform(whole_number(1, UINT32_MAX))
      ->option_text("ROUND");
  sub->add_option("--engine", options->engine,
                  "actors, or one thread without them: under the real clock the plain loop that reads "
                  "like the papers, in virtual time the same timeline")
      ->transform(one_of(engines))
      ->option_text("actors|reference");
  add_log_level(sub, options->log_level, "of log.txt (default info)");
  add_format(sub, options->format);
  sub->callback([options, &chosen] { chosen = [options] { return run_command(*options); }; });
}

void add_validate(CLI::App& app, command& chosen) {
  auto options = std::make_shared<validate_options>();
  auto* sub = app.add_subcommand("validate", "find everything that is wrong with a scenario, without running it");
  sub->add_option("scenario", options->scenario, "scenario file")->required()->option_text("SCENARIO");
  add_overrides(sub, options->overrides);
  add_format(sub, options->format);
  sub->callback([options, &chosen] { chosen = [options] { return validate_command(*options); }; });
}

void add_replay(CLI::App& app, command& chosen) {
  auto options = std::make_shared<replay_options>();
  auto* sub = app.add_subcommand("replay", "train a run again as if some clients had never reported");
  sub->add_option("run", options->run, "directory of a run that has ended")->required()->option_text("RUN");
  sub->add_option("--without", options->without, "the clients, such as 3,17,20-25")
      ->required()
      ->delimiter(',')
      ->option_text("CLIENTS")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  auto* each = sub->add_flag("--each", options->each,
                             "one replay without each of them, and a table of the influence of each on the evaluation");
  sub->add_option("--out", options->out, "folder of the replay (default: RUN-without-CLIENT; --each: RUN-influence)")
      ->option_text("DIR");
  sub->add_option("--threads", options->threads, "scheduler threads of a replay (default: one per core; --each: 1)")
      ->check(CLI::Range(1, 1024))
      ->option_text("N");
  sub->add_option("--jobs", options->jobs, "with --each: replays at once (default: one per core)")
      ->check(CLI::Range(1, 1024))
      ->option_text("N")
      ->needs(each);
  add_log_level(sub, options->log_level, "of log.txt (default info)");
  add_format(sub, options->format);
  sub->callback([options, &chosen] { chosen = [options] { return replay_command(*options); }; });
}

void add_store(CLI::App& app, command& chosen) {
  auto* sub = app.add_subcommand("store", "look into a run's private store, or erase a client from it");
  sub->require_subcommand(1);
  struct action_line {
    const char* name;
    const char* what;
    store_action action;
    bool names_client;
  };
  for (const auto& line :
       {action_line{"ls", "list the clients that have private values", store_action::list, false},
        action_line{"show", "show a client's values", store_action::show, true},
        action_line{"erase", "erase a client: no byte of its values remains", store_action::erase, true},
        action_line{"verify", "check every record and every file", store_action::verify, false}}) {
    auto options = std::make_shared<store_options>();
    options->action = line.action;
    auto* act = sub->add_subcommand(line.name, line.what);
    act->add_option("place", options->place, "run directory or store")->required()->option_text("RUN-OR-STORE");
    act->add_option("--key-file", options->key_file, "key of an encrypted store; default: the run's private.key_file")
        ->option_text("FILE");
    if (line.names_client)
      act->add_option("--client", options->client, "its number")
          ->required()
          ->transform(client_number())
          ->option_text("ID");
    add_format(act, options->format);
    act->callback([options, &chosen] { chosen = [options] { return store_command(*options); }; });
  }
}

void add_test(CLI::App& app, command& chosen) {
  auto options = std::make_shared<test_options>();
  auto* sub = app.add_subcommand("test", "run scenarios and check their expectations and the invariants");
  sub->add_option("scenarios", options->scenarios, "scenario files")->required()->option_text("SCENARIO...");
  add_overrides(sub, options->overrides);
  sub->add_option("--seed", options->seed, "replaces scenario.seed of all of them, and of their baselines")
      ->transform(seed_number())
      ->option_text("N");
  sub->add_flag("--smoke", options->smoke, "their small variants: the [smoke] table, else three rounds");
  sub->add_option("--out", options->out, "folder of the runs (default: a temporary one)")->option_text("DIR");
  sub->add_option("--threads", options->threads, "scheduler threads of a run (default: one per core)")
      ->check(CLI::Range(1, 1024))
      ->option_text("N");
  sub->add_flag("--keep", options->keep, "do not remove the temporary folder");
  sub->add_option("--format", options->format, "of stdout (default text)")
      ->transform(one_of(test_formats))
      ->option_text("text|json|junit");
  sub->callback([options, &chosen] { chosen = [options] { return test_command(*options); }; });
}

void add_trace_generate(CLI::App& trace, command& chosen) {
  auto options = std::make_shared<trace_generate_options>();
  auto* sub = trace.add_subcommand("generate", "record the output of an availability generator");
  sub->add_option("--clients", options->clients, "how many")
      ->required()
      ->check(CLI::Range(1U, 100'000'000U))
      ->option_text("N");
  sub->add_option("--days", options->days, "how long")->required()->check(CLI::Range(0.01, 36525.0))->option_text("D");
  sub->add_option("--kind", options->kind, "of generator")
      ->required()
      ->transform(one_of(trace_kinds))
      ->option_text("diurnal|markov|bernoulli|always");
  sub->add_option("--seed", options->seed, "of the draws (default 1)")
      ->transform(whole_number(0, UINT64_MAX))
      ->option_text("N");
  sub->add_option("--rate", options->rate, "mean share of the time that a client is available (default 0.5)")
      ->check(CLI::Range(0.0, 1.0))
      ->option_text("SHARE");
  sub->add_option("--mean-online", options->mean_online, "markov: mean available spell (default 3600)")
      ->check(CLI::Range(1.0, 1e9))
      ->option_text("SECONDS");
  sub->add_option("--step", options->step, "markov: a slot; bernoulli: a round (default 60)")
      ->check(CLI::Range(1.0, 1e9))
      ->option_text("SECONDS");
  sub->add_option("--swing", options->swing, "diurnal: best hour against worst (default 4)")
      ->check(CLI::Range(1.0, 1e6))
      ->option_text("TIMES");
  sub->add_option("--peak-hour", options->peak_hour, "diurnal: local hour of the most availability (default 2)")
      ->check(CLI::Range(0.0, 24.0))
      ->option_text("HOUR");
  sub->add_option("--dwell", options->dwell, "diurnal: how long a state lasts at least (default 1800)")
      ->check(CLI::Range(1.0, 1e9))
      ->option_text("SECONDS");
  sub->add_option("--zones", options->zones, "diurnal: time zones of the clients, an hour apart (default 24)")
      ->check(CLI::Range(1U, 24U))
      ->option_text("N");
  sub->add_option("--out", options->out, "the trace")->required()->option_text("FILE");
  sub->callback([options, &chosen] { chosen = [options] { return trace_generate_command(*options); }; });
}

void add_trace(CLI::App& app, command& chosen) {
  auto* trace = app.add_subcommand("trace", "make, import or describe a trace of availability");
  trace->require_subcommand(1);
  add_trace_generate(*trace, chosen);

  auto from = std::make_shared<trace_import_options>();
  auto* reader = trace->add_subcommand("import", "turn a behaviour trace of FedScale or FLASH into a trace");
  reader->add_option("file", from->file, "JSON lines or CSV")->required()->option_text("FILE");
  reader->add_option("--format", from->format, "whose (default auto: what it looks like)")
      ->transform(one_of(foreign_traces))
      ->option_text("fedscale|flash|auto");
  reader->add_option("--out", from->out, "the trace")->required()->option_text("FILE");
  reader->callback([from, &chosen] { chosen = [from] { return trace_import_command(*from); }; });

  auto of = std::make_shared<trace_show_options>();
  auto* show = trace->add_subcommand("show", "describe a trace");
  show->add_option("file", of->file, "the trace")->required()->option_text("FILE");
  add_format(show, of->format);
  show->callback([of, &chosen] { chosen = [of] { return trace_show_command(*of); }; });
}

void add_certs_issue(CLI::App& all, command& chosen) {
  auto options = std::make_shared<certs_issue_options>();
  auto& request = options->request;
  auto* sub = all.add_subcommand("issue", "make the folder that --tls of a process names");
  sub->add_option("--pki", options->pki, "the authorities")->required()->option_text("PKI");
  sub->add_option("--role", request.as, "of the process")
      ->required()
      ->transform(one_of(certificate_roles))
      ->option_text("server|aggregator|node");
  sub->add_option("--name", request.name, "of the process: letters, digits and - _ .")->required()->option_text("NAME");
  sub->add_option("--clients", options->clients, "node: the clients that it hosts")->option_text("FIRST-LAST");
  sub->add_option("--host", request.hosts,
                  "server, aggregator: name or address that nodes connect to; may be given often "
                  "(default localhost and 127.0.0.1)")
      ->option_text("HOST")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  sub->add_option("--days", request.days, "how long it is valid (default 365)")->option_text("N");
  sub->add_option("--out", request.out, "the folder to make")->required()->option_text("DIR");
  sub->callback([options, &chosen] { chosen = [options] { return certs_issue_command(*options); }; });
}

void add_certs(CLI::App& app, command& chosen) {
  auto* all = app.add_subcommand("certs", "make, deny and show the certificates of a federation");
  all->require_subcommand(1);
  auto made = std::make_shared<certs_init_options>();
  auto* init = all->add_subcommand("init", "make the authorities: one of the operator, one of the nodes");
  init->add_option("--out", made->out, "the folder to make")->required()->option_text("PKI");
  init->add_option("--days", made->days, "how long they are valid (default 3650)")->option_text("N");
  init->callback([made, &chosen] { chosen = [made] { return certs_init_command(*made); }; });

  add_certs_issue(*all, chosen);

  auto denied = std::make_shared<certs_deny_options>();
  auto* deny = all->add_subcommand("deny", "reject a node: all certificates that were issued to it");
  deny->add_option("--pki", denied->pki, "the authorities")->required()->option_text("PKI");
  deny->add_option("name", denied->name, "of the node")->required()->option_text("NAME");
  deny->add_option("--copy-to", denied->copy_to, "folder of a server or aggregator; may be given often")
      ->option_text("DIR")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  deny->callback([denied, &chosen] { chosen = [denied] { return certs_deny_command(*denied); }; });

  auto shown = std::make_shared<certs_show_options>();
  auto* show = all->add_subcommand("show", "list certificates and until when they are valid");
  show->add_option("place", shown->place, "the authorities, or a folder that was issued")
      ->required()
      ->option_text("PKI-OR-DIR");
  add_format(show, shown->format);
  show->callback([shown, &chosen] { chosen = [shown] { return certs_show_command(*shown); }; });
}

void add_status(CLI::App& app, command& chosen) {
  auto options = std::make_shared<status_options>();
  auto* sub = app.add_subcommand("status", "show the state of a federation, from its dashboard");
  sub->add_option("--server", options->server, "its --dashboard address")->required()->option_text("HOST:PORT");
  sub->add_flag("--watch", options->watch, "again every two seconds, until interrupted");
  add_format(sub, options->format);
  sub->callback([options, &chosen] { chosen = [options] { return status_command(*options); }; });
}

/// A run may need thousands of open files and connections. The soft limit is often 1024 and is raised to the hard
/// limit; if that is not enough, the failing process reports it.
void raise_file_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &files));
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Furlong: federation of partially local models");
  app.name("furlong");
  app.set_version_flag("--version", std::string("furlong ") + version);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App* of, const CLI::Error& why) {
    std::string text = "furlong: ";  // and the input
    std::istringstream lines(CLI::FailureMessage::simple(of, why));
    for (std::string line; std::getline(lines, line);) text += for_people(line) + "\n";
    return text;
  });
  command chosen;
  add_run(app, chosen);
  add_validate(app, chosen);
  add_infer(app, chosen);
  add_export(app, chosen);
  add_replay(app, chosen);
  add_store(app, chosen);
  add_reports(app, chosen);
  add_privacy(app, chosen);
  add_audit(app, chosen);
  add_test(app, chosen);
  add_sweeps(app, chosen);
  add_trace(app, chosen);
  add_federation(app, chosen);
  add_certs(app, chosen);
  add_status(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& why) {
    return app.exit(why) == 0 ? done : usage;
  }
  raise_file_limit();
  if (auto fit = check_environment(std::time(nullptr)); !fit) return report_failure(fit.error());
  return chosen();
}

}  // namespace

namespace {

/// To the log, or where there is none to stderr.
void log_trainer(std::string_view line) {
  if (const auto* log = spdlog::default_logger_raw(); log->name() == "furlong")
    spdlog::info("{}", line);
  else
    fmt::print(stderr, "{}\n", line);
}

}  // namespace

int main(int argc, char** argv) {
  end_when_exhausted();
  static_cast<void>(spdlog::default_logger_raw());  // made first, it outlives the trainers, whose threads log
  scenarios::set_trainer_output(log_trainer);
  try {
    const int code = parse_and_run(argc, argv);
    std::cout.flush();
    if (std::fflush(stdout) == 0 && std::cout) return code;
    std::cerr << "furlong: the results could not be written to stdout\n";
    return code == done ? failure : code;
  } catch (const std::bad_alloc&) {
    std::terminate();  // reports the limit
  } catch (const std::exception& why) {
    return report_failure({error::kind::runtime, "", why.what(), ""});
  }
}

}  // namespace furlong::tools
