#include "tools/page/page.hpp"

#include <algorithm>
#include <openssl/evp.h>
#include <stdexcept>
#include <vector>

#include "base/digest.hpp"

namespace furlong::tools {

std::string fill_template(std::string_view text,
                          std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
  std::string out;
  for (auto position = text.find("{{"); position != std::string_view::npos; position = text.find("{{")) {
    const auto end = text.find("}}", position);
    const auto name = text.substr(position + 2, end - position - 2);
    const auto* const found =
        std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.first == name; });
    if (found == values.end()) throw std::logic_error("a page has no value for " + std::string(name));
    out.append(text.substr(0, position)).append(found->second);
    text.remove_prefix(end + 2);
  }
  return out.append(text);
}

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '\r': break;
      default: out += (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F ? "\uFFFD" : std::string(1, c);
    }
  }
  return out;
}

std::string policy_source(std::string_view text) {
  const auto digest = sha256(std::as_bytes(std::span(text)));
  std::vector<unsigned char> base64(4 * ((digest.size() + 2) / 3) + 1);
  const int length = ::EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(digest.size()));
  return "'sha256-" + std::string(base64.begin(), base64.begin() + length) + "'";
}

}  // namespace furlong::tools
