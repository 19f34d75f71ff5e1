#include "scenarios/data/interaction_table.hpp"

#include <algorithm>
#include <numeric>

#include "scenarios/data/detail/file_errors.hpp"

namespace furlong::scenarios {

namespace {

constexpr std::uint32_t unused_item = UINT32_MAX;

/// Keeps those of `values` whose number has a new one.
template <class T>
void keep_values(std::vector<T>& values, const std::vector<std::uint32_t>& numbers) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (numbers[i] != unused_item) std::swap(values[kept++], values[i]);
  values.resize(std::min(kept, values.size()));
}

/// Keeps the interactions of users that have enough, in the columns alone; numbers users anew.
std::uint32_t keep_users(rating_table& table, const feedback_settings& settings) {
  const auto is_one = [&](std::size_t entry) {
    // Both as float32: 0.7 is at least 0.7.
    return !settings.at_least || table.labels[entry] >= static_cast<float>(*settings.at_least);
  };
  std::vector<std::uint32_t> numbers(table.clients(), unused_item);
  std::vector<std::size_t> offsets = {0};
  std::size_t kept = 0;
  for (std::size_t user = 0; user < table.clients(); ++user) {
    const auto begin = kept;
    for (auto entry = table.offsets[user]; entry < table.offsets[user + 1]; ++entry) {
      if (!is_one(entry)) continue;
      table.features[kept] = table.features[entry];
      table.labels[kept] = 1.0F;
      if (!table.times.empty()) table.times[kept] = table.times[entry];
      ++kept;
    }
    if (kept - begin < settings.min_interactions) {
      kept = begin;
      continue;
    }
    numbers[user] = static_cast<std::uint32_t>(offsets.size() - 1);
    offsets.push_back(kept);
  }
  const auto left_out = static_cast<std::uint32_t>(table.clients() - (offsets.size() - 1));
  table.features.resize(kept);
  table.labels.resize(kept);
  if (!table.times.empty()) table.times.resize(kept);
  table.offsets = std::move(offsets);
  keep_values(table.user_ids, numbers);
  if (!table.user_names.empty()) keep_values(table.user_names, numbers);
  return left_out;
}

/// Numbers the items that are left anew.
void keep_items(rating_table& table) {
  std::vector<std::uint32_t> numbers(table.item_ids.size(), unused_item);
  for (const auto item : table.features) numbers[item] = 0;
  std::uint32_t next = 0;
  for (auto& number : numbers)
    if (number != unused_item) number = next++;
  for (auto& item : table.features) item = numbers[item];
  table.titles.resize(table.titles.empty() ? 0 : table.item_ids.size());
  keep_values(table.item_ids, numbers);
  keep_values(table.titles, numbers);
}

}  // namespace

option_spec min_interactions_option(std::optional<std::int64_t> fallback) {
  return integer_option("min_interactions", fallback,
                        "Users with fewer interactions are left out, and then items that nobody interacted with.",
                        {1, 1000000});
}

std::vector<option_spec> feedback_options() {
  auto least = min_interactions_option(std::nullopt);
  least.doc += " With feedback = \"implicit\"; default 10.";
  return {choice_option("feedback", "explicit",
                        "explicit: ratings are predicted. implicit: a rating is an interaction of a user with an item, "
                        "whatever its value, and models rank items (evaluation.top).",
                        {"explicit", "implicit"}),
          number_option("implicit_at", std::nullopt,
                        "With feedback = \"implicit\": only ratings of at least this are interactions; absent: all."),
          std::move(least)};
}

bool is_implicit(const option_values& options) {
  return options.has("feedback") && options.text("feedback") == "implicit";
}

feedback_settings read_feedback(const option_values& options) {
  feedback_settings settings;
  if (options.has("implicit_at")) settings.at_least = options.number("implicit_at");
  settings.label_key = "data.implicit_at";
  if (options.has("min_interactions"))
    settings.min_interactions = static_cast<std::uint32_t>(options.integer("min_interactions"));
  return settings;
}

void add_feedback_problems(const option_values& options, std::vector<option_problem>& problems) {
  if (!options.has("feedback")) return;
  if (is_implicit(options)) {
    if (options.has("binarize"))
      problems.push_back({"binarize", "makes classes of ratings, and feedback = \"implicit\" has none",
                          "remove one of them; data.implicit_at chooses the ratings that count"});
    return;
  }
  for (const char* name : {"implicit_at", "min_interactions"})
    if (options.has(name))
      problems.push_back({name, "is about interactions, and the data are ratings",
                          "add feedback = \"implicit\" to [data], or remove it"});
}

result<void> keep_interactions(rating_table& table, const feedback_settings& settings, const std::string& place,
                               std::vector<std::string>& notes) {
  const auto users = table.clients();
  const auto left_out = keep_users(table, settings);
  const auto least = std::to_string(settings.min_interactions);
  if (left_out == users)
    return detail::contradict(
        place, "no user has " + least + " interactions",
        "lower data.min_interactions" + (settings.at_least ? ", or " + settings.label_key : std::string()));
  if (left_out > 0)
    notes.push_back(std::to_string(left_out) + " of " + std::to_string(users) + " users have fewer than " + least +
                    " interactions and are left out (data.min_interactions)");
  keep_items(table);
  table.tastes.assign(table.clients(), 0.0F);
  return {};
}

}  // namespace furlong::scenarios
