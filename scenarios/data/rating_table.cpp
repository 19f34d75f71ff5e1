#include "scenarios/data/rating_table.hpp"

#include <algorithm>

namespace furlong::scenarios {

namespace {

constexpr std::uint32_t no_entry = UINT32_MAX;

/// The distinct ids, ascending, and the rank of each.
struct numbering {
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> rank;

  explicit numbering(const std::vector<std::uint32_t>& column)
      : rank(std::size_t{*std::ranges::max_element(column)} + 1, no_entry) {
    for (const auto id : column) rank[id] = 0;
    for (std::uint32_t id = 0; id < rank.size(); ++id) {
      if (rank[id] == no_entry) continue;
      rank[id] = static_cast<std::uint32_t>(ids.size());
      ids.push_back(id);
    }
  }
};

}  // namespace

tl::unexpected<error> rated_twice(const rating_records& records, std::uint32_t user, std::uint32_t item,
                                  const std::string& name) {
  std::string lines;
  std::string last;
  for (std::size_t entry = 0; entry < records.size(); ++entry) {
    if (records.users[entry] != user || records.items[entry] != item) continue;
    last = records.line_of(entry);
    lines += (lines.empty() ? "" : " and ") + last;
  }
  return fail(
      error::kind::data, name + ":" + last,
      "user " + std::to_string(user) + " rated item " + std::to_string(item) + " more than once, on lines " + lines,
      "keep one of them");
}

result<rating_table> group_by_user(rating_records records, const std::string& name) {
  const numbering users(records.users);
  const numbering items(records.items);
  rating_table table;
  table.user_ids = users.ids;
  table.item_ids = items.ids;

  // A counting sort: stable, so that each user's ratings keep the order of the file.
  table.offsets.assign(users.ids.size() + 1, 0);
  for (const auto user : records.users) ++table.offsets[users.rank[user] + 1];
  for (std::size_t c = 1; c < table.offsets.size(); ++c) table.offsets[c] += table.offsets[c - 1];
  auto next = table.offsets;
  table.features.resize(records.size());
  table.labels.resize(records.size());
  table.times.resize(records.size());
  for (std::size_t entry = 0; entry < records.size(); ++entry) {
    const auto slot = next[users.rank[records.users[entry]]]++;
    table.features[slot] = items.rank[records.items[entry]];
    table.labels[slot] = records.ratings[entry];
    table.times[slot] = records.times[entry];
  }

  std::vector<std::uint32_t> last_user(items.ids.size(), no_entry);
  for (std::uint32_t client = 0; client < table.clients(); ++client) {
    for (auto row = table.offsets[client]; row < table.offsets[client + 1]; ++row) {
      auto& seen = last_user[table.features[row]];
      if (seen == client) return rated_twice(records, users.ids[client], items.ids[table.features[row]], name);
      seen = client;
    }
  }
  return table;
}

}  // namespace furlong::scenarios
