#include "scenarios/data/own_interactions.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "base/utf8.hpp"
#include "scenarios/data/detail/file_errors.hpp"
#include "scenarios/data/labelled_file.hpp"
#include "scenarios/data/mapped_file.hpp"

namespace furlong::scenarios {

namespace {

constexpr const char* item_column = "item";

/// Calls take(item, place) for each line or row.
result<void> each_item(std::string_view text, const std::string& name, const auto& take) {
  const auto header = read_header(text, name, labelled_format::csv);
  if (header && std::ranges::find(*header, item_column) != header->end()) {
    const std::array<std::string, 1> columns = {item_column};
    return read_columns(text, name, labelled_format::csv, columns, "the header",
                        [&](const auto& fields, const auto& place) { return take(fields[0], place); });
  }
  auto rest = without_byte_order_mark(text);
  for (std::size_t line = 1; !rest.empty(); ++line)
    if (auto taken = take(next_line(rest), name + ":" + std::to_string(line)); !taken) return taken;
  return {};
}

}  // namespace

result<own_interactions> read_own_interactions(const std::filesystem::path& path, const dataset& data) {
  const auto name = path.string();
  const auto file = open_text(path);
  if (!file) return tl::unexpected(file.error());
  own_interactions own;
  std::set<std::string, std::less<>> read;
  std::vector<std::string> ids;
  const auto take = [&](std::string_view item, const std::string& place) -> result<void> {
    if (item.empty()) return detail::refuse(place, "has no item", "expected the id of one item per line");
    if (read.emplace(item).second) ids.emplace_back(item);
    return {};
  };
  if (auto taken = each_item(file->bytes(), name, take); !taken) return tl::unexpected(taken.error());
  const auto features = items_named(data, ids);
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (features[i]) {
      own.table.features.push_back(*features[i]);
      own.table.labels.push_back(1.0F);
    } else {
      own.unknown.push_back(ids[i]);
    }
  if (own.table.labels.empty())
    return fail(error::kind::data, name, "the dataset of the run has none of the items",
                "name items by the ids that the dataset uses, one per line");
  return own;
}

}  // namespace furlong::scenarios
