// Attacks as tests write them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "federated/settings/attack.hpp"

namespace furlong::tests {

struct attack_plan {
  std::string kind = "none";
  double clients = 0.1;
  std::vector<std::uint32_t> listed = {};
  std::uint64_t from_round = 1;
  std::string knows = "own";
  std::optional<double> strength = {};
  std::string direction = "deviation";
  std::map<std::string, option_value> options = {};                 ///< others
  std::map<std::string, std::vector<std::uint32_t>> features = {};  ///< of the options that name some

  [[nodiscard]] federated::attack_settings settings() const {
    federated::attack_settings made(kind);
    made.clients = clients;
    made.listed = listed;
    made.from_round = from_round;
    made.options.set("knows", knows);
    made.options.set("direction", direction);
    if (strength) made.options.set("strength", *strength);
    for (const auto& [name, value] : options) made.options.set(name, value);
    made.features.insert(features.begin(), features.end());
    return made;
  }
};

}  // namespace furlong::tests
