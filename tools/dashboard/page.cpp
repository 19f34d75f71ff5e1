#include "tools/dashboard/detail/page.hpp"

#include <openssl/evp.h>
#include <string_view>
#include <vector>

#include "base/digest.hpp"

namespace furlong::tools::dashboard {

namespace {

// 'sha256-...' of what stands between the tags, to the byte.
std::string source_of(std::string_view text) {
  const auto digest = sha256(std::as_bytes(std::span(text)));
  std::vector<unsigned char> base64(4 * ((digest.size() + 2) / 3) + 1);
  const int length = ::EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(digest.size()));
  return "'sha256-" + std::string(base64.begin(), base64.begin() + length) + "'";
}

built_page build() {
  built_page out;
  out.html =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>Furlong</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>";
  out.html += page_style;
  out.html += "</style>\n</head>\n<body>\n";
  out.html += page_body;
  out.html += "<script>";
  out.html += page_script;
  out.html += "</script>\n</body>\n</html>\n";
  out.policy = "default-src 'none'; connect-src 'self'; img-src data:; style-src " + source_of(page_style) +
               "; script-src " + source_of(page_script) +
               "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  return out;
}

}  // namespace

const built_page& the_page() {
  static const built_page page = build();
  return page;
}

}  // namespace furlong::tools::dashboard
