// The uplink of an aggregator: the role of its session with the parent. Opens it, opens it again when it ends, and has
// a relay with a gateway while it lasts: their state is void once the parent has given them up.
//
//   1. Connects and says hello
//   2. A parent without room redirects it; when the next one is lost it starts again at the first address
//   3. It is welcome: the run is prepared                            -> prepare       <- on_prepared
//      Meanwhile the parent's messages wait
//   4. A relay is opened. It hears the parent's messages             -> open_relay    -> tell_relay
//      and what it reports goes to the parent                                         <- on_upward
//   5. The session ends: so does the relay, and a new session is opened after a pause -> close_relay
//      The parent's last close notice: the session ends after the relay               <- on_relay_ended
//   6. The run is over, or this aggregator cannot take part          -> over
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "federated/processes/backoff.hpp"
#include "federated/processes/models_sent.hpp"
#include "federated/processes/repeated_failure.hpp"
#include "federated/processes/surroundings.hpp"
#include "federated/protocol/branch_messages.hpp"

namespace furlong::federated::processes {

/// Why an uplink ended.
struct uplink_end {
  std::string why;
  std::optional<error> failure;
};

/// What an uplink asks of its process, beside sessions.
class uplink_surroundings : public surroundings {
 public:
  /// Prepares the run of a welcome, and then calls on_prepared().
  virtual void prepare(const protocol::welcome& content) = 0;
  /// Opens a relay with its gateway, and the ports for their children, for the run that was prepared.
  virtual void open_relay(const protocol::welcome& content) = 0;
  /// To the relay, in order.
  virtual void tell_relay(protocol::downward&& content) = 0;
  /// Closes the ports, and passes the notice on to the relay. If it is final, on_relay_ended() follows; else, and after
  /// a second notice, nothing is heard of the relay any more.
  virtual void close_relay(const protocol::close_notice& notice) = 0;
  /// The parent violates the protocol: the uplink leaves it.
  virtual void violated(const std::string& why) = 0;
  /// The last event of the uplink.
  virtual void over(const uplink_end& end) = 0;
};

struct uplink_settings {
  std::string server;            ///< the first address, "host:port"
  protocol::branch_hello hello;  ///< without kernels: they are those at the time
  virtual_time give_up = 0;      ///< it ends after this time without a relay; 0: never
};

class uplink {
 public:
  /// `host` must outlive it.
  uplink(uplink_surroundings& host, uplink_settings settings, backoff pause)
      : host_(host), settings_(std::move(settings)), pause_(std::move(pause)), address_(settings_.server) {}

  void start();
  void on_opened(session_number session);
  void on_message(session_number session, protocol::control&& message);
  void on_model(session_number session, broadcast_ptr model);
  /// A message that no parent sends, and one that cannot be decoded: they end the session.
  void on_unexpected(session_number session);
  void on_undecodable(session_number session, const error& reason);
  void on_closed(session_number session, const session_end& end);
  void on_wake();
  void on_prepared(const result<void>& prepared);
  /// Ends at once.
  void on_stop();

  // Of the relay that is open:
  void on_upward(protocol::upward&& content);
  void on_relay_ended(const std::string& reason);
  void on_gateway_ended(const std::string& reason);
  /// The run cannot go on here: the parent is to end it on all processes, on this one too.
  void on_run_failure(const error& reason);

 private:
  enum class session_state : std::uint8_t { none, opening, open };

  [[nodiscard]] bool is_current(session_number session) const {
    return !over_ && state_ == session_state::open && session == session_;
  }
  void connect();
  void receive(protocol::control&& message);
  void receive(const protocol::redirect& target);
  void receive(const protocol::close_notice& notice);
  void receive(protocol::assignment&& message);
  void receive(protocol::evaluation_request&& message);
  void keep_unread(protocol::control&& message);
  void welcomed(const protocol::welcome& content);
  void leave_parent(const std::string& why, bool violates = false);
  void leave_for(const std::string& why);
  void end_session();
  void end_relay(const protocol::close_notice& notice);
  void finish(const std::string& why, bool is_final, const std::optional<error>& failure = {});

  uplink_surroundings& host_;
  uplink_settings settings_;
  backoff pause_;
  std::string address_;  ///< of the next session
  virtual_time connect_at_ = 0;
  session_number session_ = 0;  ///< the newest
  session_state state_ = session_state::none;
  virtual_time without_relay_since_ = 0;
  std::optional<protocol::welcome> welcome_;  ///< of this session
  std::size_t preparing_ = 0;                 ///< runs that are being prepared
  std::deque<protocol::control> unread_;      ///< until the run is prepared
  bool has_relay_ = false;
  models_received models_;
  /// The parent's close notice at the end of the run. The session ends after the relay.
  std::optional<protocol::close_notice> leaving_;
  std::optional<error> own_failure_;  ///< for which this aggregator asked the parent to end the run
  repeated_failure failure_;          ///< of this aggregator, or of its parent
  bool over_ = false;
};

}  // namespace furlong::federated::processes
