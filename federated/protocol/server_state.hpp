// Everything a server must remember to go on as if it had never stopped.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "federated/private_store.hpp"
#include "federated/protocol/accounting.hpp"
#include "models/parameters.hpp"

namespace furlong::federated::protocol {

/// A server optimizer's memory: named by its kind, sized by it.
struct optimizer_state {
  std::uint64_t steps = 0;
  std::vector<std::vector<float>>
      slots;  ///< first moment, second moment, ...; each of the shared layout's size or empty
  friend bool operator==(const optimizer_state&, const optimizer_state&) = default;
};

/// The content of a checkpoint. Random streams are keyed, so none are stored.
struct server_state {
  std::uint64_t run = 0;      ///< the run's id: a checkpoint of another scenario is refused
  std::uint64_t version = 0;  ///< rounds done
  models::shared_parameters model;
  optimizer_state optimizer;
  std::vector<double> reference;  ///< the aggregation rule's constants for the next round
  accounting counts;
  run_history history;
  double wall_seconds = 0.0;  ///< spent in all lives up to here
  double cpu_seconds = 0.0;
  double train_seconds = 0.0;                         ///< of these, in rounds: evaluation and checkpoints apart
  double train_cpu_seconds = 0.0;                     ///< processor time of the same
  std::map<std::string, std::uint64_t> output_bytes;  ///< length of each output file at this moment, by file name
};

}  // namespace furlong::federated::protocol
