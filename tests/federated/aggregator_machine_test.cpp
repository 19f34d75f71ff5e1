// What an aggregator refuses to believe of its clients; one event at a time.
#include "federated/protocol/aggregator_machine.hpp"

#include <boost/test/unit_test.hpp>

#include "federated/experiment/validation.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/participation.hpp"
#include "tests/federated/open_round.hpp"

BOOST_AUTO_TEST_SUITE(aggregator_machines)

using namespace furlong;
using federated::rejection;
using namespace furlong::federated::protocol;
using tests::open_round;
using tests::two_aggregators;

BOOST_AUTO_TEST_CASE(an_update_is_judged_by_the_limit_of_the_version_that_it_started_from) {
  auto e = two_aggregators();
  e.settings.participation->mode = federated::participation_mode::async;
  aggregator_machine machine(e, 0);
  machine.set_known_examples({});
  random_stream stream(5, purpose::test);
  auto update = tests::random_update(stream, e.parts.shared);
  federated::update_size size;
  BOOST_REQUIRE(!federated::validate(update, *e.parts.shared, *e.settings.aggregation, {}, &size));
  const auto shown = [&](std::uint64_t version, federated::size_level limit) {
    return std::make_shared<federated::broadcast>(
        federated::broadcast{e.run, version, federated::initial_model(e), {}, {.norm = limit}});
  };
  aggregator_effects out;
  const auto below = static_cast<federated::size_level>(size.norm - 1);
  machine.on_assignment(shown(0, below), {{e.run, 0, 1, 0}}, true, out);
  machine.restore({.id = {e.run, 0, 2, 0}}, {.norm = below});
  machine.restore({.id = {e.run, 0, 3, 0}}, {.norm = size.norm});
  machine.on_assignment(shown(1, size.norm), {{e.run, 1, 4, 0}}, true, out);
  const auto verdict = [&](std::uint64_t version, std::uint32_t client) {
    update.id = {e.run, version, client, 0};
    return machine.on_update(update, out);
  };
  BOOST_TEST((verdict(0, 1) == rejection::norm_bound));
  BOOST_TEST((verdict(0, 2) == rejection::norm_bound));
  BOOST_TEST(!verdict(0, 3));
  BOOST_TEST(!verdict(1, 4));
  const auto& told = std::get<settled>(out.back()).each.at(0);
  BOOST_TEST((told.size == size));
}

// Clients of an exchange that was abandoned may still report: nobody can remove those masks.
BOOST_AUTO_TEST_CASE(a_masked_update_counts_only_in_the_exchange_that_it_was_masked_for) {
  auto e = two_aggregators();
  e.settings.participation->mode = federated::participation_mode::async;
  e.settings.privacy->secure_aggregation = true;
  aggregator_machine machine(e, 0);
  aggregator_effects out;
  const auto model =
      std::make_shared<federated::broadcast>(federated::broadcast{e.run, 5, federated::initial_model(e), {}, {}});
  machine.on_assignment(model, {{e.run, 5, 1, 0}, {e.run, 5, 2, 0}, {e.run, 5, 3, 0}}, true, out);
  const auto verdict = [&](std::uint32_t client, std::uint64_t masked_for) {
    federated::client_update update;
    update.id = {e.run, 5, client, 0};
    update.masked_for = masked_for;
    return machine.on_update(update, out);
  };
  BOOST_TEST((verdict(1, 4) == rejection::stale_version));
  BOOST_TEST((verdict(2, 6) == rejection::stale_version));
  BOOST_TEST((verdict(3, 5) == rejection::wrong_shape));  // it has no words
}

BOOST_AUTO_TEST_CASE(an_update_that_weighs_more_than_its_client_has_examples_is_refused) {
  const open_round round;
  aggregator_machine machine(round.e, 0);
  aggregator_effects out;
  machine.on_assignment(round.shares[0].from, round.shares[0].tasks, true, out);
  const auto task = round.shares[0].tasks.back();
  const auto has = round.e.participants->count(task.client, federated::part::train);
  auto update = tests::dense_update(task, round.e.parts.shared);
  update.weight = has + 1;
  BOOST_TEST((machine.on_update(update, out) == rejection::weight_bound));
}

BOOST_AUTO_TEST_CASE(an_update_that_claims_too_many_examples_is_refused_and_counts_few) {
  const open_round round;
  aggregator_machine machine(round.e, 0);
  machine.set_known_examples({});  // random updates weigh more than their clients have examples
  aggregator_effects out;
  machine.on_assignment(round.shares[0].from, round.shares[0].tasks, true, out);
  random_stream stream(5, purpose::test);
  auto update = tests::random_update(stream, round.e.parts.shared);
  update.id = round.shares[0].tasks[0];
  update.examples = UINT64_MAX;
  BOOST_TEST((machine.on_update(update, out).value() == rejection::weight_bound));
  const auto& told = std::get<settled>(out.back());
  BOOST_TEST(told.each.at(0).examples == federated::most_examples);
}

