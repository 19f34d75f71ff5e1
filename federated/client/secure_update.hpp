// The client's side of secure aggregation: an update becomes words, which are masked.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/experiment/update.hpp"
#include "federated/privacy/secure_aggregation/secure_client.hpp"

namespace furlong::federated {

/// A source of secrets: the operating system's; in simulations, which must repeat, one keyed by the scenario's seed,
/// the version and the client (none: the server), which hides nothing from who knows the scenario.
[[nodiscard]] crypto::random_source secret_source(const experiment& e, std::uint64_t version,
                                                  std::optional<task_id> of = {});

/// privacy::sum_inputs::terms of a federation: of what its server tells nodes of the run.
[[nodiscard]] digest terms_of(std::uint64_t run, std::string_view scenario, const models::data_facts& facts);
/// privacy::sum_inputs::model: of all that a client computes its update from, beside its data and the scenario.
[[nodiscard]] digest digest_of(const broadcast& from);

/// Updates of a sum that a client takes part in, at least: the round's reports, or most of a buffer.
[[nodiscard]] std::uint32_t fewest_in_sum(const run_settings& settings);
/// Clients that exchange keys for a sum, at most.
[[nodiscard]] std::uint32_t most_in_sum(const run_settings& settings);

/// The client of a task, at the beginning of the exchange.
[[nodiscard]] privacy::secure_client make_secure_client(const experiment& e, const task_id& task, const digest& model,
                                                        privacy::key_identity_ptr identity = {});

/// Replaces the update by its masked words: checks it as an aggregator would (nobody else can), encodes it by the
/// run's rule, with loss, weight and count in the first words, and masks all of them. The reason if the update would
/// be rejected; it is then unchanged, and must not be sent.
/// @pre with.can_mask()
[[nodiscard]] std::optional<rejection> mask_update(const experiment& e, const broadcast& from,
                                                   privacy::secure_client& with, client_update& update);

}  // namespace furlong::federated
