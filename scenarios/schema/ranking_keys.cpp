#include "scenarios/schema/ranking_keys.hpp"

#include <algorithm>
#include <cmath>

#include "federated/ranking/figures.hpp"
#include "scenarios/schema/schema_fields.hpp"
#include "scenarios/schema/scored_groups.hpp"

namespace furlong::scenarios {

namespace {

constexpr const char* top_key = "evaluation.top";
constexpr const char* candidates_key = "evaluation.candidates";
constexpr const char* sampled_key = "evaluation.sampled";
constexpr const char* exposed_key = "evaluation.exposed";
constexpr double most_places = 1000;

bool lists(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

void check_top(draft& document) {
  if (!document.good({top_key})) return;
  const auto& tops = document.values.numbers(top_key);
  const auto* fix = "write whole numbers from 1 to 1000 in ascending order, such as [5, 10, 20]";
  if (tops.empty() || tops.size() > federated::ranking::most_tops)
    return document.report(top_key,
                           "has " + std::to_string(tops.size()) + " numbers, and 1 to " +
                               std::to_string(federated::ranking::most_tops) + " are possible",
                           fix);
  for (std::size_t i = 0; i < tops.size(); ++i)
    if (tops[i] != std::floor(tops[i]))
      return document.report_item(top_key, i, "is no whole number", fix);
    else if (i > 0 && tops[i] <= tops[i - 1])
      return document.report_item(top_key, i, "is not above the number before it", fix);
}

void check_candidates(draft& document) {
  if (!document.good({candidates_key})) return;
  const auto& sets = document.values.list(candidates_key);
  const auto* fix = "write \"full\", \"sampled\" or both";
  if (sets.empty()) return document.report(candidates_key, "is empty: nothing would be ranked", fix);
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (sets[i] != "full" && sets[i] != "sampled")
      document.report_item(candidates_key, i, "is " + toml_string(sets[i]) + ", which is no set of candidates", fix);
    else if (std::find(sets.begin(), sets.end(), sets[i]) < sets.begin() + static_cast<std::ptrdiff_t>(i))
      document.report_item(candidates_key, i, "is repeated", "remove it");
}

void check_exposed(draft& document) {
  if (!document.good({exposed_key, candidates_key})) return;
  const auto& items = document.values.list(exposed_key);
  if (!items.empty() && !lists(document.values.list(candidates_key), "full"))
    document.report(exposed_key, "is about places among all items, which evaluation.candidates leaves out",
                    "add \"full\" there, or remove it");
  for (std::size_t i = 0; i < items.size(); ++i)
    if (std::find(items.begin(), items.end(), items[i]) < items.begin() + static_cast<std::ptrdiff_t>(i))
      document.report_item(exposed_key, i, "is repeated", "remove it");
}

}  // namespace

void add_ranking_keys(std::vector<key_spec>& keys) {
  using namespace fields;
  const auto add = [&](option_spec option) { keys.push_back(may_change(plain(std::move(option)))); };
  const federated::ranking_settings fallback;
  add({.name = top_key,
       .type = option_type::number_list,
       .fallback = std::vector<double>(fallback.top.begin(), fallback.top.end()),
       .doc = "Data of interactions: the places K of the figures hr_K, ndcg_K and so on, ascending, at most 8.",
       .at_least = 1,
       .at_most = most_places});
  add({.name = candidates_key,
       .type = option_type::text_list,
       .fallback = std::vector<std::string>{"full", "sampled"},
       .doc = "Data of interactions: what held-out items are ranked among. full: all items that the client does not "
              "know. sampled: evaluation.sampled items drawn once for each client, as in many papers; such figures "
              "can order models otherwise than the full ones, which are to be trusted (Krichene and Rendle 2020)."});
  add(integer_option(sampled_key, fallback.candidates,
                     "Data of interactions: how many items a client never interacted with are drawn for it, others "
                     "for its validation than for its test part.",
                     {1, 100000}));
  add({.name = exposed_key,
       .type = option_type::text_list,
       .fallback = std::vector<std::string>{},
       .doc = "Data of interactions: ids of items whose exposure is reported, the share of the clients that do not "
              "know an item and have it among the first K of all items."});
}

bool ranks_items(const draft& document) {
  return document.source != nullptr && document.source->facts &&
         document.source->facts(source_options(document)).labels == models::objective::ranking;
}

void check_ranking(draft& document) {
  check_top(document);
  check_candidates(document);
  check_exposed(document);
  if (document.source != nullptr && !ranks_items(document))
    note_unused(document, "evaluation", {"top", "candidates", "sampled", "exposed"}, "the data are not interactions");
}

bool ranking_is_good(const draft& document) {
  return document.good({top_key, candidates_key, sampled_key, exposed_key});
}

federated::ranking_settings read_ranking(const option_values& values) {
  federated::ranking_settings made;
  made.top.clear();
  for (const double places : values.numbers(top_key)) made.top.push_back(static_cast<std::uint32_t>(places));
  made.full = lists(values.list(candidates_key), "full");
  made.sampled = lists(values.list(candidates_key), "sampled");
  made.candidates = static_cast<std::uint32_t>(values.integer(sampled_key));
  made.exposed = values.list(exposed_key);
  made.one_held_out = values.has("data.split_by") && values.text("data.split_by") == "leave-one-out";
  return made;
}

result<void> settle_exposed(scenario& given, const dataset& data) {
  auto& settings = given.settings.evaluation->ranking;
  settings.exposed_items.clear();
  if (settings.exposed.empty()) return {};
  const auto items = items_named(data, settings.exposed);
  for (std::size_t i = 0; i < items.size(); ++i)
    if (items[i])
      settings.exposed_items.push_back(*items[i]);
    else
      return refuse(given, exposed_key, "has " + toml_string(settings.exposed[i]) + ", which is no item of the data",
                    "name items by their ids in the data's files");
  std::ranges::sort(settings.exposed_items);
  return {};
}

}  // namespace furlong::scenarios
