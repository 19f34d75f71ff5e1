// Hosts the children of an actor (federated/processes/children.hpp): the coordinator's, or a relay's.
#pragma once

#include <functional>
#include <memory>

#include "actors/federation/role_host.hpp"
#include "federated/processes/children.hpp"
#include "wire/decode.hpp"

namespace furlong::actors::federation {

/// What the actor hears later, as messages to itself.
struct child_messages {
  std::function<void(run_failure)> fail;    ///< the run cannot go on
  std::function<void(session_closed)> end;  ///< a session ends
};

/// An exception in the traffic of a child, as for lack of memory, ends its session alone.
class child_sessions final : private role_host<processes::surroundings> {
 public:
  child_sessions(std::shared_ptr<const federation_context> run, processes::children_parent& parent,
                 child_messages later);

  void on_opened(const session_opened& opened);
  void on_frame(const session_frame& got);
  void on_closed(const session_closed& closed);
  [[nodiscard]] processes::children& known() { return children_; }
  [[nodiscard]] const processes::children& known() const { return children_; }

 private:
  using role_host::send;
  void send(protocol::session_number session, wire::control message) override;
  [[nodiscard]] bool send(protocol::session_number session, const federated::broadcast_ptr& model) override;
  void admitted(protocol::session_number session) override;
  [[nodiscard]] const std::shared_ptr<model_frames>& frames() const override { return run_->frames; }
  void on_unsendable(const error& reason) override { later_.fail(run_failure{reason}); }
  void end_later(protocol::session_number session, const std::shared_ptr<const error>& failure);

  std::shared_ptr<const federation_context> run_;
  child_messages later_;
  wire::decoder decoder_;
  processes::children children_;
};

}  // namespace furlong::actors::federation
