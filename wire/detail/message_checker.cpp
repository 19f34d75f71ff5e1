#include "wire/detail/message_checker.hpp"

#include <cmath>
#include <kj/encoding.h>
#include <utility>

#include "base/utf8.hpp"
#include "wire/control.hpp"

namespace furlong::wire::detail {

namespace {

// Control characters, separators of lines and paragraphs, and what changes the direction of writing: a log or a
// terminal that showed these would show something else than what was sent.
bool is_unfit(char32_t c) {
  const auto within = [c](char32_t first, char32_t last) { return first <= c && c <= last; };
  return c < 0x20 || within(0x7F, 0x9F) || within(0x2028, 0x202E) || within(0x2066, 0x2069);
}

}  // namespace
tl::unexpected<error> unexpected_content(std::string field, const std::string& found, const std::string& expected) {
  return fail(error::kind::runtime, std::move(field), "found " + found + ", expected " + expected);
}

void message_checker::report(std::string_view field, const std::string& found, const std::string& expected) {
  if (sound()) error_ = unexpected_content(std::string(message_) + "." + std::string(field), found, expected);
}

void message_checker::count(std::string_view field, std::size_t found) {
  if (found > longest_list)
    report(field, std::to_string(found) + " entries", "at most " + std::to_string(longest_list));
}

void message_checker::line(std::string_view field, std::string_view found, std::size_t limit) {
  text(field, found, limit, U"");
}

void message_checker::document(std::string_view field, std::string_view found, std::size_t limit) {
  text(field, found, limit, U"\t\n\r");
}

void message_checker::text(std::string_view field, std::string_view found, std::size_t limit,
                           std::u32string_view also) {
  if (!sound()) return;
  if (found.size() > limit)
    return report(field, std::to_string(found.size()) + " bytes", "at most " + std::to_string(limit));
  const auto characters = kj::encodeUtf32(kj::arrayPtr(found.data(), found.size()));
  if (characters.hadErrors) return report(field, "bytes that are no UTF-8", "text");
  for (const char32_t each : characters)
    if (is_unfit(each) && also.find(each) == std::u32string_view::npos)
      return report(field, "character " + std::to_string(static_cast<std::uint32_t>(each)), "printable text");
}

void message_checker::range(const federated::client_range& clients) {
  if (clients.first > clients.last)
    report("last", "client " + std::to_string(clients.last), "at least " + std::to_string(clients.first));
}

void message_checker::finite(std::string_view field, double value) {
  if (!std::isfinite(value)) report(field, std::to_string(value), "finite numbers");
}

void message_checker::below(std::string_view field, std::size_t value, std::size_t count) {
  if (value >= count) report(field, std::to_string(value), "less than " + std::to_string(count));
}

}  // namespace furlong::wire::detail

namespace furlong::wire {

std::string as_line(std::string_view text, std::size_t limit) {
  std::string line;
  while (!text.empty()) {
    auto next = next_character(text);
    if (next.empty()) text.remove_prefix(1);  // it is not UTF-8
    if (next.empty() || detail::is_unfit(kj::encodeUtf32(kj::arrayPtr(next.data(), next.size()))[0])) next = " ";
    if (line.size() + next.size() > limit) break;
    line += next;
  }
  return line;
}

}  // namespace furlong::wire
