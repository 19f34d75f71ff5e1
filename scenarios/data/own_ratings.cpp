#include "scenarios/data/own_ratings.hpp"

#include <algorithm>

#include "scenarios/data/rating_table.hpp"
#include "scenarios/data/ratings_file.hpp"

namespace furlong::scenarios {

result<own_ratings> read_own_ratings(const std::filesystem::path& path, const dataset& data) {
  const auto name = path.string();
  if (data.item_ids.empty())
    return fail(error::kind::usage, name, "the dataset of the run has no rated items",
                "use a run on a dataset of ratings");
  auto records = read_ratings(path);
  if (!records) return tl::unexpected(records.error());
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
    const auto at = std::ranges::lower_bound(data.item_ids, id);
    if (at == data.item_ids.end() || *at != id) {
      own.unknown.push_back(id);
      continue;
    }
    const float stars = table->labels[i];
    own.table.features.push_back(static_cast<std::uint32_t>(at - data.item_ids.begin()));
    own.table.labels.push_back(!data.binarize ? stars : stars >= static_cast<float>(*data.binarize) ? 1.0F : 0.0F);
  }
  if (own.table.labels.empty())
    return fail(error::kind::data, name, "the dataset of the run has none of the rated items",
                "name items by the ids that the dataset uses");
  return own;
}

}  // namespace furlong::scenarios
