// Messages of server, aggregators and nodes other than broadcasts, updates and partial aggregates (update.hpp), as
// plain values. A node hosts clients and talks to one gateway, which is part of the server or of an aggregator; an
// aggregator talks to its parent, the server or another aggregator. To the parent, everything below an aggregator is
// part of it.
//
//   node --hello--> gateway                          aggregator --branch_hello--> parent
//   node <--welcome or redirect-- gateway            aggregator <--welcome-- parent
//   node --ready--> gateway
//   node <--broadcast, assignment-- gateway          aggregator --attached, detached--> parent
//   node --update, task_failures--> gateway          aggregator <--broadcast, assignment, close_request-- parent
//   node <--verdicts, checkpointed-- gateway         aggregator --settled, partial, withdrawn--> parent
//   node <--evaluation_request-- gateway             aggregator <--withdrawal, verdicts, checkpointed-- parent
//   node --evaluation_scores--> gateway              aggregator --tasks_lost--> parent
//                                                    aggregator <--displaced-- parent
//                                                    and redirects and evaluations as for a node
//   either side --letters--> the other: of secure aggregation, between the server and clients
//   either side --close_notice--> the other
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "federated/experiment/client_score.hpp"
#include "federated/experiment/run_history.hpp"
#include "federated/experiment/update.hpp"
#include "federated/privacy/secure_aggregation/secure_letter.hpp"
#include "federated/protocol/client_sizes.hpp"
#include "models/model.hpp"

