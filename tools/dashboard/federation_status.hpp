// What the dashboard, /metrics and `furlong status` show of a federation, as plain values. Nothing private: counts,
// names and addresses of processes, and figures of the shared model.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "federated/evaluation/evaluation.hpp"
#include "federated/protocol/messages.hpp"
#include "federated/state/accounting.hpp"

namespace furlong::tools::dashboard {

/// Seconds since 1970, UTC.
using unix_time = double;

enum class phase_kind : std::uint8_t { waiting, training, evaluating, checkpointing, draining, done, diverged };
/// The word used in JSON and as a label: "waiting".
[[nodiscard]] std::string_view to_string(phase_kind phase);

/// Clients by what is known of them. Reached are those whose node is connected; adrift those whose task is open while
/// their node is not.
struct client_counts {
  std::uint64_t population = 0;  ///< that the data has, at all
  std::uint64_t training = 0;    ///< of these, those that the server may ask
  std::uint64_t reached = 0;
  std::uint64_t at_work = 0;  ///< of these, those with a task
  std::uint64_t adrift = 0;

  [[nodiscard]] std::uint64_t idle() const { return reached > at_work ? reached - at_work : 0; }
  [[nodiscard]] std::uint64_t away() const { return training > reached + adrift ? training - reached - adrift : 0; }
};

/// A process that hosts clients. One that left may be listed on, with `connected` false.
struct node_status {
  std::string name;
  federated::client_range clients;
  std::string via;  ///< name of its aggregator; empty: the server's own gateway
  bool connected = true;
  unix_time since = 0;        ///< connected since
  unix_time last_seen = 0;    ///< when it was last connected
  std::uint64_t at_work = 0;  ///< tasks
  // Since the server started:
  std::uint64_t folded = 0;
  std::uint64_t rejected = 0;
  std::uint64_t late = 0;  ///< and surplus
};

/// A process between the server and nodes.
struct aggregator_status {
  std::string name;
  std::string address;  ///< where nodes reach it
  std::string via;      ///< name of the aggregator above it; empty: the server
  bool connected = true;
  unix_time since = 0;
  std::uint64_t clients = 0;  ///< reached through it
};

struct checkpoint_status {
  std::uint64_t version = 0;
  unix_time time = 0;
};

/// What a run with privacy.noise has spent.
struct privacy_status {
  std::optional<double> epsilon;  ///< none: nothing is guaranteed, or it cannot be accounted
  double delta = 0.0;
  std::string relation;  ///< of neighbours; empty: it cannot be accounted
  bool simulated = false;
};

/// What is true at one moment; each publication replaces the one before.
struct live_status {
  std::string scenario;
  std::string run;  ///< its id, as written in logs
  std::string algorithm;
  std::string model;
  std::string version;  ///< of the software
  bool asynchronous = false;
  phase_kind phase = phase_kind::waiting;
  std::uint64_t round = 0;   ///< under way, from 1; while waiting, evaluating or done: the last that ended
  std::uint64_t rounds = 0;  ///< that the run has; 0: until something else happens
  unix_time started_at = 0;  ///< of this process
  client_counts clients;
  std::vector<node_status> nodes;
  std::vector<aggregator_status> aggregators;
  federated::accounting counts;                                     ///< of the run, over all its lives
  std::array<std::uint64_t, federated::rejection_count> unasked{};  ///< updates that ended no task, by reason
  std::map<std::string, std::uint64_t> refused_connections;         ///< by reason
  std::uint64_t state_lost = 0;                 ///< clients whose private values a node had lost, in all lives
  std::optional<checkpoint_status> checkpoint;  ///< the last durable one
  std::optional<privacy_status> privacy;        ///< none: a run without noise
  std::uint64_t resident_bytes = 0;             ///< of this process
  std::uint64_t peak_resident_bytes = 0;
};

/// A round that ended, or several in a row: old ones are merged. Counts are sums over them, `loss` and `change_norm`
/// means over the rounds that have them.
struct round_record {
  std::uint64_t first = 0;  ///< version that the first of them made
  std::uint64_t last = 0;   ///< and the last; one round: the same
  unix_time ended_at = 0;   ///< the last of them
  double seconds = 0.0;
  std::uint64_t selected = 0;
  std::uint64_t folded = 0;
  std::array<std::uint64_t, federated::rejection_count> rejected{};
  std::uint64_t late = 0;
  std::uint64_t surplus = 0;
  std::array<std::uint64_t, federated::drop_stage_count> dropped{};
  std::uint64_t abandoned = 0;
  std::uint64_t gave_up = 0;  ///< of these rounds: abandoned
  std::uint64_t applied = 0;  ///< of these rounds: moved the model
  double loss = 0.0;          ///< over the applied rounds
  double change_norm = 0.0;   ///< over the applied rounds
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
};

/// A point of the learning curve.
struct evaluation_record {
  std::uint64_t version = 0;
  unix_time time = 0;
  std::optional<federated::group_metrics> validation;
  std::optional<federated::group_metrics> seen;
  std::optional<federated::group_metrics> unseen;
};

enum class severity : std::uint8_t { info, warning, fault };
/// The word used in JSON: "warning".
[[nodiscard]] std::string_view to_string(severity level);

/// Something that a person may want to know: a node joined, an update was rejected, an aggregator was lost.
struct event_record {
  std::uint64_t number = 0;  ///< from 1, in the order in which they were reported; the board fills it in
  unix_time time = 0;        ///< 0: when it is reported
  severity level = severity::info;
  std::uint64_t round = 0;  ///< 0: none
  std::string kind;         ///< "join", "dropped", "rejected", "connection lost"
  std::string subject;      ///< a node, an aggregator, clients; may be empty
  std::string detail;       ///< may be empty
};

/// All of it.
struct federation_status {
  live_status live;
  bool published = false;            ///< false: nothing is known yet
  unix_time now = 0;                 ///< when this was put together
  double published_age = 0.0;        ///< seconds since the federation last published; since the start, if never
  std::vector<round_record> rounds;  ///< ascending
  std::vector<evaluation_record> learning;
  std::vector<std::uint64_t> staleness;  ///< folded updates by staleness; the last entry counts all beyond, too
  std::vector<event_record> events;      ///< ascending
};

}  // namespace furlong::tools::dashboard
