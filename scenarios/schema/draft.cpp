#include "scenarios/schema/draft.hpp"

#include <algorithm>
#include <tuple>

namespace furlong::scenarios {

std::string problem::text() const {
  const auto text = keyed_place(place_text(origin, {line, column}), key) + ": " + why;
  return fix.empty() ? text : text + "; " + fix;
}

std::string place_text(const std::string& origin, place position) {
  return position.line == 0 ? origin
                            : origin + ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
}

std::string keyed_place(const std::string& place, const std::string& key) {
  const bool is_named = place.starts_with("--") && place.ends_with(" " + key);
  return key.empty() || is_named ? place : place + ": " + key;
}

std::string record_name(const std::string& table, std::size_t item) {
  return table + "[" + std::to_string(item + 1) + "]";
}

bool draft::good(std::initializer_list<std::string_view> keys) const {
  return std::ranges::all_of(keys, [&](auto key) { return values.has(key) && !bad_.contains(key); });
}

void draft::add(const std::string& origin, place position, const std::string& key, std::string why, std::string fix) {
  bad_.insert(key);
  problems_.push_back({origin, position.line, position.column, key, std::move(why), std::move(fix)});
}

void draft::report(const std::string& key, std::string why, std::string fix) {
  for (std::string_view name = key; !name.empty(); name = table_of(name)) {
    const auto found = written_.find(name);
    if (found == written_.end()) continue;
    const auto& [origin, entry] = found->second;
    const bool is_value = entry.key == key && entry.value.at.line != 0;
    return add(origin, is_value ? entry.value.at : entry.at, key, std::move(why), std::move(fix));
  }
  add(file_, {}, key, std::move(why), std::move(fix));
}

void draft::report_item(const std::string& key, std::size_t item, std::string why, std::string fix) {
  const auto found = written_.find(key);
  if (found == written_.end()) return report(key, std::move(why), std::move(fix));
  const auto* items = std::get_if<std::vector<toml_value>>(&found->second.entry.value.data);
  const auto where = items != nullptr && item < items->size() ? (*items)[item].at : found->second.entry.value.at;
  add(found->second.origin, found->second.origin == file_ ? where : place{}, key, std::move(why), std::move(fix));
}

void draft::report_name(const source_entry& written, std::string why, std::string fix) {
  add(written.origin, written.entry.at, written.entry.key, std::move(why), std::move(fix));
}

std::map<std::string, std::string, std::less<>> draft::places() const {
  std::map<std::string, std::string, std::less<>> texts;
  for (const auto& [key, written] : written_) {
    texts[key] = place_text(written.origin, written.entry.value.at);
  }
  return texts;
}

std::vector<problem> draft::problems() const {
  auto sorted = problems_;
  std::ranges::stable_sort(sorted, {},
                           [&](const problem& p) { return std::tuple(p.origin != file_, p.line, p.column); });
  return sorted;
}

}  // namespace furlong::scenarios
