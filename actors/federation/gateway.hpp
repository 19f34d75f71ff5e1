// The gateway actor: hosts the role of a gateway (federated/processes/gateway_role.hpp). It decodes updates, and looks
// after the deny list.
#pragma once

#include <memory>
#include <optional>

#include "actors/federation/admission_control.hpp"
#include "actors/federation/role_host.hpp"
#include "wire/decode.hpp"

namespace furlong::actors::federation {

using processes::clients_of_certificate;

/// The gateway's options in addition to those of its role.
struct gateway_options {
  std::uint32_t number = 0;  ///< assigned by the parent
  /// Empty: there are no certificates, and all clients are accepted.
  clients_of_certificate clients_of = {};
  std::shared_ptr<admission_control> admission = {};  ///< required
};

struct gateway_state;
using gateway_pointer = gateway_actor::stateful_pointer<gateway_state>;

/// What a gateway's role asks of its actor.
class gateway_host final : public role_host<processes::gateway_surroundings> {
 public:
  gateway_host(gateway_pointer self, std::shared_ptr<const federation_context> run, parent_actor parent,
               const gateway_options& options);

  void wake(federated::virtual_time instant) override;
  void admitted(protocol::session_number session) override;
  void tell_parent(upward&& content) override;
  void place(const processes::node_arrival& node) override;
  void record_refusal(const processes::peer_facts& peer, admission_refusal reason, const std::string& text) override;
  void record_unasked(federated::rejection reason) override;
  void end() override;
  void on_unsendable(const error& reason) override;

 protected:
  [[nodiscard]] const std::shared_ptr<model_frames>& frames() const override { return run_->frames; }

 private:
  gateway_pointer self_;
  std::shared_ptr<const federation_context> run_;
  parent_actor parent_;
  std::uint32_t number_;
  std::shared_ptr<admission_control> admission_;
};

struct gateway_state {
  std::shared_ptr<const federation_context> run;
  std::shared_ptr<admission_control> admission;
  std::optional<gateway_host> host;
  std::optional<processes::gateway_role> role;
  std::optional<wire::decoder> decoder;
  federated::client_update update;            ///< room for the next one
  federated::virtual_time deny_check_at = 0;  ///< time of the next check against the deny list
};

gateway_actor::behavior_type gateway_behavior(gateway_pointer self, std::shared_ptr<const federation_context> run,
                                              parent_actor parent, protocol::welcome welcome, gateway_options options);

}  // namespace furlong::actors::federation
