#include "tools/cli/test_results.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "tools/runs/failure.hpp"
#include "tools/runs/messages.hpp"

namespace furlong::tools {

namespace {

std::string outcome_word(int code) {
  switch (code) {
    case done: return "passed";
    case expectation_failed: return "failed";
    case data: return "no-data";
    case interrupted: return "interrupted";
    default: return "error";
  }
}

/// Text of an attribute or an element. XML has no other control characters than these, also not escaped.
std::string xml_text(const std::string& text) {
  std::string safe;
  for (const char c : for_people(text)) switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += c;
    }
  return safe;
}

/// The cases of a suite.
struct xml_suite {
  std::string name;
  double seconds = 0.0;
  std::string cases = {};
  std::size_t tests = 0;
  std::map<std::string, std::size_t> bad = {};  ///< failure, error, skipped

  /// `kind`: empty, or what it is instead of passed.
  void add(const std::string& title, const std::string& kind, const std::string& message) {
    ++tests;
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml_text(name), xml_text(title));
    if (!kind.empty()) ++bad[kind];
    cases += kind.empty() ? "/>\n"
                          : fmt::format(">\n      <{} message=\"{}\"/>\n    </testcase>\n", kind, xml_text(message));
  }
  [[nodiscard]] std::string counts() const {
    const auto count = [&](const char* kind) { return bad.contains(kind) ? bad.at(kind) : 0; };
    return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\"", tests,
                       count("failure"), count("error"), count("skipped"), seconds);
  }
};

/// @param seeds the scenario was run with several
xml_suite suite_of(const test_result& outcome, bool seeds) {
  xml_suite made{outcome.name + (seeds ? fmt::format(", seed {}", outcome.seed) : ""), outcome.seconds};
  for (const auto& condition : outcome.conditions)
    made.add(condition.name, condition.held ? "" : "failure", condition.text);
  if (!outcome.error.empty()) made.add("run", outcome.code == data ? "skipped" : "error", outcome.error);
  return made;
}

}  // namespace

std::size_t test_results::count(bool held) const {
  return std::accumulate(scenarios.begin(), scenarios.end(), std::size_t{0}, [&](auto sum, const auto& scenario) {
    return sum + static_cast<std::size_t>(std::ranges::count(scenario.conditions, held, &finding::held));
  });
}

int graver(int first, int second) {
  constexpr std::array order = {done, data, expectation_failed, usage, failure, interrupted};
  const auto rank = [&](int code) { return std::ranges::find(order, code) - order.begin(); };
  return rank(first) < rank(second) ? second : first;
}

json to_json(const scenarios::problem& problem) {
  return {{"file", problem.origin}, {"line", problem.line}, {"column", problem.column},
          {"key", problem.key},     {"why", problem.why},   {"fix", problem.fix}};
}

json to_json(const test_results& results) {
  json out = {{"exit_code", results.code}, {"held", results.count(true)}, {"failed", results.count(false)},
              {"not_run", results.broken}, {"problems", json::array()},   {"scenarios", json::array()}};
  for (const auto& problem : results.problems) out["problems"].push_back(to_json(problem));
  if (!results.folder.empty()) out["kept_in"] = results.folder;
  for (const auto& scenario : results.scenarios) {
    json line = {{"name", scenario.name},
                 {"file", scenario.file},
                 {"smoke", results.smoke},
                 {"seed", scenario.seed},
                 {"outcome", outcome_word(scenario.code)},
                 {"seconds", scenario.seconds},
                 {"conditions", json::array()}};
    for (const auto& each : scenario.conditions) {
      line["conditions"].push_back({{"name", each.name}, {"held", each.held}, {"text", each.text}});
      if (!each.value.is_null()) line["conditions"].back()["value"] = each.value;
    }
    if (!scenario.error.empty()) line["error"] = scenario.error;
    out["scenarios"].push_back(std::move(line));
  }
  return out;
}

std::string junit_xml(const test_results& results) {
  std::vector<xml_suite> suites;
  for (const auto& problem : results.problems) {
    if (suites.empty() || suites.back().name != problem.origin) suites.push_back({problem.origin});
    suites.back().add(problem.key.empty() ? "scenario" : problem.key, "error", problem.text());
  }
  for (const auto& scenario : results.scenarios)
    suites.push_back(suite_of(scenario, std::ranges::count(results.scenarios, scenario.file, &test_result::file) > 1));
  xml_suite root{"furlong test"};
  std::string text;
  for (const auto& suite : suites) {
    root.tests += suite.tests;
    root.seconds += suite.seconds;
    for (const auto& [kind, count] : suite.bad) root.bad[kind] += count;
    text += fmt::format("  <testsuite name=\"{}\" {}>\n{}  </testsuite>\n", xml_text(suite.name), suite.counts(),
                        suite.cases);
  }
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" {}>\n{}</testsuites>\n",
                     root.name, root.counts(), text);
}

}  // namespace furlong::tools
