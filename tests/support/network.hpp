// Federations of simulated processes under a plan of faults, checked against invariants. Same plan, same trace.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "federated/experiment/experiment.hpp"
#include "federated/experiment/run_history.hpp"
#include "federated/processes/node_work.hpp"
#include "federated/settings/virtual_time.hpp"
#include "federated/state/accounting.hpp"

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
  power_loss,       ///< of a node: killed, and what its store had not made durable is gone; started again after a while
};
constexpr std::size_t mishap_count = 10;

/// As in a plan that is written down: "kill_node".
[[nodiscard]] std::string_view to_string(mishap what);

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
  double repeated = 0.0;  ///< share of updates that are sent twice
  std::vector<fault> faults;
  bool devices = false;   ///< clients have devices that are slow, drop out and are not always there
  bool promised = false;  ///< the documents promise the end of the undisturbed run
  federated::processes::work_policy work = {};  ///< of the nodes
};

/// Settings and faults drawn from a seed.
[[nodiscard]] plan random_plan(std::uint64_t seed);
/// The same with whatever else there is: more algorithms, compression, devices, losses of power; one of three is
/// promised to end as if nothing had happened.
[[nodiscard]] plan exploring_plan(std::uint64_t seed);
/// The plan with SCAFFOLD or FedDyn, whose server values are sums of what clients keep.
[[nodiscard]] plan with_exact_state(plan of);
/// What somebody reads who wants to know what goes wrong in it.
[[nodiscard]] std::string text_of(const plan& what);
[[nodiscard]] std::string text_of(const fault& what);
/// Everything that goes well in this plan.
[[nodiscard]] plan without_faults(plan of);
[[nodiscard]] federated::experiment experiment_of(const plan& what);

struct ending {
  std::vector<std::string> failures;  ///< of the properties; empty: all is well
  std::vector<std::string> trace;
  std::vector<std::string> evaluations;  ///< their figures
  std::string model;                     ///< model_sha256 of the last version, or of the best
  std::uint64_t version = 0;
  federated::accounting counts;
  federated::run_history history;
  federated::virtual_time ended = 0;  ///< the server said so; 0: it never did
  std::size_t sent_on = 0;            ///< aggregators, to others
  std::size_t tasks_lost = 0;         ///< by aggregators with others below
  bool mixed_many = false;            ///< FedAsync: a version of more than one update
  std::uint64_t steps = 0;
  std::uint64_t trainings = 0;  ///< tasks that clients worked on
};

/// Runs a world to its end. `patience`: how long after the last fault it may take.
[[nodiscard]] ending run_world(const plan& what, federated::virtual_time patience = 1800 * 1'000'000LL);

}  // namespace furlong::tests::net
