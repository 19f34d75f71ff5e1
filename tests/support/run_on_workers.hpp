// A run whose work undisturbed workers do, in one thread.
#pragma once

#include <map>
#include <utility>

#include "federated/engine/run_driver.hpp"
#include "federated/simulation/cluster/remote_pool.hpp"
#include "federated/simulation/cluster/worker_engine.hpp"

namespace furlong::tests {

/// Goes on from `start` until the run is over.
/// @param slots of each worker
[[nodiscard]] inline result<federated::run_outcome> run_on_workers(
    const federated::experiment& run, federated::server_state start, federated::private_store& store,
    const federated::run_observer& observer, federated::add_mode mode, std::size_t workers, std::size_t slots) {
  using namespace federated::cluster;
  const std::atomic<bool> stop = false;
  federated::run_driver driver(run, std::move(start), store, observer, stop, mode);
  remote_pool pool(run, store);
  std::map<member_number, worker_engine> engines;
  for (std::size_t i = 0; i < workers; ++i)
    engines.try_emplace(pool.on_joined("w" + std::to_string(i), slots), run, slots);
  federated::workspace use;
  for (;;) {
    const auto over = driver.go_on(pool);
    if (!over) return tl::unexpected(over.error());
    if (*over) return driver.outcome();
    for (auto& message : pool.take_outgoing())
      if (auto taken = engines.at(message.receiver).on_message(std::move(message.content)); !taken)
        return tl::unexpected(taken.error());
    for (auto& [member, engine] : engines) {
      for (std::size_t slot = 0; slot < slots; ++slot)
        if (auto item = engine.next(slot)) {
          engine.run(slot, *item, use);
          engine.done(slot, std::move(*item));
        }
      for (auto& message : engine.take_outgoing())
        if (auto taken = pool.on_message(member, std::move(message)); !taken) return tl::unexpected(taken.error());
    }
    if (auto told = pool.report(driver); !told) return tl::unexpected(told.error());
  }
}

}  // namespace furlong::tests