BOOST_AUTO_TEST_CASE(an_update_that_is_longer_than_clipping_leaves_it_is_refused) {
  open_round round;
  round.e.settings.privacy->clip = 1.0;
  for (const auto& [norm, fits] : {std::pair(3.0F, false), std::pair(1.001F, false), std::pair(1.0F, true)}) {
    aggregator_machine machine(round.e, 0);
    machine.set_known_examples({});  // random updates weigh more than their clients have examples
    aggregator_effects out;
    machine.on_assignment(round.shares[0].from, round.shares[0].tasks, true, out);
    auto update = tests::dense_update(round.shares[0].tasks[0], round.e.parts.shared);
    // Over two tensors, so that neither is too long by itself.
    update.change.values.front() = 0.6F * norm;
    update.change.values.back() = 0.8F * norm;
    const auto refused = machine.on_update(update, out);
    BOOST_TEST(refused.has_value() == !fits);
    const auto& told = std::get<settled>(out.back()).each.at(0);
    BOOST_TEST((told.what == (fits ? federated::outcome::folded : federated::outcome::rejected)));
    if (!fits) BOOST_TEST((told.why == rejection::norm_bound));
  }
}

BOOST_AUTO_TEST_CASE(reports_nobody_asked_for_change_nothing) {
  const open_round round;
  const auto& share = round.shares[0];
  aggregator_machine machine(round.e, 0);
  machine.set_known_examples({});  // random updates weigh more than their clients have examples
  aggregator_effects out;
  random_stream stream(5, purpose::test);
  auto update = tests::random_update(stream, round.e.parts.shared);
  const auto told = [&](federated::task_id id) {
    update.id = id;
    return machine.on_update(update, out).value();
  };
  BOOST_TEST((told({round.e.run, 0, share.tasks[0].client, 0}) == rejection::unknown_task));  // before any assignment
  machine.on_assignment(share.from, share.tasks, true, out);
  BOOST_TEST(out.empty());
  BOOST_TEST((told({round.e.run + 1, 0, share.tasks[0].client, 0}) == rejection::unknown_task));
  BOOST_TEST((told({round.e.run, 1, share.tasks[0].client, 0}) == rejection::stale_version));
  BOOST_TEST((told({round.e.run, 0, share.tasks[0].client, 1}) == rejection::unknown_task));
  BOOST_TEST((told({round.e.run, 0, round.shares[1].tasks[0].client, 0}) == rejection::unknown_task));
  BOOST_TEST(out.empty());
  update.id = {round.e.run, 0, share.tasks[0].client, 0};
  BOOST_TEST(!machine.on_update(update, out));
  BOOST_TEST(out.size() == 1U);
  BOOST_TEST((machine.on_update(update, out).value() == rejection::duplicate));
  machine.on_failure(update.id, out);
  BOOST_TEST(out.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_new_share_forgets_what_was_left_of_the_old_one) {
  const open_round round;
  aggregator_machine machine(round.e, 0);
  machine.set_known_examples({});  // random updates weigh more than their clients have examples
  aggregator_effects out;
  machine.on_assignment(round.shares[0].from, round.shares[0].tasks, true, out);
  random_stream stream(5, purpose::test);
  auto update = tests::random_update(stream, round.e.parts.shared);
  update.id = {round.e.run, 0, round.shares[0].tasks[0].client, 0};
  BOOST_TEST(!machine.on_update(update, out));
  out.clear();
  auto next = std::make_shared<federated::broadcast>(*round.shares[0].from);
  next->version = 1;
  machine.on_assignment(next, {{round.e.run, 1, round.shares[0].tasks[1].client, 0}}, true, out);
  BOOST_TEST((machine.on_update(update, out).value() == rejection::stale_version));
  update.id = {round.e.run, 1, round.shares[0].tasks[1].client, 0};
  update.weight = 77;
  BOOST_TEST(!machine.on_update(update, out));
  const auto& partial = std::get<federated::partial_aggregate>(out.back());
  BOOST_TEST(partial.weight == 77U);
  BOOST_TEST(partial.folded.size() == 1U);
  BOOST_TEST(partial.version == 1U);
}

BOOST_AUTO_TEST_CASE(a_share_of_nobody_is_answered_at_once) {
  const open_round round;
  aggregator_machine machine(round.e, 1);
  machine.set_known_examples({});  // random updates weigh more than their clients have examples
  aggregator_effects out;
  machine.on_assignment(round.shares[1].from, {}, true, out);
  BOOST_REQUIRE(out.size() == 1U);
  const auto& partial = std::get<federated::partial_aggregate>(out.front());
  BOOST_TEST(partial.aggregator == 1U);
  BOOST_TEST(partial.folded.empty());
  BOOST_TEST(partial.weight == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
