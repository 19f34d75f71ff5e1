// The commands behind the command line: options in, exit code out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "federated/settings/devices.hpp"
#include "scenarios/schema/scenario.hpp"
#include "scenarios/traces/trace_import.hpp"
#include "tools/certs/pki.hpp"
#include "tools/sweep/sweep_request.hpp"

namespace furlong::tools {

enum class output_format : std::uint8_t { text, json };
enum class engine_kind : std::uint8_t { actors, reference };

struct run_options {
  std::filesystem::path scenario;
  std::vector<scenarios::setting_override> overrides;
  std::optional<std::uint64_t> seed;
  std::filesystem::path out;  ///< empty: runs/NAME-SEED
  std::size_t threads = 0;    ///< 0: one per core
  bool resume = false;
  std::uint64_t stop_after = 0;  ///< the round after which the run is evaluated and stopped; 0: none
  engine_kind engine = engine_kind::actors;
  output_format format = output_format::text;
  std::string log_level = "info";
};
int run_command(const run_options& options);

/// How the processes of a federation authenticate each other.
struct trust_options {
  std::filesystem::path tls;  ///< folder of `certs issue`; empty: insecure
  bool insecure = false;
  bool i_know = false;  ///< allow insecure beyond this machine
};

struct serve_options {
  run_options run;  ///< scenario, overrides, seed, out, threads, resume, format, log_level
  std::string listen;
  std::string operators;         ///< empty: no aggregators
  std::string dashboard;         ///< empty: none
  std::filesystem::path ledger;  ///< of aggregated updates; empty: none
  trust_options trust;
};
int serve_command(const serve_options& options);

struct aggregate_options {
  std::string server;
  std::string listen;
  std::string advertise;
  std::string operators;
  std::string advertise_operator;
  std::string name;
  std::size_t threads = 2;
  double give_up = 0.0;  ///< seconds without a parent; 0: never
  trust_options trust;
  std::string log_level = "info";
};
int aggregate_command(const aggregate_options& options);

struct join_options {
  std::string server;
  std::string clients;
  std::filesystem::path data;
  std::filesystem::path store;
  std::string problem;  ///< FILE.py:CLASS, for a run whose data and model are a Python class; else empty
  std::filesystem::path key_file;
  bool accept_changed_data = false;
  bool secure_only = false;  ///< only runs with secure aggregation
  bool accept_state_loss = false;
  std::size_t threads = 1;
  double give_up = 0.0;  ///< seconds without a session; 0: never
  trust_options trust;
  bool operator_trust = false;
  std::string log_level = "info";
};
int join_command(const join_options& options);

struct validate_options {
  std::filesystem::path scenario;
  std::vector<scenarios::setting_override> overrides;
  output_format format = output_format::text;
};
int validate_command(const validate_options& options);

struct infer_options {
  std::filesystem::path run;
  std::optional<std::uint32_t> client;
  std::string user;  ///< a client by its name in the data; empty: none
  std::filesystem::path ratings;
  std::optional<std::string> text;
  std::filesystem::path batch;  ///< a table of questions; empty: none
  std::size_t top = 10;
  double temperature = 0.0;  ///< 0: the most likely tokens
  std::uint64_t seed = 1;    ///< of the drawn tokens
  output_format format = output_format::text;
};
int infer_command(const infer_options& options);

struct export_options {
  std::filesystem::path run;
  std::filesystem::path model;          ///< .npz or .safetensors
  std::optional<std::uint32_t> client;  ///< its private parameters too
  std::filesystem::path curves;
  std::filesystem::path predictions;
  std::filesystem::path split;
  std::filesystem::path clients;
  std::filesystem::path tensorboard;  ///< a folder
};
int export_command(const export_options& options);

struct replay_options {
  std::filesystem::path run;
  std::vector<std::string> without;  ///< "17" or "20-25"
  bool each = false;                 ///< without each of them, one by one
  std::filesystem::path out;         ///< empty: beside the run
  std::size_t threads = 0;           ///< 0: one per core; with `each` 1
  std::size_t jobs = 0;              ///< with `each`, replays at once; 0: one per core
  output_format format = output_format::text;
  std::string log_level = "info";
};
int replay_command(const replay_options& options);

enum class store_action : std::uint8_t { list, show, erase, verify };
struct store_options {
  store_action action = store_action::list;
  std::filesystem::path place;     ///< a run directory, or a store in it
  std::filesystem::path key_file;  ///< empty: the one that the run's scenario names, if any
  std::optional<std::uint32_t> client;
  output_format format = output_format::text;
};
int store_command(const store_options& options);

struct report_options {
  std::vector<std::filesystem::path> runs;  ///< or folders of sweeps
  std::filesystem::path out;  ///< empty: report.html in the run directory, or comparison.html next to the first run
  bool embeddings = false;    ///< with a picture of the user embeddings, which are private values: the names above
                              ///< become report-private.html and comparison-private.html
  bool clients = false;       ///< with charts of all clients' quality and participation
  output_format format = output_format::text;
};
int report_command(const report_options& options);

enum class compare_format : std::uint8_t { text, json, csv };
struct compare_options {
  std::vector<std::filesystem::path> runs;  ///< or folders of sweeps
  std::vector<std::string> figures;         ///< keys of summary.json; empty: all metrics of the evaluations
  std::string baseline;                     ///< a configuration; empty: the first
  std::filesystem::path curves;             ///< CSV of all rounds; empty: none
  compare_format format = compare_format::text;
};
int compare_command(const compare_options& options);

enum class test_format : std::uint8_t { text, json, junit };

struct test_options {
  std::vector<std::filesystem::path> scenarios;
  std::vector<scenarios::setting_override> overrides;  ///< of all of them, and of their baselines
  std::optional<std::uint64_t> seed;                   ///< likewise
  bool smoke = false;                                  ///< their small variants
  std::filesystem::path out;                           ///< folder of the runs; empty: a temporary one
  std::size_t threads = 0;                             ///< of each run; 0: one per core
  bool keep = false;                                   ///< do not remove the temporary folder
  test_format format = test_format::text;
};
int test_command(const test_options& options);

struct sweep_options {
  sweep_request what;
  std::filesystem::path out;  ///< empty: runs/NAME-sweep
  std::size_t jobs = 0;       ///< runs at once; 0: one per core
  std::size_t threads = 1;    ///< of each run
  output_format format = output_format::text;
};
int sweep_command(const sweep_options& options);

struct tune_options {
  sweep_request what;                   ///< one scenario
  std::vector<std::string> ranges;      ///< "key=LOW..HIGH"
  std::size_t samples = 27;             ///< settings drawn from the ranges
  std::string metric;                   ///< "eval.validation.rmse"; empty: by which the scenario selects the best model
  std::optional<std::uint64_t> budget;  ///< rounds of all runs; nothing: what lets the best end whole
  std::size_t factor = 3;               ///< of settings from rung to rung
  std::filesystem::path out;            ///< empty: runs/NAME-tune
  std::size_t jobs = 0;                 ///< runs at once; 0: one per core
  std::size_t threads = 1;              ///< of each run
  output_format format = output_format::text;
};
int tune_command(const tune_options& options);

/// Unset values have the defaults of [devices] availability.
struct trace_generate_options {
  federated::availability_kind kind = federated::availability_kind::diurnal;
  std::uint32_t clients = 0;
  double days = 0.0;
  std::uint64_t seed = 1;
  std::optional<double> rate;
  std::optional<double> mean_online;
  std::optional<double> step;
  std::optional<double> swing;
  std::optional<double> peak_hour;
  std::optional<double> dwell;
  std::optional<std::uint32_t> zones;
  std::filesystem::path out;
};
int trace_generate_command(const trace_generate_options& options);

struct trace_import_options {
  std::filesystem::path file;
  scenarios::foreign_trace format = scenarios::foreign_trace::automatic;
  std::filesystem::path out;
};
int trace_import_command(const trace_import_options& options);

struct trace_show_options {
  std::filesystem::path file;
  output_format format = output_format::text;
};
int trace_show_command(const trace_show_options& options);

struct certs_init_options {
  std::filesystem::path out;
  int days = certs::authority_days;
};
int certs_init_command(const certs_init_options& options);

struct certs_issue_options {
  std::filesystem::path pki;
  certs::issue_request request;
  std::string clients;  ///< "FIRST-LAST", or empty
};
int certs_issue_command(const certs_issue_options& options);

struct certs_deny_options {
  std::filesystem::path pki;
  std::string name;
  std::vector<std::filesystem::path> copy_to;  ///< folders of servers and aggregators
};
int certs_deny_command(const certs_deny_options& options);

struct certs_show_options {
  std::filesystem::path place;
  output_format format = output_format::text;
};
int certs_show_command(const certs_show_options& options);

struct privacy_options {
  std::filesystem::path run;  ///< empty: a mechanism by its parameters, which follow
  std::optional<double> delta;
  std::optional<double> noise;
  std::optional<double> epsilon;  ///< find the noise for it
  std::optional<double> rate;     ///< Poisson sampling
  std::optional<std::uint64_t> rounds;
  std::optional<std::uint64_t> clients;
  std::optional<std::uint64_t> cap;             ///< Poisson sampling, truncated
  std::optional<std::uint64_t> cohort;          ///< of fixed size
  std::optional<std::uint64_t> participations;  ///< of one client, without amplification
  output_format format = output_format::text;
};
int privacy_command(const privacy_options& options);

struct status_options {
  std::string server;  ///< "HOST:PORT" of a dashboard
  output_format format = output_format::text;
  bool watch = false;  ///< until interrupted
};
int status_command(const status_options& options);

}  // namespace furlong::tools
