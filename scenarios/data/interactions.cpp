// Interactions in a file: one client per user. Client and feature ids number users and items by their names, whole
// numbers first and by size.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "base/random.hpp"
#include "base/utf8.hpp"
#include "scenarios/data/detail/file_errors.hpp"
#include "scenarios/data/entries.hpp"
#include "scenarios/data/interaction_table.hpp"
#include "scenarios/data/labelled_file.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "scenarios/data/rating_split.hpp"

namespace furlong::scenarios {

namespace {

using detail::contradict;
using detail::refuse;

constexpr const char* column_keys = "data.user_column, data.item_column, data.time_column and data.weight_column";
enum field : std::uint8_t { user_field, item_field, time_field, weight_field, field_count };

/// The rows of a file, in its order. A repeated pair of user and item is one row: its place is that of the first, its
/// time the latest, its weight the sum.
struct interaction_rows {
  word_list users;
  word_list items;
  std::vector<std::uint32_t> user;
  std::vector<std::uint32_t> item;
  std::vector<std::int64_t> time;  ///< empty without that column
  std::vector<double> weight;      ///< likewise
  std::size_t repeated = 0;

  result<void> take(const std::vector<std::string_view>& fields, const std::string& place,
                    const std::array<std::string, field_count>& columns);

 private:
  std::unordered_map<std::uint64_t, std::size_t> row_of_pair_;
};

result<void> check_name(std::string_view name, const std::string& column, const std::string& place) {
  if (name.empty()) return refuse(place, "the field \"" + column + "\" is empty", "give every row a user and an item");
  if (!is_utf8(name)) return refuse(place, "the field \"" + column + "\" is not UTF-8", "save the file in UTF-8");
  return {};
}

std::string shown_field(std::string_view text) { return text.empty() ? "empty" : shown(text); }

result<void> interaction_rows::take(const std::vector<std::string_view>& fields, const std::string& place,
                                    const std::array<std::string, field_count>& columns) {
  for (const auto which : {user_field, item_field})
    if (auto good = check_name(fields[which], columns[which], place); !good) return good;
  std::int64_t when = 0;
  if (!columns[time_field].empty()) {
    const auto number = parse_number<std::int64_t>(fields[time_field]);
    if (!number)
      return refuse(place, "the field \"" + columns[time_field] + "\" is " + shown_field(fields[time_field]),
                    "expected a whole number, such as seconds since 1970");
    when = *number;
  }
  double amount = 0.0;
  if (!columns[weight_field].empty()) {
    const auto number = parse_number<double>(fields[weight_field]);
    if (!number || !std::isfinite(*number))
      return refuse(place, "the field \"" + columns[weight_field] + "\" is " + shown_field(fields[weight_field]),
                    "expected a number, such as 1 or 3.5");
    amount = *number;
  }
  const auto user_number = users.add(fields[user_field]);
  const auto item_number = items.add(fields[item_field]);
  const auto [known, is_new] = row_of_pair_.try_emplace(std::uint64_t{user_number} << 32U | item_number, user.size());
  if (!is_new) {
    ++repeated;
    time[known->second] = std::max(time[known->second], when);
    weight[known->second] += amount;
    return {};
  }
  user.push_back(user_number);
  item.push_back(item_number);
  time.push_back(when);
  weight.push_back(amount);
  return {};
}

/// The numbers of a list in the order of names, and the names.
struct ordered_names {
  std::vector<std::uint32_t> rank;
  std::vector<std::string> names;

  explicit ordered_names(const word_list& words) : rank(words.size()) {
    std::vector<std::uint32_t> order(words.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, [&](auto a, auto b) { return is_before(words[a], words[b]); });
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      rank[order[i]] = i;
      names.emplace_back(words[order[i]]);
    }
  }
};

/// Times as 32-bit numbers in the same order, equal where they are equal.
std::vector<std::uint32_t> ranks_of(const std::vector<std::int64_t>& times) {
  auto distinct = times;
  std::ranges::sort(distinct);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<std::uint32_t> ranks(times.size());
  std::ranges::transform(times, ranks.begin(), [&](auto time) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(distinct, time) - distinct.begin());
  });
  return ranks;
}

rating_table group_rows(const interaction_rows& rows, bool has_times) {
  const ordered_names users(rows.users);
  const ordered_names items(rows.items);
  rating_table table;
  table.user_names = users.names;
  table.titles = items.names;
  for (auto* ids : {&table.user_ids, &table.item_ids}) {
    ids->resize(ids == &table.user_ids ? users.names.size() : items.names.size());
    std::iota(ids->begin(), ids->end(), 0U);
  }
  // A counting sort: stable, so that each user's rows keep the order of the file.
  table.offsets.assign(users.names.size() + 1, 0);
  for (const auto user : rows.user) ++table.offsets[users.rank[user] + 1];
  std::partial_sum(table.offsets.begin(), table.offsets.end(), table.offsets.begin());
  auto next = table.offsets;
  const auto times = has_times ? ranks_of(rows.time) : std::vector<std::uint32_t>();
  for (auto* column : {&table.features, &table.times}) column->resize(rows.user.size());
  table.labels.resize(rows.user.size());
  for (std::size_t row = 0; row < rows.user.size(); ++row) {
    const auto entry = next[users.rank[rows.user[row]]]++;
    table.features[entry] = items.rank[rows.item[row]];
    table.labels[entry] = static_cast<float>(rows.weight[row]);
    table.times[entry] = has_times ? times[row] : 0;
  }
  return table;
}

