#include "scenarios/python/crash_place.hpp"

#include <algorithm>
#include <array>

namespace furlong::scenarios {

namespace {

bool is_own(std::string_view file) {
  constexpr std::array<std::string_view, 3> foreign_places = {"/lib/python", "/python/furlong/", "<"};
  return std::ranges::none_of(foreign_places, [&](auto place) { return file.find(place) != std::string_view::npos; });
}

}  // namespace

void crash_place::read(std::string_view line) {
  constexpr std::string_view file_is = "  File \"";
  constexpr std::string_view line_is = "\", line ";
  if (line.starts_with(file_is)) {
    const auto end = line.find(line_is);
    const auto file = line.substr(file_is.size(), end - file_is.size());
    if (!inside_ || !text_.empty() || end == std::string_view::npos || !is_own(file)) return;
    const auto number = line.substr(end + line_is.size());
    text_.append(file).append(":").append(number.substr(0, number.find_first_not_of("0123456789")));
    return;
  }
  inside_ = line.starts_with("Current thread ") || line.starts_with("Stack (");
  // What the module writes beside frames; after anything else the process has gone on.
  const bool goes_on = !line.empty() && !line.starts_with("Thread ") && !line.starts_with("Extension modules: ");
  if (inside_ || goes_on) text_.clear();
}

}  // namespace furlong::scenarios
