// What a role of a process asks of the process that hosts it, and what it hears about its sessions.
//
// A role is what a node, a gateway, an aggregator or the server does in a federation: which messages it sends when. It
// is the same in real processes (actors/federation) and in simulated ones (federated/simulation/network). A role does
// no input or output, reads no clock and is not thread-safe: its host calls it for one event at a time.
//
//   on_opened(session, peer)       a session is open: of a peer that connected, or after connect()
//   on_message(session, control)   a control message arrived over it
//   on_closed(session, end)        it ended, or could not be opened; after close() nothing is heard of it
//   on_wake()                      see wake()
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "federated/experiment/update.hpp"
#include "federated/protocol/control.hpp"
#include "federated/settings/virtual_time.hpp"

namespace furlong::federated::processes {

using protocol::session_number;

/// The other side of a session.
struct peer_facts {
  std::string name;      ///< of its certificate; empty without certificates
  std::string address;   ///< "host:port"
  bool trusted = false;  ///< it has a certificate of the operator
};

/// Why a session ended, or could not be opened.
struct session_end {
  std::string why;
  bool denied = false;  ///< not opened: this process is on the peer's deny list
};

enum class log_level : std::uint8_t { debug, info, warning, failure };

/// An update as the host sends it: a frame, or the update itself. Roles only pass it on.
struct outgoing_update {
  outgoing_update() = default;
  outgoing_update(const outgoing_update&) = delete;
  outgoing_update& operator=(const outgoing_update&) = delete;
  virtual ~outgoing_update() = default;
};
using outgoing_update_ptr = std::shared_ptr<const outgoing_update>;
using partial_ptr = std::shared_ptr<const partial_aggregate>;

/// The host of a role. Its functions return at once and never call the role: events come later. Messages of a session
/// arrive in the order of the calls. A session that has ended is ignored.
class surroundings {
 public:
  surroundings() = default;
  surroundings(const surroundings&) = delete;
  surroundings& operator=(const surroundings&) = delete;
  virtual ~surroundings() = default;

  /// The clock of this process, not of the run.
  [[nodiscard]] virtual virtual_time now() const = 0;
  /// Calls on_wake() at that time; perhaps more often than asked.
  virtual void wake(virtual_time instant) = 0;
  /// Opens a session at "host:port" under that number: on_opened() or on_closed() follows.
  virtual void connect(session_number session, const std::string& address) = 0;

  /// Sends a message, in parts where it is too long for one. What cannot be encoded ends the run: the host says so.
  virtual void send(session_number session, protocol::control message) = 0;
  /// Sends a model. False: it cannot be encoded, so that nothing that refers to it is to be sent.
  [[nodiscard]] virtual bool send(session_number session, const broadcast_ptr& model) = 0;
  virtual void send(session_number session, const outgoing_update_ptr& update) = 0;
  virtual void send(session_number session, const partial_ptr& partial) = 0;
  /// The simulated client of this task dropped out. Real clients report a failure.
  virtual void send_dropped(session_number session, const task_id& task, drop_stage stage) = 0;
  /// What was sent arrives, then the session ends; nothing more is heard of it.
  virtual void close(session_number session) = 0;
  /// The peer is admitted: it may send the long messages of its kind.
  virtual void admitted(session_number session) = 0;

  virtual void log(log_level level, const std::string& text) = 0;
};

}  // namespace furlong::federated::processes
