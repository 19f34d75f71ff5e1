#include "scenarios/data/own_ratings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/utf8.hpp"
#include "scenarios/data/detail/file_errors.hpp"
#include "scenarios/data/hosted_file.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "scenarios/data/rating_table.hpp"
#include "scenarios/data/ratings_file.hpp"

namespace furlong::scenarios {

namespace {

constexpr std::string_view pair_header = "item,rating";

/// Reads item,rating lines, with or without that header.
result<rating_records> read_pairs(std::string_view text, const std::string& name) {
  rating_records records;
  auto rest = text;
  if (next_line(rest) == pair_header) {
    records.first_line = 2;
    text = rest;
  }
  while (!text.empty()) {
    const auto line = next_line(text);
    const auto comma = std::min(line.find(','), line.size());
    const auto item = parse_number<std::uint32_t>(line.substr(0, comma));
    const auto rating = parse_number<float>(line.substr(std::min(comma + 1, line.size())));
    if (!item || *item > largest_id || !rating)
      return detail::refuse(name + ":" + records.line_of(records.size()), "found " + shown(line),
                            "expected item,rating: a whole number up to 16777215, and a rating such as 3.5");
    records.users.push_back(0);
    records.items.push_back(*item);
    records.ratings.push_back(*rating);
    records.times.push_back(0);
  }
  return records;
}

result<rating_records> read_person(std::string_view text, const std::string& name) {
  text = without_byte_order_mark(text);
  auto rest = text;
  const auto first = next_line(rest);
  if (format_of_ratings(first)) return read_ratings(text, name);
  if (!first.starts_with("user,")) return read_pairs(text, name);
  constexpr auto any = std::numeric_limits<float>::infinity();
  return read_hosted_ratings(text, name, {largest_id + 1, largest_id + 1, -any, any, 0, largest_id});
}

/// Rejects ratings that the dataset cannot have.
result<void> check_range(const rating_records& records, const std::string& name, const dataset& data) {
  for (std::size_t entry = 0; entry < records.size(); ++entry) {
    const auto rating = records.ratings[entry];
    if (std::isfinite(rating) && rating >= data.label_low && rating <= data.label_high) continue;
    return detail::refuse(name + ":" + records.line_of(entry),
                          "the rating " + detail::number_text(rating) + " is not from " +
                              detail::number_text(data.label_low) + " to " + detail::number_text(data.label_high) +
                              ", the range of the run's data",
                          "correct it");
  }
  return {};
}

}  // namespace

result<own_ratings> read_own_ratings(const std::filesystem::path& path, const dataset& data) {
  const auto name = path.string();
  if (data.item_ids.empty())
    return fail(error::kind::usage, name, "the dataset of the run has no rated items",
                "use a run on a dataset of ratings");
  const auto file = open_text(path);
  if (!file) return tl::unexpected(file.error());
  auto records = read_person(file->bytes(), name);
  if (!records) return tl::unexpected(records.error());
  if (records->size() == 0) return detail::refuse(name, "has no ratings", "expected one item,rating per line");
  if (auto checked = check_range(*records, name, data); !checked) return tl::unexpected(checked.error());
  for (std::size_t entry = 1; entry < records->size(); ++entry)
    if (records->users[entry] != records->users[0])
      return fail(
          error::kind::data, name + ":" + records->line_of(entry),
          "found user " + std::to_string(records->users[entry]) + " after user " + std::to_string(records->users[0]),
          "expected the ratings of one person");

  own_ratings own;
  const auto table = group_by_user(std::move(*records), name);
  if (!table) return tl::unexpected(table.error());
  for (std::size_t i = 0; i < table->labels.size(); ++i) {
    const auto id = table->item_ids[table->features[i]];
    const auto found = std::ranges::lower_bound(data.item_ids, id);
    if (found == data.item_ids.end() || *found != id) {
      own.unknown.push_back(id);
      continue;
    }
    const float stars = table->labels[i];
    own.table.features.push_back(static_cast<std::uint32_t>(found - data.item_ids.begin()));
    own.table.labels.push_back(!data.binarize ? stars : stars >= static_cast<float>(*data.binarize) ? 1.0F : 0.0F);
  }
  if (own.table.labels.empty())
    return fail(error::kind::data, name, "the dataset of the run has none of the rated items",
                "name items by the ids that the dataset uses");
  return own;
}

}  // namespace furlong::scenarios
