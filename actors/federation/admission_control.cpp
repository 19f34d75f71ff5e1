#include "actors/federation/admission_control.hpp"

#include <chrono>
#include <spdlog/spdlog.h>

#include "actors/tls/identity.hpp"

namespace furlong::actors::federation {

namespace {

/// Per second, so that a peer that keeps trying cannot fill the disk.
constexpr std::size_t most_lines = 10;

using tls::denied_text;
constexpr std::string_view not_a_node_text = "the certificate is not a node's";

/// The category of a refusal by the transport.
std::optional<turned_away> reason_of(const net::connect_failure& why) {
  using net::failure_cause;
  switch (why.cause) {
    case failure_cause::protocol: return turned_away::protocol;
    case failure_cause::untrusted:
    case failure_cause::wrong_host: return turned_away::untrusted;
    case failure_cause::expired: return turned_away::expired;
    case failure_cause::timed_out: return turned_away::timed_out;
    case failure_cause::stopped: return std::nullopt;
    case failure_cause::rejected: break;
    default: return turned_away::lost;
  }
  if (why.what.reason == denied_text) return turned_away::denied;
  if (why.what.reason == not_a_node_text) return turned_away::not_a_node;
  if (why.what.reason.starts_with("it refuses this side")) return turned_away::refused_us;
  if (why.what.reason.starts_with("the certificate has no common name")) return turned_away::not_a_node;
  return turned_away::too_many;
}

template <class Counts>
auto loaded(const Counts& counts) {
  std::array<std::uint64_t, std::tuple_size_v<Counts>> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = counts[i].load(std::memory_order_relaxed);
  return out;
}

template <class Reason, class Counts>
std::string text_of_counts(const Counts& counts) {
  std::string out;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0)
      out +=
          (out.empty() ? "" : ", ") + std::string(to_string(static_cast<Reason>(i))) + " " + std::to_string(counts[i]);
  return out;
}

}  // namespace

std::string_view to_string(turned_away why) {
  switch (why) {
    case turned_away::protocol: return "protocol";
    case turned_away::untrusted: return "untrusted";
    case turned_away::expired: return "expired";
    case turned_away::denied: return "denied";
    case turned_away::not_a_node: return "not-a-node";
    case turned_away::too_many: return "too-many";
    case turned_away::timed_out: return "timed-out";
    case turned_away::refused_us: return "refused-us";
    case turned_away::lost: return "lost";
    case turned_away::not_its_clients: return "not-its-clients";
    case turned_away::bad_frame: return "bad-frame";
    case turned_away::out_of_turn: return "out-of-turn";
    case turned_away::other_kernels: return "other-kernels";
    case turned_away::other_store: return "other-store";
  }
  return "?";
}

std::map<std::string, std::uint64_t> admission_counts::by_word() const {
  std::map<std::string, std::uint64_t> out;
  for (std::size_t i = 0; i < connections.size(); ++i)
    if (connections[i] > 0) out.emplace(to_string(static_cast<turned_away>(i)), connections[i]);
  return out;
}

std::string admission_counts::text() const {
  auto out = text_of_counts<turned_away>(connections);
  const auto updates = text_of_counts<federated::rejection>(unasked);
  if (!updates.empty()) out += (out.empty() ? "" : "; ") + ("updates that ended no task: " + updates);
  return out;
}

void admission_control::refresh() {
  if (!deny_) return;
  auto fresh = deny_->refresh();
  if (!fresh && may_log()) spdlog::error("{}", fresh.error().text());
}

std::optional<std::string> admission_control::judge(const net::peer& who) {
  if (!deny_) return std::nullopt;
  refresh();
  if (deny_->contains(who.name)) return std::string(denied_text);
  if (!tls::parse_common_name(who.name)) return std::string(not_a_node_text);
  return std::nullopt;
}

void admission_control::refused(const net::peer& who, const net::connect_failure& why) {
  const auto reason = reason_of(why);
  if (!reason) return;
  count(*reason);
  log(who, why.what.text());
}

void admission_control::sent_away(const net::peer& who, turned_away why, const std::string& text) {
  count(why);
  log(who, text);
}

/// Whether another line may be logged in this second; first logs how many were suppressed.
bool admission_control::may_log() {
  using namespace std::chrono;
  const auto now = duration_cast<seconds>(steady_clock::now().time_since_epoch()).count();
  std::uint64_t left_out = 0;
  {
    const std::lock_guard lock(log_);
    if (second_ != now) {
      second_ = now;
      lines_ = 0;
      left_out = std::exchange(left_out_, 0);
    }
    if (lines_ >= most_lines) {
      ++left_out_;
      return false;
    }
    ++lines_;
  }
  if (left_out > 0) spdlog::warn("rejected: {} more, not logged", left_out);
  return true;
}

void admission_control::log(const net::peer& who, const std::string& text) {
  if (!may_log()) return;
  spdlog::warn("rejected: {} {}: {}", who.address, who.name, text);
}

admission_counts admission_control::counts() const { return {loaded(connections_), loaded(unasked_)}; }

}  // namespace furlong::actors::federation
