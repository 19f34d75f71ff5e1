// Settings of the network between the processes of a federation.
#pragma once

#include <cstdint>

#include "federated/settings/number_format.hpp"

namespace furlong::federated {

/// [network] compression.
struct compression_settings {
  number_format numbers = number_format::float32;  ///< others are rounded before they are sent
  bool zstd = false;                               ///< packed on top where that is shorter; changes no number
  friend bool operator==(const compression_settings&, const compression_settings&) = default;
};

/// [network] kernel_levels: with which kernels the processes of a federation compute.
enum class kernel_rule : std::uint8_t {
  same,    ///< with those of the server's level; others are refused
  common,  ///< with those of the highest level that all have that arrive before the first round
  any,     ///< with their own
};

/// [network]: between the processes of a federation. Times are in seconds.
struct network_settings {
  bool sparse_upload = false;  ///< upload = "sparse"
  compression_settings compression;
  double heartbeat = 2.0;               ///< a sign of life at least this often
  double timeout = 3.0;                 ///< a peer silent for so much longer is gone; so long its tasks wait for it
  double task_timeout = 600.0;          ///< a node that is there has so long for a task
  std::uint64_t max_message = 1 << 30;  ///< bytes of the longest message, either way
  bool operator_trust = false;          ///< trust = "operator": nodes may come in at the operator port
  kernel_rule kernels = kernel_rule::same;
  double start = 1.0;  ///< share of the training clients that must have joined before the first round
};

}  // namespace furlong::federated
