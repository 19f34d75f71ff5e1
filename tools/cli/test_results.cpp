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
  for (const auto& one : outcome.conditions) made.add(one.name, one.held ? "" : "failure", one.text);
  if (!outcome.error.empty()) made.add("run", outcome.code == data ? "skipped" : "error", outcome.error);
  return made;
}

}  // namespace

std::size_t test_results::count(bool held) const {
  return std::accumulate(scenarios.begin(), scenarios.end(), std::size_t{0}, [&](auto sum, const auto& one) {
    return sum + static_cast<std::size_t>(std::ranges::count(one.conditions, held, &finding::held));
  });
}

int graver(int first, int second) {
  constexpr std::array order = {done, data, expectation_failed, usage, failure, interrupted};
  const auto rank = [&](int code) { return std::ranges::find(order, code) - order.begin(); };
  return rank(first) < rank(second) ? second : first;
}

json to_json(const scenarios::problem& one) {
  return {{"file", one.origin}, {"line", one.line}, {"column", one.column},
          {"key", one.key},     {"why", one.why},   {"fix", one.fix}};
}

json to_json(const test_results& of) {
  json out = {{"exit_code", of.code}, {"held", of.count(true)},    {"failed", of.count(false)},
              {"not_run", of.broken}, {"problems", json::array()}, {"scenarios", json::array()}};
  for (const auto& one : of.problems) out["problems"].push_back(to_json(one));
  if (!of.folder.empty()) out["kept_in"] = of.folder;
  for (const auto& one : of.scenarios) {
    json line = {{"name", one.name},
                 {"file", one.file},
                 {"smoke", of.smoke},
                 {"seed", one.seed},
                 {"outcome", outcome_word(one.code)},
                 {"seconds", one.seconds},
                 {"conditions", json::array()}};
    for (const auto& each : one.conditions) {
      line["conditions"].push_back({{"name", each.name}, {"held", each.held}, {"text", each.text}});
      if (!each.value.is_null()) line["conditions"].back()["value"] = each.value;
    }
    if (!one.error.empty()) line["error"] = one.error;
    out["scenarios"].push_back(std::move(line));
  }
  return out;
}

std::string junit_xml(const test_results& of) {
  std::vector<xml_suite> suites;
  for (const auto& one : of.problems) {
    if (suites.empty() || suites.back().name != one.origin) suites.push_back({one.origin});
    suites.back().add(one.key.empty() ? "scenario" : one.key, "error", one.text());
  }
  for (const auto& one : of.scenarios)
    suites.push_back(suite_of(one, std::ranges::count(of.scenarios, one.file, &test_result::file) > 1));
  xml_suite all{"furlong test"};
  std::string text;
  for (const auto& one : suites) {
    all.tests += one.tests;
    all.seconds += one.seconds;
    for (const auto& [kind, count] : one.bad) all.bad[kind] += count;
    text +=
        fmt::format("  <testsuite name=\"{}\" {}>\n{}  </testsuite>\n", xml_text(one.name), one.counts(), one.cases);
  }
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" {}>\n{}</testsuites>\n",
                     all.name, all.counts(), text);
}

}  // namespace furlong::tools
