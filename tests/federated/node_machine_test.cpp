// The node's machine, one event at a time.
#include "federated/protocol/node_machine.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(node_machines)

using namespace furlong;
using namespace furlong::federated::protocol;
using federated::task_id;

namespace {

constexpr std::uint64_t run = 4711;

task_id task(std::uint64_t version, std::uint32_t client, std::uint32_t attempt = 0) {
  return {run, version, client, attempt};
}

/// Hosts clients 3 to 5.
struct node {
  node_machine machine{"server:1", "test", {3, 5}, 4711};

  node() { BOOST_REQUIRE(std::get<connect>(machine.start().at(0)).address == "server:1"); }
  node_effects welcome_to(const std::vector<std::uint64_t>& lives = {}) {
    static_cast<void>(machine.on_connected());
    welcome got;
    got.run = run;
    for (const auto version : lives) got.history.resume(version, 1);
    return machine.on_welcome(got);
  }
  void enter() {
    BOOST_REQUIRE(std::holds_alternative<open_run>(welcome_to().at(0)));
    const auto opened = machine.on_run_opened();
    BOOST_REQUIRE(opened.size() == 1U);
    BOOST_TEST(std::get<say_ready>(opened[0]).run == run);
  }
  node_effects assign(std::uint64_t version, std::vector<federated::member> tasks, bool with_model = true) {
    if (with_model)
      machine.on_broadcast(std::make_shared<const federated::broadcast>(federated::broadcast{run, version, {}, {}}));
    return machine.on_assignment({run, version, false, std::move(tasks)}).value();
  }
};

template <class Effect>
const Effect& only(const node_effects& effects) {
  BOOST_REQUIRE(effects.size() == 1U);
  BOOST_REQUIRE(std::holds_alternative<Effect>(effects[0]));
  return std::get<Effect>(effects[0]);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_task_is_trained_reported_and_kept_until_the_verdict) {
  node one;
  one.enter();
  BOOST_TEST((only<federated::training_job>(one.assign(0, {{4, 0}})).id == task(0, 4)));
  BOOST_TEST(one.machine.at_work() == 1U);
  BOOST_TEST(one.machine.counts(task(0, 4)));
  BOOST_TEST((only<send_update>(one.machine.on_trained(task(0, 4))).task == task(0, 4)));
  BOOST_TEST(one.machine.holding() == 1U);
  const auto verdict_effects = one.machine.on_verdicts({{{task(0, 4), verdict_kind::durable, {}}}});
  BOOST_TEST(only<release>(verdict_effects).in_model);
  BOOST_TEST(one.machine.holding() == 0U);
}

BOOST_AUTO_TEST_CASE(private_values_are_kept_when_a_model_has_the_update_which_stays_until_that_is_durable) {
  node one;
  one.enter();
  static_cast<void>(one.assign(0, {{4, 0}}));
  const verdicts taken{{{task(0, 4), verdict_kind::taken, {}}, {task(0, 5), verdict_kind::taken, {}}}, 2};
  BOOST_TEST(one.machine.on_verdicts(taken).empty());  // of work that is not done
  static_cast<void>(one.machine.on_trained(task(0, 4)));
  const auto told = one.machine.on_verdicts(taken);
  BOOST_TEST((only<keep>(told).task == task(0, 4)));
  BOOST_TEST(only<keep>(told).version == 2U);
  BOOST_TEST(one.machine.holding() == 1U);
  BOOST_TEST(only<release>(one.machine.on_verdicts({{{task(0, 4), verdict_kind::durable, {}}}})).in_model);
  BOOST_TEST(one.machine.holding() == 0U);
}

BOOST_AUTO_TEST_CASE(a_final_close_notice_ends_the_node_and_says_whether_the_run_goes_on) {
  for (const bool unwanted : {false, true}) {
    node one;
    one.enter();
    BOOST_TEST(one.machine.on_close_notice({"later", false, unwanted}).empty());
    const auto effects = one.machine.on_close_notice({"enough", true, unwanted});
    BOOST_REQUIRE(effects.size() == 2U);
    BOOST_TEST(std::holds_alternative<close_session>(effects[0]));
    BOOST_TEST(std::get<stop_node>(effects[1]).why == "enough");
    BOOST_TEST(std::get<stop_node>(effects[1]).unwanted == unwanted);
    BOOST_TEST(!std::get<stop_node>(effects[1]).refused);
    BOOST_TEST(one.machine.on_disconnected().empty());  // and does not come back
  }
}

BOOST_AUTO_TEST_CASE(a_final_close_notice_before_the_welcome_is_a_refusal) {
  for (const bool unwanted : {false, true}) {
    node one;
    static_cast<void>(one.machine.on_connected());
    const auto effects = one.machine.on_close_notice({"not here", true, unwanted});
    BOOST_REQUIRE(effects.size() == 2U);
    BOOST_TEST(std::get<stop_node>(effects[1]).refused == unwanted);
  }
}

BOOST_AUTO_TEST_CASE(a_node_says_that_it_is_ready_once_in_each_session_and_not_before_it_is) {
  node one;
  one.enter();
  static_cast<void>(one.machine.on_disconnected());
  const auto same = one.welcome_to();  // the run is open already
  BOOST_REQUIRE(same.size() == 2U);
  BOOST_TEST(std::holds_alternative<cover>(same[0]));
  BOOST_TEST(std::get<say_ready>(same[1]).run == run);
  static_cast<void>(one.machine.on_disconnected());
  BOOST_TEST(std::holds_alternative<open_run>(one.welcome_to({1}).at(0)));
  static_cast<void>(one.machine.on_disconnected());
  BOOST_TEST(one.machine.on_run_opened().empty());  // nobody is there to be told
  BOOST_TEST(std::holds_alternative<say_ready>(one.welcome_to({1}).at(1)));
}

// exact_state: what a process of the node staged before it died.
BOOST_AUTO_TEST_CASE(tasks_with_pending_values_are_listed_by_a_new_hello_and_hear_their_verdicts) {
  node one;
  static_cast<void>(one.welcome_to());
  const auto opened = one.machine.on_run_opened({task(0, 3), task(0, 4), task(0, 5)});
  BOOST_REQUIRE(opened.size() == 2U);
  BOOST_TEST(std::holds_alternative<close_session>(opened[0]));
  BOOST_TEST(std::get<connect>(opened[1]).address == "server:1");
  BOOST_TEST(one.machine.at_work() == 0U);
  const auto said = one.machine.on_connected();
  BOOST_TEST(only<say_hello>(said).content.holding.size() == 3U);
  welcome same;
  same.run = run;
  BOOST_TEST(std::holds_alternative<say_ready>(one.machine.on_welcome(same).at(1)));
  BOOST_TEST(only<keep>(one.machine.on_verdicts({{{task(0, 3), verdict_kind::taken, {}}}, 0})).version == 0U);
  BOOST_TEST(!only<release>(one.machine.on_verdicts({{{task(0, 4), verdict_kind::unwanted, {}}}})).in_model);
  BOOST_TEST(only<release>(one.machine.on_verdicts({{{task(0, 3), verdict_kind::durable, {}}}})).in_model);
  // The server has not got the last update, and the node no longer: it is trained again.
  const auto again = one.assign(0, {{5, 0}});
  BOOST_REQUIRE(again.size() == 2U);
  BOOST_TEST(!std::get<release>(again[0]).in_model);
  BOOST_TEST((std::get<federated::training_job>(again[1]).id == task(0, 5)));
  BOOST_TEST((only<send_update>(one.machine.on_trained(task(0, 5))).task == task(0, 5)));
}

// The session may start again while the store is opened: its hello was sent without them.
BOOST_AUTO_TEST_CASE(pending_values_that_are_found_before_the_welcome_are_listed_too) {
  node one;
  static_cast<void>(one.welcome_to());
  static_cast<void>(one.machine.on_disconnected());
  BOOST_TEST(only<say_hello>(one.machine.on_connected()).content.holding.empty());
  const auto opened = one.machine.on_run_opened({task(0, 3)});
  BOOST_REQUIRE(opened.size() == 2U);
  BOOST_TEST(std::holds_alternative<close_session>(opened[0]));
  BOOST_TEST(only<say_hello>(one.machine.on_connected()).content.holding.size() == 1U);
}

BOOST_AUTO_TEST_CASE(the_hello_lists_what_is_held_and_a_task_given_again_is_sent_again) {
  node one;
  one.enter();
  static_cast<void>(one.assign(0, {{4, 0}}));
  static_cast<void>(one.machine.on_trained(task(0, 4)));
  BOOST_TEST(only<connect>(one.machine.on_disconnected()).address == "server:1");
  const auto said = one.machine.on_connected();
  BOOST_TEST((only<say_hello>(said).content.holding == std::vector{task(0, 4)}));
  BOOST_TEST(only<say_hello>(said).content.instance == 4711U);
  static_cast<void>(one.welcome_to());
  BOOST_TEST((only<send_update>(one.assign(0, {{4, 0}}, false)).task == task(0, 4)));
}

BOOST_AUTO_TEST_CASE(work_that_ends_while_the_run_is_being_opened_is_reported) {
  for (const bool fails : {false, true}) {
    node one;
    one.enter();
    static_cast<void>(one.assign(0, {{4, 0}}));
    static_cast<void>(one.machine.on_disconnected());
    BOOST_TEST(std::holds_alternative<open_run>(one.welcome_to({3}).at(0)));  // resumed after what is at work
    static_cast<void>(one.assign(0, {{4, 0}}, false));
    if (fails)
      BOOST_TEST((only<send_failure>(one.machine.on_failed(task(0, 4))).task == task(0, 4)));
    else
      BOOST_TEST((only<send_update>(one.machine.on_trained(task(0, 4))).task == task(0, 4)));
  }
}

BOOST_AUTO_TEST_CASE(no_work_begins_before_the_newest_life_of_the_run_is_opened) {
  node one;
  BOOST_TEST(std::holds_alternative<open_run>(one.welcome_to().at(0)));
  static_cast<void>(one.machine.on_disconnected());
  // The same welcome again is no proof that the run has been opened since.
  BOOST_TEST(std::holds_alternative<cover>(one.welcome_to().at(0)));
  BOOST_TEST(one.assign(0, {{4, 0}}).empty());
  static_cast<void>(one.machine.on_disconnected());
  BOOST_TEST(std::holds_alternative<open_run>(one.welcome_to({1}).at(0)));
  BOOST_TEST(one.machine.on_run_opened().empty());  // the first
  const auto opened = one.machine.on_run_opened();
  BOOST_REQUIRE(opened.size() == 2U);
  BOOST_TEST(std::holds_alternative<say_ready>(opened[0]));
  BOOST_TEST((std::get<federated::training_job>(opened[1]).id == task(0, 4)));
}

BOOST_AUTO_TEST_CASE(a_task_that_waited_for_another_of_its_client_begins_whether_connected_or_not) {
  node one;
  one.enter();
  static_cast<void>(one.assign(0, {{4, 0}}));
  BOOST_TEST(one.assign(1, {{4, 0}}).empty());
  static_cast<void>(one.machine.on_disconnected());
  BOOST_TEST((only<federated::training_job>(one.machine.on_trained(task(0, 4))).id == task(1, 4)));
}

BOOST_AUTO_TEST_CASE(what_is_held_of_an_earlier_start_of_the_run_is_forgotten) {
  node one;
  one.enter();
  static_cast<void>(one.assign(0, {{4, 0}}));
  static_cast<void>(one.machine.on_trained(task(0, 4)));
  static_cast<void>(one.machine.on_disconnected());
  static_cast<void>(one.machine.on_connected());
  welcome again;
  again.run = run;
  again.start_id = 4711;
  const auto effects = one.machine.on_welcome(again);
  BOOST_REQUIRE(effects.size() == 2U);
  BOOST_TEST((std::get<release>(effects[0]).task == task(0, 4)));
  BOOST_TEST(!std::get<release>(effects[0]).in_model);
  BOOST_TEST(std::get<open_run>(effects[1]).content.start_id == 4711U);
}

BOOST_AUTO_TEST_CASE(work_of_a_life_that_is_over_does_not_count) {
  node one;
  one.enter();
  static_cast<void>(one.assign(5, {{4, 0}, {5, 0}}));
  static_cast<void>(one.machine.on_trained(task(5, 5)));
  static_cast<void>(one.machine.on_disconnected());
  const auto effects = one.welcome_to({5});
  BOOST_REQUIRE(effects.size() == 2U);
  BOOST_TEST((std::get<release>(effects[0]).task == task(5, 5)));
  BOOST_TEST(!std::get<release>(effects[0]).in_model);
  static_cast<void>(one.machine.on_run_opened());
  // The same name, given out again: what is still at work is not the answer to it.
  BOOST_TEST(one.assign(5, {{4, 0}}).empty());
  BOOST_TEST(!one.machine.counts(task(5, 4)));
  const auto after = one.machine.on_trained(task(5, 4));
  BOOST_REQUIRE(after.size() == 2U);
  BOOST_TEST(!std::get<release>(after[0]).in_model);
  BOOST_TEST((std::get<federated::training_job>(after[1]).id == task(5, 4)));
}

BOOST_AUTO_TEST_CASE(work_of_a_life_that_the_server_does_not_know_does_not_count) {
  const auto welcome_of = [](std::uint64_t life) {
    welcome got;
    got.run = run;
    got.history.resume(5, life);
    return got;
  };
  node one;
  static_cast<void>(one.machine.start());
  static_cast<void>(one.machine.on_connected());
  static_cast<void>(one.machine.on_welcome(welcome_of(1)));
  static_cast<void>(one.machine.on_run_opened());
  static_cast<void>(one.assign(3, {{4, 0}}));
  static_cast<void>(one.machine.on_trained(task(3, 4)));
  static_cast<void>(one.machine.on_disconnected());
  static_cast<void>(one.machine.on_connected());
  const auto effects = one.machine.on_welcome(welcome_of(2));  // the same checkpoint, from a copy
  BOOST_REQUIRE(effects.size() == 2U);
  BOOST_TEST((std::get<release>(effects[0]).task == task(3, 4)));
  BOOST_TEST(!std::get<release>(effects[0]).in_model);
  BOOST_TEST((std::get<open_run>(effects[1]).content.history == welcome_of(2).history));
}

BOOST_AUTO_TEST_CASE(work_of_a_life_that_is_over_does_not_fail_a_task_of_the_same_name) {
  node one;
  one.enter();
  static_cast<void>(one.assign(5, {{4, 0}}));
  static_cast<void>(one.machine.on_disconnected());
  static_cast<void>(one.welcome_to({5}));
  static_cast<void>(one.machine.on_run_opened());
  static_cast<void>(one.assign(5, {{4, 0}}));
  BOOST_TEST((only<federated::training_job>(one.machine.on_failed(task(5, 4))).id == task(5, 4)));
  BOOST_TEST(one.machine.counts(task(5, 4)));
}

BOOST_AUTO_TEST_CASE(an_attempt_ends_those_before_it) {
  node one;
  one.enter();
  static_cast<void>(one.assign(2, {{4, 0}}));
  static_cast<void>(one.machine.on_trained(task(2, 4)));
  const auto effects = one.assign(2, {{4, 1}});
  BOOST_REQUIRE(effects.size() == 2U);
  BOOST_TEST((std::get<release>(effects[0]).task == task(2, 4)));
  BOOST_TEST((std::get<federated::training_job>(effects[1]).id == task(2, 4, 1)));
  BOOST_TEST(one.machine.holding() == 1U);
}

BOOST_AUTO_TEST_CASE(an_older_model_than_the_last_ones_is_there_when_it_was_sent_last) {
  node one;
  one.enter();
  for (const std::uint64_t version : {5U, 6U, 7U, 8U}) static_cast<void>(one.assign(version, {}));
  BOOST_TEST((only<federated::training_job>(one.assign(3, {{4, 0}})).id == task(3, 4)));
}

BOOST_AUTO_TEST_CASE(a_gateway_that_errs_is_not_believed) {
  node one;
  one.enter();
  BOOST_TEST(!one.machine.on_assignment({run + 1, 0, false, {}}));
  BOOST_TEST(!one.machine.on_assignment({run, 0, false, {{4, 0}}}));  // no model
  static_cast<void>(one.assign(0, {}));
  BOOST_TEST(!one.machine.on_assignment({run, 0, false, {{6, 0}}}));  // not here
}

BOOST_AUTO_TEST_CASE(a_gateway_that_failed_is_avoided_until_another_welcomes) {
  node one;
  static_cast<void>(one.machine.on_connected());
  const auto sent_on = one.machine.on_redirect({"gateway:1"});
  BOOST_TEST(std::get<connect>(sent_on.at(1)).address == "gateway:1");
  BOOST_TEST(only<connect>(one.machine.on_disconnected()).address == "server:1");
  const auto said = one.machine.on_connected();
  BOOST_TEST(only<say_hello>(said).content.avoid == "gateway:1");
  static_cast<void>(one.welcome_to());
  const auto again = one.machine.on_connected();
  BOOST_TEST(only<say_hello>(again).content.avoid.empty());
}

BOOST_AUTO_TEST_CASE(draining_takes_no_more_and_takes_leave_when_all_is_reported) {
  node one;
  one.enter();
  static_cast<void>(one.assign(0, {{4, 0}}));
  BOOST_TEST(one.machine.drain().empty());
  BOOST_TEST(one.assign(0, {{5, 0}}).empty());
  const auto effects = one.machine.on_trained(task(0, 4));
  BOOST_REQUIRE(effects.size() == 2U);
  BOOST_TEST((std::get<send_update>(effects[0]).task == task(0, 4)));
  BOOST_TEST(std::holds_alternative<send_close_notice>(effects[1]));
  // The update is on its way: what comes meanwhile does not end the node, the gateway does.
  BOOST_TEST(one.assign(1, {{5, 0}}).empty());
  BOOST_TEST(only<release>(one.machine.on_verdicts({{{task(0, 4), verdict_kind::durable}}})).in_model);
  BOOST_TEST(only<stop_node>(one.machine.on_disconnected()).why == "drained");
}

BOOST_AUTO_TEST_CASE(who_has_nothing_to_report_takes_leave_at_once_and_goes_when_asked_again) {
  node one;
  one.enter();
  BOOST_TEST(std::holds_alternative<send_close_notice>(one.machine.drain().at(0)));
  const auto effects = one.machine.drain();
  BOOST_REQUIRE(effects.size() == 2U);
  BOOST_TEST(std::holds_alternative<close_session>(effects[0]));
  BOOST_TEST(std::holds_alternative<stop_node>(effects[1]));
}

BOOST_AUTO_TEST_SUITE_END()
