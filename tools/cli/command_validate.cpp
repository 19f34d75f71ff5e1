// furlong validate
#include <fmt/format.h>
#include <iostream>
#include <optional>

#include "federated/aggregation/accumulator.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/evaluation.hpp"
#include "scenarios/traces/device_file.hpp"
#include "scenarios/traces/trace_file.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/cli/test_results.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/found_data.hpp"
#include "tools/runs/json.hpp"
#include "tools/runs/messages.hpp"
#include "tools/runs/prepared_run.hpp"
#include "tools/runs/privacy_json.hpp"

namespace furlong::tools {

namespace {

struct validate_options {
  std::filesystem::path scenario;
  std::vector<scenarios::setting_override> overrides;
  output_format format = output_format::text;
};

/// A valid scenario, as far as checked.
struct examined {
  scenarios::scenario scenario;
  std::optional<json> data;    ///< the scenario was checked against them
  std::string missing = {};    ///< else what there is not: "data, which are missing"
  std::string data_text = {};  ///< the data found, as a line
};

/// A file that a scenario names beside its data.
struct named_file {
  const char* kind;      ///< "trace"
  result<void> content;  ///< whether it is right
};

/// The files of devices and groups, as far as they can be checked: groups need the data.
std::vector<named_file> named_files(const scenarios::scenario& scenario, const federated::population* clients) {
  const auto& settings = scenario.settings;
  std::vector<named_file> files;
  const auto add = [&](const char* kind, const auto& read) {
    files.push_back({kind, read ? result<void>() : tl::unexpected(read.error())});
  };
  const auto& presence = settings.devices->availability;
  if (presence.kind == "trace") add("trace", scenarios::read_trace(presence.trace));
  if (const auto& table = settings.devices->table; !table.empty())
    add("table of devices", scenarios::read_device_table(std::filesystem::path(table)));
  if (const auto& groups = settings.evaluation->groups_file; !groups.empty() && clients != nullptr)
    add("groups of clients", scenarios::read_client_groups(std::filesystem::path(groups), clients->facts().clients));
  return files;
}

/// Parses the scenario and, if its data are available, checks it against them.
tl::expected<examined, std::vector<scenarios::problem>> examine(const validate_options& options) {
  auto scenario = scenarios::parse_scenario(options.scenario, options.overrides);
  if (!scenario) return tl::unexpected(scenario.error());
  const auto problem = [&](const error& why) {
    return tl::unexpected(std::vector<scenarios::problem>{{why.place, 0, 0, "", why.reason, why.fix}});
  };
  auto data = scenarios::load_data(*scenario);
  auto clients = clients_are::without_devices;
  // Data that only nodes have: the part known to a server.
  if (!data && scenarios::find_dataset(scenario->data_source)->outline && !scenario->data.has("path")) {
    data = scenarios::load_outline(*scenario);
    clients = clients_are::on_nodes;
  }
  if (!data) {
    if (!scenarios::data_absent(*scenario)) return problem(data.error());
    scenario->notes.push_back("not checked against its data: " + data.error().text());
  } else {
    auto opened = open_prepared_run(std::move(*scenario), *data, clients);
    if (!opened) return problem(opened.error());
    const auto bytes = federated::held_bytes(opened->experiment);
    *scenario = std::move(opened->scenario);
    if (bytes > 0)
      scenario->notes.push_back("the server holds the single updates of a round: up to " + std::to_string(bytes) +
                                " bytes, and once more while it aggregates");
  }
  for (const auto& [kind, content] : named_files(*scenario, data ? data->clients.get() : nullptr)) {
    if (content) continue;
    if (!scenarios::data_absent(*scenario)) return problem(content.error());
    if (!data) continue;
    scenario->notes.push_back(std::string("not checked against its ") + kind + ": " + content.error().text());
    return examined{std::move(*scenario), std::nullopt, std::string(kind) + ", which is missing"};
  }
  if (data) {
    auto note = privacy_note(scenario->settings, data->clients->training().size());
    if (!note) return problem(note.error());
    if (!note->empty()) scenario->notes.push_back(std::move(*note));
  }
  examined made{std::move(*scenario), std::nullopt, "data, which are missing"};
  if (data) {
    made.data = found_data(*data);
    made.data_text = found_text(*made.data, *data);
  }
  return made;
}

int validate_command(const validate_options& options) {
  const auto found = examine(options);
  if (options.format == output_format::json) {
    json out = {{"valid", found.has_value()}, {"problems", json::array()}, {"notes", json::array()}};
    if (found) {
      out["notes"] = found->scenario.notes;
      out["checked_against_data"] = found->data.has_value();
      if (found->data) out["data"] = *found->data;
    } else {
      for (const auto& problem : found.error()) out["problems"].push_back(tools::to_json(problem));
    }
    std::cout << json_text(out) << '\n';
    return found ? done : usage;
  }
  if (!found) {
    const int code = report_problems(found.error());
    fmt::print(stderr, "{}: {} problem{}\n", for_people(options.scenario.string()), found.error().size(),
               found.error().size() == 1 ? "" : "s");
    return code;
  }
  for (const auto& note : found->scenario.notes) fmt::print("note: {}\n", for_people(note));
  if (found->data) fmt::print("{}\n", found->data_text);
  fmt::print("{}: valid{}\n", for_people(options.scenario.string()),
             found->data ? "" : " without its " + found->missing);
  return done;
}

}  // namespace

void add_validate(CLI::App& app, command& chosen) {
  const auto [sub, options] = add_command(
      app, chosen, "validate", "find everything that is wrong with a scenario, without running it", validate_command);
  sub->add_option("scenario", options->scenario, "scenario file")->required()->option_text("SCENARIO");
  add_overrides(sub, options->overrides);
  add_format(sub, options->format);
}

}  // namespace furlong::tools
