#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

const char* what_it_must_be(option_type type) {
  switch (type) {
    case option_type::boolean: return "must be true or false";
    case option_type::integer: return "must be a whole number";
    case option_type::number: return "must be a number";
    case option_type::text: return "must be a text in quotes";
    case option_type::choice: return "must be one of the texts below";
    case option_type::text_list: return "must be a list of texts";
    case option_type::number_list: return "must be a list of numbers";
  }
  return "";
}

const char* example_of(option_type type) {
  switch (type) {
    case option_type::text: return "write \"...\"";
    case option_type::text_list: return "write [\"a\", \"b\"], or [] for none";
    case option_type::number_list: return "write [0.5, 0.5]";
    default: return "";
  }
}

std::string number_like(const option_spec& spec, double bound) {
  if (spec.type == option_type::integer && std::abs(bound) < 9e15)
    return std::to_string(static_cast<std::int64_t>(bound));
  auto text = number_text(bound);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

/// The reason why a number is out of range; empty: it is in range.
std::string out_of_range(const option_spec& spec, double number) {
  if (!std::isfinite(number)) return "must be finite";
  if (spec.above && number <= spec.at_least) return "must be above " + number_like(spec, spec.at_least);
  if (number < spec.at_least) return "must be at least " + number_like(spec, spec.at_least);
  if (number > spec.at_most) return "must be at most " + number_like(spec, spec.at_most);
  return {};
}

reading wrong_type(const option_spec& spec, const toml_value& value) {
  if (spec.type == option_type::choice)
    return {std::nullopt, "is " + to_text(value) + ", must be a text", "choose " + listed(spec.choices, "or")};
  return {std::nullopt, "is " + to_text(value) + ", " + what_it_must_be(spec.type), example_of(spec.type)};
}

reading read_number(const option_spec& spec, const toml_value& value) {
  double number = 0.0;
  if (const auto* whole = std::get_if<std::int64_t>(&value.data))
    number = static_cast<double>(*whole);
  else if (const auto* fraction = std::get_if<double>(&value.data);
           fraction != nullptr && spec.type != option_type::integer)
    number = *fraction;
  else
    return wrong_type(spec, value);
  if (auto why = out_of_range(spec, number); !why.empty())
    return {std::nullopt, "is " + to_text(value) + ", " + why, ""};
  if (spec.type == option_type::integer) return {std::get<std::int64_t>(value.data), "", ""};
  return {number, "", ""};
}

/// What the field names as an algorithm and is a setting of another one here.
struct setting_instead {
  std::string_view word;
  std::string_view fix;
};
constexpr setting_instead settings_instead[] = {
    {"fedprox", "choose \"fedavg\" and set algorithm.client.proximal to its mu"},
    {"fedadagrad", "choose \"fedavg\" and algorithm.server.optimizer = \"adagrad\""},
    {"fedadam", "choose \"fedavg\" and algorithm.server.optimizer = \"adam\""},
    {"fedyogi", "choose \"fedavg\" and algorithm.server.optimizer = \"yogi\""},
    {"fedavgm", "choose \"fedavg\" and set algorithm.server.momentum"},
    {"fedsim", "choose \"furl\" and set algorithm.furl.private_lr"},
    {"fedbuff", "choose \"fedavg\" and participation.mode = \"async\""},
    {"fedasync", "choose \"fedavg\" and participation.mode = \"async\""},
};

std::string fix_of_choice(const option_spec& spec, const std::string& word) {
  if (spec.name == "algorithm.kind")
    for (const auto& [name, fix] : settings_instead)
      if (std::ranges::equal(word, name, {}, [](unsigned char c) { return std::tolower(c); })) return std::string(fix);
  const auto near = nearest(word, spec.choices);
  return near.empty() ? "" : "did you mean " + toml_string(near) + "?";
}

reading read_choice(const option_spec& spec, const toml_value& value) {
  const auto* word = std::get_if<std::string>(&value.data);
  if (word == nullptr) return wrong_type(spec, value);
  if (std::ranges::find(spec.choices, *word) != spec.choices.end()) return {*word, "", ""};
  return {std::nullopt, "is " + toml_string(*word) + ", which is none of " + listed(spec.choices),
          fix_of_choice(spec, *word)};
}

reading read_list(const option_spec& spec, const toml_value& value) {
  const auto* items = std::get_if<std::vector<toml_value>>(&value.data);
  if (items == nullptr) return wrong_type(spec, value);
  std::vector<std::string> texts;
  std::vector<double> numbers;
  auto item_spec = spec;
  item_spec.type = option_type::number;
  for (const auto& item : *items) {
    if (spec.type == option_type::text_list) {
      const auto* text = std::get_if<std::string>(&item.data);
      if (text == nullptr) return wrong_type(spec, value);
      texts.push_back(*text);
      continue;
    }
    auto read = read_number(item_spec, item);
    if (!read.value) return {std::nullopt, "has an item that " + read.why, ""};
    numbers.push_back(std::get<double>(*read.value));
  }
  if (spec.type == option_type::text_list) return {texts, "", ""};
  return {numbers, "", ""};
}

}  // namespace

reading read_value(const option_spec& spec, const toml_value& value) {
  switch (spec.type) {
    case option_type::boolean:
      if (const auto* flag = std::get_if<bool>(&value.data)) return {*flag, "", ""};
      return wrong_type(spec, value);
    case option_type::text:
      if (const auto* text = std::get_if<std::string>(&value.data)) return {*text, "", ""};
      return wrong_type(spec, value);
    case option_type::integer:
    case option_type::number: return read_number(spec, value);
    case option_type::choice: return read_choice(spec, value);
    case option_type::text_list:
    case option_type::number_list: return read_list(spec, value);
  }
  return {};
}

}  // namespace furlong::scenarios
