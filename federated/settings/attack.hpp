// Settings of simulated attacks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace furlong::federated {

/// What bad clients send; attack/crafted_update.hpp has the equations.
enum class attack_kind : std::uint8_t {
  none,
  sign_flip,   ///< their own update, negated
  gaussian,    ///< normal numbers
  label_flip,  ///< what they learn of mirrored labels
  mimic,       ///< the update of one of the clients that they know
  ipm,         ///< inner-product manipulation
  alie,        ///< a little is enough
  min_max,     ///< as far from the mean as known updates are from each other
  opt_ipm,     ///< ipm and alie with the factor that moves the aggregate most
  opt_alie
};
/// Whose updates colluding clients know: those that they would honestly send, or those of all honest clients.
enum class attack_knowledge : std::uint8_t { own, all };
/// min_max: the direction away from the mean.
enum class attack_direction : std::uint8_t { deviation, sign, mean };

/// [attack]
struct attack_settings {
  attack_kind kind = attack_kind::none;
  double clients = 0.1;                    ///< bad clients: a share below 1 of those that train, or a number
  std::vector<std::uint32_t> listed = {};  ///< bad clients; empty: drawn
  std::uint64_t from_round = 1;            ///< first attacked round, counted from 1
  attack_knowledge knows = attack_knowledge::own;
  std::optional<double> strength =
      {};  ///< factor of sign_flip, ipm and alie, deviation of gaussian; nothing: the kind's
  attack_direction direction = attack_direction::deviation;

  /// Whether bad clients send one update that they make of several.
  [[nodiscard]] bool colludes() const { return kind >= attack_kind::mimic; }
  /// Whether a round that starts from this version is attacked.
  [[nodiscard]] bool attacks(std::uint64_t version) const {
    return kind != attack_kind::none && version + 1 >= from_round;
  }
};

}  // namespace furlong::federated
