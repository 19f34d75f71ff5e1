// What a world is built of, and the work that it foresees.
#include <boost/test/unit_test.hpp>
#include <map>
#include <sstream>

#include "base/registry.hpp"
#include "federated/client/client_work.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "federated/state/broadcasts.hpp"
#include "tests/federated/simulation_worlds.hpp"
#include "tests/support/algorithm_kinds.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(simulated_worlds)

using namespace furlong;
using namespace furlong::federated;

namespace {

/// Settings in which every number that decides how much a client works is drawn.
run_settings draw_settings(random_stream& stream) {
  run_settings settings;
  const auto kinds = tests::algorithm_kinds();
  *settings.algorithm = chosen_algorithm(kinds[stream.below(static_cast<std::uint32_t>(kinds.size()))]);
  settings.rounds = 10;
  settings.client->lr = 0.01F;
  settings.client->epochs = stream.below(4);
  settings.client->batch_size = stream.below(9);
  settings.client->max_steps = stream.below(2) == 0 ? 0 : stream.below(20);
  settings.client->shuffle = stream.below(2) == 0;
  settings.own->cold_start = static_cast<cold_start_kind>(stream.below(2));
  auto& how = *settings.reconstruction;
  how.solver = static_cast<solver_kind>(stream.below(2));
  how.lr = 0.01F;
  how.epochs = stream.below(4);
  how.max_steps = stream.below(2) == 0 ? 0 : stream.below(12);
  how.batch_size = stream.below(6);
  how.split = stream.below(2) == 0;
  how.joint = stream.below(2) == 0;
  return settings;
}

std::string describe(const run_settings& of, std::size_t count, bool stored) {
  const auto& how = *of.reconstruction;
  std::ostringstream text;
  text << of.algorithm->kind << ", epochs " << of.client->epochs << ", batches of " << of.client->batch_size
       << ", steps " << of.client->max_steps << ", shuffle " << of.client->shuffle << "; solver "
       << static_cast<int>(how.solver) << ", epochs " << how.epochs << ", steps " << how.max_steps << ", batches of "
       << how.batch_size << ", split " << how.split << "; stored " << stored << ", " << count << " examples";
  return text.str();
}

}  // namespace

BOOST_AUTO_TEST_CASE(planned_examples_are_those_that_a_client_processes) {
  tests::ratings_shape shape;
  shape.fewest = 1;
  shape.most = 21;
  const auto population = tests::make_ratings(8, shape);
  random_stream stream(4, purpose::test);
  std::map<std::string, std::size_t> worked;
  const auto kinds = tests::algorithm_kinds().size();
  for (std::size_t run = 0; run < 120 * kinds; ++run) {
    const auto settings = draw_settings(stream);
    const auto e = tests::make_experiment(settings, population, {}, {"user"});
    auto from = make_broadcast(e, initial_state(e));
    from.version = 3;
    workspace use;
    client_update update;
    const bool pooled = !settings.algorithm->traits.sends;
    for (const std::uint32_t client : {0U, 1 + stream.below(16)}) {  // client 0 has no examples
      const std::uint32_t who = pooled ? 0 : client;
      // A cold start is planned as if it cost nothing.
      const bool cold = settings.own->cold_start == cold_start_kind::reconstruct;
      const bool stored = settings.algorithm->traits.keeps_state && (cold || stream.below(2) == 0);
      use.own = models::private_parameters(e.parts.private_);
      client_work(e, from, {e.run, 3, who, 0}, stored, use, update);
      const auto count = e.participants->count(who, part::train);
      BOOST_TEST(settings.algorithm->does->plan(settings, count) == update.examples, describe(settings, count, stored));
      if (update.examples > 0) ++worked[settings.algorithm->kind];
    }
  }
  BOOST_TEST(worked.size() == kinds);
  for (const auto& [kind, count] : worked) BOOST_TEST(count > 40U, kind);
}

BOOST_AUTO_TEST_CASE(planned_examples_of_known_cases) {
  run_settings settings;
  *settings.client = {.epochs = 3, .batch_size = 4};
  BOOST_TEST(settings.algorithm->does->plan(settings, 10) == 30U);
  settings.client->max_steps = 5;  // 4 4 2, 4 4
  BOOST_TEST(settings.algorithm->does->plan(settings, 10) == 18U);
  *settings.algorithm = federated::chosen_algorithm("fedsgd");
  BOOST_TEST(settings.algorithm->does->plan(settings, 10) == 10U);
  *settings.algorithm = federated::chosen_algorithm("fedrecon");
  settings.client->max_steps = 0;
  *settings.reconstruction = {.epochs = 2};  // support 4 2, query 4
  BOOST_TEST(settings.algorithm->does->plan(settings, 10) == 12U + 12U);
  option_values passes;
  passes.set("head_epochs", std::int64_t{5});
  passes.set("private_epochs", std::int64_t{5});
  settings.client->max_steps = 7;  // head or private 4 4 2, 4 4 2, 4; then 4 4 2, 4 4 2, 4
  for (const char* kind : {"fedrep", "fedalt"}) {
    *settings.algorithm = federated::chosen_algorithm(kind, passes);
    BOOST_TEST(settings.algorithm->does->plan(settings, 10) == 24U + 24U);
  }
  settings.client->max_steps = 0;
  *settings.algorithm = federated::chosen_algorithm("furl");
  settings.own->cold_start = cold_start_kind::reconstruct;
  BOOST_TEST(settings.algorithm->does->plan(settings, 10) == 30U);
}