namespace furlong::federated::protocol {

/// Names a session within its process; never used twice.
using session_number = std::uint64_t;

/// A node begins a session.
struct hello {
  std::string software;          ///< "furlong 0.1.0"
  client_range clients;          ///< hosted clients; the gateway checks them against the node's certificate
  std::uint64_t run = 0;         ///< run of an earlier session; 0: none
  std::vector<task_id> holding;  ///< tasks in progress, or done and not acknowledged, by client
  std::string avoid;             ///< "host:port" of a gateway that was unreachable or lost; may be empty
  std::uint64_t instance =
      0;  ///< random id of the node's process: distinguishes it from others with these clients; 0: unknown
  std::string kernel_level = {};   ///< of the kernels that it computes with
  store_claim claim = {};          ///< its store as of now
  std::string kernel_levels = {};  ///< all that it can compute with, separated by commas
};

/// An aggregator begins a session.
struct branch_hello {
  std::string software;
  std::string name;            ///< of its certificate, or chosen: identifies it in logs
  std::string gateway;         ///< "host:port" at which nodes reach it; empty: nowhere
  std::string operators = {};  ///< "host:port" at which other aggregators reach it; empty: nowhere
  std::string kernel_level = {};
  std::string kernel_levels = {};  ///< both as in hello
};

/// Everything needed to work on a run. Answers hello and branch_hello.
struct welcome {
  std::uint64_t run = 0;
  std::string scenario;           ///< resolved TOML of what a node needs; names no path
  run_history history;            ///< of the run: decides which stored private values are valid
  std::uint64_t covered = 0;      ///< version of the last durable checkpoint
  models::data_facts facts;       ///< of the whole population: with the scenario they give the model's shapes
  std::uint32_t aggregator = 0;   ///< the number of the aggregator that is welcome; to a node, of its gateway
  std::uint64_t start_id = 0;     ///< of the run: differs if a run with the same id was started again from nothing
  std::string kernel_level = {};  ///< of the server; by kernel_rule::common, of all
  std::string parts = {};         ///< registered parts of the run that have a version, a line "VERSION PART" each
};

/// A node has opened the run: its clients are connected here from now on, wherever they were before.
struct ready {
  std::uint64_t run = 0;
  store_claim claim = {};                ///< its store, opened for the run
  std::vector<client_sizes> sizes = {};  ///< of its clients, in order
};

/// Connect to another gateway, or, for an aggregator, to another operator port: "host:port".
struct redirect {
  std::string address;
};

/// Tasks on the model of a version that was sent before. `begins`: for an aggregator, a new share begins.
struct assignment {
  std::uint64_t run = 0;
  std::uint64_t version = 0;
  bool begins = false;
  std::vector<member> tasks;
};

/// Clients that failed; their tasks are over.
struct task_failures {
  std::vector<task_id> tasks;
};

/// The verdict on an update. Except for `taken` the client need not keep it any longer.
enum class verdict_kind : std::uint8_t {
  durable,   ///< it is in a model that a durable checkpoint holds
  unwanted,  ///< it never will be: late, surplus, of an abandoned round, of a task that is over; or a later one of the
             ///< same client is, and this one does not matter any more
  rejected,  ///< it was not fit: `why`
  taken,     ///< it is in the model of the version after verdicts::version, which no durable checkpoint holds yet
};
struct verdict {
  task_id task;
  verdict_kind what = verdict_kind::durable;
  rejection why = rejection::unknown_task;  ///< rejected only
};
struct verdicts {
  std::vector<verdict> each;
  std::uint64_t version = 0;  ///< for those taken
};

/// A checkpoint of this version is durable.
struct checkpointed {
  std::uint64_t version = 0;
};

/// Score these clients on the model of a version that was sent before.
struct evaluation_request {
  std::uint64_t version = 0;
  std::vector<std::pair<group, std::uint32_t>> clients;
};
/// Some of the scores. A client that could not be scored has no examples. `unscored`: from an aggregator: it no longer
/// reaches these clients, which it was to score.
struct evaluation_scores {
  std::uint64_t version = 0;
  std::vector<scored_client> each;
  bool unscored = false;
};

/// These clients are connected here, with the tasks that their node holds.
struct attached {
  client_range clients;
  std::vector<task_id> holding;
  std::string node = {};       ///< its name, for display; may be empty
  std::uint64_t instance = 0;  ///< as its hello said
  std::string kernel_level = {};
  store_claim claim = {};                ///< its store, opened for the run
  std::vector<client_sizes> sizes = {};  ///< of the clients, in order
};
/// These clients are disconnected. `strayed`: an aggregator was lost; their node may run and connect elsewhere.
/// `failure`: a part of the run failed on their node, which ended for this reason; else empty.
struct detached {
  client_range clients;
  bool strayed = false;
  std::string failure = {};
};

/// Stop this node (hello::instance) if it is connected: another one took its place or, if given, `why`.
struct displaced {
  std::uint64_t instance = 0;
  std::string why = {};
  std::string remedy = {};
};

/// Close the share of this version (close_share of the server machine).
struct close_request {
  std::uint64_t version = 0;
  bool enough = false;
};
/// Withdraws these tasks: their clients are connected elsewhere now.
struct withdrawal {
  std::vector<task_id> tasks;
};
/// These tasks are withdrawn: no update of them is or will be in a partial. (Tasks not listed had ended.)
struct withdrawn {
  std::vector<task_id> tasks;
};
/// An aggregator lost one below it, and with it the outcomes of these tasks: no update of them is or will be in a
/// partial. Their clients may still hold them.
struct tasks_lost {
  std::vector<task_id> folded;  ///< reported as aggregated in the current share
  std::vector<task_id> open;
};
/// Outcomes of tasks, reported at once.
struct settled {
  std::vector<settlement> each;
};

/// Letters of secure aggregation: from clients up, or to clients down. Those to a client that is not reached are lost.
struct letters {
  privacy::secure_letters each;
};

/// The session is over; if `final` for good: the run is over, has failed and cannot be resumed (`failed`) or, if
/// `unwanted`, it continues without the other side. `failed` and not `final`, from a node: a part of the run failed on
/// it, and it ended; from an aggregator: the run cannot go on, and it waits to be told its end.
struct close_notice {
  std::string why;
  bool final = false;
  bool unwanted = false;
  std::string remedy = {};  ///< what the other side should do; may be empty
  bool failed = false;
};

}  // namespace furlong::federated::protocol
