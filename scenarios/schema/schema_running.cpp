// The keys of topology, network, privacy, evaluation and checkpoints.
#include "federated/evaluation/evaluation.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/settings.hpp"
#include "scenarios/schema/ranking_keys.hpp"
#include "scenarios/schema/schema_fields.hpp"
#include "scenarios/schema/schema_parts.hpp"

namespace furlong::scenarios {

namespace {

using namespace fields;

void add_target(std::vector<key_spec>& keys) {
  const auto add = [&](key_spec spec) { keys.push_back(may_change(std::move(spec))); };
  key_spec metric = plain(
      text_option("evaluation.target.metric", std::nullopt,
                  "The figure: a group of evaluation.groups, and " + federated::figure_names() + ": \"unseen.rmse\"."));
  metric.apply = [](run_settings& settings, const option_value& value) {
    settings.evaluation->target.metric = std::get<std::string>(value);
  };
  add(std::move(metric));
  const auto bound = [&](const char* name, bool at_most, const char* doc) {
    key_spec spec = plain(number_option(name, std::nullopt, doc));
    spec.apply = [at_most](run_settings& settings, const option_value& value) {
      settings.evaluation->target.value = std::get<double>(value);
      settings.evaluation->target.at_most = at_most;
    };
    add(std::move(spec));
  };
  bound("evaluation.target.at_most", true, "Reached when the figure is no greater. Either this or at_least.");
  bound("evaluation.target.at_least", false, "Reached when the figure is no smaller. Either this or at_most.");
}

void add_topology_and_network(std::vector<key_spec>& keys) {
  const auto add = [&](key_spec spec) { keys.push_back(std::move(spec)); };
  add(may_change(
      key("topology.aggregators", FURLONG_AT(topology->aggregators),
          "Aggregators between clients and server; results do not depend on it. With topology.nodes: 2 and more "
          "are processes of their own, 1 is the server's own gateway.",
          {1.0, 4096.0})));
  add(key("topology.nodes", FURLONG_AT(topology->nodes),
          "Simulated node processes that host the clients, in ranges of equal size. With them furlong run simulates a "
          "federation's processes, links and faults; events may name nodes and aggregators. 0: clients are simulated "
          "without nodes.",
          {0.0, 65536.0}));
  add(may_change(key("topology.fan_in", FURLONG_AT(topology->fan_in),
                     "Between processes: how many aggregators attach directly to the server, or to an aggregator with "
                     "--operator; further ones are redirected to those. 0: no limit.",
                     {0.0, 4096.0})));
  add(may_change(
      key("network.upload", FURLONG_AT(network->sparse_upload), words<bool>{{"dense", false}, {"sparse", true}},
          "Send whole tensors, or only touched rows: less traffic, and the server learns which items a client has.")));
  using federated::number_format;
  add(may_change(key("network.compression", FURLONG_AT(network->compression),
                     words<federated::compression_settings>{{"none", {}},
                                                            {"zstd", {number_format::float32, true}},
                                                            {"float16", {number_format::float16, false}},
                                                            {"float16+zstd", {number_format::float16, true}},
                                                            {"int8", {number_format::int8, false}},
                                                            {"int8+zstd", {number_format::int8, true}}},
                     "Encoding of numbers. zstd compresses without loss. float16 and int8 quantize the broadcast model "
                     "and every update, updates without bias; clients that keep private values add the quantization "
                     "error to their next update.")));
  add(may_change(key("network.trust", FURLONG_AT(network->operator_trust),
                     words<bool>{{"certificates", false}, {"operator", true}},
                     "Nodes that may take part: those with a node certificate, for the clients that it names; or also "
                     "the operator's own, which join at the operator port and host any clients.")));
  add(may_change(
      key("network.kernel_levels", FURLONG_AT(network->kernels),
          words<federated::kernel_rule>{{"same", federated::kernel_rule::same},
                                        {"common", federated::kernel_rule::common},
                                        {"any", federated::kernel_rule::any}},
          "With which kernels nodes and aggregators compute; other levels change the last bits of the model. "
          "\"same\" rejects those whose level is not the server's. With \"common\" all use the highest level "
          "that every process has that joins before the first round; later ones without it are rejected. "
          "With \"any\" each uses its own. summary.json names all levels.")));
  add(may_change(key("network.heartbeat", FURLONG_AT(network->heartbeat),
                     "Between processes: maximum seconds between heartbeats of the server.", {0.1, 3.0})));
  add(may_change(key("network.timeout", FURLONG_AT(network->timeout),
                     "Between processes: a peer that is silent for this many seconds beyond network.heartbeat is "
                     "disconnected; its tasks wait for its return for the sum of both.",
                     {1.5, 86400.0})));
  add(may_change(key("network.task_timeout", FURLONG_AT(network->task_timeout),
                     "Between processes: seconds that a client of a connected node has for a task before it is "
                     "dropped, and that an evaluation waits for scores.",
                     {1.0, 31536000.0})));
  add(may_change(key("network.max_message", FURLONG_AT(network->max_message),
                     "Between processes: maximum bytes of a message in either direction; a peer that sends a longer "
                     "one is disconnected. The model and a list of all clients must fit.",
                     {2097152.0, 1073741824.0})));
  add(may_change(key("network.start", FURLONG_AT(network->start),
                     "Between processes: the share of the training clients that must have joined before a run begins "
                     "or is resumed.",
                     zero_to_one)));
}

void add_evaluation(std::vector<key_spec>& keys) {
  const auto add = [&](key_spec spec) { keys.push_back(may_change(std::move(spec))); };
  add(key("evaluation.every", FURLONG_AT(evaluation->every), "Rounds between evaluations; 0: only at the end."));
  add(key("evaluation.batch_size", FURLONG_AT(evaluation->batch_size),
          "Examples that are scored at a time; 0: all of a client. It bounds memory, and changes a figure only of a "
          "model that computes over batches."));
  add(key("evaluation.clients", FURLONG_AT(evaluation->clients),
          "Maximum number of clients scored per group, drawn once; 0: all."));
  add(key("evaluation.clip", FURLONG_AT(evaluation->clip), "Clip predicted ratings to the dataset's range."));
  add(plain({.name = "evaluation.reconstruct",
             .type = option_type::text_list,
             .doc = "Tensors reconstructed from the support examples of unseen clients; default: the private "
                    "ones, and those with a row per client. Shared ones are fine-tuned on the support, and "
                    "for clients that train on their train part; \"*\" means all tensors."}));
  key_spec split = plain({.name = "evaluation.split",
                          .type = option_type::boolean,
                          .doc = "Unseen clients without a test (or validation) part of their own: true: half of their "
                                 "examples are support, the others are scored; false: all are scored, and nothing is "
                                 "reconstructed. Default: true where unseen clients are adapted, else false."});
  split.apply = [](run_settings& settings, const option_value& value) {
    settings.evaluation->split = std::get<bool>(value);
  };
  add(std::move(split));
  add(key("evaluation.select", FURLONG_AT(evaluation->keep_best), words<bool>{{"last", false}, {"best", true}},
          "Which model a run ends with: the last, or that of the best validation figure among its "
          "evaluations, which is that of evaluation.metric."));
  add(key("evaluation.metric", FURLONG_AT(evaluation->metric),
          "The figure of the group validation that evaluation.select and scenario.until.patience compare: " +
              federated::figure_names() + ". Empty: the figure of evaluation.target.metric, or else the loss."));
  key_spec groups = plain(
      {.name = "evaluation.groups",
       .type = option_type::text_list,
       .fallback = std::vector<std::string>{"validation", "seen", "unseen"},
       .doc =
           "The groups that are scored. Without seen and unseen no example of a test part is read. Also possible, in "
           "simulations: train, the clients that may train on their train parts, with the model of the version."});
  groups.apply = [](run_settings& settings, const option_value& value) {
    const auto& names = std::get<std::vector<std::string>>(value);
    for (std::size_t i = 0; i < federated::group_names.size(); ++i)
      settings.evaluation->groups[i] = std::ranges::find(names, federated::group_names[i]) != names.end();
  };
  add(std::move(groups));
  add(beside_file(optional(key("evaluation.client_groups", FURLONG_AT(evaluation->groups_file),
                               "File with the columns client and group, a row for each client: the summary has "
                               "participation and figures of each group apart. A relative path starts at the "
                               "scenario's folder."))));
  add_ranking_keys(keys);
  add(key("evaluation.attention", FURLONG_AT(evaluation->attention),
          "Rules that weight updates by distance: record the weight of each client's update with every "
          "round, per tensor."));
  add_target(keys);
}

}  // namespace

void add_running_keys(std::vector<key_spec>& keys) {
  add_topology_and_network(keys);
  keys.push_back(
      key("privacy.clip", FURLONG_AT(privacy->clip), "L2 bound to which a client scales its whole update; 0: none."));
  keys.push_back(key("privacy.noise", FURLONG_AT(privacy->noise),
                     "Noise multiplier z: the sum of the updates gets N(0, (z clip)^2) on every element."));
  keys.push_back(key("privacy.clip_quantile", FURLONG_AT(privacy->clip_quantile),
                     "The bound begins as privacy.clip and follows this quantile of the updates' norms (adaptive "
                     "clipping; Andrew et al. 2021): 0.5 clips half of them. 0: it is fixed.",
                     {0.0, 1.0}));
  keys.push_back(key("privacy.clip_lr", FURLONG_AT(privacy->clip_lr),
                     "clip_quantile: rate at which the bound moves, as a logarithm.", above_zero));
  keys.push_back(key("privacy.clip_noise", FURLONG_AT(privacy->clip_noise),
                     "clip_quantile: deviation of the noise on the number of updates within the bound. Its cost is "
                     "part of privacy.noise, the noise on the updates is larger instead. 0: a 20th of the cohort."));
  using federated::noise_mechanism;
  keys.push_back(
      key("privacy.mechanism", FURLONG_AT(privacy->mechanism),
          words<noise_mechanism>{{"gaussian", noise_mechanism::gaussian}, {"tree", noise_mechanism::tree}},
          "gaussian: noise of its own for each round. tree: noise for the sum of all rounds, by a binary tree "
          "(DP-FTRL; Kairouz et al. 2021), which needs no sampling; with participation.min_separation."));
  keys.push_back(key("privacy.tree_rounds", FURLONG_AT(privacy->tree_rounds),
                     "tree: rounds after which a new tree begins; 0: one tree for all rounds. Cheapest at "
                     "participation.min_separation or somewhat more."));
  using federated::noise_keying;
  keys.push_back(
      key("privacy.noise_key", FURLONG_AT(privacy->noise_key),
          words<noise_keying>{
              {"auto", noise_keying::automatic}, {"secret", noise_keying::secret}, {"seed", noise_keying::seed}},
          "What keys noise and draws of cohorts. secret: a key that the operating system draws for each process and "
          "that is written nowhere; the noise is exact, and a run cannot be repeated. seed: the scenario's seed, which "
          "protects from nobody who has it (simulated privacy). auto: secret in a federation, seed in simulations."));
  using federated::noise_place;
  keys.push_back(
      key("privacy.noise_at", FURLONG_AT(privacy->noise_at),
          words<noise_place>{{"server", noise_place::server}, {"client", noise_place::client}},
          "Who adds the noise. client: each client a share of it, under privacy.secure_aggregation, so that the server "
          "sees no sum without noise; participation.min_reports clients add the whole noise."));
  keys.push_back(key("privacy.secure_aggregation", FURLONG_AT(privacy->secure_aggregation),
                     "The server and the aggregators see masked updates, and the sum of a round only."));
  keys.push_back(key(
      "privacy.adversary", FURLONG_AT(privacy->adversary),
      words<federated::privacy::adversary_kind>{{"semi-honest", federated::privacy::adversary_kind::semi_honest},
                                                {"semi-malicious", federated::privacy::adversary_kind::semi_malicious}},
      "What secure aggregation resists: a server that follows the protocol, or one that asks for both kinds of "
      "a client's shares, at several times the cost."));
  keys.push_back(
      may_change(key("privacy.delta", FURLONG_AT(privacy->delta),
                     "The delta for which epsilon is accounted; 0: n^-1.1 for n training clients.", {0.0, 0.5})));
  keys.push_back(may_change(key("privacy.target_epsilon", FURLONG_AT(privacy->target_epsilon),
                                "The run ends before the accounted epsilon exceeds it; 0: no limit.")));
  add_evaluation(keys);
  keys.push_back(
      may_change(key("checkpoint.every", FURLONG_AT(checkpoint_every),
                     "Rounds between checkpoints; 0: only when stopping, and on a server after 16,384 updates.")));
  keys.push_back(
      may_change(plain(integer_option("checkpoint.keep", 0,
                                      "How many of the newest checkpoints are kept, each with a snapshot of the "
                                      "private store, as starting points of `furlong replay`.",
                                      {0, 1000000}))));
}

}  // namespace furlong::scenarios
