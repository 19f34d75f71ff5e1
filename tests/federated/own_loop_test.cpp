// A model that computes phases of training itself: a loop that does what the step of the local optimizer does ends with
// the same bits, under every algorithm that has such phases.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "federated/client/client_work.hpp"
#include "federated/rounds/tensor_layouts.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "models/kernels/kernels.hpp"
#include "models/training_loop.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(own_loops)

using namespace furlong;

namespace {

/// A curve through points that follow from the features: dense tensors, of which the third is private, and a buffer of
/// each side. Training moves these to the mean of the points.
class curve : public models::model {
 public:
  std::string_view kind() const override { return "curve"; }
  const models::layout_ptr& tensors() const override { return tensors_; }
  models::objective objective() const override { return models::objective::squared_error; }
  void initialize(std::size_t /*tensor*/, random_stream stream, std::span<float> values) const override {
    for (auto& value : values) value = stream.uniform(-1.0F, 1.0F);
  }
  double gradient(std::span<const models::tensor_view> weights, const models::examples_view& batch,
                  models::gradient_views& out) const override {
    for (std::size_t t = 0; t < 3; ++t)
      if (out.data[t] != nullptr) std::fill_n(out.data[t], weights[t].size(), 0.0F);
    double loss = 0.0;
    for (const auto feature : batch.features) {
      const float x = static_cast<float>(feature % 7) / 7.0F;
      const float basis[] = {x, x * x, x * x * x, 1.0F};
      const float* at[] = {weights[0].data, weights[0].data + 1, weights[1].data, weights[2].data};
      float error = -std::abs(x - 0.5F);
      for (int i = 0; i < 4; ++i) error += basis[i] * *at[i];
      loss += double{error} * error;
      const float slope = 2.0F * error / static_cast<float>(batch.size());
      if (out.data[0] != nullptr)
        for (int i = 0; i < 2; ++i) out.data[0][i] += slope * basis[i];
      if (out.data[1] != nullptr) *out.data[1] += slope * basis[2];
      if (out.data[2] != nullptr) *out.data[2] += slope;
    }
    for (std::size_t t = 3; t < 5; ++t)
      if (out.data[t] != nullptr) *out.data[t] = 0.5F * *weights[t].data + 0.5F * mean_of(batch);
    return loss;
  }
  void predict(std::span<const models::tensor_view>, const models::examples_view&,
               std::span<float> out) const override {
    std::ranges::fill(out, 0.0F);
  }

 private:
  static float mean_of(const models::examples_view& batch) {
    float sum = 0.0F;
    for (const auto feature : batch.features) sum += static_cast<float>(feature % 7);
    return sum / static_cast<float>(batch.size());
  }

