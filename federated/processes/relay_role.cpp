#include "federated/processes/relay_role.hpp"

#include <utility>
#include <variant>

#include "federated/processes/admission.hpp"
#include "federated/settings/network.hpp"

namespace furlong::federated::processes {

relay_role::relay_role(const experiment& e, protocol::welcome content, relay_surroundings& host)
    : e_(e),
      welcome_(std::move(content)),
      host_(host),
      machine_(e, welcome_.aggregator, static_cast<std::size_t>(welcome_.facts.clients)) {}

// ---- what the machine asks for -------------------------------------------------------------------------------------

void relay_role::perform(protocol::tell_child& effect) {
  // A lost child: the machine is notified, or has been.
  if (effect.child != own_gateway_number) return host_.known().send(effect.child, effect.content);
  if (has_gateway_) host_.tell_gateway(std::move(effect.content));
}

void relay_role::perform(protocol::tell_parent& effect) { host_.tell_parent(std::move(effect.content)); }

void relay_role::perform_all(protocol::relay_effects& effects) {
  for (auto& effect : effects) std::visit([this](auto& content) { perform(content); }, effect);
}

// ---- the parent ----------------------------------------------------------------------------------------------------

void relay_role::on_downward(const protocol::downward& content) {
  if (over_) return;
  if (const auto* durable = std::get_if<protocol::checkpointed>(&content)) welcome_.covered = durable->version;
  protocol::relay_effects effects;
  machine_.on_order(content, effects);
  perform_all(effects);
  const auto* notice = std::get_if<protocol::close_notice>(&content);
  if (notice == nullptr) return;
  host_.known().leave();
  if (notice->final && !std::exchange(leaving_, true) && has_children()) return;
  end(*notice);
}

/// With all sessions of children: also of aggregators that are not admitted.
void relay_role::end(const protocol::close_notice& notice) {
  over_ = true;
  host_.known().end_all(notice);
  host_.end(notice);
}

// ---- children ------------------------------------------------------------------------------------------------------

node_placement relay_role::place_node(const node_arrival& node) {
  if (auto reason = unlike_kernels(e_.settings.network->kernels, node.kernels))
    return {node.session, {}, std::move(reason)};
  return {node.session, machine_.routes().gateway_with_fewer(node.clients, node.avoid)};
}

std::optional<std::string> relay_role::judge_kernels(const kernel_offer& offer) {
  return unlike_kernels(e_.settings.network->kernels, offer);
}

protocol::aggregator_place relay_role::place(const protocol::branch_hello& hello) {
  return machine_.place_aggregator(hello);
}

protocol::welcome relay_role::add(const protocol::branch_hello& hello) {
  auto content = welcome_;
  content.kernel_level = level_of_run(e_.settings.network->kernels, content.kernel_level);
  content.aggregator = machine_.add_child(hello);
  return content;
}

void relay_role::hear(std::uint32_t child, protocol::upward&& content) {
  if (over_) return;
  protocol::relay_effects effects;
  const auto sound = machine_.on_told(child, std::move(content), effects);
  perform_all(effects);
  // Ignores its message.
  if (!sound) drop(child, sound.error().text());
}

/// It may still be connected and must not be trusted.
void relay_role::drop(std::uint32_t child, const std::string& reason) {
  if (child == own_gateway_number) {
    has_gateway_ = false;
    host_.tell_gateway(protocol::close_notice{reason, false});
  } else {
    host_.known().drop(child, reason);
  }
  host_.violated(child, reason);
  forget(child);
}

void relay_role::lose(std::uint32_t child, const std::string& reason) {
  if (over_) return;
  host_.log(leaving_ ? log_level::debug : log_level::warning, "aggregator " + std::to_string(child) + ": " + reason);
  forget(child);
}

void relay_role::on_gateway_ended(const std::string& reason) {
  if (std::exchange(has_gateway_, false)) lose(own_gateway_number, reason);
}

void relay_role::forget(std::uint32_t child) {
  protocol::relay_effects effects;
  machine_.on_child_lost(child, effects);
  perform_all(effects);
  if (leaving_ && !has_children()) end({run_is_over, true});
}

}  // namespace furlong::federated::processes
