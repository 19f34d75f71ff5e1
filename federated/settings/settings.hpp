// The settings of a run as plain values: what a scenario says, after it was checked.
//
// A family of settings has a header of its own in federated/settings/. This one only declares them, so that a change of
// one compiles only the sources that include its header.
#pragma once

#include <cstdint>
#include <vector>

#include "base/box.hpp"

namespace furlong::federated {

struct chosen_algorithm;  // federated/settings/algorithm_traits.hpp
struct client_settings;   // federated/settings/training.hpp, like the next two
struct reconstruction_settings;
struct server_settings;
struct aggregation_settings;  // federated/settings/aggregation.hpp, like the next
struct privacy_settings;
struct evaluation_settings;     // federated/settings/evaluation.hpp
struct private_settings;        // federated/settings/private_values.hpp
struct participation_settings;  // federated/settings/participation.hpp
struct device_settings;         // federated/settings/devices.hpp, like the next
struct dropout_settings;
struct event_settings;  // federated/settings/events.hpp
struct until_settings;  // federated/settings/running.hpp, like the next
struct topology_settings;
struct network_settings;  // federated/settings/network.hpp
struct attack_settings;   // federated/settings/attack.hpp

enum class clock_kind : std::uint8_t { simulated, real };

/// Copies are independent of each other.
struct run_settings {
  run_settings();

  std::uint64_t seed = 1;
  std::uint64_t rounds = 1;
  double diverged_at = 1000.0;  ///< a loss beyond so many times its first value ends the run; 0: only one not finite
  clock_kind clock = clock_kind::simulated;
  std::uint32_t checkpoint_every = 0;  ///< [checkpoint]; 0: only when stopping
  box<until_settings> until;
  box<chosen_algorithm> algorithm;
  box<client_settings> client;
  box<reconstruction_settings> reconstruction;
  box<server_settings> server;
  box<aggregation_settings> aggregation;
  box<privacy_settings> privacy;
  box<evaluation_settings> evaluation;
  box<private_settings> own;
  box<participation_settings> participation;
  box<device_settings> devices;
  box<dropout_settings> dropout;
  box<std::vector<event_settings>> events;
  box<topology_settings> topology;
  box<network_settings> network;
  box<attack_settings> attack;
};

}  // namespace furlong::federated
