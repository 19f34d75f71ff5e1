#include "tests/scenarios/bound_keys.hpp"

#include <type_traits>
#include <utility>

#include "federated/attack/attack.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/attack.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/training.hpp"

namespace furlong::scenarios::testing {

namespace {

using namespace federated;

template <class Field>
std::string shown(const Field& value) {
  if constexpr (std::is_same_v<Field, std::string>)
    return value;
  else if constexpr (std::is_same_v<Field, compression_settings>)
    return std::to_string(static_cast<int>(value.numbers)) + (value.zstd ? " zstd" : "");
  else if constexpr (std::is_enum_v<Field>)
    return std::to_string(static_cast<int>(value));
  else
    return std::to_string(value);
}

template <class T>
const T& content(const T& value) {
  return value;
}
template <class T>
const T& content(const box<T>& value) {
  return *value;
}

/// The field at the end of a path of members.
template <class Of>
const Of& reached(const Of& of) {
  return of;
}
template <class Of, class First, class... Rest>
const auto& reached(const Of& of, First first, Rest... rest) {
  return reached(content(of.*first), rest...);
}
/// Shows it.
template <class... Path>
std::function<std::string(const run_settings&)> shows(Path... path) {
  return [path...](const run_settings& of) { return shown(reached(of, path...)); };
}

template <class Value, class... Path>
bound_key field(std::string name, Value value, Path... path) {
  using type = std::remove_cvref_t<decltype(reached(std::declval<const run_settings&>(), path...))>;
  option_value written;
  if constexpr (std::is_same_v<type, bool> || std::is_same_v<type, std::string>)
    written = type(value);
  else if constexpr (std::is_integral_v<type>)
    written = std::int64_t{value};
  else
    written = double{value};
  return {std::move(name), {{written, shown(static_cast<type>(value))}}, shows(path...)};
}

/// A key of words: the last argument pairs them with what they mean.
template <class Meaning>
using meanings = std::vector<std::pair<std::string, Meaning>>;
template <class Meaning, class... Path>
bound_key words(std::string name, const meanings<Meaning>& all, Path... path) {
  bound_key made{std::move(name), {}, shows(path...)};
  for (const auto& [word, meaning] : all) made.values.push_back({word, shown(meaning)});
  return made;
}

using run = run_settings;

std::vector<bound_key> keys_of_training() {
  using c = client_settings;
  using r = reconstruction_settings;
  return {
      field("scenario.seed", 7, &run::seed),
      words<clock_kind>("scenario.clock", {{"virtual", clock_kind::simulated}, {"real", clock_kind::real}},
                        &run::clock),
      field("scenario.until.virtual_seconds", 7.5, &run::until, &until_settings::virtual_seconds),
      field("scenario.diverged_at", 7.5, &run::diverged_at),
      field("scenario.until.target", true, &run::until, &until_settings::target),
      field("scenario.until.patience", 7, &run::until, &until_settings::patience),
      field("algorithm.client.lr", 0.25, &run::client, &c::lr),
      words<schedule_kind>("algorithm.client.schedule",
                           {{"constant", schedule_kind::constant}, {"linear", schedule_kind::linear}}, &run::client,
                           &c::schedule),
      field("algorithm.client.momentum", 0.75, &run::client, &c::momentum),
      field("algorithm.client.proximal", 0.5, &run::client, &c::proximal),
      words<models::local_optimizer>("algorithm.client.optimizer",
                                     {{"sgd", models::local_optimizer::sgd},
                                      {"adam", models::local_optimizer::adam},
                                      {"adamw", models::local_optimizer::adamw}},
                                     &run::client, &c::optimizer),
      field("algorithm.client.beta1", 0.25, &run::client, &c::beta1),
      field("algorithm.client.beta2", 0.25, &run::client, &c::beta2),
      field("algorithm.client.eps", 0.25, &run::client, &c::eps),
      field("algorithm.client.weight_decay", 0.25, &run::client, &c::weight_decay),
      field("algorithm.client.clip", 2.5, &run::client, &c::clip),
      field("algorithm.client.negatives", 7, &run::client, &c::negatives),
      words<excluded_items>("algorithm.client.exclude",
                            {{"train", excluded_items::train}, {"all", excluded_items::all}}, &run::client,
                            &c::exclude),
      field("algorithm.client.epochs", 7, &run::client, &c::epochs),
      field("algorithm.client.batch_size", 7, &run::client, &c::batch_size),
      field("algorithm.client.max_steps", 7, &run::client, &c::max_steps),
      field("algorithm.client.shuffle", true, &run::client, &c::shuffle),
      words<solver_kind>("algorithm.reconstruction.solver",
                         {{"sgd", solver_kind::sgd}, {"least-squares", solver_kind::least_squares}},
                         &run::reconstruction, &r::solver),
      field("algorithm.reconstruction.lr", 0.25, &run::reconstruction, &r::lr),
      field("algorithm.reconstruction.epochs", 7, &run::reconstruction, &r::epochs),
      field("algorithm.reconstruction.max_steps", 7, &run::reconstruction, &r::max_steps),
      field("algorithm.reconstruction.batch_size", 7, &run::reconstruction, &r::batch_size),
      field("algorithm.reconstruction.ridge", 0.25, &run::reconstruction, &r::ridge),
      field("algorithm.reconstruction.ridge_per_example", true, &run::reconstruction, &r::ridge_per_example),
      field("algorithm.reconstruction.split", false, &run::reconstruction, &r::split),
      field("algorithm.reconstruction.joint", true, &run::reconstruction, &r::joint),
      words<cold_start_kind>("private.cold_start",
                             {{"default", cold_start_kind::initial}, {"reconstruct", cold_start_kind::reconstruct}},
                             &run::own, &private_settings::cold_start),
      words<commit_kind>("private.commit",
                         {{"after-training", commit_kind::after_training}, {"after-ack", commit_kind::after_ack}},
                         &run::own, &private_settings::commit),
      words<layout_kind>("private.layout",
                         {{"per-client", layout_kind::per_client}, {"bucketed", layout_kind::bucketed}}, &run::own,
                         &private_settings::layout),
      field("private.open_shards", 7, &run::own, &private_settings::open_shards),
      field("private.key_file", "/a.key", &run::own, &private_settings::key_file),
  };
}

std::vector<bound_key> keys_of_the_server() {
  using o = server_settings;
  using a = aggregation_settings;
  return {
      words<optimizer_kind>("algorithm.server.optimizer",
                            {{"sgd", optimizer_kind::sgd},
                             {"adagrad", optimizer_kind::adagrad},
                             {"adam", optimizer_kind::adam},
                             {"yogi", optimizer_kind::yogi}},
                            &run::server, &o::optimizer),
      field("algorithm.server.lr", 0.25, &run::server, &o::lr),
      field("algorithm.server.momentum", 0.75, &run::server, &o::momentum),
      field("algorithm.server.beta1", 0.25, &run::server, &o::beta1),
      field("algorithm.server.beta2", 0.25, &run::server, &o::beta2),
      field("algorithm.server.eps", 0.25, &run::server, &o::eps),
      field("algorithm.server.initial_accumulator", 0.25, &run::server, &o::initial_accumulator),
      field("algorithm.server.bias_correction", true, &run::server, &o::bias_correction),
      field("algorithm.aggregation.max_norm", 7.5, &run::aggregation, &a::max_norm),
      words<norm_bound_kind>(
          "algorithm.aggregation.norm_bound",
          {{"adaptive", norm_bound_kind::adaptive}, {"clip", norm_bound_kind::clip}, {"fixed", norm_bound_kind::fixed}},
          &run::aggregation, &a::norm_bound),
      field("algorithm.aggregation.max_weight", 7, &run::aggregation, &a::max_weight),
      field("algorithm.aggregation.noise", 0.25, &run::aggregation, &a::noise),
      words<noise_place>("algorithm.aggregation.noise_at",
                         {{"client", noise_place::client}, {"server", noise_place::server}}, &run::aggregation,
                         &a::noise_at),
      field("privacy.clip", 0.25, &run::privacy, &privacy_settings::clip),
      field("privacy.noise", 0.25, &run::privacy, &privacy_settings::noise),
      field("privacy.clip_quantile", 0.25, &run::privacy, &privacy_settings::clip_quantile),
      field("privacy.clip_lr", 0.25, &run::privacy, &privacy_settings::clip_lr),
      field("privacy.clip_noise", 0.25, &run::privacy, &privacy_settings::clip_noise),
      words<noise_mechanism>("privacy.mechanism",
                             {{"gaussian", noise_mechanism::gaussian}, {"tree", noise_mechanism::tree}}, &run::privacy,
                             &privacy_settings::mechanism),
      field("privacy.tree_rounds", 7, &run::privacy, &privacy_settings::tree_rounds),
      words<noise_keying>(
          "privacy.noise_key",
          {{"auto", noise_keying::automatic}, {"secret", noise_keying::secret}, {"seed", noise_keying::seed}},
          &run::privacy, &privacy_settings::noise_key),
      words<noise_place>("privacy.noise_at", {{"server", noise_place::server}, {"client", noise_place::client}},
                         &run::privacy, &privacy_settings::noise_at),
      field("privacy.delta", 0.25, &run::privacy, &privacy_settings::delta),
      field("privacy.target_epsilon", 7.5, &run::privacy, &privacy_settings::target_epsilon),
      field("privacy.secure_aggregation", true, &run::privacy, &privacy_settings::secure_aggregation),
      words<privacy::adversary_kind>("privacy.adversary",
                                     {{"semi-honest", privacy::adversary_kind::semi_honest},
                                      {"semi-malicious", privacy::adversary_kind::semi_malicious}},
                                     &run::privacy, &privacy_settings::adversary),
      field("checkpoint.every", 7, &run::checkpoint_every),
  };
}

std::vector<bound_key> keys_of_participation() {
  using p = participation_settings;
  return {
      field("participation.candidates", 7, &run::participation, &p::candidates),
      field("participation.rate", 0.25, &run::participation, &p::rate),
      field("participation.cap", 7, &run::participation, &p::cap),
      words<participation_mode>("participation.mode",
                                {{"sync", participation_mode::sync}, {"async", participation_mode::async}},
                                &run::participation, &p::mode),
      field("participation.over_selection", 1.25, &run::participation, &p::over_selection),
      field("participation.selection_timeout", 7.5, &run::participation, &p::selection_timeout),
      field("participation.retry", 7.5, &run::participation, &p::retry),
      field("participation.deadline", 7.5, &run::participation, &p::deadline),
      field("participation.min_separation", 7, &run::participation, &p::min_separation),
      field("participation.min_reports", 7, &run::participation, &p::min_reports),
      {"participation.reconnect",
       {{std::vector<double>{7.5, 8.5}, shown(7.5) + " to " + shown(8.5)}},
       [](const run& of) {
         return shown(of.participation->reconnect_least) + " to " + shown(of.participation->reconnect_most);
       }},
      field("participation.buffer", 7, &run::participation, &p::buffer),
      field("participation.concurrency", 7, &run::participation, &p::concurrency),
      field("participation.max_staleness", 7, &run::participation, &p::max_staleness),
      words<staleness_kind>("participation.weighting",
                            {{"constant", staleness_kind::constant},
                             {"polynomial", staleness_kind::polynomial},
                             {"hinge", staleness_kind::hinge}},
                            &run::participation, &p::weighting),
      field("participation.staleness_exponent", 0.25, &run::participation, &p::staleness_exponent),
      field("participation.hinge_slope", 0.25, &run::participation, &p::hinge_slope),
      field("participation.hinge_from", 7, &run::participation, &p::hinge_from),
      words<async_kind>("participation.update", {{"change", async_kind::change}, {"model", async_kind::model}},
                        &run::participation, &p::async),
      field("participation.mixing", 0.25, &run::participation, &p::mixing),
  };
}

std::vector<bound_key> keys_of_devices() {
  using d = device_settings;
  using a = availability_settings;
  const auto available = [](const char* name, auto value, auto member) {
    return field(std::string("devices.availability.") + name, value, &run::devices, &d::availability, member);
  };
  return {
      field("devices.speed.ms_per_example", 7.5, &run::devices, &d::ms_per_example),
      field("devices.speed.sigma", 0.25, &run::devices, &d::speed_sigma),
      field("devices.network.mbit", 7.5, &run::devices, &d::mbit),
      field("devices.network.sigma", 0.25, &run::devices, &d::network_sigma),
      field("devices.network.latency", 7.5, &run::devices, &d::latency),
      field("devices.stragglers.share", 0.25, &run::devices, &d::straggler_share),
      field("devices.stragglers.factor", 7.5, &run::devices, &d::straggler_factor),
      available("rate", 0.25, &a::rate),
      available("mean_online", 7.5, &a::mean_online),
      available("step", 7.5, &a::step),
      available("swing", 7.5, &a::swing),
      available("peak_hour", 7.5, &a::peak_hour),
      available("dwell", 7.5, &a::dwell),
      available("zones", 7, &a::zones),
      available("trace", "a.csv", &a::trace),
      field("devices.table", "/b.csv", &run::devices, &d::table),
      field("devices.correlation.speed_availability", 0.25, &run::devices, &d::speed_availability),
      field("devices.correlation.speed_taste", 0.25, &run::devices, &d::speed_taste),
      field("devices.correlation.availability_taste", 0.25, &run::devices, &d::availability_taste),
      field("dropout.download", 0.25, &run::dropout, &dropout_settings::download),
      field("dropout.train", 0.25, &run::dropout, &dropout_settings::train),
      field("dropout.upload", 0.25, &run::dropout, &dropout_settings::upload),
      words<dropout_policy>("dropout.policy", {{"abort", dropout_policy::abort}, {"pause", dropout_policy::pause}},
                            &run::dropout, &dropout_settings::policy),
      field("dropout.mean_pause", 7.5, &run::dropout, &dropout_settings::mean_pause),
  };
}

std::vector<bound_key> keys_of_the_network() {
  using n = network_settings;
  return {
      field("topology.aggregators", 7, &run::topology, &topology_settings::aggregators),
      field("topology.nodes", 7, &run::topology, &topology_settings::nodes),
      field("topology.fan_in", 7, &run::topology, &topology_settings::fan_in),
      words<bool>("network.upload", {{"dense", false}, {"sparse", true}}, &run::network, &n::sparse_upload),
      words<compression_settings>("network.compression",
                                  {{"none", {number_format::float32, false}},
                                   {"zstd", {number_format::float32, true}},
                                   {"float16", {number_format::float16, false}},
                                   {"float16+zstd", {number_format::float16, true}},
                                   {"int8", {number_format::int8, false}},
                                   {"int8+zstd", {number_format::int8, true}}},
                                  &run::network, &n::compression),
      words<bool>("network.trust", {{"certificates", false}, {"operator", true}}, &run::network, &n::operator_trust),
      words<kernel_rule>("network.kernel_levels",
                         {{"same", kernel_rule::same}, {"common", kernel_rule::common}, {"any", kernel_rule::any}},
                         &run::network, &n::kernels),
      field("network.heartbeat", 0.5, &run::network, &n::heartbeat),
      field("network.timeout", 7.5, &run::network, &n::timeout),
      field("network.task_timeout", 7.5, &run::network, &n::task_timeout),
      field("network.max_message", 3'000'000, &run::network, &n::max_message),
      field("network.start", 0.25, &run::network, &n::start),
  };
}

std::vector<bound_key> keys_of_evaluation() {
  using e = evaluation_settings;
  const auto asked = [](const run& of) {
    return (of.evaluation->target.at_most ? "at most " : "at least ") + shown(of.evaluation->target.value);
  };
  return {
      field("evaluation.every", 7, &run::evaluation, &e::every),
      field("evaluation.batch_size", 7, &run::evaluation, &e::batch_size),
      field("evaluation.clients", 7, &run::evaluation, &e::clients),
      field("evaluation.clip", true, &run::evaluation, &e::clip),
      {"evaluation.split",
       {{true, "1"}, {false, "0"}},
       [](const run& of) { return of.evaluation->split ? shown(*of.evaluation->split) : "none"; }},
      words<bool>("evaluation.select", {{"last", false}, {"best", true}}, &run::evaluation, &e::keep_best),
      field("evaluation.metric", "accuracy", &run::evaluation, &e::metric),
      {"evaluation.groups",
       {{std::vector<std::string>{"unseen", "validation"}, "1010"},
        {std::vector<std::string>{"seen", "train"}, "0101"}},
       [](const run& of) {
         std::string all;
         for (const bool one : of.evaluation->groups) all += one ? '1' : '0';
         return all;
       }},
      field("evaluation.client_groups", "/c.csv", &run::evaluation, &e::groups_file),
      field("evaluation.attention", true, &run::evaluation, &e::attention),
      field("evaluation.target.metric", "seen.loss", &run::evaluation, &e::target, &target_settings::metric),
      {"evaluation.target.at_most", {{0.25, "at most " + shown(0.25)}}, asked, "evaluation.target"},
      {"evaluation.target.at_least", {{0.25, "at least " + shown(0.25)}}, asked, "evaluation.target"},
  };
}

/// An option of the attacks' own.
bound_key attack_option(const std::string& name, std::vector<bound_value> values) {
  return {"attack." + name, std::move(values), [name](const run& settings) {
            const auto& options = settings.attack->options;
            if (!options.has(name)) return std::string("none");
            const auto& value = options.all().at(name);
            if (const auto* number = std::get_if<double>(&value)) return shown(*number);
            if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
            if (const auto* word = std::get_if<std::string>(&value)) return *word;
            std::string all;
            for (const auto& item : std::get<std::vector<std::string>>(value)) all += item + " ";
            return all;
          }};
}

std::vector<bound_value> words_of(const std::vector<std::string>& choices) {
  std::vector<bound_value> values;
  for (const auto& word : choices) values.push_back({word, word});
  return values;
}

std::vector<bound_key> keys_of_attacks() {
  using a = attack_settings;
  std::vector<bound_value> kinds = {{std::string("none"), "none"}};
  for (const auto& entry : attacks()) kinds.push_back({entry.kind, entry.kind});
  return {
      {"attack.kind", kinds,
       [](const run& settings) {
         return settings.attack->entry == nullptr ? std::string("none") : settings.attack->entry->kind;
       }},
      field("attack.clients", 7.0, &run::attack, &a::clients),
      {"attack.list",
       {{std::vector<double>{3.0, 5.0}, "3 5 "}},
       [](const run& settings) {
         std::string text;
         for (const auto client : settings.attack->listed) text += std::to_string(client) + " ";
         return text;
       }},
      field("attack.from_round", 7, &run::attack, &a::from_round),
      attack_option("knows", words_of({"own", "all"})),
      attack_option("strength", {{7.5, shown(7.5)}}),
      attack_option("direction", words_of({"deviation", "sign", "mean"})),
      attack_option("trigger", {{std::vector<std::string>{"a", "b"}, "a b "}}),
      attack_option("trigger_value", {{7.5, shown(7.5)}}),
      attack_option("target", {{std::vector<std::string>{"c"}, "c "}}),
      attack_option("label", {{3.0, shown(3.0)}}),
      attack_option("poison", {{0.5, shown(0.5)}}),
      attack_option("profile", words_of({"own", "random", "popular"})),
      attack_option("known", {{0.5, shown(0.5)}}),
      attack_option("rows", {{std::int64_t{7}, "7"}}),
      attack_option("row_norm", {{7.5, shown(7.5)}}),
  };
}

}  // namespace

std::vector<bound_key> bound_keys() {
  std::vector<bound_key> all;
  for (const auto& part : {keys_of_training(), keys_of_the_server(), keys_of_participation(), keys_of_devices(),
                           keys_of_the_network(), keys_of_evaluation(), keys_of_attacks()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace furlong::scenarios::testing
