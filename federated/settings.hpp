// The settings of a run as plain values: what a scenario says, after it was checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "federated/aggregation/rule_traits.hpp"
#include "federated/algorithm_traits.hpp"
#include "federated/number_format.hpp"
#include "federated/participation/policy_traits.hpp"
#include "models/local_step.hpp"

namespace furlong::federated {

/// How a step size changes over the rounds of a run.
enum class schedule_kind : std::uint8_t { constant, linear };

/// [algorithm] client = {...}: local training.
struct client_settings {
  float lr = 0.1F;
  schedule_kind schedule = schedule_kind::constant;  ///< linear: lr (1 - version / rounds)
  float momentum = 0.0F;
  float proximal = 0.0F;  ///< FedProx: mu, where mu/2 ||w - w_0||^2 is added to the loss
  models::local_optimizer optimizer = models::local_optimizer::sgd;
  float beta1 = 0.9F;  ///< this and the next three: adam and adamw
  float beta2 = 0.999F;
  float eps = 1e-8F;
  float weight_decay = 0.0F;
  std::uint32_t epochs = 1;
  std::uint32_t batch_size = 16;  ///< 0: all examples in one batch
  std::uint32_t max_steps = 0;    ///< 0: no cap
  bool shuffle = false;           ///< a new order in every epoch; else always the population's order
};

enum class solver_kind : std::uint8_t { sgd, least_squares };

/// [algorithm] reconstruction = {...}: how private (or, at evaluation, personal) parameters are found from a client's
/// own examples with everything else frozen.
struct reconstruction_settings {
  solver_kind solver = solver_kind::sgd;
  float lr = 0.1F;
  std::uint32_t epochs = 1;
  std::uint32_t max_steps = 0;     ///< 0: no cap; 1: one-step reconstruction
  std::uint32_t batch_size = 0;    ///< of the SGD steps; 0: the batches that were dealt to the support
  float ridge = 1.0F;              ///< least squares: weight of ||w||^2 against the summed squared errors
  bool ridge_per_example = false;  ///< multiply it by the number of examples
  bool split = true;               ///< training: even batches reconstruct, odd ones update; else all do both
  bool joint = false;              ///< the update phase moves private parameters too
};

enum class optimizer_kind : std::uint8_t { sgd, adagrad, adam, yogi };

/// [algorithm] server = {...}: how the server applies -(aggregated delta) as a gradient.
struct server_settings {
  optimizer_kind optimizer = optimizer_kind::sgd;
  double lr = 1.0;
  double momentum = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double eps = 1e-3;
  double initial_accumulator = 0.0;  ///< v at the start
  bool bias_correction = false;
};

/// On each client's update, or once on the aggregate.
enum class noise_place : std::uint8_t { client, server };

/// [algorithm] aggregation = {...}
struct aggregation_settings {
  chosen_rule rule;
  double max_norm = 1024.0;             ///< largest L2 norm of one tensor of an update, else it is rejected
  bool adaptive_bound = true;           ///< norm_bound = "adaptive": also limits that follow from earlier updates
  std::uint32_t max_weight = 1U << 16;  ///< most examples one update may count for
  std::uint32_t max_updates = 4096;  ///< most updates of a round; raised to the cohort's size when a run is assembled
  double noise = 0.0;                ///< beta, standard deviation of the normal noise on every element (FedAtt, eq. 6)
  noise_place noise_at = noise_place::client;  ///< per client inside the sum (paper), or once after it (its code)
};

/// [privacy]
struct privacy_settings {
  double clip = 0.0;   ///< L2 bound that a client scales its whole update to; 0: none
  double noise = 0.0;  ///< noise multiplier z: the sum of updates gets N(0, (z clip)^2) per element
};

/// A figure of an evaluation, and the value that is asked of it: "validation.rmse", at most 0.9.
struct target_settings {
  std::string metric;  ///< group and figure, "unseen.accuracy"; empty: none
  double value = 0.0;
  bool at_most = true;  ///< else at least
};

/// [evaluation]
struct evaluation_settings {
  std::uint32_t every = 0;       ///< rounds between evaluations; 0: only at the end
  std::uint32_t batch_size = 0;  ///< of the batches dealt to support and query; 0: the client's batch size
  std::uint32_t clients = 0;     ///< score at most this many of each group, drawn once; 0: all
  bool clip = false;             ///< clip predicted ratings to the dataset's range
  float clip_low = 1.0F;
  float clip_high = 5.0F;
  std::vector<std::string> reconstruct;  ///< tensors rebuilt for each unseen client; shared ones are fine-tuned for all
  target_settings target = {};           ///< when was it first reached?
  bool split = true;       ///< unseen clients: even batches support, odd ones query; else all examples are scored
  bool keep_best = false;  ///< select = "best": the run ends with the model of the best validation figure
  bool attention = false;  ///< rules that measure distance: report what each update weighed
};

enum class cold_start_kind : std::uint8_t { initial, reconstruct };
/// When a client keeps the private values that it trained: at the end of training, or once the server has taken its
/// update into a new model.
enum class commit_kind : std::uint8_t { after_training, after_ack };
enum class layout_kind : std::uint8_t { per_client, bucketed };

/// [private]
struct private_settings {
  cold_start_kind cold_start = cold_start_kind::initial;  ///< of a client without stored values
  commit_kind commit = commit_kind::after_training;
  layout_kind layout = layout_kind::per_client;  ///< of the store: a column family per client or per bucket of clients
  std::uint32_t open_shards = 64;                ///< of the store: databases held open at once
  std::string key_file;                          ///< of the store: encrypts it; empty: it is not encrypted
};

enum class participation_mode : std::uint8_t { sync, async };
/// Staleness weight s(tau) of an update that started tau versions ago (Xie et al. 2019, "Asynchronous federated
/// optimization", section 5.2): 1; (1 + tau)^-a; 1 up to b, then 1 / (a (tau - b) + 1).
enum class staleness_kind : std::uint8_t { constant, polynomial, hinge };
/// What an asynchronous server adds: the client's change (FedBuff), or the way from its model to the client's
/// (FedAsync).
enum class async_kind : std::uint8_t { change, model };

/// [participation]: who is asked, and when a round is over. Times are in seconds of the run's clock.
struct participation_settings {
  std::uint32_t per_round = 1;  ///< synchronous: reports that close a round
  chosen_policy policy;
  std::uint32_t candidates = 0;    ///< power of choice: d, drawn before the worst are taken; 0: twice as many as asked
  double over_selection = 1.0;     ///< synchronous: clients asked per report that is needed
  double selection_timeout = 0.0;  ///< synchronous: how long to look for clients before going on with fewer
  double retry = 60.0;             ///< when too few are there, look again after this time
  double deadline = 0.0;           ///< synchronous: a round ends at the latest after this; 0: none
  std::uint32_t min_reports = 1;   ///< synchronous: a round with fewer is abandoned
  double reconnect_least = 0.0;    ///< pace steering: a client comes back after a time drawn from this window
  double reconnect_most = 0.0;
  participation_mode mode = participation_mode::sync;
  std::uint32_t buffer = 10;        ///< asynchronous: updates in one new version (FedBuff: K); 1 for FedAsync
  std::uint32_t concurrency = 100;  ///< asynchronous: clients at work at once
  std::uint32_t max_staleness = 0;  ///< asynchronous: staler updates are rejected; 0: none is
  staleness_kind weighting = staleness_kind::polynomial;
  double staleness_exponent = 0.5;  ///< polynomial: a
  double hinge_slope = 10.0;        ///< hinge: a
  std::uint32_t hinge_from = 4;     ///< hinge: b
  async_kind async = async_kind::change;
  double mixing = 0.6;  ///< FedAsync: alpha
};

enum class availability_kind : std::uint8_t { always, bernoulli, markov, diurnal, trace };

/// [devices] availability
struct availability_settings {
  availability_kind kind = availability_kind::always;
  double rate = 0.5;          ///< share of the time, or of the rounds, that a client is available on average
  double mean_online = 3600;  ///< markov: mean length of an available spell, seconds; offline spells follow from rate
  double step = 60;           ///< markov: length of a slot, seconds
  double swing = 4.0;         ///< diurnal: best hour against worst
  double peak_hour = 2.0;     ///< diurnal: local hour of the most availability
  double dwell = 1800;        ///< diurnal: how long a state lasts at least, seconds
  std::uint32_t zones = 24;   ///< diurnal: time zones, an hour apart, that the clients are spread over
  std::string trace = {};     ///< trace: file of intervals
};

/// A class of devices in a table of classes.
struct device_class {
  double share = 1.0;  ///< of the clients, relative to the other classes
  double ms_per_example = 5.0;
  double mbit = 10.0;
};

/// [devices]
struct device_settings {
  double ms_per_example = 5.0;  ///< median; an example costs three times this in training (forward, backward, step)
  double speed_sigma = 0.6;     ///< standard deviation of the logarithm, over the clients
  double mbit = 10.0;           ///< median bandwidth, both ways, in 10^6 bits a second
  double network_sigma = 0.6;
  double latency = 0.0;          ///< seconds, once a message
  double straggler_share = 0.0;  ///< of tasks that take straggler_factor as long
  double straggler_factor = 10.0;
  std::vector<device_class> classes = {};  ///< in place of the lognormals; empty: none
  availability_settings availability = {};
  // Correlations of standard normal scores: a fast device, one that is often available, and the client's taste.
  double speed_availability = 0.0;
  double speed_taste = 0.0;
  double availability_taste = 0.0;
};

enum class dropout_policy : std::uint8_t { abort, pause };
/// [dropout]: probabilities that a client is interrupted in a stage of its task, and what that means.
struct dropout_settings {
  double download = 0.0;
  double train = 0.0;
  double upload = 0.0;
  dropout_policy policy = dropout_policy::abort;  ///< also for a client that ceases to be available
  double mean_pause = 600.0;                      ///< pause: seconds until an interrupted client goes on (exponential)
};

enum class event_kind : std::uint8_t { join, leave, kill, restart, partition, heal };
/// The target of an event: clients, or processes of a simulated federation.
enum class event_target : std::uint8_t { clients, nodes, aggregators };
/// [[event]]: something happens to some clients or processes.
struct event_settings {
  bool at_round = false;    ///< else at a time
  std::uint64_t round = 0;  ///< before this round begins, counted from 1
  double seconds = 0.0;
  event_kind what = event_kind::leave;
  event_target target = event_target::clients;
  std::uint32_t first = 0;  ///< clients or processes first to last, when share is 0
  std::uint32_t last = 0;
  double share = 0.0;  ///< this share of all clients, drawn by the event's place in the file
  bool erase = false;  ///< leave: their private values are erased
};

enum class clock_kind : std::uint8_t { simulated, real };

/// [scenario] until: the first of these ends the run.
struct until_settings {
  double virtual_seconds = 0.0;  ///< 0: no limit
  bool target = false;           ///< evaluation.target is reached
};

/// [network] compression.
struct compression_settings {
  number_format numbers = number_format::float32;  ///< others are rounded before they are sent
  bool zstd = false;                               ///< packed on top where that is shorter; changes no number
  friend bool operator==(const compression_settings&, const compression_settings&) = default;
};

/// [network]: between the processes of a federation. Times are in seconds.
struct network_settings {
  bool sparse_upload = false;  ///< upload = "sparse"
  compression_settings compression;
  double heartbeat = 2.0;               ///< a sign of life at least this often
  double timeout = 3.0;                 ///< a peer silent for so much longer is gone; so long its tasks wait for it
  double task_timeout = 600.0;          ///< a node that is there has so long for a task
  std::uint64_t max_message = 1 << 30;  ///< bytes of the longest message, either way
  bool operator_trust = false;          ///< trust = "operator": nodes may come in at the operator port
  bool any_kernel_level = false;        ///< kernel_levels = "any": nodes need not compute as the server does
  double start = 1.0;                   ///< share of the training clients that must have joined before the first round
};

struct run_settings {
  std::uint64_t seed = 1;
  std::uint64_t rounds = 1;
  until_settings until;
  double diverged_at = 1000.0;  ///< a loss beyond so many times its first value ends the run; 0: only one not finite
  clock_kind clock = clock_kind::simulated;
  chosen_algorithm algorithm;
  client_settings client;
  reconstruction_settings reconstruction;
  server_settings server;
  aggregation_settings aggregation;
  privacy_settings privacy;
  evaluation_settings evaluation;
  private_settings own;
  participation_settings participation;
  device_settings devices;
  dropout_settings dropout;
  std::vector<event_settings> events;
  std::uint32_t aggregators = 1;       ///< [topology]
  std::uint32_t nodes = 0;             ///< [topology]; 0: virtual time simulates clients without nodes
  std::uint32_t fan_in = 0;            ///< [topology]; 0: no limit
  std::uint32_t checkpoint_every = 0;  ///< [checkpoint]; 0: only when stopping
  network_settings network;
};

}  // namespace furlong::federated
