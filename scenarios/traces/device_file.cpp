#include "scenarios/traces/device_file.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "base/utf8.hpp"
#include "federated/settings/devices.hpp"
#include "scenarios/data/detail/file_errors.hpp"
#include "scenarios/data/labelled_file.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "scenarios/data/text_table.hpp"
#include "scenarios/data/vocabulary.hpp"

namespace furlong::scenarios {

namespace {

using detail::refuse;

constexpr std::uint32_t most_devices = 100'000'000;
constexpr const char* numbering = "number the devices 0, 1, 2, ... without gaps, a row each";

/// A column of numbers.
struct number_column {
  std::string_view name;
  bool is_rate;  ///< from 0 to 1; else above 0

  [[nodiscard]] bool allows(double value) const {
    return is_rate ? value >= 0.0 && value <= 1.0 : value > 0.0 && value <= 1e300;
  }
};
constexpr std::array<number_column, 5> number_columns = {
    {{"ms_per_example", false}, {"mbit", false}, {"download", true}, {"train", true}, {"upload", true}}};

/// Moves the value of the i-th row to the place of its client.
template <class Value>
void sort_by_client(const std::vector<std::uint32_t>& clients, std::vector<Value>& column) {
  if (column.empty()) return;
  std::vector<Value> sorted(column.size());
  for (std::size_t row = 0; row < clients.size(); ++row) sorted[clients[row]] = column[row];
  column = std::move(sorted);
}

/// Reads the rows of a table.
class device_reader {
 public:
  device_reader(const std::string& name, bool with_groups) : name_(name), with_groups_(with_groups) {}

  result<void> read(std::string_view text) {
    const auto header = read_header(text, name_, labelled_format::csv);
    if (!header) return tl::unexpected(header.error());
    if (auto good = take_header(*header); !good) return good;
    const auto take = [this](const auto& fields, const std::string& place) { return take_row(fields, place); };
    if (auto good = read_fields(text, name_, take); !good) return good;
    return settle();
  }

  [[nodiscard]] bool has_numbers() const {
    return std::ranges::any_of(number_places_, [](const auto& place) { return place.has_value(); });
  }
  [[nodiscard]] std::size_t devices() const { return clients_.size(); }
  [[nodiscard]] std::vector<double> take_column(std::size_t column) { return std::move(numbers_[column]); }
  [[nodiscard]] federated::client_groups take_groups() {
    federated::client_groups made;
    for (std::uint32_t group = 0; group < names_.size(); ++group) made.names.emplace_back(names_[group]);
    made.of_client = std::move(groups_);
    return made;
  }

 private:
  result<void> take_header(const std::vector<std::string>& header) {
    std::optional<std::size_t> client;
    for (std::size_t column = 0; column < header.size(); ++column) {
      const auto name = trimmed(header[column]);
      const auto* number = std::ranges::find(number_columns, name, &number_column::name);
      auto* place = name == "client"  ? &client
                    : name == "group" ? &group_place_
                    : number != number_columns.end()
                        ? &number_places_[static_cast<std::size_t>(number - number_columns.begin())]
                        : nullptr;
      if (place == nullptr)
        return refuse(name_ + ":1", "has a column " + shown(name) + ", which has no meaning",
                      "the columns are client, ms_per_example, mbit, download, train, upload and group: rename or "
                      "remove it");
      if (*place) return refuse(name_ + ":1", "has the column " + shown(name) + " twice", "remove one of them");
      *place = column;
    }
    if (!client) return refuse(name_ + ":1", "has no column client", "add it: the number of each row's device");
    if (with_groups_ && !group_place_)
      return refuse(name_ + ":1", "has no column group", "add it: the name of each client's group");
    client_place_ = *client;
    return {};
  }

  result<void> take_row(const std::vector<std::string_view>& fields, const std::string& place) {
    const auto text = trimmed(fields[client_place_]);
    const auto client = parse_number<std::uint32_t>(text);
    if (!client || *client >= most_devices)
      return refuse(place, "the client is " + shown(text) + ", which is no whole number below 100 million", numbering);
    if (*client >= seen_.size()) seen_.resize(std::size_t{*client} + 1);
    if (seen_[*client]) return refuse(place, "names client " + std::to_string(*client) + " again", "remove one row");
    seen_[*client] = true;
    clients_.push_back(*client);
    for (std::size_t column = 0; column < number_columns.size(); ++column)
      if (number_places_[column])
        if (auto good = take_number(column, trimmed(fields[*number_places_[column]]), place); !good) return good;
    return with_groups_ ? take_group(trimmed(fields[*group_place_]), place) : result<void>();
  }

