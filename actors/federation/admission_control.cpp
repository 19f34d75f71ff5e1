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
std::optional<admission_refusal> reason_of(const net::connect_failure& why) {
  using net::failure_cause;
  switch (why.cause) {
    case failure_cause::protocol: return admission_refusal::protocol;
    case failure_cause::untrusted:
    case failure_cause::wrong_host: return admission_refusal::untrusted;
    case failure_cause::expired: return admission_refusal::expired;
    case failure_cause::timed_out: return admission_refusal::timed_out;
    case failure_cause::stopped: return std::nullopt;
    case failure_cause::rejected: break;
    default: return admission_refusal::lost;
  }
  if (why.what.reason == denied_text) return admission_refusal::denied;
  if (why.what.reason == not_a_node_text) return admission_refusal::not_a_node;
  if (why.what.reason.starts_with("it refuses this side")) return admission_refusal::refused_us;
  if (why.what.reason.starts_with("the certificate has no common name")) return admission_refusal::not_a_node;
  return admission_refusal::too_many;
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

std::map<std::string, std::uint64_t> admission_counts::by_word() const {
  std::map<std::string, std::uint64_t> out;
  for (std::size_t i = 0; i < connections.size(); ++i)
    if (connections[i] > 0) out.emplace(to_string(static_cast<admission_refusal>(i)), connections[i]);
  return out;
}

std::string admission_counts::text() const {
  auto out = text_of_counts<admission_refusal>(connections);
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

void admission_control::record_refusal(const net::peer& who, admission_refusal why, const std::string& text) {
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
