// furlong trace
#include <cmath>
#include <fmt/format.h>
#include <iostream>

#include "federated/settings/devices.hpp"
#include "scenarios/traces/capacity_import.hpp"
#include "scenarios/traces/trace_file.hpp"
#include "scenarios/traces/trace_import.hpp"
#include "scenarios/traces/trace_sample.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/json.hpp"
#include "tools/runs/run_directory.hpp"

namespace furlong::tools {

namespace {

/// Unset values have the defaults of [devices] availability.
struct trace_generate_options {
  std::string kind = "diurnal";
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

struct trace_import_options {
  std::filesystem::path file;
  scenarios::foreign_trace format = scenarios::foreign_trace::automatic;
  std::filesystem::path out;
};

struct trace_devices_options {
  std::filesystem::path file;
  std::filesystem::path trace;  ///< the behaviour trace beside it; empty: none
  std::filesystem::path out;
};

struct trace_show_options {
  std::filesystem::path file;
  output_format format = output_format::text;
};

const std::vector<std::string> trace_kinds = {"always", "bernoulli", "diurnal", "markov"};
const std::map<std::string, scenarios::foreign_trace> foreign_traces = {
    {"auto", scenarios::foreign_trace::automatic},
    {"fedscale", scenarios::foreign_trace::fedscale},
    {"flash", scenarios::foreign_trace::flash}};

using federated::availability_trace;

json to_json(const scenarios::trace_facts& facts) {
  return {{"devices", facts.devices},
          {"never_available", facts.never_available},
          {"intervals", facts.intervals},
          {"length_seconds", federated::to_seconds(facts.length)},
          {"mean_availability", facts.mean_availability},
          {"longest_interval_seconds", federated::to_seconds(facts.longest)},
          {"mean_interval_seconds", facts.mean_interval},
          {"available_by_hour", facts.by_hour}};
}

void print(const scenarios::trace_facts& facts) {
  fmt::print("devices            {}, {} of them never available\n", facts.devices, facts.never_available);
  fmt::print("intervals          {}\n", facts.intervals);
  fmt::print("length             {} s ({:.4g} days)\n", scenarios::seconds_text(facts.length),
             federated::to_seconds(facts.length) / 86400.0);
  fmt::print("mean availability  {:.2f} %\n", 100.0 * facts.mean_availability);
  fmt::print("longest interval   {} s\n", scenarios::seconds_text(facts.longest));
  fmt::print("mean interval      {:.1f} s\n\nhour  available\n", facts.mean_interval);
  for (std::size_t hour = 0; hour < facts.by_hour.size(); ++hour) {
    const auto share = 100.0 * facts.by_hour[hour];
    const auto bar = std::string(static_cast<std::size_t>(std::lround(share / 2.0)), '#');
    fmt::print("{:02}   {:8.2f} %{}{}\n", hour, share, bar.empty() ? "" : "  ", bar);
  }
}

int show(const availability_trace& trace, output_format format) {
  const auto facts = scenarios::describe(trace);
  if (format == output_format::json)
    std::cout << json_text(to_json(facts)) << '\n';
  else
    print(facts);
  return done;
}

/// Writes a new trace and a summary on stderr.
int write(const result<availability_trace>& trace, const std::filesystem::path& out) {
  if (!trace) return report_failure(trace.error());
  if (auto written = scenarios::write_trace(*trace, out); !written) return report_failure(written.error());
  const auto facts = scenarios::describe(*trace);
  std::cerr << fmt::format("{}: {} devices, {} intervals, {:.4g} days, available {:.1f} % of the time\n", out.string(),
                           facts.devices, facts.intervals, federated::to_seconds(facts.length) / 86400.0,
                           100.0 * facts.mean_availability);
  return done;
}

/// Copies a given setting; the kind must have it.
template <class T>
std::string take(const char* name, const std::optional<T>& given, bool known, T& target) {
  if (!given) return "";
  target = *given;
  return known ? "" : std::string("--") + name;
}

result<federated::availability_settings> settings_of(const trace_generate_options& options) {
  const bool markov = options.kind == "markov";
  const bool diurnal = options.kind == "diurnal";
  federated::availability_settings settings;
  settings.kind = options.kind;
  for (const auto& stray :
       {take("rate", options.rate, options.kind != "always", settings.rate),
        take("mean-online", options.mean_online, markov, settings.mean_online),
        take("step", options.step, markov || options.kind == "bernoulli", settings.step),
        take("swing", options.swing, diurnal, settings.swing),
        take("peak-hour", options.peak_hour, diurnal, settings.peak_hour),
        take("dwell", options.dwell, diurnal, settings.dwell), take("zones", options.zones, diurnal, settings.zones)})
    if (!stray.empty())
      return fail(error::kind::usage, stray, "the kind of trace asked for does not have it", "leave it out");
  return settings;
}

int trace_generate_command(const trace_generate_options& options) {
  const auto settings = settings_of(options);
  if (!settings) return report_failure(settings.error());
  const auto length = federated::from_seconds(options.days * 86400.0);
  return write(scenarios::sample_trace(*settings, options.seed, options.clients, length), options.out);
}

int trace_import_command(const trace_import_options& options) {
  return write(scenarios::import_trace(options.file, options.format), options.out);
}

int trace_devices_command(const trace_devices_options& options) {
  std::vector<std::string> order;
  if (!options.trace.empty()) {
    auto names = scenarios::device_names(options.trace);
    if (!names) return report_failure(names.error());
    order = std::move(*names);
  }
  const auto table = scenarios::import_capacities(options.file, order);
  if (!table) return report_failure(table.error());
  if (auto written = write_bytes_atomically(options.out, scenarios::device_csv(*table)); !written)
    return report_failure(written.error());
  std::cerr << fmt::format("{}: {} devices\n", options.out.string(), table->devices);
  return done;
}

int trace_show_command(const trace_show_options& options) {
  const auto trace = scenarios::read_trace(options.file);
  return trace ? show(*trace, options.format) : report_failure(trace.error());
}

void add_trace_generate(CLI::App& trace, command& chosen) {
  const auto [sub, options] =
      add_command(trace, chosen, "generate", "record the output of an availability generator", trace_generate_command);
  sub->add_option("--clients", options->clients, "how many")
      ->required()
      ->transform(whole_number(1, 100'000'000))
      ->option_text("N");
  sub->add_option("--days", options->days, "how long")
      ->required()
      ->check(number_between(0.01, 36525.0))
      ->option_text("D");
  sub->add_option("--kind", options->kind, "of generator")
      ->required()
      ->check([](const std::string& text) {
        return std::ranges::find(trace_kinds, text) == trace_kinds.end() ? none_of(text, trace_kinds) : std::string();
      })
      ->option_text("diurnal|markov|bernoulli|always");
  sub->add_option("--seed", options->seed, "of the draws (default 1)")
      ->transform(whole_number(0, UINT64_MAX))
      ->option_text("N");
  sub->add_option("--rate", options->rate, "mean share of the time that a client is available (default 0.5)")
      ->check(number_between(0.0, 1.0))
      ->option_text("SHARE");
  sub->add_option("--mean-online", options->mean_online, "markov: mean length of an available interval (default 3600)")
      ->check(number_between(1.0, 1e9))
      ->option_text("SECONDS");
  sub->add_option("--step", options->step, "markov: a slot; bernoulli: a round (default 60)")
      ->check(number_between(1.0, 1e9))
      ->option_text("SECONDS");
  sub->add_option("--swing", options->swing, "diurnal: best hour against worst (default 4)")
      ->check(number_between(1.0, 1e6))
      ->option_text("TIMES");
  sub->add_option("--peak-hour", options->peak_hour, "diurnal: local hour of the most availability (default 2)")
      ->check(number_between(0.0, 24.0))
      ->option_text("HOUR");
  sub->add_option("--dwell", options->dwell, "diurnal: how long a state lasts at least (default 1800)")
      ->check(number_between(1.0, 1e9))
      ->option_text("SECONDS");
  sub->add_option("--zones", options->zones, "diurnal: time zones of the clients, an hour apart (default 24)")
      ->transform(whole_number(1, 24))
      ->option_text("N");
  sub->add_option("--out", options->out, "the trace")->required()->option_text("FILE");
}

}  // namespace

void add_trace(CLI::App& app, command& chosen) {
  auto* trace =
      app.add_subcommand("trace", "make, import or describe a trace of availability, or import speeds of devices");
  trace->require_subcommand(1);
  add_trace_generate(*trace, chosen);

  const auto [reader, source] = add_command(
      *trace, chosen, "import", "turn a behaviour trace of FedScale or FLASH into a trace", trace_import_command);
  reader->add_option("file", source->file, "JSON lines or CSV")->required()->option_text("FILE");
  reader->add_option("--format", source->format, "whose (default auto: what it looks like)")
      ->transform(one_of(foreign_traces))
      ->option_text("fedscale|flash|auto");
  reader->add_option("--out", source->out, "the trace")->required()->option_text("FILE");

  const auto [devices, table] = add_command(
      *trace, chosen, "devices", "turn device speeds of FedScale into a table of devices", trace_devices_command);
  devices->add_option("file", table->file, "JSON: an object of devices by name")->required()->option_text("FILE");
  devices
      ->add_option("--trace", table->trace,
                   "the behaviour trace that is imported beside it: devices are numbered as there")
      ->option_text("FILE");
  devices->add_option("--out", table->out, "the table, for devices.table")->required()->option_text("FILE");

  const auto [show, shown] = add_command(*trace, chosen, "show", "describe a trace", trace_show_command);
  show->add_option("file", shown->file, "the trace")->required()->option_text("FILE");
  add_format(show, shown->format);
}

}  // namespace furlong::tools
