// Negatives of implicit feedback: items without an interaction, that a client's training takes as examples of the label
// 0 beside its interactions, whose label is 1.
#pragma once

#include <cstdint>
#include <vector>

#include "models/examples.hpp"

namespace furlong::federated {

struct client_kind;
struct experiment;

/// Memory that draws reuse. One thread at a time.
struct negatives_room {
  models::examples drawn;
  models::examples held_out;
  std::vector<std::uint32_t> stamp;  ///< one per item: equal to `now` when it must not be drawn
  std::uint32_t now = 0;
  std::vector<std::uint32_t> free;  ///< the items that may be drawn, where they are few
};

/// What a draw is for. Draws with different keys are independent of each other.
struct negatives_key {
  std::uint32_t version = 0;  ///< of the model that is trained or personalized
  std::uint32_t client = 0;   ///< the owner of examples that name none
  enum class use : std::uint8_t { training, personalization } purpose = use::training;
};

/// Whether the examples that tasks of this run train on are interactions with negatives.
[[nodiscard]] bool draws_negatives(const experiment& run);
/// The largest weight of an update of a client with `count` examples: algorithm::most_weight(), of interactions by the
/// examples that a task makes of them, drawn negatives among them, which batches are cut from.
[[nodiscard]] std::uint64_t most_weight(const experiment& run, std::uint64_t count);
/// Most items that a task's examples name for each of the client's: 1 without negatives.
[[nodiscard]] std::uint32_t items_per_interaction(const experiment& run);

/// The examples of a task: each interaction is followed by algorithm.client.negatives items, drawn uniformly and with
/// replacement from those that the client has no interaction with. For models that rank pairs each example is a pair
/// of the interaction and one of these items. In training algorithm.client.exclude says which interactions count;
/// those of `interactions` do always. Of a client with all items there are interactions alone, and no pairs.
/// @param interactions one feature an example; those of one owner follow each other
/// @return looks into `room`, until its next use
[[nodiscard]] models::examples_view with_negatives(const experiment& run, const negatives_key& key,
                                                   const models::examples_view& interactions, negatives_room& room);

/// What a client's model is personalized from: its known examples, with negatives if training has them and the
/// algorithm personalizes from examples. They are the same in every evaluation.
/// @return looks into `known` or `room`, until its next use
[[nodiscard]] models::examples_view personal_examples(const experiment& run, const client_kind& kind,
                                                      std::uint32_t client, const models::examples_view& known,
                                                      negatives_room& room);

}  // namespace furlong::federated
