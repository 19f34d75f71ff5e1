// Hosts the children of an actor (federated/processes/children.hpp): the coordinator's, or a relay's.
#pragma once

#include <functional>
#include <memory>

#include "actors/federation/role_host.hpp"
#include "federated/processes/children.hpp"
#include "wire/decode.hpp"

namespace furlong::actors::federation {

class child_sessions final : private role_host<processes::surroundings> {
 public:
  /// @param fail_later lets the actor hear, as a message to itself, that the run cannot go on
  child_sessions(std::shared_ptr<const federation_context> run, processes::children_parent& parent,
                 std::function<void(const error&)> fail_later);

  void on_opened(const session_opened& opened);
  void on_frame(const session_frame& got);
  void on_closed(const session_closed& closed);
  [[nodiscard]] processes::children& known() { return children_; }
  [[nodiscard]] const processes::children& known() const { return children_; }

 private:
  void admitted(protocol::session_number session) override;
  [[nodiscard]] const std::shared_ptr<model_frames>& frames() const override { return run_->frames; }
  void on_unsendable(const error& reason) override { fail_later_(reason); }

  std::shared_ptr<const federation_context> run_;
  std::function<void(const error&)> fail_later_;
  wire::decoder decoder_;
  processes::children children_;
};

}  // namespace furlong::actors::federation
