#include "tools/expectations/expectations.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/parse_number.hpp"
#include "federated/experiment/update.hpp"

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

/// The result of a comparison, and the bound as text.
struct bound {
  bool held = false;
  std::string text;
};

result<bound> judge_within(const scenarios::expectation& expected, double figure, const baseline_summary& baseline) {
  const auto name = expected.baseline.filename().string();
  const auto summary = baseline(expected.baseline);
  if (!summary) return tl::unexpected(summary.error());
  const auto counterpart = figure_of(*summary, expected.key);
  if (!counterpart) return tl::unexpected(counterpart.error());
  if (!counterpart->is_number())
    return fail(error::kind::usage, name, fmt::format("{} is {}, no number", expected.key, figure_text(*counterpart)));
  const double reference = counterpart->get<double>();
  const double share = std::get<double>(expected.value);
  return bound{std::abs(figure - reference) <= share * std::abs(reference),
               fmt::format("within {} of {} in {}", share, figure_text(*counterpart), name)};
}

result<bound> judge_number(const scenarios::expectation& expected, double figure, const baseline_summary& baseline) {
  if (expected.kind == expectation_kind::within) return judge_within(expected, figure, baseline);
  const double limit = std::get<double>(expected.value);
  if (expected.kind == expectation_kind::at_most) return bound{figure <= limit, fmt::format("at most {}", limit)};
  return bound{figure >= limit, fmt::format("at least {}", limit)};
}

finding judge(const scenarios::expectation& expected, const ordered_json& summary, const baseline_summary& baseline) {
  const auto failed = [&](const std::string& why) {
    return finding{false, fmt::format("{} [{}]", why, expected.place)};
  };
  const auto figure = figure_of(summary, expected.key);
  if (!figure) return failed(figure.error().text());
  if (const auto level = summary.value("kernel_level", ""); !expected.level.empty() && expected.level != level)
    return {true, fmt::format("{} = {} (not judged: kernels of level {})", expected.key, figure_text(*figure), level)};
  if (expected.kind != expectation_kind::equals && !figure->is_number())
    return failed(fmt::format("{} is {}, no number to compare", expected.key, figure_text(*figure)));
  const auto judged =
      expected.kind == expectation_kind::equals
          ? result<bound>(bound{equal(*figure, expected.value), "equals " + text_of_value(expected.value)})
          : judge_number(expected, figure->get<double>(), baseline);
  if (!judged) return failed(fmt::format("{}: {}", expected.key, judged.error().text()));
  const auto text = fmt::format("{} = {} ({})", expected.key, figure_text(*figure, !judged->held), judged->text);
  return judged->held ? finding{true, text} : failed(text);
}

using nlohmann::ordered_json;

template <class Name>
bool names_one(std::string_view word, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (federated::to_string(static_cast<Name>(i)) == word) return true;
  return false;
}

/// A counter by name, which is written only if it is not zero.
bool is_counter(std::string_view key) {
  if (key.starts_with("wasted.")) key.remove_prefix(7);
  if (key.starts_with("rejected.")) return names_one<federated::rejection>(key.substr(9), federated::rejection_count);
  if (key.starts_with("dropped.")) return names_one<federated::drop_stage>(key.substr(8), federated::drop_stage_count);
  return false;
}

const ordered_json* member(const ordered_json& object, std::string_view name) {
  if (object.is_array()) {
    const auto index = parse_number<std::size_t>(name);
    return index && *index < object.size() ? &object[*index] : nullptr;
  }
  if (!object.is_object()) return nullptr;
  const auto found = object.find(std::string(name));
  return found == object.end() ? nullptr : &*found;
}

/// The keys available instead of a missing one.
std::string alternatives(const ordered_json& object, const std::string& path) {
  if (object.is_array()) return fmt::format("{} has {} items, from 0", path, object.size());
  if (!object.is_object()) return path + " has no parts";
  std::string names;
  for (const auto& item : object.items()) names += (names.empty() ? "" : ", ") + item.key();
  return fmt::format("{} has {}", path.empty() ? "it" : path, names.empty() ? "nothing" : names);
}

}  // namespace

findings judge_expectations(const std::vector<scenarios::expectation>& expected, const ordered_json& summary,
                            const baseline_summary& baseline) {
  findings found;
  for (const auto& expectation : expected) {
    found.push_back(judge(expectation, summary, baseline));
    found.back().name = expectation.text();
    if (const auto figure = figure_of(summary, expectation.key)) found.back().value = *figure;
  }
  return found;
}

result<ordered_json> figure_of(const ordered_json& summary, std::string_view key) {
  const ordered_json* value = &summary;
  std::string path;
  for (auto rest = key; !rest.empty();) {
    const auto name = rest.substr(0, rest.find('.'));
    const auto* inner = member(*value, name);
    if (inner == nullptr) {
      if (is_counter(key)) return ordered_json(0);
      return fail(error::kind::usage, std::string(key), "is not in summary.json: " + alternatives(*value, path),
                  "name a figure that this run has");
    }
    value = inner;
    path += (path.empty() ? "" : ".") + std::string(name);
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  }
  return *value;
}

std::string figure_text(const ordered_json& value, bool exactly) {
  if (value.is_number_float())
    return exactly ? fmt::format("{}", value.get<double>()) : fmt::format("{:.6g}", value.get<double>());
  if (value.is_null()) return "not finite";
  return value.dump();
}

}  // namespace furlong::tools
