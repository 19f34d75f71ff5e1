// Settings of when a run ends, and of the processes that it runs on.
#pragma once

#include <cstdint>

namespace furlong::federated {

/// [scenario] until: the first of these ends the run.
struct until_settings {
  double virtual_seconds = 0.0;  ///< 0: no limit
  bool target = false;           ///< evaluation.target is reached
  std::uint64_t patience = 0;    ///< rounds without a better validation figure (validation_progress); 0: no limit
  /// The run is evaluated and stopped after this round, to be resumed; 0: never. An evaluation that is made only for
  /// this decides nothing about the run. No key of a scenario.
  std::uint64_t pause_after = 0;
};

/// [topology]
struct topology_settings {
  std::uint32_t aggregators = 1;
  std::uint32_t nodes = 0;   ///< 0: virtual time simulates clients without nodes
  std::uint32_t fan_in = 0;  ///< 0: no limit
};

}  // namespace furlong::federated
