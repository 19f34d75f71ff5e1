// What a node does, whoever hosts it.
#include <boost/test/unit_test.hpp>

#include "federated/settings/network.hpp"
#include "tests/federated/node_on_paper.hpp"

BOOST_AUTO_TEST_SUITE(node_roles)

using namespace furlong;
using namespace furlong::tests::roles;

namespace {

/// So that a later session does not hide that one is repeated.
void violate(node_on_paper& node, bool more_follows) {
  node.welcome();
  node.say(protocol::task_failures{});  // which only nodes send
  if (more_follows) node.assign(7, {{3, 0}});
}

}  // namespace

BOOST_AUTO_TEST_CASE(private_values_are_kept_once_a_model_has_their_update_and_not_again_when_that_is_durable) {
  node_on_paper node;
  node.train_first();
  BOOST_TEST(node.store.kept.empty());
  node.judge(0, 3, protocol::verdict_kind::taken);
  BOOST_TEST(node.store.on_record.contains(3));
  node.say_model(1);
  node.assign(1, {{3, 0}});
  node.train(3);
  node.judge(1, 3, protocol::verdict_kind::taken);
  node.judge(0, 3, protocol::verdict_kind::durable);  // its values are older than those kept by now
  node.judge(1, 3, protocol::verdict_kind::durable);
  BOOST_TEST(node.store.on_record.at(3) == 1U);
  BOOST_TEST(node.role.holding().empty());
}

// With commit = "after-training" a server may count on the values of every update that it has.
BOOST_AUTO_TEST_CASE(private_values_are_on_record_before_their_update_is_sent) {
  node_on_paper node("furl", commit_kind::after_training);
  node.train_first();
  BOOST_TEST(node.updates.front().second);
  BOOST_TEST(node.served == 1U);
  BOOST_TEST(node.role.machine().claim().served == 1U);
}

// exact_state: an update that is reported has its private values in the store.
BOOST_AUTO_TEST_CASE(values_are_pending_before_their_update_is_sent_and_discarded_after_the_verdict) {
  node_on_paper node("feddyn");
  node.train_first();
  BOOST_TEST(node.store.pending() == 1U);
  node.judge(0, 3, protocol::verdict_kind::unwanted);
  BOOST_TEST(node.store.pending() == 0U);
  BOOST_TEST(node.store.kept.empty());
}

BOOST_AUTO_TEST_CASE(the_next_process_of_a_node_commits_pending_values_once_it_hears_the_verdict) {
  node_on_paper node("feddyn");
  BOOST_REQUIRE(node.store.stage({node.e.run, 0, 3, 0}, models::private_parameters(node.e.parts.private_)));
  node.welcome();
  BOOST_TEST(node.is_closed);  // its hello did not list the task
  node.open_session();
  BOOST_TEST((std::get<protocol::hello>(node.sent.back()).holding.size() == 1U));
  node.welcome();
  node.judge(0, 3, protocol::verdict_kind::taken);
  BOOST_TEST(node.store.on_record.contains(3));
  BOOST_TEST(node.store.pending() == 1U);
  node.judge(0, 3, protocol::verdict_kind::durable);
  BOOST_TEST(node.store.pending() == 0U);
}

BOOST_AUTO_TEST_CASE(a_denied_node_does_not_come_again) {
  node_on_paper node;
  node.role.on_closed(node.session, {"denied", true});
  BOOST_REQUIRE(node.end.has_value());
  BOOST_TEST((node.end->failure.value().what == error::kind::usage));
  BOOST_TEST(node.end->failure->text().starts_with("the gateway rejects this node: denied; "));
}

// The store is closed before the next life of the run is opened (prepare()).
BOOST_AUTO_TEST_CASE(a_new_life_of_the_run_begins_when_the_workers_are_done_and_without_what_the_last_session_asked) {
  node_on_paper node;
  node.welcome();
  node.say_model(0);
  protocol::evaluation_request all{0, {}};
  for (std::uint32_t i = 0; i < 640; ++i) all.clients.emplace_back(federated::group::seen, i % 17);
  node.say(all);
  BOOST_REQUIRE(node.work.size() == workers);
  const auto asking = node.session;
  node.drop_session();
  node.welcome({1});
  BOOST_TEST(node.heard<protocol::ready>() == 1U);
  for (std::size_t i = 0; i < workers; ++i) node.role.on_done(scored_clients{asking, {}});
  node.wake();
  BOOST_TEST(node.heard<protocol::ready>() == 2U);
  BOOST_TEST(node.work.size() == workers);  // no further ones
  BOOST_TEST(node.heard<protocol::evaluation_scores>() == 0U);
}

