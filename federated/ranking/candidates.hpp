// What a client's held-out items are ranked among.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "federated/experiment/client_score.hpp"
#include "federated/experiment/population.hpp"

namespace furlong::federated::ranking {

/// What an item is to a client.
enum class item_use : std::uint8_t {
  candidate,  ///< never interacted with
  held_out,   ///< asked for
  known,      ///< interacted with, no candidate
  later       ///< interacted with in the test part, while the validation part is asked: a candidate among all items
};

/// Marks the items of a client. The held-out items are `asked`; all others of its parts are known, except those of the
/// test part while the validation part is asked.
/// @param uses one per item
void mark_items(const population& clients, group scored, std::uint32_t client, std::span<const std::uint32_t> asked,
                std::vector<item_use>& uses);

/// Draws items that the client never interacted with, keyed by (seed, client): `count` for the validation part and as
/// many others for all other parts. With fewer than 2 `count` such items each part gets half of them.
void draw_candidates(std::uint64_t seed, std::uint32_t client, group scored, std::uint32_t count,
                     std::span<const item_use> uses, std::vector<std::uint32_t>& drawn);

/// The chance of an item, which the client does not know, to be among the first places of all such items.
/// @param uses,scores one per item
[[nodiscard]] double chance_among_unknown(std::uint32_t item, std::span<const item_use> uses,
                                          std::span<const float> scores, std::uint32_t places);

}  // namespace furlong::federated::ranking
