// The processes of a simulated federation, each of which can be killed at any moment and started again. The server is a
// thin shell round the state machines that real processes run (actors/federation); aggregators and nodes host the roles
// of real ones (aggregator_process.hpp, node_process.hpp).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "federated/processes/backoff.hpp"
#include "federated/protocol/client_routes.hpp"
#include "federated/protocol/scoring_machine.hpp"
#include "federated/simulation/network/child_links.hpp"
#include "federated/simulation/network/environment.hpp"
#include "federated/simulation/network/simulated_gateway.hpp"
#include "federated/simulation/network/training_queue.hpp"

namespace furlong::federated::network {

/// What all processes of a federation share.
struct shared_world {
  const experiment& e;
  environment& around;
  fabric net;
  training_queue jobs;
  /// Clients of the node with a certificate of that name: its address_of().
  std::function<std::optional<client_range>(const std::string&)> clients_of = {};
  workspace use = {};         ///< of workers that train
  bool over = false;          ///< the server said so
  std::uint64_t last_id = 0;  ///< of nodes' processes, gateways and relays
};

[[nodiscard]] inline std::string address_of(host at) { return "host" + std::to_string(at) + ":1"; }
[[nodiscard]] inline host host_of(const std::string& address) {
  return static_cast<host>(std::stoul(address.substr(4)));
}
constexpr host server_host = 0;

/// What it scheduled is void when it is gone.
class process {
 public:
  process(shared_world& in, host at) : in_(in), at_(at) {}
  virtual ~process() { in_.net.kill(at_); }
  process(const process&) = delete;
  process& operator=(const process&) = delete;
  [[nodiscard]] host where() const { return at_; }

  /// Calls it then, if the process still lives; `job`: see event_queue.
  void at(virtual_time when, std::function<void()> what, std::uint64_t job = 0) {
    in_.net.clock.at(
        when,
        [&net = in_.net, at = at_, alive = std::weak_ptr(alive_), what = std::move(what)] {
          net.when_running(at, [alive, what] {
            if (!alive.expired()) what();
          });
        },
        job);
  }
  void after(virtual_time wait, std::function<void()> what) { at(now() + wait, std::move(what)); }

 protected:
  [[nodiscard]] virtual_time now() const { return in_.net.clock.now(); }
  void connect(host to, std::function<void(link_ptr)> made, std::function<void()> failed) {
    const std::weak_ptr<int> alive = alive_;
    in_.net.connect(
        at_, to,
        [alive, made = std::move(made)](const link_ptr& through) {
          if (alive.expired()) return through->close(0);
          made(through);
        },
        [alive, failed = std::move(failed)] {
          if (!alive.expired()) failed();
        });
  }

  shared_world& in_;
  processes::backoff pause_{[this](virtual_time ceiling) { return in_.net.pause(at_, 0, ceiling); }};

 private:
  host at_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

/// The server's roster: clients that are reached through aggregators, and available.
class simulated_roster final : public protocol::roster {
 public:
  simulated_roster(environment& around, protocol::client_routes routes, std::function<virtual_time()> clock)
      : around_(around), routes_(std::move(routes)), clock_(std::move(clock)) {}

  [[nodiscard]] protocol::client_routes& routes_to_clients() { return routes_; }
  [[nodiscard]] const protocol::client_routes& routes_to_clients() const { return routes_; }

  void on_round(std::uint64_t version, virtual_time now) override {
    version_ = version;
    around_.on_round_begins(version, now);
  }
  [[nodiscard]] bool reachable(std::uint32_t client, virtual_time now, std::uint64_t version) override {
    return routes_.reachable(client, now, version) && around_.available(client, now, version);
  }
  [[nodiscard]] virtual_time reachable_until(std::uint32_t client, virtual_time now,
                                             std::uint64_t version) const override {
    return around_.available_until(client, now, version);
  }
  [[nodiscard]] bool waiting_helps() const override { return around_.waiting_helps(); }
  [[nodiscard]] bool routes() const override { return true; }
  [[nodiscard]] std::optional<std::uint32_t> route(std::uint32_t client) const override {
    return routes_.route(client);
  }
  [[nodiscard]] virtual_time expected_until(std::uint32_t client) const override {
    return around_.available(client, clock_(), version_) ? routes_.expected_until(client) : 0;
  }
  [[nodiscard]] std::uint64_t instance(std::uint32_t client) const override { return routes_.instance(client); }
  [[nodiscard]] std::vector<std::uint32_t> aggregators() const override { return routes_.aggregators(); }

 private:
  environment& around_;
  protocol::client_routes routes_;
  std::function<virtual_time()> clock_;
  std::uint64_t version_ = 0;
};

/// One life of the server.
class server_process final : public process, private processes::children_parent {
 public:
  server_process(shared_world& in, server_state from);
  void start();
  [[nodiscard]] const protocol::server_machine& machine() const { return *machine_; }
  [[nodiscard]] protocol::server_machine& machine() { return *machine_; }
  /// Training clients that are reached now.
  [[nodiscard]] std::size_t reached() const { return roster_.routes_to_clients().reached(); }
  [[nodiscard]] bool started() const { return started_; }
  [[nodiscard]] bool finished() const { return finished_; }
  /// The run's clock.
  [[nodiscard]] virtual_time run_now() const { return now() - began_; }
  /// The checkpoint of this version is durable.
  void on_checkpointed(std::uint64_t version);
  /// The run is to stop: after the round under way, or now if that waits for clients.
  void stop();

 private:
  void accept(const link_ptr& through);
  [[nodiscard]] std::optional<std::string> judge_kernels(const processes::kernel_offer& offer) override;
  [[nodiscard]] protocol::aggregator_place place(const protocol::branch_hello& hello) override;
  [[nodiscard]] protocol::welcome add(const protocol::branch_hello& hello) override;
  void hear(std::uint32_t child, protocol::upward&& content) override;
  void lose(std::uint32_t child, const std::string& reason) override;
  void fail_run(const error& reason) override { in_.around.on_failure(reason); }
  [[nodiscard]] processes::node_placement place_node(const processes::node_arrival& node);
  void on_attached(std::uint32_t from, const protocol::attached& here);
  void on_partial(std::uint32_t from, partial_aggregate&& what);
  void send_down(std::uint32_t to, protocol::downward what);
  void begin_when_enough_are_here();
  void perform(protocol::server_effects effects);
  void perform_one(protocol::server_effect&& effect);
  void request(protocol::scoring_machine::requests by_branch);
  void evaluate();
  void check_scores();
  void schedule_score_check();
  void send_share(protocol::assign&& share);
  void send_verdicts(const std::vector<task_id>& tasks, protocol::verdict_kind what, std::uint64_t version = 0,
                     rejection why = {});
  void finish(bool interrupted);
  void announce_end(int waited);
  [[nodiscard]] protocol::client_routes& routes() { return roster_.routes_to_clients(); }

  simulated_roster roster_;
  std::optional<protocol::server_machine> machine_;
  std::optional<protocol::scoring_machine> scoring_;
  std::optional<simulated_gateway> local_;
  std::uint32_t own_ = 0;  ///< number of its own gateway
  std::optional<child_links> children_;
  protocol::welcome welcome_;
  std::uint64_t covered_ = 0;
  virtual_time created_;
  virtual_time began_;
  bool started_ = false;
  bool finished_ = false;
};

}  // namespace furlong::federated::network