  result<void> take_number(std::size_t column, std::string_view text, const std::string& place) {
    const auto& spec = number_columns[column];
    const auto value = text.empty() ? federated::device_table::unknown : parse_number<double>(text).value_or(-1.0);
    if (!text.empty() && !spec.allows(value))
      return refuse(place,
                    std::string(spec.name) + " is " + shown(text) + ", which is no number " +
                        (spec.is_rate ? "from 0 to 1" : "above 0"),
                    "correct it, or leave the field empty: then the scenario's value holds");
    numbers_[column].push_back(value);
    return {};
  }

  result<void> take_group(std::string_view text, const std::string& place) {
    if (text.empty() || !is_utf8(text))
      return refuse(place, text.empty() ? "names no group" : "the group is not UTF-8", "every client has a group");
    groups_.push_back(names_.add(text));
    return {};
  }

  /// All rows were read: sorts them by client.
  result<void> settle() {
    if (clients_.empty()) return refuse(name_, "has no device", "add a row for each");
    if (const auto gap = std::ranges::find(seen_, false); gap != seen_.end())
      return refuse(name_,
                    "has a row for client " + std::to_string(seen_.size() - 1) + " and none for client " +
                        std::to_string(gap - seen_.begin()),
                    numbering);
    if (std::ranges::is_sorted(clients_)) return {};
    for (auto& column : numbers_) sort_by_client(clients_, column);
    sort_by_client(clients_, groups_);
    return {};
  }

  const std::string& name_;
  bool with_groups_;
  std::size_t client_place_ = 0;
  std::optional<std::size_t> group_place_;
  std::array<std::optional<std::size_t>, number_columns.size()> number_places_;
  std::vector<bool> seen_;              // by client
  std::vector<std::uint32_t> clients_;  // by row
  std::array<std::vector<double>, number_columns.size()> numbers_;
  std::vector<std::uint32_t> groups_;
  word_list names_;
};

}  // namespace

result<federated::device_table> read_device_table(std::string_view text, const std::string& name) {
  device_reader rows(name, false);
  if (auto read = rows.read(text); !read) return tl::unexpected(read.error());
  if (!rows.has_numbers())
    return refuse(name + ":1", "says nothing about devices",
                  "add one of the columns ms_per_example, mbit, download, train and upload");
  federated::device_table table;
  table.devices = rows.devices();
  table.ms_per_example = rows.take_column(0);
  table.mbit = rows.take_column(1);
  for (std::size_t stage = 0; stage < table.dropout.size(); ++stage) table.dropout[stage] = rows.take_column(2 + stage);
  return table;
}

result<federated::device_table> read_device_table(const std::filesystem::path& path) {
  const auto file = open_text(path);
  if (!file) return tl::unexpected(file.error());
  return read_device_table(file->bytes(), path.string());
}

result<federated::client_groups> read_client_groups(std::string_view text, const std::string& name,
                                                    std::uint32_t clients) {
  device_reader rows(name, true);
  if (auto read = rows.read(text); !read) return tl::unexpected(read.error());
  if (rows.devices() != clients)
    return detail::contradict(
        name,
        "has rows for " + std::to_string(rows.devices()) + " clients, and the data have " + std::to_string(clients),
        "give every client of the data one row");
  return rows.take_groups();
}

result<federated::client_groups> read_client_groups(const std::filesystem::path& path, std::uint32_t clients) {
  const auto file = open_text(path);
  if (!file) return tl::unexpected(file.error());
  return read_client_groups(file->bytes(), path.string(), clients);
}

std::vector<std::filesystem::path> device_files(const federated::device_settings& settings) {
  std::vector<std::filesystem::path> files;
  if (settings.availability.kind == "trace") files.emplace_back(settings.availability.trace);
  if (!settings.table.empty()) files.emplace_back(settings.table);
  return files;
}

}  // namespace furlong::scenarios