  models::layout_ptr tensors_ = std::make_shared<const models::layout>(
      std::vector<models::tensor_spec>{{.name = "low", .cols = 2},
                                       {.name = "high"},
                                       {.name = "own"},
                                       {.name = "seen", .exact = true, .buffer = true},
                                       {.name = "own_seen", .exact = true, .buffer = true}});
};

/// Plain steps, and how often a phase was asked for.
class plain_loop final : public models::training_loop {
 public:
  explicit plain_loop(std::uint32_t passes = 1) : passes_(passes) {}
  bool takes_plain_steps() const override { return true; }
  models::phase_result run(const models::training_phase& phase) const override {
    ++phases;
    with_dropout += phase.dropout ? 1 : 0;
    BOOST_REQUIRE(phase.seed != 0);
    seeds.push_back(phase.seed);
    const curve model;
    const auto& kernels = models::kernels();
    std::vector<std::vector<float>> values;
    std::vector<models::tensor_view> weights;
    for (const auto& view : phase.weights) values.emplace_back(view.data, view.data + view.size());
    for (std::size_t t = 0; t < values.size(); ++t)
      weights.push_back({values[t].data(), phase.weights[t].rows, phase.weights[t].cols});
    std::vector<std::vector<float>> slopes = values;
    std::vector<float*> targets;
    for (std::size_t t = 0; t < values.size(); ++t)
      targets.push_back(phase.out[t] == nullptr ? nullptr : slopes[t].data());
    models::phase_result done;
    const std::uint32_t size = phase.batch_size == 0 ? phase.per_epoch : phase.batch_size;
    const auto orders = static_cast<std::uint32_t>(phase.examples.size() / phase.per_epoch);
    for (std::uint32_t epoch = 0; epoch < passes_ * phase.epochs; ++epoch)
      for (std::uint32_t first = 0; first < phase.per_epoch; first += size) {
        if (phase.max_steps != 0 && done.steps == phase.max_steps) break;
        const auto count = std::min(size, phase.per_epoch - first);
        const models::examples_view batch{
            .features = phase.examples.subspan(std::size_t{epoch % orders} * phase.per_epoch + first, count),
            .values = {},
            .offsets = {},
            .labels = std::span(labels_).first(count),
            .owners = {}};
        models::gradient_views gradient{targets, {}, {}, nullptr};
        done.loss_sum += model.gradient(weights, batch, gradient);
        for (const auto& term : phase.terms)
          for (std::size_t t = 0; t < values.size(); ++t) add(term, t, values[t], slopes[t]);
        for (std::size_t t = 0; t < values.size(); ++t) {
          if (targets[t] == nullptr) continue;
          if ((*model.tensors())[t].buffer) {
            values[t] = slopes[t];
            continue;
          }
          const bool is_private = std::ranges::find(phase.private_tensors, t) != phase.private_tensors.end();
          const float rate = is_private ? phase.step.private_rate.value_or(phase.step.rate) : phase.step.rate;
          kernels.descend(values[t].data(), slopes[t].data(), values[t].size(), rate);
        }
        done.examples += count;
        ++done.steps;
      }
    done.rates = static_cast<float>(done.steps) * phase.step.rate;
    for (std::size_t t = 0; t < values.size(); ++t)
      if (phase.out[t] != nullptr) std::ranges::copy(values[t], phase.out[t]);
    return done;
  }

  mutable std::size_t phases = 0;
  mutable std::size_t with_dropout = 0;
  mutable std::vector<std::uint64_t> seeds;

 private:
  static void add(const models::phase_term& term, std::size_t t, std::span<const float> weights,
                  std::span<float> slopes) {
    using form = models::phase_term::form;
    const auto& values = term.values[t];
    if (values.data == nullptr) return;
    if (term.what == form::difference)
      for (std::size_t i = 0; i < slopes.size(); ++i) slopes[i] += term.factor * (weights[i] - values.data[i]);
    else
      models::kernels().descend(slopes.data(), term.what == form::weights ? weights.data() : values.data, slopes.size(),
                                -term.factor);
  }

