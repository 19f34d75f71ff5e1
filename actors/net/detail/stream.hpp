// The bytes of a connected socket that does not block, with or without TLS.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "actors/net/failure.hpp"
#include "actors/net/tls_context.hpp"

namespace furlong::actors::net::detail {

enum class io_state {
  done,        ///< and so many bytes
  wait_read,   ///< try again, with the same bytes, when the socket can be read
  wait_write,  ///< likewise when it can be written
  ended,       ///< the other side sends no more
  failed,      ///< problem() says why
};
struct io_step {
  io_state state = io_state::failed;
  std::size_t bytes = 0;
};

/// Calls fail once and for all. Not thread-safe.
class stream {
 public:
  virtual ~stream() = default;
  stream() = default;
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  /// Repeat until it is done.
  virtual io_step handshake() = 0;
  virtual io_step read(std::span<std::byte> into) = 0;
  virtual io_step write(std::span<const std::byte> from) = 0;
  /// Says that nothing more is sent, as far as that can be said without waiting.
  virtual void finish() = 0;
  /// Common name in the certificate of the other side, after the handshake; nothing when there is none.
  [[nodiscard]] virtual std::optional<std::string> peer_name() const = 0;
  /// After a step that failed.
  [[nodiscard]] const connect_failure& problem() const { return problem_; }

 protected:
  io_step fail_with(failure_cause cause, std::string reason, std::string fix = {});
  io_step fail_with_errno(int number);

 private:
  connect_failure problem_;
};

/// @param socket stays the caller's
[[nodiscard]] std::unique_ptr<stream> make_plain_stream(int socket);
/// @param host  a client's: what the other side's certificate must be for; a server's: empty
/// @return nothing when OpenSSL has no memory
[[nodiscard]] std::unique_ptr<stream> make_tls_stream(int socket, const tls_context& context, const std::string& host);

}  // namespace furlong::actors::net::detail
