// Whole runs of an algorithm that adds tensors at every place: against plain arrays, and against each other.
#include <boost/test/unit_test.hpp>

#include "federated/client/inference.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "federated/state/broadcasts.hpp"
#include "storage/checkpoint.hpp"
#include "tests/actors/runs.hpp"
#include "tests/groups/plain_run.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(added_tensors)

using namespace furlong;
using tests::every_place_experiment;
using tests::every_place_settings;

namespace {

constexpr std::atomic<bool>* never_stops = nullptr;

struct finished {
  federated::run_outcome outcome;
  std::string own;  ///< private values
};

finished by_reference(const federated::experiment& e) {
  storage::memory_store store(e.parts.private_);
  auto outcome = federated::run_reference(e, store, tests::quiet(), never_stops).value();
  return {std::move(outcome), tests::private_values(store)};
}

void check_same(const finished& a, const finished& b) {
  tests::check_same(a.outcome, b.outcome);
  BOOST_TEST(hex(models::model_sha256(*a.outcome.state.chosen().added)) ==
             hex(models::model_sha256(*b.outcome.state.chosen().added)));
  BOOST_TEST(a.own == b.own);
}

void check_near(std::span<const float> found, const std::vector<float>& expected, const char* what) {
  BOOST_REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    BOOST_TEST(std::abs(found[i] - expected[i]) <= 2e-5F * (1.0F + std::abs(expected[i])),
               what << "[" << i << "]: " << found[i] << " instead of " << expected[i]);
}

federated::experiment with_rule(const char* rule) {
  auto settings = every_place_settings();
  settings.aggregation->rule = federated::chosen_rule(rule);
  return every_place_experiment(settings);
}

/// Settings under which threads, stops and aggregators could make a difference.
std::vector<std::pair<std::string, federated::run_settings>> varied() {
  auto base = every_place_settings();
  base.participation->per_round = 7;
  base.rounds = 6;
  base.client->shuffle = true;
  base.evaluation->every = 2;
  std::vector<std::pair<std::string, federated::run_settings>> all = {
      {"plain", base}, {"clip and noise", base}, {"int8", base}, {"best", base}};
  // The weighted group excludes privacy.noise.
  *all[1].second.privacy = {.clip = 3.0, .noise = 0.0};
  all[1].second.aggregation->noise = 0.001;
  all[2].second.network->compression.numbers = federated::number_format::int8;
  all[3].second.evaluation->keep_best = true;
  all[3].second.client->lr = 0.3F;
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_is_what_plain_arrays_give) {
  for (const char* rule : {"mean", "uniform-mean"}) BOOST_TEST_CONTEXT(rule) {
      const auto e = with_rule(rule);
      storage::memory_store store(e.parts.private_);
      const auto outcome = federated::run_reference(e, store, tests::quiet(), never_stops).value();
      tests::plain_run plain(e);
      for (std::uint64_t round = 0; round < e.settings.rounds; ++round) plain.round();

      const auto& added = outcome.state.added;
      const auto at_server = [&](std::size_t group, std::size_t i) {
        return added.tensor(e.groups[group].in_server + i);
      };
      for (std::size_t i = 0; i < e.parts.shared->count(); ++i) {
        const auto t = e.parts.shared_tensors[i];
        check_near(outcome.state.model.tensor(i), plain.model[t], "model");
        check_near(at_server(tests::every::drift, i), plain.drift[t], "drift");
        check_near(at_server(tests::every::memory, i), plain.memory[t], "memory");
      }
      check_near(at_server(tests::every::totals, 0), plain.totals, "totals");
      check_near(at_server(tests::every::totals, 1), {plain.steps_mean}, "steps");
      check_near(at_server(tests::every::pull, 0), {plain.pull}, "pull");
      std::size_t holders = 0;
      BOOST_REQUIRE(store.visit([&](std::uint32_t client, std::uint64_t, const models::private_parameters& value) {
        ++holders;
        BOOST_REQUIRE(plain.own.contains(client));
        models::examples room;
        const auto data = e.clients->load(client, federated::part::train, room);
        for (std::size_t t = 0; t < e.parts.model->count(); ++t) {
          const auto found = value.tensor(e.groups[tests::every::own].in_private + t);
          const auto& expected = plain.own.at(client)[t];
          const auto& spec = (*e.parts.model)[t];
          for (std::uint32_t row = 0; row < spec.rows; ++row)
            if (spec.index == models::row_index::none || std::ranges::find(data.features, row) != data.features.end())
              check_near(found.subspan(row * spec.cols, spec.cols),
                         {expected.begin() + row * spec.cols, expected.begin() + (row + 1) * spec.cols}, "own");
        }
        check_near(value.tensor(e.groups[tests::every::mix].in_private), {plain.mix.at(client)}, "mix");
      }));
      BOOST_TEST(holders == plain.own.size());
      BOOST_TEST(holders == 16U);
      BOOST_TEST(outcome.evaluation.seen->loss == plain.loss(), boost::test_tools::tolerance(1e-4));
      const auto sent = federated::sent_model(e, outcome.state.last());
      for (const std::uint32_t client : {0U, 3U, 11U}) {  // the first has no examples, and keeps nothing
        models::examples room;
        const auto known = e.clients->load(client, federated::part::train, room);
        const auto test = e.clients->load(client, federated::part::test, room);
        const auto found = federated::predict_examples(e, sent, &store, client, known, test).value();
        check_near(found.predictions, plain.predict(client, test), "prediction");
        BOOST_TEST((found.source == federated::personal_source::stored) == (client != 0));
      }
    }
}

BOOST_AUTO_TEST_CASE(layouts_hold_each_group_where_it_belongs) {
  auto settings = every_place_settings();
  settings.network->compression.numbers = federated::number_format::int8;
  const auto e = every_place_experiment(settings);
  const auto names = [](const models::layout& of) {
    std::string all;
    for (const auto& spec : of.tensors()) all += spec.name + " ";
    return all;
  };
  BOOST_TEST(names(*e.parts.shared) == "item item_bias mean ");
  BOOST_TEST(names(*e.parts.down) ==
             "item item_bias mean every-place/pull/rate every-place/drift/item every-place/drift/item_bias "
             "every-place/drift/mean ");
  BOOST_TEST(names(*e.parts.up) ==
             "item item_bias mean every-place/seen/count every-place/drift/item every-place/drift/item_bias "
             "every-place/drift/mean every-place/length/steps ");
  BOOST_TEST(names(*e.parts.private_) ==
             "user unsent.item unsent.item_bias unsent.mean unsent.every-place/drift/item "
             "unsent.every-place/drift/item_bias unsent.every-place/drift/mean unsent.every-place/length/steps "
             "every-place/own/user every-place/own/item every-place/own/item_bias every-place/own/mean "
             "every-place/mix/share ");
  BOOST_TEST(names(*e.parts.server) ==
             "every-place/pull/rate every-place/drift/item every-place/drift/item_bias every-place/drift/mean "
             "every-place/memory/item every-place/memory/item_bias every-place/memory/mean every-place/totals/count "
             "every-place/totals/steps ");
}

BOOST_AUTO_TEST_CASE(threads_and_aggregators_change_no_bit) {
  for (const auto& [name, settings] : varied()) BOOST_TEST_CONTEXT(name) {
      const auto expected = by_reference(every_place_experiment(settings));
      for (const std::size_t threads : {1U, 2U})
        for (const std::uint32_t aggregators : {1U, 3U}) {
          auto with = settings;
          with.topology->aggregators = aggregators;
          const auto e = every_place_experiment(with);
          storage::memory_store store(e.parts.private_);
          const std::atomic<bool> stop = false;
          auto outcome =
              actors::run_actors(e, federated::initial_state(e), store, tests::quiet(), stop, {threads}).value();
          check_same({std::move(outcome), tests::private_values(store)}, expected);
        }
    }
}

// Stopped in every round, and resumed from the checkpoint on disk.
BOOST_AUTO_TEST_CASE(kills_change_no_bit) {
  for (const auto& [name, settings] : varied()) BOOST_TEST_CONTEXT(name) {
      const auto e = every_place_experiment(settings);
      const auto expected = by_reference(e);
      storage::memory_store store(e.parts.private_);
      tests::temporary_folder folder;
      auto state = federated::initial_state(e);
      finished done;
      for (int lives = 0;; ++lives) {
        BOOST_REQUIRE(lives < 20);
        std::atomic<bool> stop = false;
        auto observer = tests::quiet();
        observer.on_round = [&](const auto&) {
          stop = true;
          return result<void>{};
        };
        observer.on_checkpoint = [&](federated::server_state& now) {
          return storage::write_checkpoint(folder.path() / "checkpoint", now);
        };
        done.outcome = actors::run_actors(e, std::move(state), store, observer, stop, {2}).value();
        if (!done.outcome.interrupted) break;
        state = storage::read_checkpoint(folder.path() / "checkpoint", e.parts).value();
        state.history.resume(state.version, 1);
        store.resume(state.history);
      }
      done.own = tests::private_values(store);
      check_same(done, expected);
    }
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_other_groups_is_refused_by_the_tensor) {
  const auto e = every_place_experiment(every_place_settings());
  tests::temporary_folder folder;
  BOOST_REQUIRE(storage::write_checkpoint(folder.path() / "checkpoint", federated::initial_state(e)));
  auto other = e;
  auto specs = std::vector(e.parts.server->tensors().begin(), e.parts.server->tensors().end());
  specs[4].name = "every-place/past/item";
  other.parts.server = std::make_shared<models::layout>(specs);
  const auto refused = storage::read_checkpoint(folder.path() / "checkpoint", other.parts);
  BOOST_REQUIRE(!refused);
  BOOST_TEST_INFO(refused.error().text());
  BOOST_TEST(refused.error().text().find("every-place/memory/item 30 4") != std::string::npos);
  BOOST_TEST(refused.error().text().find("every-place/past/item 30 4") != std::string::npos);
}

// Asynchronous versions, with updates of earlier ones: stops and threads change nothing, under both ways of adding.
BOOST_AUTO_TEST_CASE(asynchronous_runs_are_the_same_in_one_life_and_in_many) {
  for (const auto kind : {federated::async_kind::change, federated::async_kind::model})
    for (const std::uint32_t buffer : {1U, 4U}) {
      if (kind == federated::async_kind::model && buffer > 1) continue;
      auto settings = every_place_settings();
      settings.rounds = 20;
      auto& how = *settings.participation;
      how.mode = federated::participation_mode::async;
      how.buffer = how.per_round = buffer;
      how.concurrency = 6;
      how.async = kind;
      settings.devices->speed_sigma = 1.0;
      const auto e = tests::in_a_world(every_place_experiment(settings));
      const auto run = [&](bool stops) {
        tests::temporary_folder folder;
        storage::memory_store store(e.parts.private_);
        auto state = federated::initial_state(e);
        for (;;) {
          std::atomic<bool> stop = false;
          auto observer = tests::quiet();
          observer.on_round = [&](const auto&) {
            stop = stops;
            return result<void>{};
          };
          observer.on_checkpoint = [&](federated::server_state& now) {
            return storage::write_checkpoint(folder.path() / "checkpoint", now);
          };
          auto outcome = stops ? actors::run_actors(e, std::move(state), store, observer, stop, {2}).value()
                               : federated::simulate(e, std::move(state), store, observer, stop).value();
          if (!outcome.interrupted) return finished{std::move(outcome), tests::private_values(store)};
          state = storage::read_checkpoint(folder.path() / "checkpoint", e.parts).value();
          state.history.resume(state.version, 1);
          store.resume(state.history);
        }
      };
      const auto whole = run(false);
      BOOST_TEST(whole.outcome.state.counts.staleness_max > 0U);
      check_same(run(true), whole);
    }
}

// FedAsync moves the server's values a part of the way to the client's: with mixing 1 and no staleness they are those.
BOOST_AUTO_TEST_CASE(mixing_moves_shared_groups_as_it_moves_the_model) {
  auto settings = every_place_settings();
  settings.rounds = 12;
  auto& how = *settings.participation;
  how.mode = federated::participation_mode::async;
  how.buffer = how.per_round = 1;
  how.concurrency = 5;
  how.async = federated::async_kind::model;
  how.weighting = federated::staleness_kind::constant;
  how.mixing = 1.0;
  settings.devices->speed_sigma = 1.0;
  const auto e = tests::in_a_world(every_place_experiment(settings));
  storage::memory_store store(e.parts.private_);
  // A client's own change of the drift is half of the model's, whatever it started from. With mixing 1 each version is
  // the values of one client: so is the drift.
  auto observer = tests::quiet();
  const std::atomic<bool> stop = false;
  const auto outcome = federated::simulate(e, federated::initial_state(e), store, observer, stop).value();
  BOOST_TEST(outcome.state.counts.staleness_max > 0U);
  const auto first = federated::initial_model(e);
  for (std::size_t t = 0; t < e.parts.shared->count(); ++t) {
    const auto now = outcome.state.model.tensor(t);
    const auto drift = outcome.state.added.tensor(e.groups[tests::every::drift].in_server + t);
    for (std::size_t i = 0; i < now.size(); ++i)
      BOOST_TEST(std::abs(drift[i] - 0.5F * (now[i] - first.tensor(t)[i])) < 1e-4F);
  }
}

BOOST_AUTO_TEST_CASE(erasing_a_client_erases_what_it_keeps_of_groups) {
  auto settings = every_place_settings();
  *settings.events = {
      {.at_round = true, .round = 3, .what = federated::event_kind::leave, .first = 4, .last = 6, .erase = true}};
  settings.participation->per_round = 17;
  settings.participation->deadline = 1e6;
  const auto e = tests::in_a_world(every_place_experiment(settings));
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  const auto outcome = federated::simulate(e, federated::initial_state(e), store, tests::quiet(), stop).value();
  std::vector<std::uint32_t> holders;
  BOOST_REQUIRE(store.visit([&](std::uint32_t client, std::uint64_t, const auto&) { holders.push_back(client); }));
  for (const std::uint32_t client : {4U, 5U, 6U}) BOOST_TEST(std::ranges::count(holders, client) == 0);
  BOOST_TEST(holders.size() == 13U);
}

BOOST_AUTO_TEST_SUITE_END()