BOOST_AUTO_TEST_CASE(a_world_has_the_availability_of_its_settings) {
  const tests::counted_population clients;
  const auto trace = tests::draw_trace(5);
  run_settings settings;
  settings.seed = 9;
  const auto& of = settings.devices->availability;
  const auto expected = [&]() -> std::unique_ptr<availability> {
    if (of.kind == "always") return make_always();
    if (of.kind == "bernoulli") return make_bernoulli(of, 9, {});
    if (of.kind == "markov") return make_markov(of, 9, {});
    if (of.kind == "diurnal") return make_diurnal(of, 9, {});
    return make_traced(trace);
  };
  for (const std::string kind : {"always", "bernoulli", "markov", "diurnal", "trace"}) {
    settings.devices->availability.kind = kind;
    const auto made = make_world(settings, clients, trace);
    const auto same = expected();
    for (std::uint32_t client = 0; client < 500; ++client) {
      const auto now = client * 1000 * tests::second;
      BOOST_TEST(made->presence->available(client, now, client) == same->available(client, now, client));
      BOOST_TEST(made->presence->changes(client, now, client) == same->changes(client, now, client));
    }
    BOOST_TEST(made->presence->by_round() == (kind == "bernoulli"));
  }
}

BOOST_AUTO_TEST_CASE(another_program_adds_a_model_of_availability) {
  class halves final : public availability {
   public:
    explicit halves(std::int64_t length) : length_(length * tests::second) {}
    bool available(std::uint32_t client, virtual_time now, std::uint64_t) const override {
      return (now / length_ + client) % 2 == 0;
    }
    virtual_time changes(std::uint32_t, virtual_time now, std::uint64_t) const override {
      return (now / length_ + 1) * length_;
    }

   private:
    virtual_time length_;
  };
  register_availability({.kind = "halves",
                         .doc = "Even and odd clients in turn.",
                         .options = {integer_option("length", 60, "Seconds of a turn.", {1})},
                         .build = [](const availability_source& source) -> std::unique_ptr<availability> {
                           return std::make_unique<halves>(source.settings.options.integer("length"));
                         }});
  run_settings settings;
  settings.devices->availability.kind = "halves";
  settings.devices->availability.options.set("length", std::int64_t{7});
  const tests::counted_population clients;
  const auto made = make_world(settings, clients, nullptr);
  BOOST_TEST(made->presence->available(2, 6 * tests::second, 0));
  BOOST_TEST(!made->presence->available(3, 6 * tests::second, 0));
  BOOST_TEST(made->presence->changes(3, 6 * tests::second, 0) == 7 * tests::second);
  BOOST_TEST(is_registered(*find_availability("halves")));
  BOOST_TEST(!is_registered(*find_availability("always")));

  settings.devices->availability.options.set("length", std::int64_t{-7});  // as no scenario has it
  BOOST_CHECK_THROW(
      static_cast<void>(make_world(settings, clients, nullptr)->presence->changes(3, 60 * tests::second, 0)),
      models::broken_part);
  BOOST_CHECK_THROW(register_availability({.kind = "none", .doc = "Cannot be built."}), std::invalid_argument);
  register_availability({.kind = "nothing", .doc = "Builds nothing.", .build = [](const availability_source&) {
                           return std::unique_ptr<availability>();
                         }});
  settings.devices->availability.kind = "nothing";
  BOOST_CHECK_THROW(static_cast<void>(make_world(settings, clients, nullptr)), std::logic_error);
}

BOOST_AUTO_TEST_CASE(correlations_reach_who_is_available) {
  const tests::counted_population clients;
  run_settings settings;
  settings.devices->speed_availability = 0.8;
  settings.devices->availability_taste = -0.4;
  for (const std::string kind : {"bernoulli", "markov", "diurnal"}) {
    settings.devices->availability.kind = kind;
    const auto made = make_world(settings, clients, nullptr);
    tests::moments speed;
    tests::moments taste;
    tests::moments rate;
    for (std::uint32_t client = 0; client < 20'000; ++client) {
      const double there = made->presence->available(client, 5 * tests::hour, 2) ? 1 : 0;
      const auto scores = made->devices.scores_of(client);
      speed.add(scores.speed, there);
      taste.add(clients.taste(client), there);
      rate.add(there, 1 / (1 + std::exp(-scores.availability)));  // of 0.5 and the score
    }
    // One state tells less than the score: its correlation with it is E[z p(z)] / sqrt(p (1 - p)) = 0.413.
    BOOST_TEST(std::abs(speed.correlation() - 0.8 * 0.413) < 0.04);
    BOOST_TEST(std::abs(taste.correlation() + 0.4 * 0.413) < 0.04);
    if (kind != "diurnal")
      BOOST_TEST(std::abs(rate.covariance() / (rate.yy / rate.n - std::pow(rate.y / rate.n, 2)) - 1) < 0.1);
  }
}

BOOST_AUTO_TEST_SUITE_END()
