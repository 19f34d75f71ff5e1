// The private values that came with requests, as a store that is only read.
#pragma once

#include <mutex>
#include <unordered_map>

#include "federated/experiment/private_store.hpp"
#include "models/packed_private.hpp"

namespace furlong::federated::cluster {

/// Thread-safe. What nobody put in it, a client does not have. Several threads may hold the values of one client, which
/// are the same for all: a client is scored in several groups.
class carried_store final : public private_store {
 public:
  /// The values are there until each put() has its remove().
  void put(std::uint32_t client, models::packed_private&& value);
  void remove(std::uint32_t client);

  [[nodiscard]] result<bool> load(std::uint32_t client, models::private_parameters& out) override;
  /// These fail: only the head stores values.
  [[nodiscard]] result<void> commit(std::uint32_t client, std::uint64_t version,
                                    const models::private_parameters& value) override;
  [[nodiscard]] result<void> sync() override;
  [[nodiscard]] result<bool> erase(std::uint32_t client) override;
  [[nodiscard]] result<void> visit(const std::function<void(std::uint32_t client, std::uint64_t version,
                                                            const models::private_parameters& value)>& each) override;
  void covered(std::uint64_t /*version*/) override {}

 private:
  struct held_value {
    models::packed_private content;
    std::size_t holders = 0;
  };
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, held_value> values_;
};

}  // namespace furlong::federated::cluster
