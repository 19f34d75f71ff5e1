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

/// A scenario without problems, as far as could be told.
struct examined {
  scenarios::scenario scenario;
  bool with_data = true;  ///< checked against its data too
};

/// Parses, and where the data is at hand checks against it.
tl::expected<examined, std::vector<scenarios::problem>> examine(const validate_options& options) {
  auto scenario = scenarios::parse_scenario(options.scenario, options.overrides);
  if (!scenario) return tl::unexpected(scenario.error());
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
  return examined{std::move(*scenario), data.has_value()};
}

}  // namespace

int validate_command(const validate_options& options) {
  const auto found = examine(options);
  if (options.format == output_format::json) {
    json out = {{"valid", found.has_value()}, {"problems", json::array()}, {"notes", json::array()}};
    if (found) {
      out["notes"] = found->scenario.notes;
      out["checked_against_data"] = found->with_data;
    } else {
      for (const auto& one : found.error()) out["problems"].push_back(to_json(one));
    }
    std::cout << json_text(out) << '\n';
    return found ? done : usage;
  }
  if (!found) {
    const int code = report_problems(found.error());
    fmt::print(stderr, "{}: {} problem{}\n", options.scenario.string(), found.error().size(),
               found.error().size() == 1 ? "" : "s");
    return code;
  }
  for (const auto& note : found->scenario.notes) fmt::print("note: {}\n", note);
  fmt::print("{}: valid{}\n", options.scenario.string(),
             found->with_data ? "" : " as far as can be told without its data, which are not there");
  return done;
}

}  // namespace furlong::tools
