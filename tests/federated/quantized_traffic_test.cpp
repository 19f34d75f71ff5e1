// What network.compression does to the numbers of a run.
#include "federated/experiment/quantized_traffic.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "federated/client/client_work.hpp"
#include "federated/experiment/quantization.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "federated/state/broadcasts.hpp"
#include "tests/federated/rounded_experiment.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(rounding_of_a_run)

using namespace furlong;
using federated::number_format;
using tests::same_bits;

namespace {

const auto clients = tests::make_ratings(8);
constexpr std::uint32_t client = 9;

federated::run_settings settings_of(std::string_view kind, number_format numbers, bool sparse = false) {
  federated::run_settings settings;
  *settings.algorithm = federated::chosen_algorithm(kind);
  *settings.client = {.lr = 0.2F, .epochs = 2, .batch_size = 3};
  settings.network->compression.numbers = numbers;
  settings.network->sparse_upload = sparse;
  return settings;
}

federated::experiment experiment_of(const federated::run_settings& settings) {
  return tests::rounded_experiment(settings, clients);
}

/// One client's tasks, one version after the other, on models that do not depend on its updates.
struct history {
  federated::experiment e;
  federated::workspace use;
  federated::client_update update;
  bool has_own = false;

  explicit history(const federated::run_settings& settings) : e(experiment_of(settings)) {}
  bool work(std::uint64_t version) {
    const federated::broadcast from{e.run, version, federated::initial_model(e), {}};
    has_own = federated::client_work(e, from, {e.run, version, client, 0}, has_own, use, update);
    return has_own;
  }
  /// What was not sent, tensor by tensor as the shared layout has them.
  [[nodiscard]] std::vector<float> unsent() const {
    std::vector<float> all;
    for (std::size_t t = 0; t < e.parts.shared->count(); ++t) {
      const auto values = std::as_const(use.own).tensor(e.parts.private_tensors.size() + t);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
};

bool is_packable(const models::delta& change, number_format numbers) {
  for (std::size_t t = 0; t < change.shape->count(); ++t) {
    const auto values = change.values_of(t);
    std::vector<std::byte> packed(federated::packed_size(numbers, values.size()));
    if (!federated::pack(values, numbers, packed)) return false;
  }
  return true;
}

struct kinds_of_upload {
  number_format numbers;
  bool sparse;
};
constexpr kinds_of_upload uploads[] = {{number_format::float16, false},
                                       {number_format::float16, true},
                                       {number_format::int8, false},
                                       {number_format::int8, true}};

}  // namespace

BOOST_AUTO_TEST_CASE(without_compression_nothing_is_rounded_or_kept) {
  const auto settings = settings_of("furl", number_format::float32);
  BOOST_TEST(!federated::rounds_numbers(settings));
  BOOST_TEST(!federated::carries_errors(settings));
  const auto e = experiment_of(settings);
  auto state = federated::initial_state(e);
  state.model.values()[0] = 0.1F;
  BOOST_TEST(same_bits(federated::make_broadcast(e, state).model.values(), state.model.values()));
}

BOOST_AUTO_TEST_CASE(the_broadcast_is_rounded_once_and_the_same_for_all) {
  for (const auto numbers : {number_format::float16, number_format::int8}) {
    const auto e = experiment_of(settings_of("furl", numbers));
    auto state = federated::initial_state(e);
    const auto before = state.model;
    const auto first = federated::make_broadcast(e, state);
    BOOST_TEST(same_bits(state.model.values(), before.values()));  // the server goes on with all bits
    BOOST_TEST(!same_bits(first.model.values(), before.values()));
    BOOST_TEST(same_bits(first.model.values(), federated::make_broadcast(e, state).model.values()));
    auto again = first.model;
    federated::round_broadcast(e, state.version, again);
    BOOST_TEST(same_bits(again.values(), first.model.values()));
    state.version = 1;
    const bool same = same_bits(first.model.values(), federated::make_broadcast(e, state).model.values());
    BOOST_TEST(same == (numbers == number_format::float16));  // halves are rounded to the nearest
  }
}

// Over the rounds: what was sent and what is still unsent add up to what was trained, and the residual stays bounded.
BOOST_AUTO_TEST_CASE(what_a_client_sends_and_keeps_adds_up_to_what_it_trained) {
  for (const auto& [numbers, sparse] : uploads) {
    history plain(settings_of("furl", number_format::float32));
    history rounded(settings_of("furl", numbers, sparse));
    std::vector<double> trained(plain.e.parts.shared->size(), 0.0);
    std::vector<double> sent(trained.size(), 0.0);
    bool any = false;
    for (std::uint64_t version = 0; version < 12; ++version) {
      BOOST_REQUIRE(plain.work(version));
      BOOST_REQUIRE(rounded.work(version));
      BOOST_TEST(is_packable(rounded.update.change, numbers));
      const auto meant = models::to_dense(plain.update.change);
      const auto got = models::to_dense(rounded.update.change);
      for (std::size_t i = 0; i < trained.size(); ++i) trained[i] += static_cast<double>(meant.values[i]);
      for (std::size_t i = 0; i < sent.size(); ++i) sent[i] += static_cast<double>(got.values[i]);
      // Training starts from the same model and the same private values: rounding changes what is sent, and only that.
      for (std::size_t t = 0; t < plain.e.parts.private_->count(); ++t)
        BOOST_TEST(same_bits(plain.use.own.tensor(t), rounded.use.own.tensor(t)));
      const auto unsent = rounded.unsent();
      for (std::size_t i = 0; i < sent.size(); ++i) {
        any |= unsent[i] != 0.0F;
        BOOST_TEST(std::abs(sent[i] + static_cast<double>(unsent[i]) - trained[i]) <= 1e-6);
        BOOST_TEST(std::abs(unsent[i]) <= 0.02F);
      }
    }
    BOOST_TEST(any);
  }
}

// A client that keeps nothing: the mean over many versions is what it trained. A rounding is off by less than one
// scale, a hundredth of the largest change, or by 2^-10 of the number: 4 standard errors.
BOOST_AUTO_TEST_CASE(without_private_values_rounding_has_no_bias) {
  constexpr int times = 1500;
  for (const auto numbers : {number_format::float16, number_format::int8}) {
    history plain(settings_of("fedavg", number_format::float32));
    history rounded(settings_of("fedavg", numbers));
    BOOST_TEST(rounded.e.parts.private_->count() == 0U);
    BOOST_TEST(!plain.work(0));
    const auto meant = models::to_dense(plain.update.change);
    std::vector<double> sums(meant.values.size(), 0.0);
    float largest = 0.0F;
    for (const float value : meant.values) largest = std::max(largest, std::abs(value));
    for (int version = 0; version < times; ++version) {
      BOOST_TEST(!rounded.work(static_cast<std::uint64_t>(version)));
      const auto got = models::to_dense(rounded.update.change);
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(got.values[i]);
    }
    std::size_t moved = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto value = static_cast<double>(meant.values[i]);
      const double step =
          numbers == number_format::int8 ? largest / 127.0 * 1.0001 : std::max(std::abs(value) * 0x1p-10, 0x1p-24);
      BOOST_TEST(std::abs(sums[i] / times - value) <= 4.0 * step / (2.0 * std::sqrt(times)));
      moved += sums[i] != times * value ? 1U : 0U;
    }
    BOOST_TEST(moved > 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_rounding_depends_on_seed_version_and_client_alone) {
  const auto settings = settings_of("fedavg", number_format::int8);
  history first(settings);
  history second(settings);
  static_cast<void>(second.work(3));  // what was done before does not matter
  static_cast<void>(first.work(4));
  static_cast<void>(second.work(4));
  BOOST_TEST(same_bits(first.update.change.values, second.update.change.values));
  static_cast<void>(second.work(5));
  BOOST_TEST(!same_bits(first.update.change.values, second.update.change.values));
}

// Draws in common would not average out over a round.
BOOST_AUTO_TEST_CASE(clients_round_by_draws_of_their_own) {
  const auto e = experiment_of(settings_of("fedavg", number_format::int8));
  const auto rounded = [&](std::uint32_t of) {
    random_stream draws(3, purpose::test);  // the same change for every client
    models::delta change{e.parts.shared, {}, {}, {}};
    for (const auto& spec : e.parts.shared->tensors()) {
      change.pieces.push_back({false, 0, 0, change.values.size()});
      for (std::size_t i = 0; i < spec.size(); ++i) change.values.push_back(draws.uniform(-1.0F, 1.0F));
    }
    models::private_parameters none(e.parts.private_);
    BOOST_REQUIRE(federated::round_update(e, {e.run, 0, of, 0}, {}, none, change));
    return change.values;
  };
  BOOST_TEST(same_bits(rounded(9), rounded(9)));
  BOOST_TEST(!same_bits(rounded(9), rounded(10)));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_rounded_is_not_sent_and_changes_nothing_kept) {
  const auto e = experiment_of(settings_of("furl", number_format::int8));
  models::private_parameters own(e.parts.private_);
  federated::initial_private(e, 0, client, own);
  const auto before = own;
  auto change = models::to_dense({e.parts.shared, {e.parts.shared->count(), {true, 0, 0, 0}}, {}, {}});
  change.values[0] = 0x1p121F;
  BOOST_TEST(!federated::round_update(e, {e.run, 0, client, 0}, {}, own, change));
  BOOST_TEST(same_bits(own.values(), before.values()));
}

BOOST_AUTO_TEST_CASE(the_first_task_of_a_client_finds_nothing_unsent) {
  const auto e = experiment_of(settings_of("furl", number_format::int8));
  models::private_parameters own(e.parts.private_);
  for (auto& value : own.values()) value = 7.0F;  // of an earlier client
  federated::initial_private(e, 0, client, own);
  for (auto t = e.parts.private_tensors.size(); t < e.parts.private_->count(); ++t)
    BOOST_TEST(std::ranges::all_of(own.tensor(t), [](float value) { return value == 0.0F; }));
}

BOOST_AUTO_TEST_SUITE_END()
