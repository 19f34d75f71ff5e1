#include "bench/mf_experiment.hpp"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/stateless_store.hpp"
#include "federated/participation/uniform.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/training.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "scenarios/data/dataset.hpp"

namespace furlong::bench {

namespace {

constexpr std::int64_t split_seed = 1;

option_values published_split(const scenarios::dataset_entry& source) {
  auto options = defaults(source.options);
  options.set("split_seed", split_seed);
  options.set("max_examples", std::int64_t{300});
  options.set("unseen_users.validation", 0.1);
  options.set("unseen_users.test", 0.1);
  return options;
}

result<ratings> load_movielens(const std::filesystem::path& root) {
  const auto& source = *scenarios::find_dataset("movielens");
  auto data = source.build(published_split(source), root);
  if (!data) return tl::unexpected(data.error());
  return ratings{"ml-1m", data->clients};
}

result<ratings> make_ratings() {
  const auto& source = *scenarios::find_dataset("synthetic-ratings");
  auto options = published_split(source);
  options.set("seed", split_seed);
  options.set("users", std::int64_t{6040});
  options.set("items", std::int64_t{3706});
  options.set("ratings_per_user", 166.0);
  options.set("spread", 1.0);
  options.set("min_ratings", std::int64_t{20});
  options.set("rounding", std::string("whole"));
  auto data = source.build(options, {});
  if (!data) return tl::unexpected(data.error());
  return ratings{"synthetic", data->clients};
}

template <class T>
void write_array(const std::filesystem::path& file, const std::vector<T>& values) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
}

void append_private(const federated::experiment& e, std::uint32_t round, std::uint32_t client, std::vector<float>& to) {
  models::private_parameters first(e.parts.private_);
  initial_private(e, round, client, first);
  to.insert(to.end(), first.values().begin(), first.values().end());
}

/// offsets, features and labels of all clients.
void write_ratings(const federated::experiment& e, const std::filesystem::path& folder) {
  std::vector<std::uint32_t> offsets{0};
  std::vector<std::uint32_t> features;
  std::vector<float> labels;
  models::examples scratch;
  for (std::uint32_t client = 0; client < e.clients->facts().clients; ++client) {
    const auto data = e.clients->load(client, federated::part::train, scratch);
    features.insert(features.end(), data.features.begin(), data.features.end());
    labels.insert(labels.end(), data.labels.begin(), data.labels.end());
    offsets.push_back(static_cast<std::uint32_t>(labels.size()));
  }
  write_array(folder / "offsets.u32", offsets);
  write_array(folder / "features.u32", features);
  write_array(folder / "labels.f32", labels);
}

/// The training clients of each round and the test clients, each with its initial user vector.
void write_cohorts(const federated::experiment& e, const std::filesystem::path& folder) {
  std::vector<std::uint32_t> cohorts;
  std::vector<float> users;
  for (std::uint32_t round = 0; round < e.settings.rounds; ++round)
    for (const auto client : federated::uniform_cohort(e.participants->training(), e.settings.participation->per_round,
                                                       e.settings.seed, round)) {
      cohorts.push_back(client);
      append_private(e, round, client, users);
    }
  write_array(folder / "cohorts.u32", cohorts);
  write_array(folder / "users.f32", users);

  const auto test = e.clients->unseen_test();
  std::vector<float> test_users;
  for (const auto client : test) append_private(e, 0, client, test_users);
  write_array(folder / "test.u32", std::vector(test.begin(), test.end()));
  write_array(folder / "test_users.f32", test_users);
}

std::vector<float> values_of(const models::shared_parameters& model) {
  return {model.values().begin(), model.values().end()};
}

}  // namespace

result<ratings> load_ratings() {
  std::vector<std::filesystem::path> roots;
  if (const char* named = std::getenv("FURLONG_DATA"); named != nullptr && *named != '\0') roots.emplace_back(named);
  roots.insert(roots.end(), {"data", "../shared/data"});
  for (const auto& root : roots)
    if (std::filesystem::is_directory(root / "ml-1m")) return load_movielens(root);
  return make_ratings();
}

result<federated::experiment> published_fedrecon(const ratings& from, std::uint64_t seed, std::uint64_t rounds) {
  federated::experiment e;
  e.run = seed;
  auto& settings = e.settings;
  settings.seed = seed;
  settings.rounds = rounds;
  settings.participation->per_round = 100;
  *settings.algorithm = federated::chosen_algorithm("fedrecon");
  *settings.client = {.lr = 0.5F, .epochs = 1, .batch_size = 5, .max_steps = 50};
  *settings.reconstruction = {.lr = 0.1F, .epochs = 5, .max_steps = 50};
  *settings.server = {.optimizer = federated::optimizer_kind::sgd, .lr = 1.0};
  settings.evaluation->reconstruct = {"user"};

  const auto& entry = *models::find_model("matrix-factorization");
  auto model = entry.build(defaults(entry.options), from.clients->facts());
  if (!model) return tl::unexpected(model.error());
  e.model = *model;
  const std::vector<std::string> private_names{"user"};
  auto parts = models::split(e.model->tensors(), private_names);
  if (!parts) return tl::unexpected(parts.error());
  e.parts = *parts;
  e.clients = from.clients;
  e.participants = from.clients;
  return e;
}

result<void> dump_work(const federated::experiment& e, const std::filesystem::path& folder) {
  write_ratings(e, folder);
  write_cohorts(e, folder);
  write_array(folder / "first_items.f32", values_of(initial_model(e)));

  std::vector<double> losses;
  federated::run_observer observer;
  observer.on_round = [&](const federated::round_report& round) -> result<void> {
    losses.push_back(round.loss);
    return {};
  };
  observer.on_evaluation = [](const federated::evaluation_report&) -> result<void> { return {}; };
  stateless_store store;
  auto done = run_reference(e, store, observer);
  if (!done) return tl::unexpected(done.error());
  write_array(folder / "last_items.f32", values_of(done->state.model));

  const auto& settings = e.settings;
  nlohmann::ordered_json facts;
  facts["rank"] = (*e.parts.shared)[0].cols;
  facts["per_round"] = settings.participation->per_round;
  facts["batch_size"] = settings.client->batch_size;
  facts["client_lr"] = settings.client->lr;
  facts["client_steps"] = settings.client->max_steps;
  facts["recon_lr"] = settings.reconstruction->lr;
  facts["recon_epochs"] = settings.reconstruction->epochs;
  facts["recon_steps"] = settings.reconstruction->max_steps;
  facts["server_lr"] = settings.server->lr;
  facts["losses"] = losses;
  facts["test_rmse"] = done->evaluation.unseen->rmse.value_or(0.0);
  std::ofstream file(folder / "facts.json");
  file << facts.dump(1) << '\n';
  file.flush();
  if (!file) return fail(error::kind::runtime, folder.string(), "could not be written");
  return {};
}

}  // namespace furlong::bench
