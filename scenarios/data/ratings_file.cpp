#include "scenarios/data/ratings_file.hpp"

#include <limits>
#include <optional>

#include "base/utf8.hpp"
#include "scenarios/data/mapped_file.hpp"

namespace furlong::scenarios {

namespace {

constexpr const char* bounds = ", user and item at most 16777215, the timestamp below 2^32";
constexpr std::string_view csv_header = "userId,movieId,rating,timestamp";

struct grammar {
  std::string_view separator;
  bool halves;
  const char* expected;
};

grammar grammar_of(rating_format format) {
  switch (format) {
    case rating_format::colons: return {"::", false, "user::item::rating::timestamp, the rating 1, 2, 3, 4 or 5"};
    case rating_format::tabs:
      return {"\t", false, "user, item, rating and timestamp between tabs, the rating 1, 2, 3, 4 or 5"};
    case rating_format::csv: return {",", true, "userId,movieId,rating,timestamp, the rating 0.5 to 5 in steps of 0.5"};
  }
  return {};
}

/// A cursor over one file: each function parses one element, or sets `ok` to false.
struct scanner {
  const char* cursor;
  const char* end;
  bool ok = true;

  std::uint32_t whole(std::uint32_t least, std::uint32_t most) {
    std::uint64_t value = 0;
    const char* begin = cursor;
    while (cursor != end && *cursor >= '0' && *cursor <= '9' && value <= most)
      value = value * 10 + static_cast<std::uint64_t>(*cursor++ - '0');
    ok = ok && cursor != begin && value >= least && value <= most;
    return static_cast<std::uint32_t>(value);
  }
  void text(std::string_view expected) {
    for (const char c : expected) {
      ok = ok && cursor != end && *cursor == c;
      if (!ok) return;
      ++cursor;
    }
  }
  float rating(bool halves) {
    const auto stars = static_cast<float>(whole(0, 5));
    float half = 0.0F;
    if (halves && cursor != end && *cursor == '.') {
      ++cursor;
      ok = ok && cursor != end && (*cursor == '0' || *cursor == '5');
      if (!ok) return 0.0F;
      half = *cursor++ == '5' ? 0.5F : 0.0F;
    }
    const float value = stars + half;
    ok = ok && value >= (halves ? 0.5F : 1.0F) && value <= 5.0F;
    return value;
  }
  void line_end() {
    if (cursor != end && *cursor == '\r') ++cursor;
    if (cursor == end) return;
    ok = ok && *cursor == '\n';
    if (ok) ++cursor;
  }
};

}  // namespace

std::optional<rating_format> format_of_ratings(std::string_view first_line) {
  if (first_line.find("::") != std::string_view::npos) return rating_format::colons;
  if (first_line.find('\t') != std::string_view::npos) return rating_format::tabs;
  if (first_line == csv_header) return rating_format::csv;
  return std::nullopt;
}

result<rating_records> read_ratings(std::string_view text, const std::string& name) {
  text = without_byte_order_mark(text);
  if (text.empty()) return fail(error::kind::data, name, "the file is empty", "expected one rating per line");
  auto rest = text;
  const auto first = next_line(rest);
  const auto format = format_of_ratings(first);
  if (!format)
    return fail(error::kind::data, name + ":1",
                "found " + shown(first) + ", which is not the first line of a known format",
                "expected user::item::rating::timestamp (ml-1m), the same between tabs (ml-100k), or the header " +
                    std::string(csv_header) + " (ml-25m)");

  rating_records records;
  records.format = *format;
  if (*format == rating_format::csv) {
    records.first_line = 2;
    text = rest;
  }
  const auto rules = grammar_of(*format);
  const auto lines = text.size() / 16 + 1;  // of minimal usual length
  for (auto* column : {&records.users, &records.items, &records.times}) column->reserve(lines);
  records.ratings.reserve(lines);

  scanner scan{text.data(), text.data() + text.size()};
  while (scan.cursor != scan.end) {
    const char* line = scan.cursor;
    const auto user = scan.whole(0, largest_id);
    scan.text(rules.separator);
    const auto item = scan.whole(0, largest_id);
    scan.text(rules.separator);
    const float rating = scan.rating(rules.halves);
    scan.text(rules.separator);
    const auto time = scan.whole(0, std::numeric_limits<std::uint32_t>::max());
    scan.line_end();
    if (!scan.ok) {
      std::string_view left(line, static_cast<std::size_t>(scan.end - line));
      return fail(error::kind::data, name + ":" + records.line_of(records.size()), "found " + shown(next_line(left)),
                  std::string("expected ") + rules.expected + bounds);
    }
    records.users.push_back(user);
    records.items.push_back(item);
    records.ratings.push_back(rating);
    records.times.push_back(time);
  }
  if (records.size() == 0)
    return fail(error::kind::data, name, "the file has a header but no ratings", "expected one rating per line");
  return records;
}

result<rating_records> read_ratings(const std::filesystem::path& path) {
  const auto file = open_text(path);
  if (!file) return tl::unexpected(file.error());
  return read_ratings(file->bytes(), path.string());
}

}  // namespace furlong::scenarios
