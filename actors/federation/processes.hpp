// The three processes of a federation: assembled from actors, transports and certificates, and run.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/federation/admission_control.hpp"
#include "actors/net/address.hpp"
#include "actors/tls/credentials.hpp"
#include "federated/client/confirmed_lists.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/experiment/private_store.hpp"
#include "federated/protocol/client_routes.hpp"
#include "federated/protocol/messages.hpp"
#include "federated/rounds/run_observer.hpp"

namespace furlong::actors::federation {

/// The status of a federation at one moment. The references are valid during the call.
struct federation_view {
  enum class phase : std::uint8_t { waiting, training, evaluating, done };
  /// An aggregator; the server's own gateway is one without an address.
  struct aggregator {
    std::uint32_t number = 0;
    std::string name;
    std::string gateway;
    double since = 0.0;  ///< seconds ago
  };
  /// A node and its clients.
  struct node {
    federated::client_range clients;
    std::string name;         ///< from its certificate; empty without one
    std::uint32_t via = 0;    ///< number of its aggregator
    double since = 0.0;       ///< seconds ago
    std::size_t at_work = 0;  ///< tasks
  };
  const federated::server_state& state;
  const federated::protocol::client_routes& who;
  phase now = phase::waiting;
  std::size_t in_flight = 0;  ///< tasks
  std::size_t adrift = 0;     ///< of these, tasks whose node is disconnected
  std::uint64_t covered = 0;  ///< version of the last durable checkpoint; 0: none
  std::vector<aggregator> aggregators;
  std::vector<node> nodes;
  admission_counts refusals;     ///< at the server's own gateway
  std::uint64_t state_lost = 0;  ///< clients whose private values were lost
};

/// Callbacks of a running server, on its own threads.
struct server_watcher {
  /// It listens at these ports; 0: none.
  std::function<void(std::uint16_t gateway, std::uint16_t operators)> on_listening = {};
  /// Called once per second.
  std::function<void(const federation_view&)> on_tick = {};
  /// The run does not begin because clients are missing. Called 2 s after the number of connected clients last changed,
  /// and then with doubled pauses, up to 10 minutes.
  std::function<void(const std::string& text)> on_waiting = {};
};

struct server_setup {
  net::host_port listen;                         ///< for nodes
  std::optional<net::host_port> operators;       ///< for aggregators
  std::optional<tls::operator_credentials> tls;  ///< nullopt: neither encrypted nor authenticated
  std::string scenario;                          ///< for nodes and aggregators, without paths
  std::string parts = {};                        ///< versions of the parts that they need (scenarios/schema/parts.hpp)
  std::size_t threads = 2;
  std::size_t upload_room = std::size_t{64} << 20U;  ///< maximum of bytes of incoming updates at once
};

/// A server that listens, but admits no peer before run(): whether it can listen is known before any output is written.
class server {
 public:
  /// @param e must outlive the server
  /// Errors as of net::bind_socket(); usage: network.max_message is too small for the run; network.trust needs an
  /// operator port.
  [[nodiscard]] static result<std::unique_ptr<server>> open(const federated::experiment& e, server_setup setup);
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// Drives a run over the processes that join, until it is over or `stop` is set: then it ends after the current
  /// round. Call it once.
  [[nodiscard]] result<federated::run_outcome> run(federated::server_state start,
                                                   const federated::run_observer& observer,
                                                   const server_watcher& watcher, const std::atomic<bool>& stop);

 private:
  struct parts;
  explicit server(std::unique_ptr<parts> opened);

  std::unique_ptr<parts> parts_;
};

struct aggregator_setup {
  std::string name;
  net::host_port parent;                    ///< its operator port; one without room redirects
  net::host_port listen;                    ///< for nodes
  std::string advertise;                    ///< "host:port" for nodes; empty: where it listens
  std::optional<net::host_port> operators;  ///< for aggregators below this one
  std::string advertise_operators;          ///< "host:port" for them; empty: where it listens for them
  std::optional<tls::operator_credentials> tls;
  std::size_t threads = 2;
  std::size_t upload_room = std::size_t{64} << 20U;
  // Until the run's own are known. Those of the link to the parent stay, except max_message.
  double heartbeat = 1.0;  ///< seconds; below every network.timeout that a scenario may ask for
  double timeout = 4.0;
  std::uint64_t max_message = std::uint64_t{1} << 30U;
  double give_up = 0.0;  ///< seconds without a parent after which it fails; 0: never
  /// It listens at these ports; 0: none.
  std::function<void(std::uint16_t gateway, std::uint16_t operators)> on_listening = {};
  /// The experiment of a welcome, without clients' data.
  std::function<result<federated::experiment>(const federated::protocol::welcome&)> prepare = {};
};

/// Serves its parent until the run is over, or `stop` is set. Returns why it ended. Fails (kind runtime) after give_up.
[[nodiscard]] result<std::string> run_aggregator(const std::atomic<bool>& stop, const aggregator_setup& setup);

/// A run, prepared on a node.
struct prepared_run {
  federated::experiment e;
  std::shared_ptr<federated::private_store> store;
  federated::store_claim claim = {};
  std::function<result<void>(std::uint64_t served)> note_served = {};  ///< node_run::note_served
  federated::confirmed_sums confirmed = {};                            ///< under secure aggregation
};

struct node_setup {
  net::host_port server;
  federated::client_range clients;
  std::optional<tls::node_credentials> tls;
  bool at_operator_port = false;                          ///< `server` is an operator port (network.trust = "operator")
  std::optional<tls::operator_credentials> operator_tls;  ///< for that; in place of `tls`
  federated::store_claim claim = {};                      ///< of its store, before a run is known
  std::size_t threads = 1;                                ///< clients that train at once
  double heartbeat = 1.0;  ///< seconds; below every network.timeout that a scenario may ask for
  double timeout = 4.0;
  std::uint64_t max_message = std::uint64_t{1} << 30U;  ///< until the run's own is known
  double give_up = 0.0;                                 ///< seconds without a session after which it fails; 0: never
  /// Called for a new run, or a new life of it; the previous result is not used any more.
  std::function<result<prepared_run>(const federated::protocol::welcome&)> prepare = {};
};

/// Hosts clients until the run is over; with `stop` set, until the tasks in flight are done. Returns why it ended.
/// Fails (kind runtime) after give_up, or if another session of its clients replaced it; or as `prepare` does.
[[nodiscard]] result<std::string> run_node(const std::atomic<bool>& stop, const node_setup& setup);

}  // namespace furlong::actors::federation
