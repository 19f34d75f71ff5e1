#include "scenarios/schema/schema.hpp"

#include <algorithm>

#include "federated/aggregation/rule.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "scenarios/schema/schema_fields.hpp"
#include "scenarios/schema/schema_parts.hpp"

namespace furlong::scenarios {

namespace {

using namespace fields;

void add_scenario(std::vector<key_spec>& keys) {
  keys.push_back(plain(
      required(text_option("scenario.name", std::nullopt, "Names the run directory; letters, digits, _ and -."))));
  keys.push_back(key("scenario.seed", FURLONG_AT(seed), "Seed of every random stream of the run."));
  keys.back().option.at_most = 1e300;  // TOML integers are signed 64-bit; all non-negative ones are valid
  keys.push_back(key("scenario.clock", FURLONG_AT(clock),
                     words<federated::clock_kind>{{"virtual", federated::clock_kind::simulated},
                                                  {"real", federated::clock_kind::real}},
                     "virtual: furlong run computes time; real: time passes. Devices, dropout, deadlines and events "
                     "need virtual time."));
  const auto length = [&](const char* name, const char* doc) {
    keys.push_back(may_change(plain(integer_option(name, std::nullopt, doc, {1, 4294967295}))));
  };
  length("scenario.rounds", "Rounds to train (asynchronous: versions). Either this, epochs or until.");
  length("scenario.epochs",
         "As many rounds as select every training client this often on average. Either this, rounds or until.");
  length("scenario.until.rounds", "After this many rounds.");
  keys.push_back(may_change(optional(key("scenario.until.virtual_seconds", FURLONG_AT(until->virtual_seconds),
                                         "After this many seconds of virtual time.", above_zero))));
  keys.push_back(may_change(
      optional(key("scenario.until.target", FURLONG_AT(until->target), "When evaluation.target is reached."))));
  keys.push_back(may_change(optional(
      key("scenario.until.patience", FURLONG_AT(until->patience),
          "At the first evaluation that comes this many rounds or more after the one with the best validation figure, "
          "which is that of evaluation.metric. Equal and not finite figures are no improvement; rounds between "
          "evaluations are not looked at. The run ends with the model that evaluation.select names.",
          at_least_one))));
}

void add_divergence(std::vector<key_spec>& keys) {
  keys.push_back(may_change(
      key("scenario.diverged_at", FURLONG_AT(diverged_at),
          "The run has diverged, and ends with exit code 4, when the loss of an evaluation, or the median of the "
          "clients' training losses, exceeds this multiple of its first value, or when a group that was better "
          "falls to the level of a constant prediction; 0: only when the model or the scores of most clients are not "
          "finite.")));
}

void add_data_and_model(std::vector<key_spec>& keys) {
  keys.push_back(
      plain(required(choice_option("data.source", std::nullopt, "The dataset.", kinds_of(registered_datasets())))));
  keys.push_back(
      plain(required(choice_option("model.kind", std::nullopt, "The model.", kinds_of(models::registered_models())))));
  keys.push_back(
      plain({.name = "model.private",
             .type = option_type::text_list,
             .fallback = std::vector<std::string>{},
             .doc = "Tensors that never leave the client, under algorithms that have private tensors; the others share "
                    "all and ignore it."}));
  keys.push_back(
      plain({.name = "model.start_from",
             .type = option_type::text,
             .doc = "File of the initial values, .npz or .safetensors, by names and shapes of the tensors (`furlong "
                    "export --model` writes one). Private tensors in it are every client's first values; those that "
                    "it lacks are drawn. A relative path starts at the scenario's folder.",
             .beside_file = true}));
}

void add_algorithm(std::vector<key_spec>& keys) {
  using namespace federated;
  keys.push_back(plain(
      required(choice_option("algorithm.kind", std::nullopt, "The algorithm.", kinds_of(registered_algorithms())))));
  const auto add = [&](key_spec spec) { keys.push_back(std::move(spec)); };
  add(key("algorithm.client.lr", FURLONG_AT(client->lr), "Learning rate of local training.", above_zero));
  add(key("algorithm.client.schedule", FURLONG_AT(client->schedule),
          words<schedule_kind>{{"constant", schedule_kind::constant}, {"linear", schedule_kind::linear}},
          "Learning rate of local training over the rounds: constant, or decreasing linearly to zero."));
  add(key("algorithm.client.momentum", FURLONG_AT(client->momentum),
          "Momentum of local SGD, zero at the start of a task.", below_one));
  add(key("algorithm.client.proximal", FURLONG_AT(client->proximal),
          "FedProx: mu, where mu/2 ||w - w_0||^2 is added to the loss."));
  add(key("algorithm.client.optimizer", FURLONG_AT(client->optimizer),
          words<models::local_optimizer>{{"sgd", models::local_optimizer::sgd},
                                         {"adam", models::local_optimizer::adam},
                                         {"adamw", models::local_optimizer::adamw}},
          "The local optimizer; its moments are zero at the start of a task."));
  add(key("algorithm.client.beta1", FURLONG_AT(client->beta1), "Decay of the first moment.", below_one));
  add(key("algorithm.client.beta2", FURLONG_AT(client->beta2), "Decay of the second moment.", below_one));
  add(key("algorithm.client.eps", FURLONG_AT(client->eps), "Added to the root of the second moment.", above_zero));
  add(key("algorithm.client.weight_decay", FURLONG_AT(client->weight_decay),
          "L2 regularization, added to the gradient; adamw: decoupled, applied to the weights as learning rate times "
          "weight_decay. In tables, only the rows of a client's examples decay."));
  add(key("algorithm.client.clip", FURLONG_AT(client->clip),
          "Largest L2 norm of the gradient of a step, over all tensors that it trains: longer ones are scaled to it, "
          "after proximal terms and before weight decay; 0: no limit."));
  add(key("algorithm.client.epochs", FURLONG_AT(client->epochs), "Local passes over the client's examples.",
          at_least_one));
  add(key("algorithm.client.batch_size", FURLONG_AT(client->batch_size), "Examples in a batch; 0: all."));
  add(key("algorithm.client.max_steps", FURLONG_AT(client->max_steps),
          "Maximum number of local steps of a task; 0: no limit."));
  add(key("algorithm.client.shuffle", FURLONG_AT(client->shuffle),
          "Shuffle the examples in every epoch; otherwise the order is fixed. With `data.source` = `\"python\"` the "
          "default is true: a class may have its examples sorted."));
  add(key("algorithm.client.negatives", FURLONG_AT(client->negatives),
          "Implicit feedback: items without an interaction that are drawn for each interaction, anew in every task. "
          "They are examples of a batch, and not of the weight of an update.",
          {1, 1000}));
  add(key("algorithm.client.exclude", FURLONG_AT(client->exclude),
          words<excluded_items>{{"train", excluded_items::train}, {"all", excluded_items::all}},
          "Items that are never drawn: those of the client's training interactions, or as in much published code those "
          "that are held out too, which leaks what is to be predicted."));
}

void add_reconstruction(std::vector<key_spec>& keys) {
  using federated::solver_kind;
  const auto add = [&](key_spec spec) { keys.push_back(std::move(spec)); };
  add(key("algorithm.reconstruction.solver", FURLONG_AT(reconstruction->solver),
          words<solver_kind>{{"sgd", solver_kind::sgd}, {"least-squares", solver_kind::least_squares}},
          "How private tensors are reconstructed; least-squares is exact if the model is linear in them."));
  add(key("algorithm.reconstruction.lr", FURLONG_AT(reconstruction->lr), "Learning rate of reconstruction by SGD.",
          above_zero));
  add(key("algorithm.reconstruction.epochs", FURLONG_AT(reconstruction->epochs), "Passes over the support examples.",
          at_least_one));
  add(key("algorithm.reconstruction.max_steps", FURLONG_AT(reconstruction->max_steps),
          "Maximum number of steps of a reconstruction; 0: no limit; 1: one-step reconstruction."));
  add(key("algorithm.reconstruction.batch_size", FURLONG_AT(reconstruction->batch_size),
          "Examples in a step of reconstruction by SGD, in training and in evaluation; 0: the client's batch size."));
  add(key("algorithm.reconstruction.ridge", FURLONG_AT(reconstruction->ridge),
          "Least squares: weight of ||w||^2 against the summed squared errors.", above_zero));
  add(key("algorithm.reconstruction.ridge_per_example", FURLONG_AT(reconstruction->ridge_per_example),
          "Multiply ridge by the number of support examples."));
  add(key("algorithm.reconstruction.split", FURLONG_AT(reconstruction->split),
          "Algorithms that reconstruct in every task: even batches reconstruct and odd ones update; otherwise all "
          "batches do both. For evaluation see evaluation.split."));
  add(key("algorithm.reconstruction.joint", FURLONG_AT(reconstruction->joint),
          "The same: the update phase moves private tensors too."));
}

void add_server(std::vector<key_spec>& keys) {
  using namespace federated;
  const auto add = [&](key_spec spec) { keys.push_back(std::move(spec)); };
  add(key("algorithm.server.optimizer", FURLONG_AT(server->optimizer),
          words<optimizer_kind>{{"sgd", optimizer_kind::sgd},
                                {"adagrad", optimizer_kind::adagrad},
                                {"adam", optimizer_kind::adam},
                                {"yogi", optimizer_kind::yogi}},
          "How the server applies the aggregated update."));
  add(key("algorithm.server.lr", FURLONG_AT(server->lr), "Learning rate of the server.", above_zero));
  add(key("algorithm.server.momentum", FURLONG_AT(server->momentum), "Momentum of the optimizer sgd.", below_one));
  add(key("algorithm.server.beta1", FURLONG_AT(server->beta1), "Decay of the first moment.", below_one));
  add(key("algorithm.server.beta2", FURLONG_AT(server->beta2), "Decay of the second moment.", below_one));
  add(key("algorithm.server.eps", FURLONG_AT(server->eps), "Added to the root of the second moment.", above_zero));
  add(key("algorithm.server.initial_accumulator", FURLONG_AT(server->initial_accumulator),
          "Initial value of the second moment."));
  add(key("algorithm.server.bias_correction", FURLONG_AT(server->bias_correction),
          "Correct the bias of the moments toward their initial value, before eps is added."));
  add(plain(choice_option("algorithm.aggregation.rule", registered_rules().front().kind, "How updates are aggregated.",
                          kinds_of(registered_rules()))));
  add(key("algorithm.aggregation.max_norm", FURLONG_AT(aggregation->max_norm),
          "Largest L2 norm of one tensor of an update; larger updates are rejected.", {0x1p-20, 0x1p20}));
  add(key(
      "algorithm.aggregation.norm_bound", FURLONG_AT(aggregation->norm_bound),
      words<norm_bound_kind>{
          {"adaptive", norm_bound_kind::adaptive}, {"clip", norm_bound_kind::clip}, {"fixed", norm_bound_kind::fixed}},
      "adaptive: updates far larger than those of recent versions are also rejected; if only nodes know the clients' "
      "numbers of examples, so are updates that declare far more examples. clip: clients scale their updates to a "
      "small "
      "multiple of the median size, and larger ones are rejected: for clients that may be hostile. fixed: max_norm and "
      "max_weight only, the default with privacy.noise and privacy.secure_aggregation."));
  add(key("algorithm.aggregation.max_weight", FURLONG_AT(aggregation->max_weight),
          "Maximum number of examples of one update, counting epochs. The default is raised to the next power of two "
          "that suffices for the largest client, where the data are known.",
          {1.0, most_weight_bound}));
  add(key("algorithm.aggregation.noise", FURLONG_AT(aggregation->noise),
          "Standard deviation of normal noise on every element of an update."));
  add(key("algorithm.aggregation.noise_at", FURLONG_AT(aggregation->noise_at),
          words<noise_place>{{"client", noise_place::client}, {"server", noise_place::server}},
          "Noise per client inside the sum (FedAtt's paper) or once on the aggregate (its code)."));
}

std::vector<key_spec> common_keys() {
  std::vector<key_spec> keys;
  add_scenario(keys);
  add_divergence(keys);
  add_data_and_model(keys);
  add_algorithm(keys);
  add_reconstruction(keys);
  add_server(keys);
  add_private_keys(keys);
  add_participation_keys(keys);
  add_device_keys(keys);
  add_dropout_keys(keys);
  add_attack_keys(keys);
  add_running_keys(keys);
  return keys;
}

}  // namespace

namespace {

std::vector<option_spec> prefixed(const std::string& prefix, std::vector<option_spec> options) {
  for (auto& option : options) option.name = prefix + option.name;
  return options;
}

}  // namespace

bool is_open_key(const dataset_entry* source, std::string_view key) {
  if (source == nullptr || source->open_table.empty()) return false;
  const auto prefix = source->table + "." + source->open_table + ".";
  return key.size() > prefix.size() && key.starts_with(prefix) &&
         key.find('.', prefix.size()) == std::string_view::npos;
}

bool is_open_key(const federated::algorithm_entry* algorithm, std::string_view key) {
  if (algorithm == nullptr || !algorithm->has_open_keys || table_of(key) != "algorithm." + algorithm->kind)
    return false;
  return std::ranges::find(algorithm->options, leaf_of(key), &option_spec::name) == algorithm->options.end();
}

std::string source_key(const dataset_entry& source, const std::string& option) {
  const std::string of_algorithm = "algorithm.";
  if (source.algorithm.empty() || !option.starts_with(of_algorithm)) return source.table + "." + option;
  return of_algorithm + source.algorithm + "." + option.substr(of_algorithm.size());
}

std::vector<option_spec> algorithm_keys(const federated::algorithm_entry& algorithm) {
  return prefixed("algorithm." + algorithm.kind + ".", algorithm.options);
}

std::vector<option_spec> rule_keys(const federated::rule_entry& rule) {
  return prefixed("algorithm.aggregation.", rule.options);
}

std::vector<option_spec> policy_keys(const federated::policy_entry& policy) {
  return prefixed("participation.", policy.options);
}

std::vector<option_spec> availability_keys(const federated::availability_entry& entry) {
  return prefixed("devices.availability.", entry.options);
}

std::vector<key_spec> schema_keys(const dataset_entry* source, const models::model_entry* kind,
                                  const federated::algorithm_entry* algorithm, const federated::rule_entry* rule,
                                  const federated::policy_entry* policy,
                                  const federated::availability_entry* availability) {
  std::vector<key_spec> keys;
  const auto insert = [&](const std::vector<option_spec>& options) {
    for (const auto& option : options) keys.push_back(plain(option));
  };
  for (const auto& spec : common_keys()) {
    const auto& name = spec.option.name;
    keys.push_back(spec);
    if (name == "data.source" && source != nullptr) insert(prefixed(source->table + ".", source->options));
    if (name == "model.private" && kind != nullptr) insert(prefixed("model.", kind->options));
    if (name == "algorithm.kind" && algorithm != nullptr) insert(algorithm_keys(*algorithm));
    if (name == "algorithm.aggregation.rule" && rule != nullptr) insert(rule_keys(*rule));
    if (name == "participation.policy" && policy != nullptr) insert(policy_keys(*policy));
    if (name == availability_kind_key && availability != nullptr) insert(availability_keys(*availability));
  }
  return keys;
}

std::string_view table_of(std::string_view key) {
  const auto dot = key.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : key.substr(0, dot);
}

std::string_view leaf_of(std::string_view key) { return key.substr(key.rfind('.') + 1); }

}  // namespace furlong::scenarios
