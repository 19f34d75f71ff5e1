#include "tools/certs/host.hpp"

#include <algorithm>
#include <arpa/inet.h>

namespace furlong::tools::certs {

namespace {

constexpr std::size_t longest_dns_name = 253;
constexpr std::size_t longest_label = 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_label(std::string_view text) {
  return !text.empty() && text.size() <= longest_label && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '-'; });
}

bool is_dns_name(std::string_view text) {
  if (text.empty() || text.size() > longest_dns_name) return false;
  for (;;) {
    const auto dot = text.find('.');
    if (!is_label(text.substr(0, dot))) return false;
    // A last label of digits is a mistyped address.
    if (dot == std::string_view::npos) return !std::all_of(text.begin(), text.end(), is_digit);
    text.remove_prefix(dot + 1);
  }
}

}  // namespace

result<host_name> parse_host(std::string_view text) {
  const std::string whole(text);
  in6_addr ignored{};
  const bool no_zeros = whole.find('\0') == std::string::npos;
  if (no_zeros &&
      (::inet_pton(AF_INET, whole.c_str(), &ignored) == 1 || ::inet_pton(AF_INET6, whole.c_str(), &ignored) == 1))
    return host_name{whole, true};
  if (!is_dns_name(text))
    return fail(error::kind::usage, "--host " + whole, "is neither a host name nor an address",
                "write it without port, brackets and wildcards, such as gateway.example.org or 192.0.2.7");
  host_name name{whole, false};
  for (auto& c : name.text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return name;
}

}  // namespace furlong::tools::certs
