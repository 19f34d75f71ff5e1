// The processes of a federation in a test network: server, aggregators and nodes as thin shells around their machines,
// each of which can be killed at any moment and started again.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "federated/client/client_work.hpp"
#include "federated/protocol/client_routes.hpp"
#include "federated/protocol/gateway_machine.hpp"
#include "federated/protocol/node_machine.hpp"
#include "federated/protocol/relay_machine.hpp"
#include "federated/protocol/scoring_machine.hpp"
#include "tests/support/network_books.hpp"

namespace furlong::tests::net {

/// What all processes of a world share.
struct surroundings {
  const federated::experiment& e;
  fabric net;
  books checks;
  std::uint64_t seed = 1;
  double failing = 0.0;        ///< share of trainings that fail
  double spoiled = 0.0;        ///< share of updates that are not finite
  bool over = false;           ///< the server said so
  std::size_t sent_on = 0;     ///< aggregators, to others
  std::size_t tasks_lost = 0;  ///< by aggregators with others below
  std::uint64_t nodes = 0;     ///< processes that there were

  /// What an aggregator for which there is no room is told.
  void send_elsewhere(const link_ptr& through, const federated::protocol::aggregator_place& place) {
    if (place.elsewhere.empty()) {
      through->send(1, protocol::farewell{"no room", false});
    } else {
      ++sent_on;
      through->send(1, protocol::redirect{place.elsewhere});
    }
    through->close(1);
  }

  surroundings(const federated::experiment& of, std::uint64_t seed_of)
      : e(of),
        net(seed_of, federated::from_seconds(of.settings.network.heartbeat + of.settings.network.timeout)),
        checks(of),
        seed(seed_of) {}
};

[[nodiscard]] inline std::string address_of(host at) { return "host" + std::to_string(at) + ":1"; }
[[nodiscard]] inline host host_of(const std::string& address) {
  return static_cast<host>(std::stoul(address.substr(4)));
}
constexpr host server_host = 0;

/// Something with a life: what it asked for is void when it is gone.
class process {
 public:
  process(surroundings& in, host at) : in_(in), at_(at) {}
  virtual ~process() = default;
  process(const process&) = delete;
  process& operator=(const process&) = delete;
  [[nodiscard]] host where() const { return at_; }

 protected:
  void after(virtual_time wait, std::function<void()> what) {
    in_.net.clock.after(wait, [&net = in_.net, at = at_, alive = std::weak_ptr(alive_), what = std::move(what)] {
      net.when_at_work(at, [alive, what] {
        if (!alive.expired()) what();
      });
    });
  }
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
  /// A pause before the next try: longer and longer, and never the same for two.
  [[nodiscard]] virtual_time backoff() {
    const auto longest = std::min(100 * millisecond << std::min(tries_++, 5U), 2 * second);
    return in_.net.between(longest / 2, longest);
  }
  void reset_backoff() { tries_ = 0; }

  surroundings& in_;

 private:
  host at_;
  unsigned tries_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

/// What a gateway's parent hears.
using to_parent = std::function<void(message)>;

/// The shell round gateway_machine, in the server and in aggregators.
class gateway_shell {
 public:
  gateway_shell(surroundings& in, std::uint32_t number, federated::protocol::welcome content, to_parent up,
                std::function<void(virtual_time, std::function<void()>)> later);

  void admit(const link_ptr& through, const federated::protocol::hello& from);
  void obey(message&& from_parent);
  /// All sessions end; `last` is said before.
  void end(const std::optional<federated::protocol::farewell>& last);
  [[nodiscard]] const federated::protocol::gateway_machine& machine() const { return machine_; }

 private:
  using session_number = federated::protocol::session_number;
  struct session {
    port to;
    federated::protocol::hello hello;
    bool ready = false;                       ///< its clients are reached here
    std::uint64_t covered = 0;                ///< checkpoint that it was told of with its welcome
    std::uint64_t model = ~std::uint64_t{0};  ///< version that was sent last
  };
  void hear(session_number from, message&& what);
  void perform(federated::protocol::gateway_effects effects);
  void send_with_model(session_number to, const federated::broadcast_ptr& from, message what);
  void tell(federated::protocol::upward what);

  surroundings& in_;
  federated::protocol::gateway_machine machine_;
  federated::protocol::welcome welcome_;
  to_parent up_;
  std::function<void(virtual_time, std::function<void()>)> later_;
  std::map<session_number, session> sessions_;
  session_number next_ = 1;
  federated::broadcast_ptr model_;  ///< the newest from the parent
  std::map<federated::task_id, update_ptr> arrived_;
  std::map<federated::task_id, update_ptr> folded_;  ///< in the share under way
};

/// A relay with its own gateway, as child 0, and the aggregators that attach below it.
class aggregator_process final : public process {
 public:
  /// `takes_others`: it has an operator port.
  aggregator_process(surroundings& in, host at, bool takes_others) : process(in, at), takes_others_(takes_others) {}
  ~aggregator_process() override { in_.net.kill(where()); }
  void start();

