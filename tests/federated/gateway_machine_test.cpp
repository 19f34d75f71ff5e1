// The gateway's machine, one event at a time.
#include "federated/protocol/gateway_machine.hpp"

#include <boost/test/unit_test.hpp>

#include "federated/settings/participation.hpp"
#include "federated/settings/settings.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"
#include "tests/support/updates.hpp"

BOOST_AUTO_TEST_SUITE(gateway_machines)

using namespace furlong;
using namespace furlong::federated::protocol;
using federated::outcome;
using federated::task_id;

namespace {

federated::run_settings settings_of(bool async) {
  federated::run_settings settings;
  settings.rounds = 9;
  if (async) settings.participation->mode = federated::participation_mode::async;
  return settings;
}

/// A gateway with a node of clients 0 to 4 in session 1 and a share of clients 1 and 2.
struct gateway {
  explicit gateway(bool async = false)
      : e(tests::make_experiment(settings_of(async), tests::make_ratings(12), {}, {})), machine(e, 7) {
    machine.on_hello(1, {"test", {0, 4}, 0, {}, ""}, 0, out);
    share(0, {1, 2}, true);
  }
  [[nodiscard]] task_id task(std::uint64_t version, std::uint32_t client) const { return {e.run, version, client, 0}; }
  void share(std::uint64_t version, const std::vector<std::uint32_t>& clients, bool begins) {
    std::vector<task_id> tasks;
    for (const auto client : clients) tasks.push_back(task(version, client));
    const federated::broadcast from{e.run, version, models::shared_parameters(e.parts.shared), {}};
    machine.on_assignment(std::make_shared<const federated::broadcast>(from), tasks, begins, now, out);
  }
  [[nodiscard]] federated::client_update update(const task_id& id) const {
    random_stream stream(id.client, purpose::test);
    auto made = tests::random_update(stream, e.parts.shared);
    made.id = id;
    return made;
  }
  void report(session_number session, const task_id& id) { machine.on_update(session, update(id), now, out); }

  void ask(std::uint64_t version, const std::vector<std::pair<federated::group, std::uint32_t>>& clients) {
    const federated::broadcast from{e.run, version, models::shared_parameters(e.parts.shared), {}};
    machine.on_evaluation({std::make_shared<const federated::broadcast>(from), clients}, out);
  }
  /// Whether they are believed.
  bool scored(session_number session, std::uint64_t version, std::vector<federated::scored_client> scores) {
    return machine.on_scores(session, {version, std::move(scores)}, out).has_value();
  }

  /// What was told of this kind since the last call; everything else is forgotten.
  template <class What>
  std::vector<What> take() {
    std::vector<What> found;
    for (auto& effect : std::exchange(out, {})) {
      if constexpr (std::is_constructible_v<upward, What>) {
        auto* told = std::get_if<tell_parent>(&effect);
        if (told == nullptr) continue;
        if (auto* content = std::get_if<What>(&told->content)) found.push_back(std::move(*content));
      } else {
        if (auto* one = std::get_if<What>(&effect)) found.push_back(std::move(*one));
      }
    }
    return found;
  }

  /// The same of messages to nodes, with their sessions.
  template <class What>
  std::vector<std::pair<session_number, What>> sent() {
    std::vector<std::pair<session_number, What>> found;
    for (auto& one : take<tell_node>())
      if (auto* content = std::get_if<What>(&one.content)) found.emplace_back(one.session, std::move(*content));
    return found;
  }