BOOST_AUTO_TEST_CASE(what_a_model_has_is_kept_and_on_record_when_the_run_ends_while_a_worker_is_busy) {
  node_on_paper node;
  node.train_first();
  node.assign(0, {{5, 0}});
  node.judge(0, 3, protocol::verdict_kind::durable);
  node.say(protocol::close_notice{"the run is over", true});
  BOOST_TEST(!node.end.has_value());
  node.train(5);
  BOOST_REQUIRE(node.end.has_value());
  BOOST_TEST(node.end->why == "the run is over");
  BOOST_TEST(!node.end->failure.has_value());
  BOOST_TEST(node.store.on_record.contains(3));
}

// A node that ended now would lose them, although a model has their update.
BOOST_AUTO_TEST_CASE(private_values_are_on_record_while_another_client_trains) {
  node_on_paper node;
  node.train_first();
  node.assign(0, {{5, 0}});
  node.judge(0, 3, protocol::verdict_kind::taken);
  BOOST_TEST(node.store.on_record.contains(3));
}

BOOST_AUTO_TEST_CASE(private_values_do_not_change_while_a_worker_reads_them) {
  node_on_paper node;
  node.train_first();
  node.say_model(1);
  node.assign(1, {{3, 0}});
  node.judge(0, 3, protocol::verdict_kind::taken);
  BOOST_TEST(node.store.kept.empty());
  node.train(3);
  BOOST_TEST(node.store.on_record.contains(3));
}

BOOST_AUTO_TEST_CASE(a_wave_is_reported_when_its_last_worker_is_done_and_is_of_bounded_size) {
  node_on_paper node;
  node.welcome();
  node.say_model(0);
  std::vector<federated::member> tasks;
  for (std::uint32_t client = 0; client < 24; ++client) tasks.push_back({client, 0});
  node.assign(0, tasks);
  BOOST_TEST(node.work.size() == workers);
  for (std::uint32_t client = 0; client < workers * tasks_of_wave; ++client) {
    BOOST_TEST(node.updates.empty());
    node.train(client);
  }
  BOOST_TEST(node.updates.size() == workers * tasks_of_wave);
  BOOST_TEST(node.work.size() == workers);
}

BOOST_AUTO_TEST_CASE(a_damaged_value_fails_its_task_and_a_failing_store_the_node) {
  for (const auto what : {error::kind::data, error::kind::runtime}) {
    node_on_paper node("furl", commit_kind::after_training);
    node.store.refused = what;
    node.welcome();
    node.say_model(0);
    node.assign(0, {{3, 0}});
    node.train(3);
    BOOST_TEST(node.heard<protocol::task_failures>() == (what == error::kind::data ? 1U : 0U));
    BOOST_TEST(node.end.has_value() == (what == error::kind::runtime));
    if (node.end) BOOST_TEST(node.end->why == "its store or its model failed");
    BOOST_TEST(node.updates.empty());
  }
}

BOOST_AUTO_TEST_CASE(a_run_that_has_failed_ends_its_nodes_with_the_reason) {
  node_on_paper node;
  node.welcome();
  node.say(protocol::close_notice{"the run has failed: a rule is broken", true, false, {}, true});
  BOOST_TEST((node.end.value().failure.value().what == error::kind::runtime));
  BOOST_TEST(node.end->failure->text() == "the server: the run has failed: a rule is broken");
}

// What follows does not hide that it is repeated: behind a model that does not fit come its tasks, of a model that the
// node does not have.
BOOST_AUTO_TEST_CASE(a_node_whose_gateway_always_sends_the_same_nonsense_ends) {
  for (const bool more_follows : {false, true}) {
    node_on_paper node;
    for (std::size_t session = 1; session <= repeated_failure::most_times; ++session) {
      violate(node, more_follows);
      BOOST_TEST(node.is_closed);
      if (session < repeated_failure::most_times) node.open_session();
    }
    BOOST_TEST(node.end.value().failure.value().text() ==
               "the gateway: sent a message that gateways do not send; " + std::string(same_build_remedy));
  }
}

