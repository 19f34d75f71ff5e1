// The updates of clients that collude. m and s are the mean and the standard deviation of the updates that they know,
// value by value; all bad clients of a round send the same vector.
//
//   mimic     the known update of the client with the lowest number (Karimireddy et al. 2022)
//   ipm       -tau m (Xie, Koyejo, Gupta: "Fall of empires", 2019), tau = 2
//   alie      m + z s (Baruch et al.: "A little is enough", 2019), z = alie_factor()
//   min_max   m - gamma p with the largest gamma whose distance to every known update is at most the largest distance
//             between two of them (Shejwalkar, Houmansadr: "Manipulating the Byzantine", 2021); p = s, sign(m), m / |m|
//   opt_ipm,  the same with the tau or z >= 0 that moves the aggregate furthest from m: the best of those that a search
//   opt_alie  tries (search_factor()) and of a grid
//
// s divides by n - 1 in alie, as byzfl and Blades do, and by n in min_max, as its authors do.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/function_ref.hpp"
#include "federated/settings/attack.hpp"

namespace furlong::federated {

/// What the bad clients of a round know.
struct known_updates {
  std::vector<std::span<const float>> rows = {};  ///< in the order of clients; not empty
  std::size_t bad = 0;                            ///< updates of bad clients in the round
  std::size_t honest = 0;                         ///< and of the others
};

/// @param harm how far an update, sent by all bad clients, moves the aggregate from the mean of honest updates; called
///             by opt_ipm and opt_alie only
/// @param settings of a kind that colludes
[[nodiscard]] std::vector<double> craft_update(const attack_settings& settings, const known_updates& known,
                                               function_ref<double(std::span<const double> update)> harm);

/// The largest z at which enough honest updates are still further from the mean: Phi^-1((n - f - s) / (n - f)) with s =
/// floor(n / 2 + 1) - f; at least 0.
[[nodiscard]] double alie_factor(std::size_t count, std::size_t bad);

/// The factor of the largest harm among 20 (byzfl): from 0 in steps of 10, which double until one is no better and
/// shrink to 0.8 of themselves from then on; a step that is better is taken.
[[nodiscard]] double search_factor(function_ref<double(double factor)> harm);

}  // namespace furlong::federated
