// What holds for every model of availability.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>

#include "federated/settings/devices.hpp"
#include "tests/federated/simulation_worlds.hpp"

BOOST_AUTO_TEST_SUITE(simulated_availability)

using namespace furlong;
using namespace furlong::federated;
using tests::hour;
using tests::second;

namespace {

/// A normal score that differs from client to client.
double some_score(std::uint32_t client) { return static_cast<double>(client % 7) * 0.5 - 1.5; }

struct named_model {
  std::string name;
  std::unique_ptr<availability> model;
};

std::vector<named_model> every_model(std::uint64_t seed) {
  std::vector<named_model> all;
  const auto add = [&](std::string name, std::unique_ptr<availability> model) {
    all.push_back({std::move(name), std::move(model)});
  };
  add("always", make_always());
  for (const bool scored : {false, true}) {
    const availability_score score = scored ? some_score : availability_score{};
    const std::string with = scored ? ", scored" : "";
    const availability_settings usual{.rate = 0.3, .trace = {}};
    add("bernoulli" + with, make_bernoulli(usual, seed, score));
    add("markov" + with, make_markov(usual, seed, score));
    add("restless markov" + with, make_markov({.rate = 0.7, .mean_online = 75, .step = 60, .trace = {}}, seed, score));
    add("sluggish markov" + with,
        make_markov({.rate = 0.02, .mean_online = 500'000, .step = 7, .trace = {}}, seed, score));
    add("diurnal" + with, make_diurnal(usual, seed, score));
    add("long diurnal" + with,
        make_diurnal({.rate = 0.5, .swing = 1000, .dwell = 10'000, .zones = 3, .trace = {}}, seed, score));
  }
  add("traced", make_traced(tests::draw_trace(11)));
  return all;
}

struct question {
  std::uint32_t client;
  virtual_time now;
  std::uint64_t round;
};

std::vector<question> some_questions(std::uint32_t count) {
  random_stream stream(5, purpose::test);
  std::vector<question> asked;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double days = static_cast<double>(stream.uniform(0.0F, i % 3 == 0 ? 4000.0F : 3.0F));
    asked.push_back({stream.below(40), from_seconds(days * 86'400), stream.below(1000)});
  }
  return asked;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_state_holds_until_it_changes_and_then_it_is_another) {
  for (const auto& [name, model] : every_model(1)) {
    std::size_t changed = 0;
    random_stream stream(6, purpose::test);
    for (const auto& [client, now, round] : some_questions(400)) {
      const bool state = model->available(client, now, round);
      const auto until = model->changes(client, now, round);
      BOOST_TEST_REQUIRE(until > now, name);
      if (until == never) {
        for (const auto later : {now + 1, now + hour, now + 1000 * hour})
          BOOST_TEST(model->available(client, later, round) == state, name);
        continue;
      }
      ++changed;
      for (int i = 0; i < 20; ++i) {
        const auto between =
            now + static_cast<virtual_time>(static_cast<double>(stream.uniform()) * static_cast<double>(until - now));
        BOOST_TEST(model->available(client, between, round) == state, name);
        BOOST_TEST(model->changes(client, between, round) == until, name);
      }
      BOOST_TEST(model->available(client, until - 1, round) == state, name);
      BOOST_TEST(model->available(client, until, round) != state, name);
    }
    const bool moves = name != "always" && name.find("bernoulli") == std::string::npos;
    BOOST_TEST((changed > 300) == moves, name);
  }
}

BOOST_AUTO_TEST_CASE(walking_from_change_to_change_misses_none) {
  const auto step = 60 * second;
  const auto model = make_markov({.rate = 0.4, .mean_online = 200, .step = 60, .trace = {}}, 3, {});
  const auto day = make_diurnal({.rate = 0.4, .dwell = 60, .trace = {}}, 3, {});
  const auto traced = make_traced(tests::draw_trace(5));
  for (const auto* of : {model.get(), day.get(), traced.get()})
    for (std::uint32_t client = 0; client < 5; ++client) {
      auto next = of->changes(client, 0, 0);
      bool state = of->available(client, 0, 0);
      for (virtual_time now = 0; now < 9000 * step; now += step) {
        while (next <= now) {
          state = !state;
          next = of->changes(client, next, 0);
        }
        BOOST_TEST_REQUIRE(of->available(client, now, 0) == state);
      }
    }
}

BOOST_AUTO_TEST_CASE(answers_do_not_depend_on_the_order_of_questions) {
  const auto questions = some_questions(1000);
  auto shuffled = questions;
  random_stream(8, purpose::test).shuffle(std::span(shuffled));
  const auto first = every_model(1);
  const auto again = every_model(1);
  const auto key = [](const question& of) { return std::tuple(of.client, of.now, of.round); };
  for (std::size_t m = 0; m < first.size(); ++m) {
    std::map<std::tuple<std::uint32_t, virtual_time, std::uint64_t>, std::pair<bool, virtual_time>> answers;
    for (const auto& q : questions)
      answers[key(q)] = {first[m].model->available(q.client, q.now, q.round),
                         first[m].model->changes(q.client, q.now, q.round)};
    for (const auto& q : shuffled) {
      BOOST_TEST(answers[key(q)].second == again[m].model->changes(q.client, q.now, q.round), first[m].name);
      BOOST_TEST(answers[key(q)].first == again[m].model->available(q.client, q.now, q.round), first[m].name);
    }
  }
}

BOOST_AUTO_TEST_CASE(another_seed_and_another_client_give_other_answers) {
  const auto first = every_model(1);
  const auto other = every_model(2);
  for (std::size_t m = 0; m < first.size(); ++m) {
    if (first[m].name == "always" || first[m].name == "traced") continue;
    std::size_t seeds = 0;
    std::size_t clients = 0;
    for (std::uint32_t client = 0; client < 2000; ++client) {
      const bool state = first[m].model->available(client, hour, 3);
      if (state != other[m].model->available(client, hour, 3)) ++seeds;
      if (state != first[m].model->available(client + 7, hour, 3)) ++clients;  // of the same score
    }
    BOOST_TEST((seeds > 20 && seeds < 1200), first[m].name);
    BOOST_TEST((clients > 20 && clients < 1200), first[m].name);
  }
}

BOOST_AUTO_TEST_CASE(a_rate_of_nothing_and_of_everything_is_just_that) {
  for (const double rate : {0.0, 1.0})
    for (const auto& score : {availability_score{}, availability_score{some_score}}) {
      const availability_settings of{.rate = rate, .swing = 1.0, .trace = {}};
      std::vector<std::unique_ptr<availability>> models;
      models.push_back(make_bernoulli(of, 1, score));
      models.push_back(make_markov(of, 1, score));
      models.push_back(make_diurnal(of, 1, score));
      for (const auto& model : models)
        for (std::uint32_t client = 0; client < 50; ++client) {
          BOOST_TEST(model->available(client, client * hour, client) == (rate == 1.0));
          BOOST_TEST(model->changes(client, client * hour, client) == never);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_score_moves_a_clients_rate_on_the_logistic_scale) {
  constexpr std::uint32_t clients = 20'000;
  for (const double z : {-2.0, 0.0, 1.3}) {
    const availability_score score = [z](std::uint32_t) { return z; };
    const double expected = 1 / (1 + std::exp(-(std::log(0.3 / 0.7) + z)));
    const availability_settings of{.rate = 0.3, .swing = 1.0, .trace = {}};
    std::vector<std::unique_ptr<availability>> models;
    models.push_back(make_bernoulli(of, 1, score));
    models.push_back(make_markov(of, 1, score));
    models.push_back(make_diurnal(of, 1, score));
    for (const auto& model : models) {
      double seen = 0;
      for (std::uint32_t client = 0; client < clients; ++client) seen += model->available(client, 50 * hour, 9) ? 1 : 0;
      BOOST_TEST(tests::share_fits(seen / clients, expected, clients));
    }
  }
}

BOOST_AUTO_TEST_CASE(bernoulli_rounds_are_independent_and_time_does_not_matter) {
  const auto model = make_bernoulli({.rate = 0.3, .trace = {}}, 4, {});
  tests::moments next;
  for (std::uint32_t client = 0; client < 100; ++client)
    for (std::uint64_t round = 0; round < 1000; ++round) {
      const bool state = model->available(client, 0, round);
      BOOST_TEST(state == model->available(client, 77 * hour, round));
      next.add(state ? 1 : 0, model->available(client, 0, round + 1) ? 1 : 0);
    }
  BOOST_TEST(tests::share_fits(next.mean(), 0.3, next.n));
  BOOST_TEST(std::abs(next.correlation()) < 5 / std::sqrt(next.n));
}

BOOST_AUTO_TEST_SUITE_END()
