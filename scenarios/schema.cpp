#include "scenarios/schema.hpp"

#include <algorithm>
#include <array>
#include <cfloat>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <utility>

namespace furlong::scenarios {

namespace {

using federated::run_settings;
using models::option_spec;
using models::option_type;
using models::option_value;

struct limits {
  double least = 0.0;
  double most = 1e300;
  bool above = false;
};
constexpr limits above_zero{0.0, 1e300, true};
constexpr limits at_least_one{1.0, 1e300, false};
constexpr limits below_one{0.0, 0.999999, false};

/// The double whose shortest text is that of the float: 0.1, not 0.10000000149011612.
double widen(float value) {
  std::array<char, 32> text{};
  std::to_chars(text.data(), text.data() + text.size() - 1, value);
  return std::strtod(text.data(), nullptr);
}

/// A key bound to a field of the settings; `at` returns a reference to it. Type, default and the bounds of the field's
/// own type follow from the field.
template <class At>
key_spec key(std::string name, At at, std::string doc, limits range = {}) {
  using field = std::remove_reference_t<decltype(at(std::declval<run_settings&>()))>;
  run_settings settings;
  key_spec spec;
  spec.option.name = std::move(name);
  spec.option.doc = std::move(doc);
  if constexpr (std::is_same_v<field, bool>) {
    spec.option.type = option_type::boolean;
    spec.option.fallback = at(settings);
    spec.apply = [at](run_settings& to, const option_value& value) { at(to) = std::get<bool>(value); };
  } else if constexpr (std::is_integral_v<field>) {
    spec.option.type = option_type::integer;
    spec.option.fallback = static_cast<std::int64_t>(at(settings));
    range.most = std::min(range.most, static_cast<double>(std::numeric_limits<field>::max()));
    spec.apply = [at](run_settings& to, const option_value& value) {
      at(to) = static_cast<field>(std::get<std::int64_t>(value));
    };
  } else {
    spec.option.type = option_type::number;
    if constexpr (std::is_same_v<field, float>) {
      spec.option.fallback = widen(at(settings));
      range.most = std::min(range.most, static_cast<double>(FLT_MAX));
    } else {
      spec.option.fallback = at(settings);
    }
    spec.apply = [at](run_settings& to, const option_value& value) {
      at(to) = static_cast<field>(std::get<double>(value));
    };
  }
  spec.option.at_least = range.least;
  spec.option.at_most = range.most;
  spec.option.above = range.above;
  return spec;
}

/// A key bound to an enumeration, or to a flag with words of its own.
template <class Enum>
using words = std::vector<std::pair<std::string, Enum>>;
template <class At, class Enum>
key_spec key(std::string name, At at, words<Enum> choices, std::string doc) {
  run_settings settings;
  key_spec spec;
  spec.option.name = std::move(name);
  spec.option.type = option_type::choice;
  spec.option.doc = std::move(doc);
  for (const auto& [word, value] : choices) {
    spec.option.choices.push_back(word);
    if (value == at(settings)) spec.option.fallback = word;
  }
  spec.apply = [at, choices](run_settings& to, const option_value& value) {
    for (const auto& [word, meaning] : choices)
      if (word == std::get<std::string>(value)) at(to) = meaning;
  };
  return spec;
}

/// A key that the parser interprets itself.
key_spec plain(option_spec option) { return {std::move(option), nullptr, true}; }
/// The same key, left out of the run's identity.
key_spec may_change(key_spec spec) {
  spec.identity = false;
  return spec;
}

// Fields, spelled so that each key below is one line.
#define FURLONG_AT(field) \
  [](run_settings & s) -> auto& { return s.field; }

void add_scenario(std::vector<key_spec>& keys) {
  keys.push_back(plain({.name = "scenario.name",
                        .type = option_type::text,
                        .doc = "Names the run directory; letters, digits, _ and -.",
                        .required = true}));
  keys.push_back(key("scenario.seed", FURLONG_AT(seed), "Seed of every random stream of the run."));
  keys.back().option.at_most = 1e300;  // TOML's integers are 64 bits with a sign, all of them that are not negative
  keys.push_back(may_change(plain({.name = "scenario.rounds",
                                   .type = option_type::integer,
                                   .doc = "Rounds to train; for centralized training, epochs. Either this or epochs.",
                                   .at_least = 1,
                                   .at_most = 4294967295.0})));
  keys.push_back(
      may_change(plain({.name = "scenario.epochs",
                        .type = option_type::integer,
                        .doc = "As many rounds as ask all training clients this often. Either this or rounds.",
                        .at_least = 1,
                        .at_most = 4294967295.0})));
}

void add_data_and_model(std::vector<key_spec>& keys) {
  keys.push_back(plain({.name = "data.source", .type = option_type::choice, .doc = "The dataset.", .required = true}));
  for (const auto& entry : registered_datasets()) keys.back().option.choices.push_back(entry.kind);
  keys.push_back(plain({.name = "model.kind", .type = option_type::choice, .doc = "The model.", .required = true}));
  for (const auto& entry : models::registered_models()) keys.back().option.choices.push_back(entry.kind);
  keys.push_back(
      plain({.name = "model.private",
             .type = option_type::text_list,
             .fallback = std::vector<std::string>{},
             .doc = "Tensors that never leave the client under furl and fedrecon; the other algorithms share "
                    "everything and ignore it."}));
}

void add_algorithm(std::vector<key_spec>& keys) {
  using namespace federated;
  keys.push_back(
      plain({.name = "algorithm.kind",
             .type = option_type::choice,
             .doc = "furl keeps private tensors from round to round, fedrecon rebuilds them; fedatt is fedavg with "
                    "that aggregation rule.",
             .choices = {"fedsgd", "fedavg", "furl", "fedrecon", "centralized", "fedatt"},
             .required = true}));
  const auto add = [&](key_spec spec) { keys.push_back(std::move(spec)); };
  add(key("algorithm.client.lr", FURLONG_AT(client.lr), "Step size of local SGD.", above_zero));
  add(key("algorithm.client.schedule", FURLONG_AT(client.schedule),
          words<schedule_kind>{{"constant", schedule_kind::constant}, {"linear", schedule_kind::linear}},
          "Step size of local SGD over the rounds: constant, or falling to zero in a line."));
  add(key("algorithm.client.momentum", FURLONG_AT(client.momentum),
          "Momentum of local SGD, zero at the start of a task.", below_one));
  add(key("algorithm.client.proximal", FURLONG_AT(client.proximal),
          "FedProx: mu, where mu/2 ||w - w_0||^2 is added to the loss."));
  add(key("algorithm.client.epochs", FURLONG_AT(client.epochs), "Local passes over the client's examples.",
          at_least_one));
  add(key("algorithm.client.batch_size", FURLONG_AT(client.batch_size), "Examples in a batch; 0: all."));
  add(key("algorithm.client.max_steps", FURLONG_AT(client.max_steps), "Most local steps of a task; 0: no cap."));
  add(key("algorithm.client.shuffle", FURLONG_AT(client.shuffle),
          "A new order of the examples in every epoch; else always the same."));
  add(key("algorithm.reconstruction.solver", FURLONG_AT(reconstruction.solver),
          words<solver_kind>{{"sgd", solver_kind::sgd}, {"least-squares", solver_kind::least_squares}},
          "How private tensors are rebuilt; least-squares is exact, where the model is linear in them."));
  add(key("algorithm.reconstruction.lr", FURLONG_AT(reconstruction.lr), "Step size of reconstruction by SGD.",
          above_zero));
  add(key("algorithm.reconstruction.epochs", FURLONG_AT(reconstruction.epochs), "Passes over the support examples.",
          at_least_one));
  add(key("algorithm.reconstruction.max_steps", FURLONG_AT(reconstruction.max_steps),
          "Most steps of a reconstruction; 0: no cap; 1: one-step reconstruction."));
  add(key("algorithm.reconstruction.batch_size", FURLONG_AT(reconstruction.batch_size),
          "Examples in a step of reconstruction by SGD; 0: the support's own batches."));
  add(key("algorithm.reconstruction.ridge", FURLONG_AT(reconstruction.ridge),
          "Least squares: weight of ||w||^2 against the summed squared errors.", above_zero));
  add(key("algorithm.reconstruction.ridge_per_example", FURLONG_AT(reconstruction.ridge_per_example),
          "Multiply ridge by the number of support examples."));
  add(key("algorithm.reconstruction.split", FURLONG_AT(reconstruction.split),
          "In training, even batches reconstruct and odd ones update; else all batches do both. Evaluation always "
          "splits."));
  add(key("algorithm.reconstruction.joint", FURLONG_AT(reconstruction.joint),
          "The update phase of fedrecon moves private tensors too."));
  add(key("algorithm.server.optimizer", FURLONG_AT(server.optimizer),
          words<optimizer_kind>{{"sgd", optimizer_kind::sgd},
                                {"adagrad", optimizer_kind::adagrad},
                                {"adam", optimizer_kind::adam},
                                {"yogi", optimizer_kind::yogi}},
          "How the server applies the aggregated change."));
  add(key("algorithm.server.lr", FURLONG_AT(server.lr), "Step size of the server.", above_zero));
  add(key("algorithm.server.momentum", FURLONG_AT(server.momentum), "Momentum of the optimizer sgd.", below_one));
  add(key("algorithm.server.beta1", FURLONG_AT(server.beta1), "Decay of the first moment (adam, yogi).", below_one));
  add(key("algorithm.server.beta2", FURLONG_AT(server.beta2), "Decay of the second moment (adam, yogi).", below_one));
  add(key("algorithm.server.eps", FURLONG_AT(server.eps), "Added to the root of the second moment.", above_zero));
  add(key("algorithm.server.initial_accumulator", FURLONG_AT(server.initial_accumulator),
          "First value of the second moment."));
  add(key("algorithm.server.bias_correction", FURLONG_AT(server.bias_correction),
          "Correct the moments of adam and yogi for their start."));
  add(key("algorithm.aggregation.rule", FURLONG_AT(aggregation.rule),
          words<rule_kind>{
              {"mean", rule_kind::mean}, {"uniform-mean", rule_kind::uniform_mean}, {"fedatt", rule_kind::fedatt}},
          "How updates become one: mean weighted by examples, plain mean, or attention by distance."));
  add(key("algorithm.aggregation.max_norm", FURLONG_AT(aggregation.max_norm),
          "Largest L2 norm of one tensor of an update; larger updates are rejected.", {0x1p-20, 0x1p20}));
  add(key("algorithm.aggregation.max_weight", FURLONG_AT(aggregation.max_weight),
          "Most examples that one update may count for.", {1.0, 0x1p24}));
  add(key("algorithm.aggregation.eps", FURLONG_AT(aggregation.eps), "fedatt: step size.", above_zero));
  add(key("algorithm.aggregation.noise", FURLONG_AT(aggregation.noise), "fedatt: scale of the normal noise."));
  add(key("algorithm.aggregation.noise_at", FURLONG_AT(aggregation.noise_at),
          words<fedatt_noise>{{"client", fedatt_noise::client}, {"server", fedatt_noise::server}},
          "fedatt: noise per client inside the sum (paper) or once after it (its code)."));
}

void add_the_rest(std::vector<key_spec>& keys) {
  using federated::cold_start_kind;
  const auto add = [&](key_spec spec) { keys.push_back(std::move(spec)); };
  add(key("private.cold_start", FURLONG_AT(cold_start),
          words<cold_start_kind>{{"default", cold_start_kind::initial}, {"reconstruct", cold_start_kind::reconstruct}},
          "furl, client without stored values: start from the model's initial ones, or reconstruct them."));
  add(plain({.name = "participation.per_round",
             .type = option_type::integer,
             .doc = "Clients asked in a round. Either this or fraction.",
             .at_least = 1,
             .at_most = 4294967295.0}));
  add(plain({.name = "participation.fraction",
             .type = option_type::number,
             .doc = "Share of the training clients asked in a round. Either this or per_round.",
             .at_least = 0,
             .at_most = 1,
             .above = true}));
  add(may_change(key("topology.aggregators", FURLONG_AT(aggregators),
                     "Aggregators between clients and server; results do not depend on it.", {1.0, 4096.0})));
  add(may_change(
      key("network.upload", FURLONG_AT(sparse_upload), words<bool>{{"dense", false}, {"sparse", true}},
          "Send whole tensors, or only touched rows: less traffic, and the server learns which items a client has.")));
  add(key("privacy.clip", FURLONG_AT(privacy.clip), "L2 bound to which a client scales its whole update; 0: none."));
  add(key("privacy.noise", FURLONG_AT(privacy.noise),
          "Noise multiplier z: the sum of the updates gets N(0, (z clip)^2) on every element."));
  add(may_change(
      key("evaluation.every", FURLONG_AT(evaluation.every), "Rounds between evaluations; 0: only at the end.")));
  add(may_change(key("evaluation.batch_size", FURLONG_AT(evaluation.batch_size),
                     "Examples in the batches that are dealt to support and query; 0: the client's batch size.")));
  add(may_change(
      key("evaluation.clip", FURLONG_AT(evaluation.clip), "Clip predicted ratings to the dataset's range.")));
  add(may_change(plain({.name = "evaluation.reconstruct",
                        .type = option_type::text_list,
                        .doc = "Tensors rebuilt from the support examples of unseen clients; default: the private "
                               "ones, and those with a row per client."})));
  add(may_change(
      key("checkpoint.every", FURLONG_AT(checkpoint_every), "Rounds between checkpoints; 0: only when stopping.")));
}

#undef FURLONG_AT

std::vector<key_spec> common_keys() {
  std::vector<key_spec> keys;
  add_scenario(keys);
  add_data_and_model(keys);
  add_algorithm(keys);
  add_the_rest(keys);
  return keys;
}

}  // namespace

const std::vector<table_spec>& schema_tables() {
  static const std::vector<table_spec> tables = {
      {"scenario", "What is run, from which seed, for how long."},
      {"data", "Who the clients are and what they have. Further keys depend on the source."},
      {"data.unseen_users", "Users held out from training."},
      {"model", "What is learned and which part of it is private. Further keys depend on the kind."},
      {"algorithm", "How it is learned."},
      {"algorithm.client", "Local training."},
      {"algorithm.reconstruction", "How private tensors, or at evaluation personal ones, are rebuilt."},
      {"algorithm.server", "The server optimizer."},
      {"algorithm.aggregation", "How updates are aggregated."},
      {"private", "The private part that is kept from round to round."},
      {"participation", "Who is asked in a round."},
      {"topology", "The tree between clients and server."},
      {"network", "What is sent."},
      {"privacy", "Clipping and noise."},
      {"evaluation", "When and how the model is scored."},
      {"checkpoint", "When the run's state is made durable."},
  };
  return tables;
}

std::vector<key_spec> schema_keys(const dataset_entry* source, const models::model_entry* kind) {
  std::vector<key_spec> keys;
  const auto insert = [&](std::string_view prefix, const std::vector<option_spec>& options) {
    for (auto option : options) {
      option.name = std::string(prefix) + option.name;
      keys.push_back(plain(std::move(option)));
    }
  };
  for (const auto& spec : common_keys()) {
    keys.push_back(spec);
    if (spec.option.name == "data.source" && source != nullptr) insert("data.", source->options);
    if (spec.option.name == "model.private" && kind != nullptr) insert("model.", kind->options);
  }
  return keys;
}

std::string_view table_of(std::string_view key) {
  const auto dot = key.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : key.substr(0, dot);
}

std::string_view leaf_of(std::string_view key) { return key.substr(key.rfind('.') + 1); }

}  // namespace furlong::scenarios
