#include "tools/dashboard/status_client.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include "actors/net/address.hpp"

namespace furlong::tools::dashboard {

namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::asio::ip::tcp;
using error_code = boost::system::error_code;

constexpr std::size_t most_bytes = 64U << 20;  // of an answer
constexpr const char* no_answer = "no answer, or one that breaks off";
constexpr const char* bad_answer = "the answer is too large or too slow";

/// A connection to a dashboard whose steps are awaited one by one.
class status_request {
 public:
  /// The reason of a failure; empty: answer() has the answer.
  std::string send(const actors::net::host_port& server, std::chrono::milliseconds longest) {
    error_code failed;
    const auto found = tcp::resolver(io_).resolve(server.host, std::to_string(server.port), failed);
    if (failed) return "cannot connect";
    request_.set(http::field::host, server.text());
    answer_.body_limit(most_bytes);
    stream_.expires_after(longest);
    failed = awaited([&](auto done) { stream_.async_connect(found, done); });
    if (failed) return failed == beast::error::timeout ? "no answer in time" : "cannot connect";
    stream_.expires_after(longest);
    if (awaited([&](auto done) { http::async_write(stream_, request_, done); })) return no_answer;
    failed = awaited([&](auto done) { http::async_read_header(stream_, buffer_, answer_, done); });
    if (failed) return failed == http::error::body_limit ? bad_answer : no_answer;
    stream_.expires_after(longest);
    failed = awaited([&](auto done) { http::async_read(stream_, buffer_, answer_, done); });
    if (!failed) return {};
    return failed == http::error::body_limit || failed == beast::error::timeout ? bad_answer : no_answer;
  }
  [[nodiscard]] const http::response<http::string_body>& answer() const { return answer_.get(); }

 private:
  template <class Step>
  error_code awaited(Step begin) {
    error_code failed;
    begin([&failed](error_code code, const auto&) { failed = code; });
    io_.restart();
    io_.run();
    return failed;
  }

  boost::asio::io_context io_{1};
  beast::tcp_stream stream_{io_};
  http::request<http::empty_body> request_{http::verb::get, "/api/status", 11};
  http::response_parser<http::string_body> answer_;
  beast::flat_buffer buffer_;
};

}  // namespace

result<json> fetch_status(const std::string& host, std::uint16_t port, std::chrono::milliseconds longest) {
  const actors::net::host_port place{host, port};
  const auto unusable = [&](std::string why) {
    return fail(error::kind::data, place.text(), std::move(why),
                "--server takes the address that `furlong serve` has as --dashboard");
  };
  status_request request;
  if (auto why = request.send(place, longest); !why.empty()) return unusable(std::move(why));
  const auto& answer = request.answer();
  if (answer.result_int() != 200) return unusable("HTTP status " + std::to_string(answer.result_int()));
  auto parsed = json::parse(answer.body(), nullptr, false);
  if (!parsed.is_object() || !parsed.contains("furlong")) return unusable("what answers there is no dashboard");
  return parsed;
}

}  // namespace furlong::tools::dashboard
