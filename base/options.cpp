#include "base/options.hpp"

#include <stdexcept>

namespace furlong {

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
