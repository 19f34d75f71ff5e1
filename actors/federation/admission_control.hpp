// Admission control of a gateway: authenticates peers, rejects unauthorised ones, and counts them by reason.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "actors/net/channel.hpp"
#include "actors/net/failure.hpp"
#include "actors/tls/deny_list.hpp"
#include "federated/update.hpp"

namespace furlong::actors::federation {

/// Why somebody was not let in, or was sent away.
enum class turned_away : std::uint8_t {
  protocol,         ///< speaks no TLS 1.3, or something else inside of it
  untrusted,        ///< without a certificate, or with one of another authority
  expired,          ///< its certificate is not valid now
  denied,           ///< its certificate is on the deny list
  not_a_node,       ///< the common name of its certificate is not a node's
  too_many,         ///< as many connections as there may be were there
  timed_out,        ///< it did not shake hands in time
  refused_us,       ///< it does not accept the gateway's certificate
  lost,             ///< it went away before the handshake was over
  not_its_clients,  ///< it spoke for clients that are not its own, or that there are not
  bad_frame,        ///< what it sent cannot be read
  out_of_turn,      ///< it sent a message that it may not send, or not then
  other_kernels,    ///< it computes with kernels of another level than the server
  other_store,      ///< its private store is not the one that its clients had
};
constexpr std::size_t turned_away_count = 14;
/// The word used in logs and metrics: "not-its-clients".
[[nodiscard]] std::string_view to_string(turned_away why);

/// What was turned away since the process started.
struct admission_counts {
  std::array<std::uint64_t, turned_away_count> connections{};
  std::array<std::uint64_t, federated::rejection_count> unasked{};  ///< updates that ended no task

  /// Connections by word, without those that did not happen.
  [[nodiscard]] std::map<std::string, std::uint64_t> by_word() const;
  /// For a log: "denied 2, protocol 11; updates that ended no task: duplicate 3". Empty: nothing was turned away.
  [[nodiscard]] std::string text() const;
};

/// One instance per process, for its listener and its successive gateways. Thread-safe.
class admission_control {
 public:
  /// @param deny  nothing: nobody is denied, and certificates are not looked at (there are none)
  explicit admission_control(std::shared_ptr<tls::deny_list> deny = nullptr) : deny_(std::move(deny)) {}

  /// A handshake is over: why this peer does not come in. Reads the deny list again when it has changed.
  [[nodiscard]] std::optional<std::string> judge(const net::peer& who);
  /// Reads the deny list again when it has changed.
  void refresh();
  /// Whether somebody who came in was denied since, as of the last look at the list.
  [[nodiscard]] bool denies(const net::peer& who) const { return deny_ && deny_->contains(who.name); }

  /// Somebody did not come in: counted and logged. Of many in a second only some are logged.
  void refused(const net::peer& who, const net::connect_failure& why);
  /// Somebody was sent away again, or broke the framing: likewise.
  void sent_away(const net::peer& who, turned_away why, const std::string& text);
  /// An update ended no task.
  void unasked(federated::rejection why) { ++unasked_[static_cast<std::size_t>(why)]; }

  [[nodiscard]] admission_counts counts() const;

 private:
  void count(turned_away why) { ++connections_[static_cast<std::size_t>(why)]; }
  [[nodiscard]] bool may_log();
  void log(const net::peer& who, const std::string& text);

  const std::shared_ptr<tls::deny_list> deny_;
  std::array<std::atomic<std::uint64_t>, turned_away_count> connections_{};
  std::array<std::atomic<std::uint64_t>, federated::rejection_count> unasked_{};
  std::mutex log_;  ///< of the three below
  std::int64_t second_ = 0;
  std::size_t lines_ = 0;       ///< in this second
  std::uint64_t left_out_ = 0;  ///< since the last line
};

}  // namespace furlong::actors::federation