/// Times of a source without any, drawn for each user: a random order.
void draw_times(std::uint64_t seed, rating_table& table) {
  for (std::uint32_t user = 0; user < table.clients(); ++user) {
    const auto own = std::span(table.times).subspan(table.offsets[user], table.offsets[user + 1] - table.offsets[user]);
    std::iota(own.begin(), own.end(), 0U);
    random_stream stream(seed, purpose::interaction_times, 0, user);
    stream.shuffle(own);
  }
}

std::array<std::string, field_count> columns_of(const option_values& options) {
  std::array<std::string, field_count> columns;
  const std::array names = {"user_column", "item_column", "time_column", "weight_column"};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (options.has(names.at(i))) columns.at(i) = options.text(names.at(i));
  return columns;
}

result<interaction_rows> read_interactions(const std::filesystem::path& path, const option_values& options) {
  const auto format = format_of(path);
  if (!format) return tl::unexpected(format.error());
  if (*format == labelled_format::json_lines)
    return contradict(path.string(), "is a file of JSON lines", "give a table: .csv or .tsv");
  const auto file = open_text(path);
  if (!file) return tl::unexpected(file.error());
  const auto columns = columns_of(options);
  interaction_rows rows;
  auto read = read_columns(file->bytes(), path.string(), *format, columns, column_keys,
                           [&](const auto& fields, const auto& place) { return rows.take(fields, place, columns); });
  if (!read) return tl::unexpected(read.error());
  if (rows.user.empty())
    return refuse(path.string(), "the file has a header but no rows", "expected one interaction per line");
  return rows;
}

result<dataset> build(const option_values& options, const std::filesystem::path& root) {
  const auto path = find_labelled_file(root / options.text("path"));
  if (!path) return tl::unexpected(path.error());
  const auto rows = read_interactions(*path, options);
  if (!rows) return tl::unexpected(rows.error());
  dataset data;
  if (rows->repeated > 0)
    data.notes.push_back("rows that repeat a user and an item: " + std::to_string(rows->repeated) +
                         "; each pair is one interaction at its latest time");
  const bool has_times = options.has("time_column");
  auto table = group_rows(*rows, has_times);
  const auto split = rating_settings{read_split(options), {}, true};
  feedback_settings feedback{.at_least = {}, .label_key = "data.min_weight"};
  if (options.has("min_weight")) feedback.at_least = options.number("min_weight");
  feedback.min_interactions = static_cast<std::uint32_t>(options.integer("min_interactions"));
  if (auto kept = keep_interactions(table, feedback, path->string(), data.notes); !kept)
    return tl::unexpected(kept.error());
  if (!has_times) draw_times(split.seed, table);
  data.clients = split_ratings(table, split);
  data.item_names = std::move(table.titles);
  data.files = {*path};
  return data;
}

std::vector<option_problem> check(const option_values& options) {
  auto problems = check_split(options);
  for (const char* name : {"user_column", "item_column", "time_column", "weight_column"})
    if (options.has(name) && options.text(name).empty())
      problems.push_back({name, "is empty", "name a column of the file's header, or remove it"});
  for (const auto& [column, bound] :
       {std::pair("weight_column", "min_weight"), std::pair("min_weight", "weight_column")})
    if (options.has(column) && !options.has(bound))
      problems.push_back(
          {column, std::string("has no effect without data.") + bound, std::string("add ") + bound + ", or remove it"});
  for (const char* name : {"order", "split_by"})
    if (!options.has("time_column") && options.has(name) && options.text(name) == "time")
      problems.push_back({name, "is \"time\", and no column has times", "add time_column, or remove it"});
  return problems;
}

}  // namespace

dataset_entry interactions_entry() {
  dataset_entry entry;
  entry.kind = "interactions";
  entry.doc =
      "Interactions of users with items, one client a user, from one file in UTF-8: comma-separated (.csv; fields may "
      "be quoted) or tab-separated (.tsv), with a header, one interaction a line, in any order. Ids are texts. Rows "
      "that repeat a user and an item are one interaction, at the latest of their times, and with the sum of their "
      "weights. Models rank items (evaluation.top).";
  entry.options = {
      required(text_option("path", std::nullopt,
                           "The file, or a folder with no other .csv, .tsv or .jsonl file, under the data root.")),
      text_option("user_column", "user", "Column of the user."),
      text_option("item_column", "item", "Column of the item."),
      text_option("time_column", std::nullopt,
                  "Column of the time, a whole number. Absent: a user's order of time is drawn, by data.split_seed."),
      text_option("weight_column", std::nullopt, "Column of a weight, such as a rating or a number of plays."),
      number_option("min_weight", std::nullopt, "Only interactions with at least this weight count."),
      min_interactions_option(10),
  };
  add_options(entry.options, split_options("interactions", {1.0, 0.0, 0.0}, true));
  entry.check = check;
  entry.facts = [](const option_values&) { return models::data_facts{.labels = models::objective::ranking}; };
  entry.build = build;
  return entry;
}

}  // namespace furlong::scenarios
