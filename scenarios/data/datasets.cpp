#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <sstream>

#include "base/parse_number.hpp"
#include "base/registry.hpp"
#include "scenarios/data/checked_dataset.hpp"
#include "scenarios/data/dataset.hpp"
#include "scenarios/data/entries.hpp"
#include "scenarios/data/synthetic_ratings.hpp"
#include "scenarios/data/synthetic_texts.hpp"

namespace furlong::scenarios {

namespace {

registry<dataset_entry>& table() {
  // clang-format off
  static registry<dataset_entry> entries = {{
      movielens_entry(),
      hosted_ratings_entry(),
      interactions_entry(),
      synthetic_ratings_entry(),
      text_entry(),
      labelled_text_entry(),
      leaf_entry(),
      synthetic_texts_entry(),
      python_data_entry(),
  }};
  // clang-format on
  return entries;
}

}  // namespace

const std::vector<dataset_entry>& registered_datasets() { return table().entries; }

void register_dataset(dataset_entry entry) { table().add(checked(std::move(entry))); }

const dataset_entry* find_dataset(std::string_view kind) { return table().find(kind); }

std::string item_id(const dataset& data, std::uint32_t feature) {
  return data.item_names.empty() ? std::to_string(data.item_ids[feature]) : data.item_names[feature];
}

std::vector<std::optional<std::uint32_t>> items_named(const dataset& data, const std::vector<std::string>& ids) {
  std::map<std::string, std::uint32_t, std::less<>> features;
  const auto items = std::max(data.item_names.size(), data.item_ids.size());
  for (std::uint32_t feature = 0; feature < items; ++feature) features.emplace(item_id(data, feature), feature);
  std::vector<std::optional<std::uint32_t>> found;
  for (const auto& id : ids) {
    const auto number = data.item_names.empty() ? parse_number<std::uint32_t>(id) : std::nullopt;
    const auto item = features.find(number ? std::to_string(*number) : id);
    found.push_back(item == features.end() ? std::nullopt : std::optional(item->second));
  }
  return found;
}

std::string changed_files(const source_code& before, const source_code& now) {
  std::string names;
  const auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
  for (const auto& [name, digest] : before)
    if (const auto same = now.find(name); same == now.end() || same->second != digest) add(name);
  for (const auto& file : now)
    if (!before.contains(file.first)) add(file.first);
  return names;
}

std::string code_text(const source_code& code) {
  std::string text;
  for (const auto& [name, digest] : code) text += digest + " " + name + "\n";
  return text;
}

source_code code_from(const std::string& text) {
  source_code code;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (const auto blank = line.find(' '); blank != std::string::npos)
      code[line.substr(blank + 1)] = line.substr(0, blank);
  return code;
}

option_spec seed_option(std::string name, std::string doc) {
  auto option = integer_option(std::move(name), std::nullopt, std::move(doc), {0});
  option.same_as = "scenario.seed";
  return option;
}

void add_options(std::vector<option_spec>& options, std::vector<option_spec> more) {
  std::ranges::move(more, std::back_inserter(options));
}

std::filesystem::path data_root() {
  const char* named = std::getenv("FURLONG_DATA");
  return named != nullptr && *named != '\0' ? std::filesystem::path(named) : std::filesystem::path("data");
}

}  // namespace furlong::scenarios
