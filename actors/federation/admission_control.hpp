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

#include "actors/net/channel.hpp"
#include "actors/tls/deny_list.hpp"
#include "federated/experiment/update.hpp"
#include "federated/processes/admission.hpp"

namespace furlong::actors::federation {

using federated::processes::admission_refusal;
using federated::processes::admission_refusal_count;

/// Rejections since the process started.
struct admission_counts {
  std::array<std::uint64_t, admission_refusal_count> connections{};
  std::array<std::uint64_t, federated::rejection_count> unasked{};  ///< updates that ended no task

  /// Connections by name, without zero counts.
  [[nodiscard]] std::map<std::string, std::uint64_t> by_word() const;
  /// For a log: "denied 2, protocol 11; updates that ended no task: duplicate 3". Empty: no rejections.
  [[nodiscard]] std::string text() const;
};

/// One instance per process, for its listener and its successive gateways. Thread-safe.
class admission_control {
 public:
  /// @param deny  nullopt: no deny list, and certificates are not examined (there are none)
  explicit admission_control(std::shared_ptr<tls::deny_list> deny = nullptr) : deny_(std::move(deny)) {}

  /// After a handshake: the reason to reject this peer, if any. Reads the deny list again if it has changed.
  [[nodiscard]] std::optional<std::string> judge(const net::peer& who);
  /// Reads the deny list again if it has changed.
  void refresh();
  /// Whether an admitted peer has been denied since, as of the last reading of the list.
  [[nodiscard]] bool denies(const net::peer& who) const { return deny_ && deny_->contains(who.name); }

  /// Counts and logs a peer that was not admitted. The number of log lines per second is limited.
  void refused(const net::peer& who, const net::connect_failure& why);
  /// Likewise for a session that was ended, or broke the framing.
  void record_refusal(const net::peer& who, admission_refusal why, const std::string& text);
  /// Counts an update that ended no task.
  void unasked(federated::rejection why) { ++unasked_[static_cast<std::size_t>(why)]; }

  [[nodiscard]] admission_counts counts() const;

 private:
  void count(admission_refusal why) { ++connections_[static_cast<std::size_t>(why)]; }
  [[nodiscard]] bool may_log();
  void log(const net::peer& who, const std::string& text);

  const std::shared_ptr<tls::deny_list> deny_;
  std::array<std::atomic<std::uint64_t>, admission_refusal_count> connections_{};
  std::array<std::atomic<std::uint64_t>, federated::rejection_count> unasked_{};
  std::mutex log_;  ///< guards the three below
  std::int64_t second_ = 0;
  std::size_t lines_ = 0;       ///< in this second
  std::uint64_t left_out_ = 0;  ///< lines suppressed since the last one
};

}  // namespace furlong::actors::federation
