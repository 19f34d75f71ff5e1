#include "tests/federated/rogue_cohort.hpp"

#include "base/random.hpp"
#include "federated/aggregation/accumulator.hpp"
#include "federated/experiment/staleness.hpp"
#include "federated/privacy/server_noise.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/training.hpp"
#include "storage/confirmed_store.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"
#include "tests/support/updates.hpp"

namespace furlong::federated::testing {

namespace {

run_settings settings_of(const rogue_world& of, sent_inputs inputs) {
  run_settings s;
  s.seed = 5;
  s.rounds = 1000;
  // Keys are secret, or follow from the seed.
  s.clock = inputs == sent_inputs::colludes ? clock_kind::simulated : clock_kind::real;
  *s.algorithm = chosen_algorithm("fedavg");
  s.client->lr = inputs == sent_inputs::other_settings ? 1e-30F : 0.1F;
  s.aggregation->rule = chosen_rule("uniform-mean");
  s.aggregation->norm_bound = federated::norm_bound_kind::fixed;
  s.privacy->secure_aggregation = true;
  s.privacy->adversary = of.against;
  s.privacy->clip = inputs == sent_inputs::other_clip ? 1e-20 : 1.0;
  s.privacy->noise = 1.0;
  if (of.client_noise) s.privacy->noise_at = noise_place::client;
  auto& how = *s.participation;
  how.per_round = of.clients;
  how.min_reports = of.min_reports;
  if (of.is_async) {
    how.mode = participation_mode::async;
    how.buffer = of.clients;
    how.concurrency = 2 * of.clients;
  }
  return s;
}

/// A signature that anybody could make, and that a lying server does not make.
privacy::key_identity_ptr identity_of(std::uint32_t client) {
  const auto name = static_cast<std::uint8_t>(client);
  privacy::key_identity made;
  made.certificate = {name};
  made.sign = [name](crypto::bytes_view statement) {
    crypto::bytes signature(statement.begin(), statement.end());
    signature.push_back(name);
    return signature;
  };
  made.check = [](std::uint32_t of, crypto::bytes_view certificate, crypto::bytes_view statement,
                  crypto::bytes_view signature) -> std::string {
    if (certificate.size() != 1 || certificate[0] != static_cast<std::uint8_t>(of)) return "it is of another node";
    crypto::bytes expected(statement.begin(), statement.end());
    expected.push_back(certificate[0]);
    return std::ranges::equal(expected, signature) ? "" : "the signature is false";
  };
  return std::make_shared<const privacy::key_identity>(std::move(made));
}

}  // namespace

rogue_cohort::rogue_cohort(const rogue_world& of) : world_(of), clients_(std::max(2 * of.clients, 40U)) {
  const auto data = tests::make_ratings(3, {.clients = static_cast<std::uint32_t>(clients_.size()),
                                            .unseen_validation = 0,
                                            .unseen_test = 0,
                                            .items = 4,
                                            .empty = 0});
  for (const auto inputs : {sent_inputs::same, sent_inputs::other_settings, sent_inputs::other_model,
                            sent_inputs::other_clip, sent_inputs::colludes}) {
    auto e = tests::make_experiment(settings_of(of, inputs), data, {}, {});
    // What a node makes of the text that it was sent.
    const bool other_text = inputs == sent_inputs::other_settings || inputs == sent_inputs::other_clip;
    e.terms = federated::terms_of(e.run, other_text ? "another scenario" : "the scenario", data->facts());
    experiments_.emplace(inputs, std::move(e));
  }
  for (std::uint32_t i = 0; i < clients_.size(); ++i) open(clients_[i], i);
}

const experiment& rogue_cohort::inputs_of(std::uint32_t client) const {
  return experiments_.at(clients_.at(client).inputs);
}

void rogue_cohort::open(client& of, std::uint32_t number) {
  of.tasks.emplace(experiments_.at(of.inputs), world_.is_signed ? identity_of(number) : nullptr, confirmed_);
}

void rogue_cohort::send_inputs(std::uint32_t number, sent_inputs what) {
  clients_.at(number).inputs = what;
  open(clients_[number], number);
}

std::optional<client_secrets> rogue_cohort::secrets_of(const task_id& task) const {
  if (clients_.at(task.client).inputs != sent_inputs::colludes) return std::nullopt;
  const auto drawn = secret_source(experiments_.at(sent_inputs::colludes), task.version, task);
  const auto sealing = crypto::random_key(drawn);  // in the order of secure_client
  return client_secrets{crypto::agreement_key(sealing), crypto::agreement_key(crypto::random_key(drawn))};
}

bool rogue_cohort::restart(std::uint64_t start_id) {
  const auto& terms = experiments_.at(sent_inputs::same).terms;
  {
    auto before = storage::confirmed_store::open(folder_.path(), terms, first_start);
    if (!before || !(*before)->add(confirmed_->take_new())) throw std::runtime_error("the lists are not kept");
  }
  const auto now = storage::confirmed_store::open(folder_.path(), terms, start_id);
  if (!now) return false;
  confirmed_ = (*now)->read().value();
  for (std::uint32_t i = 0; i < clients_.size(); ++i) open(clients_[i], i);
  return true;
}

sent_inputs rogue_cohort::inputs_for(const task_id& task) const {
  const auto at = trained_.find(task);
  return at != trained_.end() ? at->second : clients_.at(task.client).inputs;
}

broadcast_ptr rogue_cohort::model_of(const task_id& task, sent_inputs inputs) {
  auto& known = models_[{inputs, task.version}];
  if (known) return known;
  auto made = std::make_shared<broadcast>();
  made->run = task.run;
  made->version = task.version;
  made->model = initial_model(experiments_.at(inputs));
  if (inputs == sent_inputs::other_model) made->model.values()[0] += 1.0F;
  return known = std::move(made);
}

/// A function of client and version, as training is.
client_update rogue_cohort::update_of(const task_id& task) const {
  auto update = tests::dense_update(task, experiments_.at(inputs_for(task)).parts.up);
  random_stream stream(3, purpose::test, static_cast<std::uint32_t>(task.version), task.client);
  for (auto& value : update.change.values) value = stream.uniform(-0.05F, 0.05F);
  if (inputs_for(task) != sent_inputs::same) std::ranges::fill(update.change.values, 0.0F);
  return update;
}

privacy::secure_letter rogue_cohort::enter(const task_id& task) {
  auto& of = clients_.at(task.client);
  return of.tasks->enter(task, model_of(task, of.inputs));
}

std::optional<privacy::secure_letter> rogue_cohort::tell(const privacy::secure_letter& letter) {
  return clients_.at(letter.task.client).tasks->on_letter(letter).letter;
}

std::optional<sum_words> rogue_cohort::upload(const task_id& task) {
  auto update = update_of(task);
  if (clients_.at(task.client).tasks->mask(model_of(task, inputs_for(task)), update)) return std::nullopt;
  return std::move(update.words);
}

double rogue_cohort::part_of(const task_id& task, std::uint64_t version) const {
  if (inputs_for(task) != sent_inputs::same) return 0;
  const auto& how = *inputs_of(task.client).settings.participation;
  return world_.is_async ? staleness_weight(how, version - task.version) : 1.0;
}

sum_words rogue_cohort::plain(const task_id& task, std::uint64_t version) {
  const auto& e = experiments_.at(inputs_for(task));
  const auto sum = make_open_accumulator(e, {});
  const auto& how = *e.settings.participation;
  const auto refused =
      sum->fold(update_of(task), world_.is_async ? staleness_weight(how, version - task.version) : 1.0);
  if (refused) throw std::logic_error("the update was refused");
  add_client_noise(e, model_of(task, inputs_for(task))->model, task, *sum);
  return sum->take().words;
}

}  // namespace furlong::federated::testing
