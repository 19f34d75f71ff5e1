#include "base/options.hpp"

#include <stdexcept>

namespace furlong {

namespace {

option_spec ranged(std::string name, option_type type, std::string doc, const option_range& range) {
  return {.name = std::move(name),
          .type = type,
          .doc = std::move(doc),
          .at_least = range.at_least,
          .at_most = range.at_most,
          .above = range.above};
}

}  // namespace

option_spec flag_option(std::string name, std::optional<bool> fallback, std::string doc) {
  return {.name = std::move(name), .type = option_type::boolean, .fallback = fallback, .doc = std::move(doc)};
}

option_spec integer_option(std::string name, std::optional<std::int64_t> fallback, std::string doc,
                           option_range range) {
  auto option = ranged(std::move(name), option_type::integer, std::move(doc), range);
  option.fallback = fallback;
  return option;
}

option_spec number_option(std::string name, std::optional<double> fallback, std::string doc, option_range range) {
  auto option = ranged(std::move(name), option_type::number, std::move(doc), range);
  option.fallback = fallback;
  return option;
}

option_spec text_option(std::string name, std::optional<std::string> fallback, std::string doc) {
  return {.name = std::move(name), .type = option_type::text, .fallback = std::move(fallback), .doc = std::move(doc)};
}

option_spec choice_option(std::string name, std::optional<std::string> fallback, std::string doc,
                          std::vector<std::string> choices) {
  return {.name = std::move(name),
          .type = option_type::choice,
          .fallback = std::move(fallback),
          .doc = std::move(doc),
          .choices = std::move(choices)};
}

option_spec required(option_spec option) {
  option.required = true;
  return option;
}

template <class T>
const T& option_values::get(std::string_view name) const {
  const auto at = values_.find(name);
  if (at == values_.end()) throw std::logic_error("option \"" + std::string(name) + "\" is not set");
  const auto* value = std::get_if<T>(&at->second);
  if (value == nullptr) throw std::logic_error("option \"" + std::string(name) + "\" has another type");
  return *value;
}

bool option_values::flag(std::string_view name) const { return get<bool>(name); }
std::int64_t option_values::integer(std::string_view name) const { return get<std::int64_t>(name); }
const std::string& option_values::text(std::string_view name) const { return get<std::string>(name); }
const std::vector<std::string>& option_values::list(std::string_view name) const {
  return get<std::vector<std::string>>(name);
}

const std::vector<double>& option_values::numbers(std::string_view name) const {
  return get<std::vector<double>>(name);
}

double option_values::number(std::string_view name) const {
  const auto at = values_.find(name);
  if (at != values_.end())
    if (const auto* whole = std::get_if<std::int64_t>(&at->second)) return static_cast<double>(*whole);
  return get<double>(name);
}

option_values defaults(const std::vector<option_spec>& specs) {
  option_values values;
  for (const auto& spec : specs)
    if (spec.fallback) values.set(spec.name, *spec.fallback);
  return values;
}

}  // namespace furlong
