#include "actors/tls/identity.hpp"

#include <algorithm>
#include <optional>

#include "base/parse_number.hpp"

namespace furlong::actors::tls {

namespace {

// Not <cctype>, which depends on the locale.
bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

/// A number in the format of to_string().
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  return text.size() > 1 && text.front() == '0' ? std::nullopt : furlong::parse_number<Number>(text);
}

std::optional<federated::client_range> read_range(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = parse_number<std::uint32_t>(text.substr(0, dash));
  const auto last = parse_number<std::uint32_t>(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return federated::client_range{*first, *last};
}

/// Untrusted text, sanitized for a message: short, and without control characters.
std::string printable(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, longest_common_name)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > longest_common_name ? "...\"" : "\"");
}

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= longest_name && is_letter_or_digit(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; });
}

result<federated::client_range> parse_client_range(std::string_view text) {
  if (const auto range = read_range(text)) return *range;
  return fail(error::kind::usage, printable(text), "is not a range of clients",
              "write FIRST-LAST, both included, such as 100-149");
}

std::string to_string(const federated::client_range& clients) {
  return std::to_string(clients.first) + '-' + std::to_string(clients.last);
}

result<node_identity> parse_common_name(std::string_view text) {
  const auto refuse = [&](const std::string& why) {
    return fail(error::kind::data, "common name " + printable(text), why,
                "issue a node's certificate with furlong certs issue --role node");
  };
  if (text.size() > longest_common_name) return refuse("is longer than " + std::to_string(longest_common_name));
  const auto one = text.find('/');
  const auto two = one == std::string_view::npos ? one : text.find('/', one + 1);
  if (two == std::string_view::npos) return refuse("is not of the form NAME/FIRST-LAST/SERIAL");
  const auto name = text.substr(0, one);
  if (!is_name(name)) return refuse("has a name that is not made of letters, digits and - _ .");
  const auto clients = read_range(text.substr(one + 1, two - one - 1));
  if (!clients) return refuse("has no valid range of clients");
  const auto serial = parse_number<std::uint64_t>(text.substr(two + 1));
  if (!serial || *serial == 0) return refuse("has no valid serial number");
  return node_identity{std::string(name), *clients, *serial};
}

std::string to_common_name(const node_identity& of) {
  return of.name + '/' + to_string(of.clients) + '/' + std::to_string(of.serial);
}

}  // namespace furlong::actors::tls
