#include "tools/dashboard/detail/http_server.hpp"

#include <algorithm>
#include <array>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <csignal>
#include <limits>

#include "actors/net/bind_socket.hpp"

namespace furlong::tools::dashboard {

namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto linger = 500ms;               // for a client that still sends
constexpr std::size_t most_linger = 65'536;  // bytes
constexpr auto pause_after_error = 100ms;    // of accept(), such as a lack of file descriptors

http_answer answer_to(const http::request_header<>& request, const http_routes& routes) {
  const std::string_view target(request.target().data(), request.target().size());
  const auto end = std::min(target.find('?'), target.size());
  const auto found = routes.find(target.substr(0, end));
  if (request.method() == http::verb::unknown) return {{}, {}, 400};
  if (request.method() != http::verb::get && request.method() != http::verb::head)
    return {.body = "only GET and HEAD\n", .status = 405};
  if (found == routes.end()) return {.body = "no such page\n", .status = 404};
  return found->second(target.substr(std::min(end + 1, target.size())));
}

}  // namespace

/// One request and its answer. Its timer and what it reads or writes keep it alive.
class http_server::connection : public std::enable_shared_from_this<connection> {
 public:
  connection(tcp::socket socket, const http_routes& routes, const http_limits& limits)
      : socket_(std::move(socket)),
        timer_(socket_.get_executor()),
        routes_(routes),
        limits_(limits),
        buffer_(limits.request) {
    parser_.header_limit(static_cast<std::uint32_t>(limits.request));
    parser_.body_limit(std::numeric_limits<std::uint64_t>::max());  // none is read
  }

  void start() {
    allow(limits_.to_ask);
    http::async_read_header(socket_, buffer_, parser_,
                            [self = shared_from_this()](error_code failed, std::size_t) { self->answer(failed); });
  }
  void close() {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  /// Time for what begins now.
  void allow(std::chrono::milliseconds longest) {
    timer_.expires_after(longest);
    timer_.async_wait([weak = weak_from_this()](error_code cancelled) {
      const auto self = weak.lock();
      if (error_code ignored; self && !cancelled) self->socket_.cancel(ignored);
    });
  }

  void answer(error_code failed) {
    static const error_code parsing = make_error_code(http::error::bad_method);
    if (failed == asio::error::operation_aborted) return send({{}, {}, 408});
    if (failed == http::error::header_limit || failed == http::error::buffer_overflow) return send({{}, {}, 431});
    if (failed == http::error::end_of_stream || failed == http::error::partial_message) return;
    if (failed) return failed.category() == parsing.category() ? send({{}, {}, 400}) : void();
    send(answer_to(parser_.get(), routes_));
  }

  void send(http_answer answer) {
    answer_.result(answer.status);
    answer_.keep_alive(false);
    answer_.set("Content-Security-Policy", answer.policy);
    answer_.set("X-Content-Type-Options", "nosniff");
    answer_.set("Referrer-Policy", "no-referrer");
    answer_.set("Cross-Origin-Resource-Policy", "same-origin");
    answer_.set(http::field::cache_control, "no-store");
    if (answer.status == 405) answer_.set(http::field::allow, "GET, HEAD");
    if (!answer.type.empty()) answer_.set(http::field::content_type, answer.type);
    answer_.content_length(answer.body.size());
    if (parser_.get().method() != http::verb::head) answer_.body() = std::move(answer.body);
    allow(limits_.to_listen);
    http::async_write(socket_, answer_, [self = shared_from_this()](error_code failed, std::size_t) {
      if (!failed || failed == http::error::end_of_stream) self->finish();
    });
  }

  // Closed with bytes unread, the connection would be reset, and the answer may be lost with it.
  void finish() {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    allow(linger);
    drain();
  }
  void drain() {
    socket_.async_read_some(asio::buffer(rest_), [self = shared_from_this()](error_code failed, std::size_t size) {
      self->drained_ += size;
      if (!failed && self->drained_ < most_linger) self->drain();
    });
  }

  tcp::socket socket_;
  asio::steady_timer timer_;
  const http_routes& routes_;
  const http_limits& limits_;
  boost::beast::flat_buffer buffer_;
  http::request_parser<http::empty_body> parser_;
  http::response<http::string_body> answer_;
  std::array<char, 4096> rest_{};
  std::size_t drained_ = 0;
};

http_server::~http_server() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

result<std::uint16_t> http_server::start(const actors::net::host_port& address) {
  auto port = actors::net::bind_socket(socket_, address);
  if (!port) return fail(port.error().what, "--dashboard: " + address.text(), port.error().reason, port.error().fix);
  accept();
  thread_ = std::thread([this] { serve(); });
  return port;
}

void http_server::serve() {
  sigset_t signals;  // are for other threads
  ::sigfillset(&signals);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  while (!io_.stopped()) {
    try {
      io_.run();
    } catch (const std::exception&) {  // for lack of memory: that connection ends
      continue;
    }
  }
}

void http_server::accept() {
  socket_.async_accept([this](error_code failed, tcp::socket socket) {
    if (failed) {
      pause_.expires_after(pause_after_error);
      pause_.async_wait([this](error_code) { accept(); });
      return;
    }
    accept();
    admit(std::move(socket));
  });
}

void http_server::admit(tcp::socket socket) {
  std::erase_if(open_, [](const auto& peer) { return peer.expired(); });
  if (open_.size() >= limits_.connections) {
    open_.front().lock()->close();
    open_.pop_front();
  }
  const auto made = std::make_shared<connection>(std::move(socket), routes_, limits_);
  open_.push_back(made);
  made->start();
}

}  // namespace furlong::tools::dashboard
