// Whole federations under fire, in virtual time: a server, aggregators and nodes as processes of a simulated network,
// and a plan of what goes wrong. Same plan, same trace.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "federated/experiment.hpp"
#include "federated/protocol/accounting.hpp"
#include "federated/run_history.hpp"
#include "federated/virtual_time.hpp"

namespace furlong::tests::net {

enum class mishap : std::uint8_t {
  kill_node,        ///< started again after a while, with its store
  kill_aggregator,  ///< started again after a while
  stop_host,        ///< does nothing for a while, and hears of what happened in it afterwards
  kill_server,      ///< started again after a while, from its last checkpoint
  drain_node,       ///< asked to end, and started again
  cut,              ///< a link of a host: both sides hear of it
  silence,          ///< the same, and neither does before its patience ends
  part_hosts,       ///< a host from the server, for a while
  isolate,          ///< a host from all others, for a while
};

struct fault {
  federated::virtual_time at = 0;
  mishap what = mishap::cut;
  std::uint32_t who = 0;  ///< host: 0 the server, then aggregators, then nodes
  federated::virtual_time length = 0;
  std::uint64_t at_step = 0;  ///< not at a time, but when so many things have happened; 0: at its time
};

struct plan {
  std::uint64_t seed = 1;
  federated::run_settings settings;
  std::uint32_t aggregators = 0;
  std::uint32_t without_port = ~0U;  ///< every so many aggregators take no others in
  std::uint32_t nodes = 1;
  std::vector<double> slowness;  ///< by node; missing: 1
  double failing = 0.0;
  double spoiled = 0.0;
  std::vector<fault> faults;
};

/// Settings and faults drawn from a seed.
[[nodiscard]] plan random_plan(std::uint64_t seed);
/// Everything that goes well in this plan.
[[nodiscard]] plan without_faults(plan of);
[[nodiscard]] federated::experiment experiment_of(const plan& what);

struct ending {
  std::vector<std::string> failures;  ///< of the properties; empty: all is well
  std::vector<std::string> trace;
  std::vector<std::string> evaluations;  ///< their figures
  std::string model;                     ///< model_sha256 of the last version, or of the best
  std::uint64_t version = 0;
  federated::protocol::accounting counts;
  federated::run_history history;
  federated::virtual_time ended = 0;  ///< the server said so; 0: it never did
  std::size_t sent_on = 0;            ///< aggregators, to others
  std::size_t tasks_lost = 0;         ///< by aggregators with others below
  bool mixed_many = false;            ///< FedAsync: a version of more than one update
  std::uint64_t steps = 0;
};

/// Runs a world to its end. `patience`: how long after the last fault it may take.
[[nodiscard]] ending run_world(const plan& what, federated::virtual_time patience = 1800 * 1'000'000LL);

}  // namespace furlong::tests::net
