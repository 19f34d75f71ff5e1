#include "tools/dashboard/status_client.hpp"

#include <httplib.h>

namespace furlong::tools::dashboard {

namespace {

constexpr std::size_t most_bytes = 64U << 20;  // of an answer

std::string words_for(httplib::Error why) {
  switch (why) {
    case httplib::Error::Connection: return "cannot connect";
    case httplib::Error::ConnectionTimeout: return "no answer in time";
    case httplib::Error::Read: return "no answer, or one that breaks off";
    case httplib::Error::Canceled: return "the answer is too large or too slow";
    default: return "cannot ask: " + httplib::to_string(why);
  }
}

}  // namespace

result<json> fetch_status(const std::string& host, std::uint16_t port, std::chrono::milliseconds longest) {
  const bool ipv6 = host.find(':') != std::string::npos;
  const std::string place = (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
  const auto unusable = [&](std::string why) {
    return fail(error::kind::data, place, std::move(why),
                "--server takes the address that `furlong serve` has as --dashboard");
  };
  httplib::Client client(host, port);
  client.set_connection_timeout(longest);
  client.set_read_timeout(longest);
  const auto until = std::chrono::steady_clock::now() + 2 * longest;
  std::string body;
  const auto answer = client.Get("/api/status", [&](const char* part, std::size_t size) {
    if (body.size() + size > most_bytes || std::chrono::steady_clock::now() > until) return false;
    body.append(part, size);
    return true;
  });
  if (!answer) return unusable(words_for(answer.error()));
  if (answer->status != 200) return unusable("HTTP status " + std::to_string(answer->status));
  auto parsed = json::parse(body, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("furlong")) return unusable("what answers there is no dashboard");
  return parsed;
}

}  // namespace furlong::tools::dashboard