BOOST_AUTO_TEST_CASE(a_node_that_was_given_tasks_in_between_goes_on) {
  node_on_paper node;
  for (std::uint32_t session = 1; session <= repeated_failure::most_times; ++session) {
    node.welcome();
    node.say_model(0);
    node.assign(0, {{session, 0}});
    node.say(protocol::task_failures{});
    BOOST_TEST(node.is_closed);
    node.open_session();
  }
  BOOST_TEST(!node.end.has_value());
}

// It keeps what comes while it waits for its workers before it opens a run.
BOOST_AUTO_TEST_CASE(messages_wait_while_a_run_is_being_opened_and_too_many_of_them_end_the_session) {
  for (const bool are_too_many : {false, true}) {
    node_on_paper node;
    node.train_first();
    node.assign(0, {{5, 0}});
    node.drop_session();
    node.welcome({1});
    const std::size_t bytes = std::size_t{1} << 19U;
    node.say(protocol::verdicts{{{{node.e.run, 0, 3, 0}, protocol::verdict_kind::durable, {}}}, 0}, bytes);
    node.say(protocol::checkpointed{1}, are_too_many ? bytes + 1 : bytes);
    BOOST_TEST(node.is_closed == are_too_many);
    BOOST_TEST(node.role.holds({node.e.run, 0, 3, 0}));
    node.train(5);
    BOOST_TEST(node.role.holds({node.e.run, 0, 3, 0}) == are_too_many);
    BOOST_TEST(!node.end.has_value());
  }
}

BOOST_AUTO_TEST_CASE(a_node_connects_again_after_a_pause_and_after_a_redirection_at_once) {
  node_on_paper node;
  node.pause = second;
  node.say(protocol::redirect{"west:1"});
  node.wake();
  BOOST_TEST(node.address == "west:1");
  node.role.on_closed(node.session, {"refused"});
  node.clock = second - 1;
  node.wake();
  BOOST_TEST(node.address == "west:1");
  ++node.clock;
  node.wake();
  BOOST_TEST(node.address == "server:1");
}

BOOST_AUTO_TEST_CASE(a_gateway_that_sends_a_model_too_early_or_asks_for_scores_on_another_one_is_left) {
  node_on_paper early;
  early.say_model(0);
  BOOST_TEST(early.is_closed);
  BOOST_TEST(early.violations.size() == 1U);
  node_on_paper other;
  other.welcome();
  other.say_model(0);
  other.say(protocol::evaluation_request{1, {{federated::group::seen, 3}}});
  BOOST_TEST(other.is_closed);
  BOOST_TEST(other.violations.size() == 1U);
  BOOST_TEST(other.work.empty());
}

BOOST_AUTO_TEST_CASE(a_task_that_is_not_wanted_any_more_is_not_begun) {
  node_on_paper node;
  node.welcome();
  node.say_model(0);
  node.assign(0, {{0, 0}, {1, 0}, {2, 0}, {3, 0}});
  BOOST_TEST(node.work.size() == workers);
  node.judge(0, 2, protocol::verdict_kind::unwanted);
  for (const std::uint32_t client : {0U, 1U, 3U}) node.train(client);
  BOOST_TEST(node.work.empty());
  BOOST_TEST(node.updates.size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_node_without_a_session_for_too_long_gives_up) {
  node_on_paper node("furl", commit_kind::after_ack, 30 * second);
  node.welcome();
  node.clock = 100 * second;
  node.wake();
  BOOST_TEST(!node.end.has_value());
  node.role.on_closed(node.session, {"cut off"});
  node.clock += 29 * second;
  node.wake();
  BOOST_TEST(!node.end.has_value());
  node.clock += second;
  node.wake();
  BOOST_TEST(node.end.value().failure.value().reason == "no session for 30.0 s; last: cut off");
}

BOOST_AUTO_TEST_CASE(a_drained_node_whose_gateway_does_not_end_the_session_ends_after_the_task_timeout) {
  node_on_paper node;
  node.train_first();
  node.role.on_stop();
  BOOST_TEST(node.heard<protocol::close_notice>() == 1U);
  node.clock = federated::from_seconds(node.e.settings.network->task_timeout) - 1;
  node.wake();
  BOOST_TEST(!node.end.has_value());
  ++node.clock;
  node.wake();
  BOOST_TEST(node.end.value().is_told);
}

BOOST_AUTO_TEST_SUITE_END()
