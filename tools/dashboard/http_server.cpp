#include "tools/dashboard/detail/http_server.hpp"

#include <chrono>
#include <csignal>
#include <sys/socket.h>

#include "actors/net/address.hpp"
#include "tools/dashboard/detail/deadline_stream.hpp"

namespace furlong::tools::dashboard {

namespace {

using namespace std::chrono_literals;

// The library sets SO_REUSEPORT, with which two servers can have one port and each gets some of the connections.
void allow_quick_restart(socket_t socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

httplib::Headers usual_headers() {
  return {{"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cache-Control", "no-store"}};
}

/// Signals are for other threads: one that interrupts accept() would end the library's loop.
class signals_blocked {
 public:
  signals_blocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

http_server::http_server(std::map<std::string, http_handler> routes, http_limits limits)
    : routes_(std::move(routes)), limits_(limits) {
  new_task_queue = [this] { return new connection_queue(limits_.threads, limits_.waiting, waiting_); };
  set_socket_options(allow_quick_restart);
  set_default_headers(usual_headers());
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    answer(request, response);
    return HandlerResponse::Handled;
  });
}

http_server::~http_server() {
  stopping_ = true;
  if (!listener_.joinable()) return;
  // It may be between two attempts to listen; only a socket that is open may be closed.
  while (!ended_) {
    if (is_running() && svr_sock_ != INVALID_SOCKET) stop();
    std::this_thread::sleep_for(5ms);
  }
  listener_.join();
}

result<std::uint16_t> http_server::start(const std::string& host, std::uint16_t port) {
  const int bound = port == 0 ? bind_to_any_port(host) : bind_to_port(host, port) ? port : -1;
  if (bound <= 0) {
    const actors::net::host_port at{host, port};
    const auto possible = actors::net::can_listen(at);
    if (possible)
      return fail(error::kind::runtime, "--dashboard: " + at.text(), "cannot listen there",
                  "choose an address of this machine and a free port");
    const auto& why = possible.error();
    return fail(why.what, "--dashboard: " + at.text(), why.reason, why.fix);
  }
  const auto chosen = static_cast<std::uint16_t>(bound);
  {
    const signals_blocked inherited;
    listener_ = std::thread([this, host, chosen] { serve(host, chosen); });
  }
  while (!is_running() && !ended_) std::this_thread::sleep_for(1ms);
  return chosen;
}

void http_server::serve(const std::string& host, std::uint16_t port) {
  while (!stopping_) {
    listen_after_bind();
    // An error of accept() ends the library's loop, and closes the port.
    while (!stopping_ && !bind_to_port(host, port)) std::this_thread::sleep_for(200ms);
  }
  ended_ = true;
}

bool http_server::process_and_close_socket(socket_t socket) {
  deadline_stream stream(socket, limits_, stopping_, waiting_);
  bool closed = false;
  process_request(stream, true, closed, [](httplib::Request& request) {
    // Many ranges of one page make a long answer, and compression is dear; neither is needed.
    request.ranges.clear();
    request.headers.erase("Accept-Encoding");
  });
  stream.answer_failure();
  return true;
}

void http_server::answer(const httplib::Request& request, httplib::Response& response) const {
  http_answer out;
  const auto found = routes_.find(request.path);
  if (request.method != "GET" && request.method != "HEAD") {
    out = {405, "text/plain; charset=utf-8", "only GET and HEAD\n", {}};
    response.set_header("Allow", "GET, HEAD");
  } else if (found == routes_.end()) {
    out = {404, "text/plain; charset=utf-8", "no such page\n", {}};
  } else {
    out = found->second([&](const std::string& name) -> std::optional<std::string> {
      if (!request.has_param(name.c_str())) return std::nullopt;
      return request.get_param_value(name.c_str());
    });
  }
  response.status = out.status;
  response.set_header("Content-Security-Policy",
                      out.policy.empty() ? "default-src 'none'; frame-ancestors 'none'" : out.policy);
  response.set_content(std::move(out.body), out.type);
}

}  // namespace furlong::tools::dashboard
