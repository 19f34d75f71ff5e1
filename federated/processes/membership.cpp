#include "federated/processes/membership.hpp"

#include "federated/client/client_work.hpp"
#include "federated/processes/admission.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/private_values.hpp"

namespace furlong::federated::processes {

namespace {

/// Whether a store has the values of every update in the model. With commit = "after-ack" values are stored only after
/// the acknowledgement: a node that is killed before does not have them.
bool stores_are_complete(const experiment& e) { return e.settings.own->commit == commit_kind::after_training; }

}  // namespace

std::optional<std::string> unlike_store(const experiment& e, const server_state& state, const known_stores& stores,
                                        const client_range& clients, const store_claim& claim) {
  if (claim.accepts_loss || !e.settings.algorithm->traits.keeps_state) return std::nullopt;
  return stores.mismatch(clients, claim, *state.ledger, stores_are_complete(e));
}

std::optional<protocol::displaced> refusal_of(const experiment& e, const server_state& state,
                                              const known_stores& stores, const protocol::attached& node) {
  if (auto why = unlike_store(e, state, stores, node.clients, node.claim))
    return protocol::displaced{node.instance, std::move(*why), right_store_remedy};
  if (auto why = protocol::size_mismatch(e, node.clients, node.sizes))
    return protocol::displaced{node.instance, std::move(*why), right_data_remedy};
  return std::nullopt;
}

std::optional<run_event> take_store(const experiment& e, const server_state& state, known_stores& stores,
                                    const protocol::attached& node) {
  if (!e.settings.algorithm->traits.keeps_state) return std::nullopt;
  const auto lost =
      stores.take(node.clients, node.claim, *state.ledger, stores_are_complete(e), state.version, node.node);
  if (lost == 0) return std::nullopt;
  return run_event{
      state.now,         state.version,
      "state_lost",      node.clients.first,
      node.clients.last, std::to_string(lost) + " clients continue without their values, or with older ones"};
}

}  // namespace furlong::federated::processes
