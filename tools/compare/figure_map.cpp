#include "tools/compare/figure_map.hpp"

#include <algorithm>
#include <mutex>
#include <set>

namespace furlong::tools {

namespace {

const std::string* shared_name(std::string_view name) {
  static std::mutex one_at_a_time;
  static std::set<std::string, std::less<>> names;
  const std::lock_guard guard(one_at_a_time);
  const auto at = names.find(name);
  return &*(at != names.end() ? at : names.emplace(name).first);
}

}  // namespace

double& figure_map::operator[](std::string_view name) {
  const auto at =
      std::ranges::lower_bound(figures_, name, {}, [](const auto& figure) { return std::string_view(*figure.first); });
  if (at != figures_.end() && *at->first == name) return at->second;
  return figures_.insert(at, {shared_name(name), 0.0})->second;
}

figure_map::iterator figure_map::lower_bound(std::string_view name) const {
  return iterator(
      std::ranges::lower_bound(figures_, name, {}, [](const auto& figure) { return std::string_view(*figure.first); }));
}

figure_map::iterator figure_map::find(std::string_view name) const {
  const auto at = lower_bound(name);
  return at != end() && at->first == name ? at : end();
}

}  // namespace furlong::tools
