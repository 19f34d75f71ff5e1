#include "scenarios/data/movielens_titles.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/utf8.hpp"
#include "scenarios/data/mapped_file.hpp"

namespace furlong::scenarios {

namespace {

std::string from_latin1(std::string_view text) {
  std::string utf8;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      utf8 += c;
    } else {
      utf8 += static_cast<char>(0xC0 | byte >> 6);
      utf8 += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return utf8;
}

/// The leading field of `rest`, quoted ("" is an escaped ") or not; nothing if a quote is not closed.
std::optional<std::string> csv_field(std::string_view rest) {
  if (!rest.starts_with('"')) return std::string(rest.substr(0, rest.find(',')));
  std::string field;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] != '"') {
      field += rest[i];
    } else if (i + 1 < rest.size() && rest[i + 1] == '"') {
      field += rest[i++];
    } else {
      return field;
    }
  }
  return std::nullopt;
}

struct film {
  std::uint32_t id;
  std::string title;
};

std::optional<film> parse_line(std::string_view line, rating_format format) {
  const std::string_view separator = format == rating_format::colons ? "::" : format == rating_format::tabs ? "|" : ",";
  film found{};
  const auto [end, why] = std::from_chars(line.data(), line.data() + line.size(), found.id);
  auto rest = line.substr(static_cast<std::size_t>(end - line.data()));
  if (why != std::errc{} || !rest.starts_with(separator)) return std::nullopt;
  rest.remove_prefix(separator.size());
  if (format == rating_format::csv) {
    auto title = csv_field(rest);
    if (!title || !is_utf8(*title)) return std::nullopt;
    found.title = std::move(*title);
  } else {
    const auto title_end = rest.find(separator);
    if (title_end == std::string_view::npos) return std::nullopt;
    found.title = from_latin1(rest.substr(0, title_end));
  }
  return found;
}

const char* expected(rating_format format) {
  switch (format) {
    case rating_format::colons: return "expected id::title::genres";
    case rating_format::tabs: return "expected id|title|...";
    default: return "expected movieId,title,genres in UTF-8";
  }
}

}  // namespace

result<std::vector<std::string>> read_titles(std::string_view text, const std::string& name, rating_format format,
                                             const std::vector<std::uint32_t>& item_ids) {
  std::vector<std::string> titles(item_ids.size());
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto line = next_line(text);
    if (number == 1 && format == rating_format::csv && line.starts_with("movieId,")) continue;
    auto found = parse_line(line, format);
    if (!found)
      return fail(error::kind::data, name + ":" + std::to_string(number), "found " + shown(line), expected(format));
    const auto entry = std::ranges::lower_bound(item_ids, found->id);
    if (entry != item_ids.end() && *entry == found->id)
      titles[static_cast<std::size_t>(entry - item_ids.begin())] = std::move(found->title);
  }
  return titles;
}

}  // namespace furlong::scenarios
