#include "actors/federation/membership.hpp"

#include <spdlog/spdlog.h>

#include "federated/client/client_work.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/private_values.hpp"

namespace furlong::actors::federation {

namespace {

/// Whether a store has the values of every update in the model. With commit = "after-ack" values are stored only after
/// the acknowledgement: a node that is killed before does not have them.
bool stores_are_complete(const federated::experiment& e) {
  return e.settings.own->commit == federated::commit_kind::after_training;
}

}  // namespace

std::optional<std::string> unlike_store(const federated::experiment& e, const federated::server_state& state,
                                        const federated::known_stores& stores, const federated::client_range& clients,
                                        const federated::store_claim& claim) {
  if (claim.accepts_loss || !e.settings.algorithm->traits.keeps_state) return std::nullopt;
  return stores.mismatch(clients, claim, *state.ledger, stores_are_complete(e));
}

std::optional<protocol::displaced> refusal_of(const federated::experiment& e, const federated::server_state& state,
                                              const federated::known_stores& stores, const protocol::attached& node) {
  if (auto why = unlike_store(e, state, stores, node.clients, node.claim))
    return protocol::displaced{node.instance, std::move(*why), right_store_remedy};
  if (auto why = protocol::size_mismatch(e, node.clients, node.sizes))
    return protocol::displaced{node.instance, std::move(*why), right_data_remedy};
  return std::nullopt;
}

std::optional<federated::run_event> take_store(const federated::experiment& e, const federated::server_state& state,
                                               federated::known_stores& stores, const protocol::attached& node) {
  if (!e.settings.algorithm->traits.keeps_state) return std::nullopt;
  const auto lost =
      stores.take(node.clients, node.claim, *state.ledger, stores_are_complete(e), state.version, node.node);
  if (lost == 0) return std::nullopt;
  const auto what = std::to_string(lost) + " clients continue without their values, or with older ones";
  spdlog::warn("node {}: private values of clients {} to {} are lost: {}", node.node, node.clients.first,
               node.clients.last, what);
  return federated::run_event{state.now, state.version, "state_lost", node.clients.first, node.clients.last, what};
}

}  // namespace furlong::actors::federation
