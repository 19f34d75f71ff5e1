// Settings of simulated attacks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"

namespace furlong::federated {

struct attack_entry;  // federated/attack/attack.hpp

/// [attack]
struct attack_settings {
  /// No attack.
  attack_settings();
  /// @param given values of its options; those that are missing have their fallbacks
  /// Throws std::invalid_argument when there is no such kind.
  explicit attack_settings(std::string_view kind, const option_values& given = {});

  const attack_entry* entry = nullptr;     ///< the line of the table; null: none
  option_values options;                   ///< values of the keys attack.NAME of all attacks
  double clients = 0.1;                    ///< bad clients: a share below 1 of those that train, or a number
  std::vector<std::uint32_t> listed = {};  ///< bad clients; empty: drawn
  std::uint64_t from_round = 1;            ///< first attacked round, counted from 1
  /// Of the options that name features (attack_entry::names): their numbers, by option. Set by scenarios::fit().
  std::map<std::string, std::vector<std::uint32_t>, std::less<>> features = {};

  /// "none": no attack. Throws as the constructor.
  void choose(std::string_view kind);
  /// Whether a round that starts from this version is attacked.
  [[nodiscard]] bool attacks(std::uint64_t version) const { return entry != nullptr && version + 1 >= from_round; }
  /// A number that the option says, or another one if it says nothing.
  [[nodiscard]] double number_or(std::string_view option, double otherwise) const;
  /// The features that an option names; empty: none.
  [[nodiscard]] const std::vector<std::uint32_t>& named(std::string_view option) const;
};

}  // namespace furlong::federated
