// furlong validate
#include <fmt/format.h>
#include <iostream>

#include "tools/commands.hpp"
#include "tools/exit_code.hpp"
#include "tools/json.hpp"

namespace furlong::tools {

namespace {

json to_json(const scenarios::problem& one) {
  return {{"file", one.origin}, {"line", one.line}, {"column", one.column},
          {"key", one.key},     {"why", one.why},   {"mend", one.mend}};
}

/// Parses, and where the data is at hand checks against it.
tl::expected<scenarios::scenario, std::vector<scenarios::problem>> examine(const validate_options& options) {
  auto scenario = scenarios::parse_scenario(options.scenario, options.overrides);
  if (!scenario) return scenario;
  const auto problem = [&](const error& why) {
    return tl::unexpected(std::vector<scenarios::problem>{{why.place, 0, 0, "", why.reason, why.mend}});
  };
  auto data = scenarios::load_data(*scenario);
  // Data that only nodes have: as far as a server can tell.
  if (!data && scenarios::find_dataset(scenario->data_source)->outline && !scenario->data.has("path"))
    data = scenarios::load_outline(*scenario);
  if (!data) {
    if (!scenarios::data_absent(*scenario)) return problem(data.error());
    scenario->notes.push_back("not checked against its data: " + data.error().text());
  } else if (auto fitted = scenarios::fit(*scenario, *data); !fitted) {
    return problem(fitted.error());
  }
  return scenario;
}

}  // namespace

int validate_command(const validate_options& options) {
  const auto scenario = examine(options);
  if (options.format == output_format::json) {
    json out = {{"valid", scenario.has_value()}, {"problems", json::array()}, {"notes", json::array()}};
    if (scenario)
      out["notes"] = scenario->notes;
    else
      for (const auto& one : scenario.error()) out["problems"].push_back(to_json(one));
    std::cout << out.dump(2) << '\n';
    return scenario ? done : usage;
  }
  if (!scenario) {
    print_problems(scenario.error());
    fmt::print(stderr, "{}: {} problem{}\n", options.scenario.string(), scenario.error().size(),
               scenario.error().size() == 1 ? "" : "s");
    return usage;
  }
  for (const auto& note : scenario->notes) fmt::print("note: {}\n", note);
  fmt::print("{}: valid\n", options.scenario.string());
  return done;
}

}  // namespace furlong::tools
