#include "scenarios/python/algorithm_description.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <string>

namespace furlong::scenarios {

namespace {

using nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& reason) { throw std::invalid_argument("its algorithm " + reason); }

/// Words of a text in a scenario are separated by blanks.
std::string word(const ordered_json& reply) {
  auto text = reply.get<std::string>();
  if (text.empty() || text.find_first_of(" \t\n") != std::string::npos)
    refuse("names \"" + text + "\", and names must not have blanks");
  return text;
}

template <class Number>
std::string shortest(Number value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

/// As layouts have them: a vector is one row, further dimensions are columns.
std::string shape_text(const ordered_json& reply) {
  const auto extents = reply.get<std::vector<std::uint32_t>>();
  const std::uint64_t rows = extents.size() > 1 ? extents.front() : 1;
  std::uint64_t columns = 1;
  for (std::size_t i = extents.size() > 1 ? 1 : 0; i < extents.size(); ++i) {
    columns *= extents[i];
    if (columns > std::numeric_limits<std::uint32_t>::max()) refuse("has a shape with too many columns");
  }
  return std::to_string(rows) + "x" + std::to_string(columns);
}

std::string tensors_text(const ordered_json& group) {
  if (group.contains("shape")) return " = " + shape_text(group.at("shape"));
  const auto& tensors = group.at("of");
  if (tensors.is_string()) return " = " + word(tensors);
  std::string text = " of";
  for (const auto& name : tensors) text += " " + word(name);
  return text;
}

std::string group_text(const ordered_json& group) {
  const auto where = group.at("place").get<std::string>();
  auto text = word(group.at("name")) + " " + word(group.at("place"));
  if (where == "addressed") text += " " + std::to_string(group.at("clients").get<std::uint32_t>());
  if (where != "report") {
    const auto& first = group.at("first");
    text += " " + (first.is_string() ? word(first) : shortest(first.get<float>()));
  }
  if (where == "report" || where == "shared") {
    text += " " + word(group.at("rule")) + " " + shortest(group.at("max_norm").get<double>());
    if (group.at("exact").get<bool>()) text += " exact";
  }
  return text + tensors_text(group);
}

}  // namespace

option_values read_options(const ordered_json& reply) {
  option_values made;
  for (const auto& [name, value] : reply.items()) {
    if (value.is_boolean())
      made.set(name, value.get<bool>());
    else if (value.is_number_integer())
      made.set(name, value.get<std::int64_t>());
    else if (value.is_number())
      made.set(name, value.get<double>());
    else
      made.set(name, value.get<std::string>());
  }
  return made;
}

algorithm_description read_algorithm(const ordered_json& reply) {
  algorithm_description made;
  made.options = read_options(reply.at("options"));
  for (const auto* reserved : {"groups", "traits"})
    if (made.options.has(reserved))
      refuse("has an option \"" + std::string(reserved) + "\", a key that furlong writes");
  for (const auto& group : reply.at("groups")) made.groups.push_back(group_text(group));
  made.traits.push_back("private " + word(reply.at("private")));
  if (!reply.at("sends_model").get<bool>()) made.traits.emplace_back("groups only");
  if (reply.at("exact_state").get<bool>()) made.traits.emplace_back("exact state");
  if (reply.at("cohort").get<bool>()) made.traits.emplace_back("sees updates");
  if (reply.at("plain").get<bool>()) made.traits.emplace_back("plain steps");
  for (const auto& rule : reply.at("rules")) made.traits.push_back("rule " + word(rule));
  for (const auto& name : reply.at("metrics")) made.traits.push_back("metric " + word(name));
  made.uses_examples = reply.at("predicts").get<std::string>() == "examples";
  made.personalizes = reply.at("personalizes").get<bool>();
  made.has_outputs = reply.at("outputs").get<bool>();
  made.has_cost = reply.at("cost").get<bool>();
  made.steps = reply.at("step").get<bool>();
  return made;
}

}  // namespace furlong::scenarios
