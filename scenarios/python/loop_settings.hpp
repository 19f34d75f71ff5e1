// What requests of phases and tasks say beside their arrays, as JSON. docs/trainer-protocol.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/local_step.hpp"

namespace furlong::scenarios {

/// How a client trains.
struct loop_settings {
  const models::sgd_options& step;
  std::uint32_t epochs = 1;
  std::uint32_t batch_size = 0;
  std::uint32_t max_steps = 0;
  bool shuffle = false;
  std::vector<std::string> private_tensors;
  std::uint64_t rounds = 0;
  bool dropout = true;
  /// Of whole tasks.
  struct task_facts {
    std::uint64_t training_clients = 0;
    std::uint32_t evaluation_batch = 0;
  };
  std::optional<task_facts> task = {};
};

/// As JSON. Numbers are written as the shortest decimals that are the same in float32.
[[nodiscard]] std::string text_of(const loop_settings& settings);

}  // namespace furlong::scenarios
