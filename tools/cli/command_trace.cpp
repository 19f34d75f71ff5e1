// furlong trace
#include <cmath>
#include <fmt/format.h>
#include <iostream>

#include "federated/settings/devices.hpp"
#include "scenarios/traces/trace_file.hpp"
#include "scenarios/traces/trace_sample.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/failure.hpp"
#include "tools/cli/json.hpp"

namespace furlong::tools {

namespace {

using federated::availability_kind;
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
std::string take(const char* name, const std::optional<T>& given, bool known, T& to) {
  if (!given) return "";
  to = *given;
  return known ? "" : std::string("--") + name;
}

result<federated::availability_settings> settings_of(const trace_generate_options& options) {
  const bool markov = options.kind == availability_kind::markov;
  const bool diurnal = options.kind == availability_kind::diurnal;
  federated::availability_settings settings;
  settings.kind = options.kind;
  for (const auto& stray :
       {take("rate", options.rate, options.kind != availability_kind::always, settings.rate),
        take("mean-online", options.mean_online, markov, settings.mean_online),
        take("step", options.step, markov || options.kind == availability_kind::bernoulli, settings.step),
        take("swing", options.swing, diurnal, settings.swing),
        take("peak-hour", options.peak_hour, diurnal, settings.peak_hour),
        take("dwell", options.dwell, diurnal, settings.dwell), take("zones", options.zones, diurnal, settings.zones)})
    if (!stray.empty())
      return fail(error::kind::usage, stray, "the kind of trace asked for does not have it", "leave it out");
  return settings;
}

}  // namespace

int trace_generate_command(const trace_generate_options& options) {
  const auto settings = settings_of(options);
  if (!settings) return report_failure(settings.error());
  const auto length = federated::from_seconds(options.days * 86400.0);
  return write(scenarios::sample_trace(*settings, options.seed, options.clients, length), options.out);
}

int trace_import_command(const trace_import_options& options) {
  return write(scenarios::import_trace(options.file, options.format), options.out);
}

int trace_show_command(const trace_show_options& options) {
  const auto trace = scenarios::read_trace(options.file);
  return trace ? show(*trace, options.format) : report_failure(trace.error());
}

}  // namespace furlong::tools
