// The byte stream of a connected non-blocking socket, with or without TLS.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "actors/net/channel.hpp"
#include "actors/net/tls_context.hpp"

namespace furlong::actors::net::detail {

enum class io_state {
  done,        ///< with the number of bytes
  wait_read,   ///< repeat with the same bytes when the socket is readable
  wait_write,  ///< likewise when it is writable
  ended,       ///< the peer sends no more
  failed,      ///< problem() says why
};
struct io_step {
  io_state state = io_state::failed;
  std::size_t bytes = 0;
};

/// After a failure all calls fail. Not thread-safe.
class stream {
 public:
  virtual ~stream() = default;
  stream() = default;
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  /// Repeat until done.
  virtual io_step handshake() = 0;
  virtual io_step read(std::span<std::byte> into) = 0;
  virtual io_step write(std::span<const std::byte> from) = 0;
  /// Signals the end of output, as far as possible without waiting.
  virtual void finish() = 0;
  /// Common name in the peer's certificate, after the handshake; nullopt if there is none.
  [[nodiscard]] virtual std::optional<std::string> peer_name() const = 0;
  /// After a failed step.
  [[nodiscard]] const connect_failure& problem() const { return problem_; }

 protected:
  io_step fail_with(failure_cause cause, std::string reason, std::string fix = {});
  io_step fail_with_errno(int number);

 private:
  connect_failure problem_;
};

/// @param socket owned by the caller
[[nodiscard]] std::unique_ptr<stream> make_plain_stream(int socket);
/// @param host  of a client: the host in the peer's certificate; of a server: empty
/// @return null if OpenSSL has no memory
[[nodiscard]] std::unique_ptr<stream> make_tls_stream(int socket, const tls_context& context, const std::string& host);

}  // namespace furlong::actors::net::detail
