// One attack of a rogue server, and the runs in which it is tried.
#pragma once

#include "tests/federated/rogue_server.hpp"

namespace furlong::federated::testing {

using privacy::adversary_kind;
using sum_plan = std::map<task_id, told>;
constexpr std::uint64_t task_version = 4;

[[nodiscard]] inline std::vector<rogue_world> worlds() {
  std::vector<rogue_world> made;
  for (const bool is_async : {false, true})
    for (const bool noise : {false, true}) {
      const std::string mode = (is_async ? ", FedBuff" : ", synchronous") +
                               std::string(noise ? ", noise at clients" : ", noise at the server");
      made.push_back({"semi-honest, complete" + mode, adversary_kind::semi_honest, 10, 8, is_async, noise});
      made.push_back({"semi-honest, sparse" + mode, adversary_kind::semi_honest, 40, 30, is_async, noise});
      made.push_back({"semi-malicious, complete" + mode, adversary_kind::semi_malicious, 40, 30, is_async, noise});
    }
  return made;
}

struct attack {
  rogue_cohort clients;
  rogue_server server{clients};
  std::uint32_t in_sum;  ///< clients of the sums
  explicit attack(const rogue_world& of) : clients(of), in_sum(of.clients) {}

  [[nodiscard]] const rogue_world& world() const { return clients.world(); }
  [[nodiscard]] std::uint64_t sum_version() const { return task_version + (world().is_async ? 1 : 0); }
  [[nodiscard]] std::vector<task_id> tasks(std::uint32_t attempt, std::uint32_t first = 0) const {
    std::vector<task_id> made;
    for (std::uint32_t i = 0; i < in_sum; ++i) made.push_back({4711, task_version, first + i, attempt});
    return made;
  }
  /// All clients, as an honest server asks them.
  [[nodiscard]] sum_plan honest(std::uint32_t attempt = 0) const {
    return server.honest(tasks(attempt), sum_version());
  }
  [[nodiscard]] privacy::graph_parameters graph() const { return privacy::parameters_for(in_sum, world().against); }
};

}  // namespace furlong::federated::testing