  federated::experiment e;
  gateway_machine machine;
  gateway_effects out;
  federated::virtual_time now = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_share_goes_to_the_node_and_comes_back_as_a_partial) {
  gateway one;
  const auto given = one.sent<assign>();
  BOOST_REQUIRE(given.size() == 1U);
  BOOST_TEST(given[0].first == 1U);
  BOOST_TEST(given[0].second.tasks.size() == 2U);
  one.report(1, one.task(0, 1));
  const auto told = one.take<settled>();
  BOOST_REQUIRE(told.size() == 1U);
  BOOST_TEST((told[0].each.at(0).what == outcome::folded));
  one.machine.on_close(0, true, 0, one.out);
  const auto sent = one.take<federated::partial_aggregate>();
  BOOST_REQUIRE(sent.size() == 1U);
  BOOST_TEST(sent[0].folded.size() == 1U);
  BOOST_TEST(sent[0].aggregator == 7U);
  one.report(1, one.task(0, 2));  // too late
  const auto verdict_of_it = one.sent<verdicts>();
  BOOST_REQUIRE(verdict_of_it.size() == 1U);
  BOOST_TEST((verdict_of_it[0].second.each.at(0).what == verdict_kind::unwanted));
}

BOOST_AUTO_TEST_CASE(a_node_reports_for_its_own_clients_only) {
  gateway one;
  one.machine.on_hello(2, {"test", {5, 9}, 0, {}, ""}, 0, one.out);
  one.out.clear();
  one.report(2, one.task(0, 1));
  const auto told = one.sent<verdicts>();
  BOOST_REQUIRE(told.size() == 1U);
  BOOST_TEST(told[0].first == 2U);
  BOOST_TEST((told[0].second.each.at(0).what == verdict_kind::rejected));
  one.report(1, one.task(0, 1));
  BOOST_TEST(one.take<settled>().size() == 1U);
}

BOOST_AUTO_TEST_CASE(verdicts_of_the_parent_go_to_the_nodes_of_their_clients) {
  gateway one;
  one.machine.on_hello(2, {"test", {5, 9}, 0, {}, ""}, 0, one.out);
  one.out.clear();
  const auto verdict_on = [&](std::uint32_t client) { return verdict{one.task(0, client), verdict_kind::unwanted}; };
  one.machine.on_verdicts({{verdict_on(1), verdict_on(7), verdict_on(20)}, 3}, one.out);  // client 20 is nowhere
  const auto told = one.sent<verdicts>();
  BOOST_REQUIRE(told.size() == 2U);
  for (const auto& [session, client] : {std::pair(std::size_t{1}, 1U), {2, 7}}) {
    const auto& to = told[session - 1];
    BOOST_TEST(to.first == session);
    BOOST_TEST(to.second.version == 3U);
    BOOST_REQUIRE(to.second.each.size() == 1U);
    BOOST_TEST((to.second.each[0].task == one.task(0, client)));
  }
}

BOOST_AUTO_TEST_CASE(a_node_ends_tasks_of_its_own_clients_only) {
  gateway one;
  one.machine.on_hello(2, {"test", {5, 9}, 0, {}, ""}, 0, one.out);
  one.out.clear();
  for (const session_number session : {2U, 3U})  // of other clients; of nobody
    one.machine.on_failures(session, {{one.task(0, 1), one.task(0, 2)}}, 0, one.out);
  BOOST_TEST(one.out.empty());
  one.machine.on_failures(1, {{one.task(0, 2)}}, 0, one.out);
  const auto told = one.take<settled>();
  BOOST_REQUIRE(told.size() == 1U);
  BOOST_REQUIRE(told[0].each.size() == 1U);
  BOOST_TEST((told[0].each[0].id == one.task(0, 2)));
  BOOST_TEST((told[0].each[0].why == federated::rejection::client_failed));
  one.report(1, one.task(0, 1));
  BOOST_TEST((one.take<settled>().at(0).each.at(0).what == outcome::folded));
}

// Its parent knows where its clients are, or how long to wait for them.
BOOST_AUTO_TEST_CASE(tasks_of_clients_that_are_not_here_go_back_to_the_parent) {
  gateway one;
  one.report(1, one.task(0, 1));
  one.out.clear();
  one.machine.on_session_lost(1, 10, one.out);
  const auto effects = one.out;
  BOOST_TEST((one.take<detached>().at(0).clients == federated::client_range{0, 4}));
  one.out = effects;
  BOOST_TEST((one.take<withdrawn>().at(0).tasks == std::vector{one.task(0, 2)}));  // the other one is folded
  // The parent hears of the session's end first: it must not give the task to this gateway again.
  BOOST_TEST(std::holds_alternative<detached>(std::get<tell_parent>(effects.at(0)).content));
  one.share(0, {2, 3}, false);  // on its way when the session ended
  BOOST_TEST((one.take<withdrawn>().at(0).tasks == std::vector{one.task(0, 2), one.task(0, 3)}));
  one.machine.on_hello(2, {"test", {0, 4}, 0, {one.task(0, 2)}, ""}, 20, one.out);
  BOOST_TEST(one.sent<assign>().empty());
  one.share(0, {2}, false);
  BOOST_TEST(one.sent<assign>().at(0).first == 2U);
}

BOOST_AUTO_TEST_CASE(the_parent_hears_why_a_node_that_failed_has_ended) {
  gateway one;
  one.machine.on_session_lost(1, 10, one.out, "no room");
  BOOST_TEST(one.take<detached>().at(0).failure == "no room");
}

BOOST_AUTO_TEST_CASE(a_second_session_of_the_same_clients_ends_the_first) {
  gateway one;
  one.out.clear();
  one.machine.on_hello(2, {"test", {0, 4}, 0, {one.task(0, 1), one.task(0, 2)}, ""}, 5, one.out);
  BOOST_TEST(std::ranges::any_of(one.out, [](const auto& effect) {
    const auto* over = std::get_if<end_session>(&effect);
    return over != nullptr && over->session == 1U;
  }));
  BOOST_TEST(one.take<withdrawn>().at(0).tasks.size() == 2U);
  one.report(1, one.task(0, 1));  // from the session that is over
  BOOST_TEST(one.out.empty());
  one.machine.on_session_lost(1, 6, one.out);
  BOOST_TEST(one.out.empty());
  BOOST_TEST(one.machine.sessions() == 1U);
}

// Between the partial and the next share there is no sum to fold into: the update waits for it.
BOOST_AUTO_TEST_CASE(an_asynchronous_update_between_two_shares_is_folded_into_the_second) {
  gateway one(true);
  one.report(1, one.task(0, 1));
  one.machine.on_close(0, true, 0, one.out);
  BOOST_TEST(one.take<federated::partial_aggregate>().at(0).folded.size() == 1U);
  one.report(1, one.task(0, 2));
  one.report(1, one.task(0, 2));  // once is enough
  BOOST_TEST(one.machine.unasked()[static_cast<std::size_t>(federated::rejection::duplicate)] == 1U);
  BOOST_TEST(one.out.empty());
  one.share(1, {}, true);
  const auto told = one.take<settled>();
  BOOST_REQUIRE(told.size() == 1U);
  BOOST_TEST((told[0].each.at(0).id == one.task(0, 2)));
  BOOST_TEST((told[0].each.at(0).what == outcome::folded));
  one.machine.on_close(1, true, 0, one.out);
  const auto second = one.take<federated::partial_aggregate>().at(0);
  BOOST_TEST(second.version == 1U);
  BOOST_REQUIRE(second.folded.size() == 1U);
  BOOST_TEST(second.folded[0].client == 2U);
  BOOST_TEST(second.sums.words.at(0) == 1);
}

BOOST_AUTO_TEST_CASE(a_task_that_is_given_back_is_not_folded_any_more) {
  for (const bool between_shares : {false, true}) {
    gateway one(true);
    if (between_shares) {
      one.machine.on_close(0, true, 0, one.out);
      one.report(1, one.task(0, 2));
    }
    one.out.clear();
    one.machine.on_withdraw({one.task(0, 2)}, 0, one.out);
    BOOST_TEST((one.take<withdrawn>().at(0).tasks == std::vector{one.task(0, 2)}));
    if (between_shares) one.share(1, {}, true);
    one.report(1, one.task(0, 2));
    BOOST_TEST(one.take<settled>().empty());
  }
}

BOOST_AUTO_TEST_CASE(a_node_that_is_there_and_does_not_report_is_not_waited_for_for_ever) {
  gateway one;
  constexpr auto longest = 600 * federated::microseconds_per_second;
  const auto wakes = one.take<wake>();
  BOOST_REQUIRE(!wakes.empty());
  BOOST_TEST(wakes.back().at == longest);
  one.report(1, one.task(0, 1));
  one.now = longest - 2;
  one.machine.on_timer(longest - 1, one.out);
  for (const auto& told : one.take<settled>())
    for (const auto& each : told.each) BOOST_TEST((each.what == outcome::folded));
  one.machine.on_timer(longest, one.out);
  const auto told = one.take<settled>();
  BOOST_REQUIRE(told.size() == 1U);
  BOOST_REQUIRE(told[0].each.size() == 1U);
  BOOST_TEST(told[0].each[0].id.client == 2U);
  BOOST_TEST((told[0].each[0].what == outcome::dropped));
  // What it reports now is not folded.
  one.report(1, one.task(0, 2));
  one.machine.on_close(0, true, one.now, one.out);
  const auto partials = one.take<federated::partial_aggregate>();
  BOOST_REQUIRE(partials.size() == 1U);
  BOOST_REQUIRE(partials[0].folded.size() == 1U);
  BOOST_TEST(partials[0].folded[0].client == 1U);
}

using federated::group;

BOOST_AUTO_TEST_CASE(scores_come_from_nodes_that_were_asked_or_are_missing) {
  gateway one;
  one.machine.on_hello(2, {"test", {5, 9}, 0, {}, ""}, 0, one.out);
  one.out.clear();
  one.ask(3, {{group::seen, 1}, {group::seen, 2}, {group::seen, 6}, {group::seen, 11}});
  const auto effects = one.out;
  const auto asked = one.sent<evaluation_down>();
  BOOST_REQUIRE(asked.size() == 2U);
  BOOST_TEST(asked[0].first == 1U);
  BOOST_TEST(asked[0].second.clients.size() == 2U);
  one.out = effects;
  const auto missing = one.take<evaluation_scores>();
  BOOST_REQUIRE(missing.size() == 1U);
  BOOST_TEST(missing[0].version == 3U);
  BOOST_TEST(missing[0].each.at(0).client == 11U);
  BOOST_TEST(missing[0].unscored);
  // What another node was asked is not its to answer.
  BOOST_TEST(one.scored(1, 3, {{group::seen, 1, {}}, {group::seen, 6, {}}}));
  const auto passed = one.take<evaluation_scores>();
  BOOST_REQUIRE(passed.size() == 1U);
  BOOST_REQUIRE(passed[0].each.size() == 1U);
  BOOST_TEST(passed[0].each[0].client == 1U);
  BOOST_TEST(!passed[0].unscored);
  // Only an aggregator says that it does not reach a client: its parent asks again.
  BOOST_TEST(!one.machine.on_scores(1, {3, {{group::seen, 2, {}}}, true}, one.out).has_value());
  BOOST_TEST(one.out.empty());
  // A node that is lost, or replaced, has nothing more to say: nobody waits for it.
  one.machine.on_session_lost(2, 0, one.out);
  const auto lost = one.take<evaluation_scores>();
  BOOST_REQUIRE(lost.size() == 1U);
  BOOST_TEST(lost[0].version == 3U);
  BOOST_TEST(lost[0].each.at(0).client == 6U);
  BOOST_TEST(lost[0].unscored);
  one.machine.on_hello(4, {"test", {0, 4}, 0, {}, ""}, 0, one.out);
  const auto replaced = one.take<evaluation_scores>();
  BOOST_REQUIRE(replaced.size() == 1U);
  BOOST_TEST(replaced[0].each.at(0).client == 2U);
}

BOOST_AUTO_TEST_CASE(scores_of_an_evaluation_that_is_over_are_passed_over) {
  gateway one;
  one.ask(1, {{group::seen, 1}, {group::seen, 2}});
  one.ask(2, {{group::seen, 1}});
  one.out.clear();
  BOOST_TEST(one.scored(1, 1, {{group::seen, 1, {}}, {group::seen, 2, {}}}));  // it was slow: no error
  BOOST_TEST(one.out.empty());
  BOOST_TEST(one.scored(1, 2, {{group::seen, 1, {}}}));
  BOOST_TEST(one.take<evaluation_scores>().size() == 1U);
}

BOOST_AUTO_TEST_CASE(scores_that_cannot_be_are_refused_whole) {
  gateway one;  // of ratings
  one.ask(1, {{group::seen, 1}, {group::seen, 2}});
  one.out.clear();
  federated::client_score sound{3.0, 3.0, 1, 2, {}};
  auto odd = sound;
  odd.odds = {{0.5F, true}, {0.25F, false}};  // which only models of two classes have
  BOOST_TEST(!one.scored(1, 1, {{group::seen, 1, sound}, {group::seen, 2, odd}}));
  BOOST_TEST(one.out.empty());
  BOOST_TEST(one.scored(1, 1, {{group::seen, 1, sound}, {group::seen, 2, sound}}));
  BOOST_TEST(one.take<evaluation_scores>().at(0).each.size() == 2U);
}

// However often nodes are lost: a wake that is due anyway is not asked for again.
BOOST_AUTO_TEST_CASE(wakes_do_not_pile_up) {
  gateway one;
  std::multiset<federated::virtual_time> due;
  const auto ask = [&] {
    for (const auto& each : one.take<wake>()) due.insert(each.at);
  };
  ask();
  for (session_number node = 1; node <= 100; ++node) {
    one.machine.on_session_lost(node, one.now, one.out);
    ask();
    one.machine.on_hello(node + 1, {"test", {0, 4}, 0, {one.task(0, 1), one.task(0, 2)}, ""}, one.now, one.out);
    one.share(0, {1, 2}, false);
    ask();
    one.now += 5 * federated::microseconds_per_second + 1;
    while (!due.empty() && *due.begin() <= one.now) {
      one.machine.on_timer(*due.begin(), one.out);
      due.erase(due.begin());
      ask();
    }
    BOOST_TEST(due.size() <= 2U);
  }
  BOOST_TEST(!due.empty());  // the tasks are open still
}

BOOST_AUTO_TEST_CASE(an_update_may_weigh_as_much_as_its_node_declared_examples) {
  gateway one;
  one.machine.on_hello(2, {"test", {5, 9}, 0, {}, ""}, 0, one.out, std::vector<client_sizes>(5, {40, 0, 3, 0}));
  one.share(0, {6, 7}, false);
  for (const auto& [client, weight] : {std::pair(6U, 40U), std::pair(7U, 41U)}) {
    one.take<settled>();
    auto update = one.update(one.task(0, client));
    update.weight = weight;
    one.machine.on_update(2, update, 0, one.out);
    const auto told = one.take<settled>();
    BOOST_REQUIRE(told.size() == 1U);
    const auto& end = told[0].each.at(0);
    BOOST_TEST((end.what == (weight <= 40 ? outcome::folded : outcome::rejected)));
    if (weight > 40) BOOST_TEST((end.why == federated::rejection::weight_bound));
  }
}

BOOST_AUTO_TEST_CASE(scores_of_more_predictions_than_the_node_declared_are_not_believed) {
  gateway one;
  one.machine.on_hello(2, {"test", {5, 9}, 0, {}, ""}, 0, one.out, std::vector<client_sizes>(5, {40, 2, 3, 0}));
  using federated::group;
  const auto claims = [](group in, std::uint64_t examples) {
    federated::scored_client score{in, 5, {}};
    score.score.examples = examples;
    return score;
  };
  for (const auto& [in, most] :
       {std::pair(group::validation, 2U), std::pair(group::seen, 3U), std::pair(group::unseen, 0U)}) {
    one.ask(3, {{in, 5}});
    BOOST_TEST(!one.scored(2, 3, {claims(in, most + 1)}));
    BOOST_TEST(!one.scored(2, 3, {claims(in, std::uint64_t{1} << 40U)}));
    BOOST_TEST(one.scored(2, 3, {claims(in, most)}));
  }
}

BOOST_AUTO_TEST_SUITE_END()
