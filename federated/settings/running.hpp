// Settings of when a run ends, and of the processes that it runs on.
#pragma once

#include <cstdint>

namespace furlong::federated {

/// [scenario] until: the first of these ends the run.
struct until_settings {
  double virtual_seconds = 0.0;  ///< 0: no limit
  bool target = false;           ///< evaluation.target is reached
};

/// [topology]
struct topology_settings {
  std::uint32_t aggregators = 1;
  std::uint32_t nodes = 0;   ///< 0: virtual time simulates clients without nodes
  std::uint32_t fan_in = 0;  ///< 0: no limit
};

}  // namespace furlong::federated
