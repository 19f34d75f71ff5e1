#include "scenarios/data/hosted_file.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "base/utf8.hpp"
#include "scenarios/data/detail/file_errors.hpp"
#include "scenarios/data/mapped_file.hpp"

namespace furlong::scenarios {

namespace {

using detail::number_text;
using detail::refuse;

constexpr std::string_view short_header = "user,item,rating";
constexpr std::string_view long_header = "user,item,rating,timestamp";
constexpr const char* file_name = "ratings.csv";
constexpr std::uint32_t no_client = UINT32_MAX;

struct line_values {
  std::uint32_t user = 0;
  std::uint32_t item = 0;
  float rating = 0.0F;
  std::uint32_t time = 0;
};

/// Parses comma-separated values; nothing if they are not `columns` numbers.
std::optional<line_values> read_line(std::string_view line, std::size_t columns) {
  std::array<std::string_view, 4> fields;
  std::size_t count = 0;
  for (;; ++count) {
    if (count == columns) return std::nullopt;
    const auto comma = line.find(',');
    fields[count] = line.substr(0, comma);
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  const auto user = parse_number<std::uint32_t>(fields[0]);
  const auto item = parse_number<std::uint32_t>(fields[1]);
  const auto rating = parse_number<float>(fields[2]);
  const auto time = columns == 3 ? std::optional(0U) : parse_number<std::uint32_t>(fields[3]);
  if (count + 1 != columns || !user || !item || !rating || !time) return std::nullopt;
  return line_values{*user, *item, *rating, *time};
}

bool fits(const line_values& values, const hosted_bounds& bounds) {
  return values.user < bounds.users && values.user >= bounds.first && values.user <= bounds.last &&
         values.item < bounds.items && values.rating >= bounds.low &&
         values.rating <= bounds.high;  // false for values that are not finite
}

/// The reason why an entry is out of bounds.
tl::unexpected<error> explain(const line_values& values, const std::string& place, const hosted_bounds& bounds) {
  const auto up_to = [](std::uint32_t count) { return "0 to " + std::to_string(count - 1); };
  if (values.user >= bounds.users)
    return refuse(place, "names user " + std::to_string(values.user) + ", and users are " + up_to(bounds.users),
                  "number users as the federation does, or correct data.users on the server");
  if (values.user < bounds.first || values.user > bounds.last)
    return refuse(place,
                  "names user " + std::to_string(values.user) + ", and the clients here are " +
                      std::to_string(bounds.first) + " to " + std::to_string(bounds.last),
                  "leave its ratings to the node that hosts it, or correct --clients");
  if (values.item >= bounds.items)
    return refuse(place, "names item " + std::to_string(values.item) + ", and items are " + up_to(bounds.items),
                  "number items as the federation does, or correct data.items on the server");
  return refuse(place,
                "the rating " + number_text(values.rating) + " is not from " + number_text(bounds.low) + " to " +
                    number_text(bounds.high),
                "correct it, or data.rating_low and data.rating_high on the server");
}

/// A file and its content.
struct read_file {
  std::string name;
  rating_records records;
};

result<std::vector<read_file>> read_files(const std::filesystem::path& folder, const hosted_bounds& bounds) {
  const auto paths = hosted_files(folder);
  if (paths.empty()) {
    std::error_code ignored;
    return refuse(folder.string(),
                  std::filesystem::is_directory(folder, ignored)
                      ? "has no ratings.csv, no ratings*.csv and no folder with ratings.csv"
                      : "the folder does not exist",
                  "write the ratings as " + std::string(short_header) + ", under that header, into ratings.csv");
  }
  std::vector<read_file> files;
  for (const auto& path : paths) {
    const auto mapped = open_text(path);
    if (!mapped) return tl::unexpected(mapped.error());
    auto records = read_hosted_ratings(mapped->bytes(), path.string(), bounds);
    if (!records) return tl::unexpected(records.error());
    files.push_back({path.string(), std::move(*records)});
  }
  return files;
}

/// Counts each user's ratings into offsets[user + 1]; fails if a user is in two files.
result<std::vector<std::uint32_t>> count_ratings(const std::vector<read_file>& files, rating_table& table) {
  std::vector<std::uint32_t> file_of(table.clients(), no_client);
  for (std::uint32_t f = 0; f < files.size(); ++f) {
    const auto& records = files[f].records;
    for (std::size_t entry = 0; entry < records.size(); ++entry) {
      auto& file = file_of[records.users[entry]];
      if (file != no_client && file != f)
        return refuse(files[f].name + ":" + records.line_of(entry),
                      "user " + std::to_string(records.users[entry]) + " has ratings in " + files[file].name + " too",
                      "put all ratings of a user into one file");
      file = f;
      ++table.offsets[records.users[entry] + 1];
    }
  }
  return file_of;
}

/// A counting sort: stable, so that each user's ratings keep the order of the file.
void fill(const std::vector<read_file>& files, rating_table& table) {
  std::partial_sum(table.offsets.begin(), table.offsets.end(), table.offsets.begin());
  auto next = table.offsets;
  table.features.resize(table.offsets.back());
  table.labels.resize(table.offsets.back());
  table.times.resize(table.offsets.back());
  for (const auto& file : files) {
    for (std::size_t entry = 0; entry < file.records.size(); ++entry) {
      const auto slot = next[file.records.users[entry]]++;
      table.features[slot] = file.records.items[entry];
      table.labels[slot] = file.records.ratings[entry];
      table.times[slot] = file.records.times[entry];
    }
  }
}

}  // namespace

result<rating_records> read_hosted_ratings(std::string_view text, const std::string& name,
                                           const hosted_bounds& bounds) {
  text = without_byte_order_mark(text);
  const auto header = next_line(text);
  if (header != short_header && header != long_header)
    return refuse(name + ":1", "found " + shown(header),
                  "expected the header " + std::string(short_header) + " or " + std::string(long_header));
  const std::size_t columns = header == long_header ? 4 : 3;
  rating_records records;
  records.format = rating_format::csv;
  records.first_line = 2;
  while (!text.empty()) {
    const auto line = next_line(text);
    const auto place = [&] { return name + ":" + records.line_of(records.size()); };
    const auto values = read_line(line, columns);
    if (!values)
      return refuse(
          place(), "found " + shown(line),
          "expected " + std::string(header) + ": whole numbers from 0 and below 2^32, and a rating such as 3.5");
    if (!fits(*values, bounds)) return explain(*values, place(), bounds);
    records.users.push_back(values->user);
    records.items.push_back(values->item);
    records.ratings.push_back(values->rating);
    records.times.push_back(values->time);
  }
  return records;
}

rating_table empty_hosted_table(const hosted_bounds& bounds) {
  rating_table table;
  table.offsets.assign(std::size_t{bounds.users} + 1, 0);
  table.user_ids.resize(bounds.users);
  std::iota(table.user_ids.begin(), table.user_ids.end(), 0U);
  table.item_ids.resize(bounds.items);
  std::iota(table.item_ids.begin(), table.item_ids.end(), 0U);
  return table;
}

std::vector<std::filesystem::path> hosted_files(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (std::filesystem::exists(folder / file_name, ignored)) return {folder / file_name};
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const auto name = entry.path().filename().string();
    if (entry.is_directory(ignored)) {
      if (std::filesystem::exists(entry.path() / file_name, ignored)) found.push_back(entry.path() / file_name);
    } else if (name.starts_with("ratings") && name.ends_with(".csv")) {
      found.push_back(entry.path());
    }
  }
  std::ranges::sort(found);
  return found;
}

result<rating_table> read_hosted_folder(const std::filesystem::path& folder, const hosted_bounds& bounds) {
  const auto files = read_files(folder, bounds);
  if (!files) return tl::unexpected(files.error());
  auto table = empty_hosted_table(bounds);
  const auto file_of = count_ratings(*files, table);
  if (!file_of) return tl::unexpected(file_of.error());
  fill(*files, table);
  std::vector<std::uint32_t> last_user(bounds.items, no_client);
  for (std::uint32_t user = 0; user < table.clients(); ++user) {
    for (auto row = table.offsets[user]; row < table.offsets[user + 1]; ++row) {
      auto& seen = last_user[table.features[row]];
      const auto& file = (*files)[(*file_of)[user]];
      if (seen == user) return rated_twice(file.records, user, table.features[row], file.name);
      seen = user;
    }
  }
  return table;
}

}  // namespace furlong::scenarios
