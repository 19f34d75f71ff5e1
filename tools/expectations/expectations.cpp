#include "tools/expectations/expectations.hpp"

#include <cmath>
#include <fmt/format.h>

namespace furlong::tools {

namespace {

using nlohmann::ordered_json;
using scenarios::expectation_kind;

std::string text_of_value(const std::variant<double, std::string, bool>& value) {
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return '"' + std::get<std::string>(value) + '"';
}

bool equal(const ordered_json& figure, const std::variant<double, std::string, bool>& value) {
  if (const auto* number = std::get_if<double>(&value)) return figure.is_number() && figure.get<double>() == *number;
  if (const auto* flag = std::get_if<bool>(&value)) return figure.is_boolean() && figure.get<bool>() == *flag;
  return figure.is_string() && figure.get<std::string>() == std::get<std::string>(value);
}

/// Whether a number is within its bound, and how the bound reads.
struct bound {
  bool held = false;
  std::string text;
};

result<bound> judge_within(const scenarios::expectation& one, double figure, const baseline_summary& baseline) {
  const auto name = one.baseline.filename().string();
  const auto summary = baseline(one.baseline);
  if (!summary) return tl::unexpected(summary.error());
  const auto other = figure_of(*summary, one.key);
  if (!other) return tl::unexpected(other.error());
  if (!other->is_number())
    return fail(error::kind::usage, name, fmt::format("{} is {}, no number", one.key, figure_text(*other)));
  const double reference = other->get<double>();
  const double share = std::get<double>(one.value);
  return bound{std::abs(figure - reference) <= share * std::abs(reference),
               fmt::format("within {} of {} in {}", share, figure_text(*other), name)};
}

result<bound> judge_number(const scenarios::expectation& one, double figure, const baseline_summary& baseline) {
  if (one.kind == expectation_kind::within) return judge_within(one, figure, baseline);
  const double limit = std::get<double>(one.value);
  if (one.kind == expectation_kind::at_most) return bound{figure <= limit, fmt::format("at most {}", limit)};
  return bound{figure >= limit, fmt::format("at least {}", limit)};
}

finding judge(const scenarios::expectation& one, const ordered_json& summary, const baseline_summary& baseline) {
  const auto failed = [&](const std::string& why) { return finding{false, fmt::format("{} [{}]", why, one.place)}; };
  const auto figure = figure_of(summary, one.key);
  if (!figure) return failed(figure.error().text());
  if (one.kind != expectation_kind::equals && !figure->is_number())
    return failed(fmt::format("{} is {}, no number to compare", one.key, figure_text(*figure)));
  const auto judged = one.kind == expectation_kind::equals
                          ? result<bound>(bound{equal(*figure, one.value), "equals " + text_of_value(one.value)})
                          : judge_number(one, figure->get<double>(), baseline);
  if (!judged) return failed(fmt::format("{}: {}", one.key, judged.error().text()));
  const auto text = fmt::format("{} = {} ({})", one.key, figure_text(*figure, !judged->held), judged->text);
  return judged->held ? finding{true, text} : failed(text);
}

}  // namespace

findings judge_expectations(const std::vector<scenarios::expectation>& expected, const ordered_json& summary,
                            const baseline_summary& baseline) {
  findings found;
  for (const auto& one : expected) found.push_back(judge(one, summary, baseline));
  return found;
}

}  // namespace furlong::tools