  std::uint32_t passes_;
  std::vector<float> labels_ = std::vector<float>(1000);
};

class looping_curve final : public curve {
 public:
  explicit looping_curve(std::uint32_t passes = 1) : loop(passes) {}
  const models::training_loop* own_loop() const override { return &loop; }
  plain_loop loop;
};

/// What two tasks of a client make, the second with what it kept.
struct tasks {
  federated::client_update updates[2];
  std::vector<float> own;
};

federated::experiment made(const federated::run_settings& settings, std::shared_ptr<const models::model> model) {
  static const auto clients = tests::make_ratings(8);
  auto e = tests::make_experiment(settings, clients, {}, {});
  e.model = std::move(model);
  const bool has_private = settings.algorithm->traits.private_tensors != federated::private_use::ignored;
  BOOST_REQUIRE(
      federated::lay_out(e, has_private ? std::vector<std::string>{"own", "own_seen"} : std::vector<std::string>()));
  return e;
}

tasks run(const federated::run_settings& settings, std::shared_ptr<const models::model> model) {
  const auto e = made(settings, std::move(model));
  tasks done;
  federated::workspace use;
  bool kept = false;
  for (std::uint64_t version = 0; version < 2; ++version) {
    federated::broadcast down{e.run, version, models::shared_parameters(e.parts.down), {}};
    std::ranges::copy(federated::initial_model(e).values(), down.model.values().begin());
    for (std::size_t i = 0; i < down.model.values().size(); ++i)
      down.model.values()[i] += 0.01F * static_cast<float>((version + 1) * (i + 1));
    kept = federated::client_work(e, down, {e.run, version, 9, 0}, kept, use, done.updates[version]);
  }
  const auto own = use.own.values();
  done.own.assign(own.begin(), own.end());
  return done;
}

federated::run_settings settings_of(std::string_view kind) {
  federated::run_settings settings;
  settings.rounds = 5;
  *settings.algorithm = federated::chosen_algorithm(kind);
  *settings.client = {.lr = 0.1F, .epochs = 3, .batch_size = 3, .shuffle = true};
  *settings.reconstruction = {.lr = 0.05F, .epochs = 2};
  return settings;
}

void check_same(const federated::run_settings& settings) {
  const auto looping = std::make_shared<const looping_curve>();
  const auto by_steps = run(settings, std::make_shared<const curve>());
  const auto by_loop = run(settings, looping);
  BOOST_TEST(looping->loop.phases >= 2U);
  BOOST_TEST(tests::same_bits(by_loop.own, by_steps.own));
  for (int i = 0; i < 2; ++i) {
    const auto& one = by_steps.updates[i];
    const auto& other = by_loop.updates[i];
    BOOST_TEST(tests::same_bits(other.change.values, one.change.values));
    BOOST_TEST(other.weight == one.weight);
    BOOST_TEST(other.examples == one.examples);
    BOOST_TEST(other.loss_sum == one.loss_sum, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(other.weight > 0U);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_same_loop_makes_the_same_updates) {
  for (const auto* kind : {"fedavg", "furl", "fedrep", "fedalt", "fedbabu", "fedrecon", "ditto", "scaffold", "feddyn"})
    BOOST_TEST_CONTEXT(kind) {
      auto settings = settings_of(kind);
      check_same(settings);
      settings.client->shuffle = false;
      check_same(settings);
      settings.client->max_steps = 5;
      check_same(settings);
      settings.client->shuffle = true;
      settings.client->schedule = federated::schedule_kind::linear;
      check_same(settings);
      settings.client->batch_size = 0;
      settings.client->max_steps = 0;
      if (std::string_view(kind) != "fedrecon") check_same(settings);  // one batch has no query
    }
}

BOOST_AUTO_TEST_CASE(a_phase_moves_the_buffers_of_the_sides_that_it_trains) {
  const auto moved = [](const char* kind) {
    auto settings = settings_of(kind);
    settings.client->batch_size = 0;
    const auto model = std::make_shared<const curve>();
    const auto e = made(settings, model);
    const auto done = run(settings, model);
    const auto seen = e.parts.slots[3].tensor;
    const bool is_kept = e.parts.slots[4].is_private && settings.algorithm->traits.keeps_state;
    const float first = federated::initial_model(e).tensor(seen).front() +
                        0.01F * 2.0F * static_cast<float>(e.parts.shared->offset(seen) + 1);
    return std::pair(done.updates[1].change.values_of(seen).front() + first,
                     is_kept ? done.own[e.parts.private_->offset(e.parts.slots[4].tensor)] : -1.0F);
  };
  // Three steps towards the mean of the client's points: an eighth of the start is left.
  const auto [all, own] = moved("furl");
  const auto [head_first, own_head_first] = moved("fedrep");
  const auto [body, no_head] = moved("fedbabu");
  BOOST_TEST(std::abs(all - body) < 1e-5F);
  BOOST_TEST(std::abs(all - head_first) < 1e-5F);
  BOOST_TEST(no_head == -1.0F);
  BOOST_TEST(own > 1.5F);  // six steps from its first value
  BOOST_TEST(own_head_first > own - 0.2F);
}

BOOST_AUTO_TEST_CASE(kept_copies_have_buffers_of_their_own) {
  for (const char* kind : {"ditto", "pfedme", "apfl"}) BOOST_TEST_CONTEXT(kind) {
      const auto settings = settings_of(kind);
      const auto model = std::make_shared<const curve>();
      const auto e = made(settings, model);
      const auto done = run(settings, model);
      const auto& group = e.groups.front();
      BOOST_TEST(group.count() == 5U);
      const auto kept = e.parts.private_->offset(group.in_private + 3);
      BOOST_TEST(done.own[kept] > 1.0F);
      BOOST_TEST(!(*e.parts.private_)[group.in_private + 3].buffer);
    }
}

BOOST_AUTO_TEST_CASE(unsent_values_are_behind_private_buffers) {
  auto settings = settings_of("furl");
  settings.network->compression.numbers = federated::number_format::int8;
  const auto e = made(settings, std::make_shared<const curve>());
  BOOST_TEST(e.parts.private_->signature() ==
             "own 1 1\nown_seen 1 1 buffer\nunsent.low 1 2\nunsent.high 1 1\n");  // none of an exact tensor
  models::private_parameters own(e.parts.private_);
  std::ranges::fill(own.values(), 7.0F);
  federated::initial_private(e, 0, 3, own);
  BOOST_TEST((own.tensor(0).front() != 7.0F && own.tensor(1).front() != 7.0F && own.tensor(1).front() != 0.0F));
  for (const std::size_t t : {2U, 3U}) BOOST_TEST(own.tensor(t).front() == 0.0F);
  const auto rounded = run(settings, std::make_shared<const curve>());
  settings.network->compression.numbers = federated::number_format::float32;
  const auto whole = run(settings, std::make_shared<const curve>());
  BOOST_TEST(rounded.own[1] == whole.own[1]);
  BOOST_TEST(rounded.updates[0].change.values_of(2).front() == whole.updates[0].change.values_of(2).front());
  BOOST_TEST(rounded.updates[0].change.values_of(0).front() != whole.updates[0].change.values_of(0).front());
}

BOOST_AUTO_TEST_CASE(a_proximal_term_is_a_term_of_the_phase) {
  for (const auto* kind : {"fedavg", "furl", "fedrep", "fedrecon"}) {
    auto settings = settings_of(kind);
    settings.client->proximal = 0.5F;
    BOOST_TEST_CONTEXT(kind) check_same(settings);
  }
}

BOOST_AUTO_TEST_CASE(private_tensors_have_their_learning_rate) {
  auto settings = settings_of("furl");
  option_values options;
  options.set("private_lr", 0.02);
  *settings.algorithm = federated::chosen_algorithm("furl", options);
  check_same(settings);
}

BOOST_AUTO_TEST_CASE(reconstruction_is_a_phase_without_dropout) {
  auto settings = settings_of("fedrecon");
  settings.reconstruction->batch_size = 2;
  check_same(settings);
  settings.reconstruction->split = false;
  settings.reconstruction->joint = true;
  check_same(settings);
  const auto looping = std::make_shared<const looping_curve>();
  static_cast<void>(run(settings, looping));
  BOOST_TEST(looping->loop.phases == 4U);
  BOOST_TEST(looping->loop.with_dropout == 2U);
}

BOOST_AUTO_TEST_CASE(every_phase_draws_from_a_seed_of_its_own) {
  const auto looping = std::make_shared<const looping_curve>();
  static_cast<void>(run(settings_of("fedrep"), looping));
  static_cast<void>(run(settings_of("fedrecon"), looping));
  auto seeds = looping->loop.seeds;
  BOOST_TEST(seeds.size() == 8U);
  // Phase k of a task has stream k, reconstructions have streams of their own: of fedrecon the update phases are the
  // first phases of the same tasks.
  std::sort(seeds.begin(), seeds.end());
  BOOST_TEST(std::distance(seeds.begin(), std::unique(seeds.begin(), seeds.end())) == 6);
}

BOOST_AUTO_TEST_CASE(a_loop_of_more_passes_weighs_no_more_than_the_largest_update) {
  const auto settings = settings_of("fedavg");
  const auto once = run(settings, std::make_shared<const looping_curve>());
  const auto thrice = run(settings, std::make_shared<const looping_curve>(3));
  const auto& one = once.updates[0];
  const auto& three = thrice.updates[0];
  BOOST_TEST(three.examples == 3 * one.examples);
  BOOST_TEST(three.weight == one.weight);
  BOOST_TEST(three.loss_sum > 0.0);
  BOOST_TEST(three.loss_sum / three.weight < one.loss_sum / one.weight);  // a mean over all passes
  BOOST_TEST(!tests::same_bits(three.change.values, one.change.values));
}

BOOST_AUTO_TEST_SUITE_END()
