// Requests for the server's step of an algorithm as bytes. docs/trainer-protocol.md.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/large_memory.hpp"
#include "federated/settings/training.hpp"
#include "scenarios/python/memory_room.hpp"
#include "scenarios/python/step_request.hpp"

namespace furlong::scenarios {

/// What a step knows beside its arrays.
struct server_facts {
  const federated::server_settings& settings;
  std::vector<std::string> private_tensors;
  std::uint64_t rounds = 0;
  std::uint64_t training_clients = 0;
  std::uint64_t count = 0;   ///< of updates in the sums, or the public number that takes its place
  std::uint64_t weight = 0;  ///< of these
  /// Client and weight of each update that the algorithm sees.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> updates;
};
/// As JSON.
[[nodiscard]] std::string text_of(const server_facts& facts);

/// The server's step. What the trainer writes lies apart from what it reads.
struct server_request {
  std::uint64_t seed = 1;
  /// In this order: the shared tensors of the model; the mean change of each, and in the place of its result the change
  /// for the server optimizer; of each group of the class its tensors on the server, then those that were reported; of
  /// each update that the algorithm sees the change of the model, unless only groups are sent, and what it reports.
  std::vector<exchanged_array> arrays;
  std::string facts;  ///< text_of(server_facts)

  /// As step_request::write().
  /// @param round as in step_request
  void write(std::uint32_t round, request_buffer& request, large_floats& copies) const;
  /// After the reply: what the trainer wrote, to where it is wanted.
  void read_copies(large_floats& copies) const;
};

}  // namespace furlong::scenarios