 private:
  struct child {
    port to;
    std::uint64_t model = ~std::uint64_t{0};
  };
  void attach_to(host parent);
  void hear(message&& what);
  void begin(const federated::protocol::welcome& got);
  void end(const federated::protocol::farewell& said);
  void lost();
  void answer(const link_ptr& through, const federated::protocol::hello& hello);
  void take_in(const link_ptr& through, const federated::protocol::branch_hello& hello);
  void lose(std::uint32_t number);
  void told(std::uint32_t by, message&& what);
  void obey(federated::protocol::downward what);
  void perform(federated::protocol::relay_effects effects);
  void send_down(std::uint32_t to, message what);
  void send_model(std::uint32_t to, const federated::broadcast_ptr& from);
  void pass_down(std::uint32_t to, federated::protocol::downward&& what);
  void pass_up(federated::protocol::upward&& what);

  bool takes_others_;
  port parent_;
  std::uint32_t generation_ = 0;  ///< counts the relays: what was meant for an earlier one is void
  std::optional<federated::protocol::relay_machine> relay_;
  std::shared_ptr<gateway_shell> gateway_;
  std::map<std::uint32_t, child> children_;
  federated::protocol::welcome welcome_;
  federated::broadcast_ptr model_;                    ///< the newest from the parent
  std::map<federated::task_id, update_ptr> members_;  ///< of the partials that were merged
};

/// One life of the server.
class server_process final : public process {
 public:
  /// `saved`: the checkpoint that it starts from, and writes.
  server_process(surroundings& in, saved_life& saved);
  ~server_process() override { in_.net.kill(where()); }
  void start();
  [[nodiscard]] const federated::protocol::server_machine& machine() const { return *machine_; }
  [[nodiscard]] bool finished() const { return finished_; }

 private:
  struct branch {
    std::optional<port> to;  ///< none: the local gateway
    std::uint64_t model = ~std::uint64_t{0};
  };
  void accept(const link_ptr& through);
  void take_in(const link_ptr& through, const federated::protocol::branch_hello& hello);
  void welcome_node(const link_ptr& through, const federated::protocol::hello& hello);
  void hear(std::uint32_t from, message&& what);
  void on_partial(std::uint32_t from, const partial_with_members& what);
  void lose(std::uint32_t number);
  void send_down(std::uint32_t to, message what);
  void begin_when_enough_are_here();
  void perform(federated::protocol::server_effects effects);
  void perform_one(federated::protocol::server_effect&& effect);
  void send_model(std::uint32_t to, const federated::broadcast_ptr& from);
  void request(federated::protocol::scoring_machine::requests by_branch);
  void evaluate();
  void look_at_scores();
  void give(federated::protocol::assign&& share);
  void judge(const std::vector<federated::task_id>& tasks, federated::protocol::verdict_kind what,
             std::uint64_t version = 0, federated::rejection why = {});
  void save();
  void finish();
  void say_goodbye(int waited);
  [[nodiscard]] virtual_time run_now() const { return now() - began_; }

  saved_life& saved_;
  federated::protocol::client_routes who_;
  std::optional<federated::protocol::server_machine> machine_;
  std::optional<federated::protocol::scoring_machine> scoring_;
  std::optional<gateway_shell> local_;
  std::map<std::uint32_t, branch> branches_;
  federated::protocol::welcome welcome_;
  std::uint64_t covered_ = 0;
  virtual_time began_ = 0;
  bool started_ = false;
  bool finished_ = false;
};

/// What of a node survives its death.
struct node_disk {
  federated::protocol::client_range clients;
  history_store store;
};

class node_process final : public process {
 public:
  node_process(surroundings& in, host at, node_disk& disk, double slowness);
  ~node_process() override { in_.net.kill(where()); }
  void start() { perform(machine_.start()); }
  void drain() { perform(machine_.drain()); }
  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] const federated::protocol::node_machine& machine() const { return machine_; }
  [[nodiscard]] std::vector<federated::task_id> holding() const;
  [[nodiscard]] std::size_t at_work() const { return training_; }

 private:
  struct result_of_work {
    update_ptr update;
    models::private_parameters own;
    bool to_keep = false;
    std::uint32_t life = 0;  ///< of the run, when it began
    bool failed = false;
    std::optional<std::uint32_t> kept_in;  ///< the life in which its private values were kept, where they wait
  };
  void perform(federated::protocol::node_effects effects);
  void perform_one(federated::protocol::node_effect&& effect);
  void open_session(const std::string& address);
  void hear(message&& what);
  void work(const federated::protocol::train& what);
  void score(const federated::protocol::evaluation_request& what);
  [[nodiscard]] result_of_work outcome_of(const federated::protocol::train& what);
  void worked(const federated::task_id& task, result_of_work made);
  void keep(const federated::task_id& task, std::uint64_t version);
  void release(const federated::protocol::release& what);

  node_disk& disk_;
  double slowness_;
  federated::protocol::node_machine machine_;
  port session_;
  std::map<federated::task_id, result_of_work> held_;
  federated::workspace use_;
  std::size_t training_ = 0;
  bool stopped_ = false;
};

}  // namespace furlong::tests::net
