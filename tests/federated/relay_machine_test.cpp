// The relay's machine, one event at a time: child 0 its own gateway, 1 and 2 aggregators below it.
#include "federated/protocol/relay_machine.hpp"

#include <boost/test/unit_test.hpp>

#include "federated/settings/aggregation.hpp"
#include "tests/federated/relay_at_work.hpp"

BOOST_AUTO_TEST_SUITE(relay_machines)

using namespace furlong;
using namespace furlong::federated::protocol;
using federated::outcome;
using federated::task_id;

namespace {

using testing::relay;
using testing::relay_number;
using tasks = std::vector<task_id>;

}  // namespace

BOOST_AUTO_TEST_CASE(tasks_go_to_where_their_clients_are) {
  relay one;
  one.share(0, {1, 6, 7, 20});
  auto given = one.down<assign>();
  BOOST_REQUIRE(given.size() == 2U);                                       // nothing for child 2
  BOOST_TEST((given[0].at(0).tasks == tasks{one.task(1), one.task(20)}));  // which is nowhere
  BOOST_TEST((given[1].at(0).tasks == tasks{one.task(6), one.task(7)}));
  BOOST_TEST(given[1].at(0).begins);
  one.share(0, {8, 12}, false);
  given = one.down<assign>();
  BOOST_TEST(!given[1].at(0).begins);  // it has begun
  BOOST_TEST(given[2].at(0).begins);
}

BOOST_AUTO_TEST_CASE(the_partial_of_a_tree_is_that_of_one_aggregator_that_folded_all) {
  relay one;
  one.share(0, {1, 6, 11});
  auto sum = federated::make_accumulator(*one.e.settings.aggregation, one.e.parts.shared, {});
  std::uint64_t examples = 0;
  for (const std::uint32_t client : {11U, 1U, 6U}) {
    const auto update = one.update(one.task(client));
    BOOST_TEST(!sum->fold(update));
    examples += update.examples;
    one.report(client / 5, one.task(client));
  }
  BOOST_TEST(one.up<settled>().size() == 3U);
  BOOST_TEST(one.machine.open() == 0U);
  one.machine.on_order(close_request{1, true}, one.out);
  BOOST_TEST(one.out.empty());  // of another version
  one.machine.on_order(close_request{0, true}, one.out);
  BOOST_TEST(one.down<close_request>().size() == 3U);
  one.close(1, 0);
  one.close(0, 0);
  BOOST_TEST(one.up<federated::partial_aggregate>().empty());
  one.close(2, 0);
  const auto sent = one.up<federated::partial_aggregate>();
  BOOST_REQUIRE(sent.size() == 1U);
  const auto& partial = sent[0];
  BOOST_TEST(partial.aggregator == relay_number);
  BOOST_TEST((partial.folded == std::vector<federated::member>{{1, 0}, {6, 0}, {11, 0}}));
  BOOST_TEST(partial.examples == examples);
  BOOST_TEST(partial.weight == sum->weight());
  BOOST_TEST(partial.loss_fixed == sum->loss_fixed());
  BOOST_TEST((partial.sums == sum->take()));
}

BOOST_AUTO_TEST_CASE(a_share_of_nobody_is_answered_at_once) {
  relay one;
  one.share(0, {});
  one.machine.on_order(close_request{0, false}, one.out);
  const auto sent = one.up<federated::partial_aggregate>();
  BOOST_REQUIRE(sent.size() == 1U);
  BOOST_TEST(sent[0].folded.empty());
  one.machine.on_order(close_request{0, false}, one.out);
  BOOST_TEST(one.out.empty());  // once
}

BOOST_AUTO_TEST_CASE(asynchronous_shares_begin_everywhere_and_before_tasks_of_earlier_versions) {
  relay one(true);
  one.share(3, {});
  BOOST_TEST(one.down<assign>().size() == 3U);
  const auto late = one.machine.add_child({"test", "c", "c:1", ""});
  BOOST_TEST(one.tell(late, attached{{20, 23}, {}}).has_value());
  one.machine.on_order(assign{0, one.model(1), {one.task(21, 1)}, false}, one.out);
  const auto given = one.down<assign>();
  BOOST_REQUIRE(given.at(late).size() == 2U);
  BOOST_TEST(given.at(late)[0].begins);
  BOOST_TEST(given.at(late)[0].from->version == 3U);
  BOOST_TEST(!given.at(late)[1].begins);
  BOOST_TEST(given.at(late)[1].from->version == 1U);
}

BOOST_AUTO_TEST_CASE(partials_that_are_not_to_be_believed_change_nothing) {
  relay one;
  one.share(0, {1, 6, 7});
  one.report(1, one.task(6));
  one.report(0, one.task(1));
  gateway_effects told;
  one.gateways.at(1).on_close(0, true, 0, told);
  const auto sound = std::get<federated::partial_aggregate>(std::get<tell_parent>(told.back()).content);
  BOOST_TEST(!one.tell(1, sound));  // before it was asked for
  one.machine.on_order(close_request{0, true}, one.out);
  one.out.clear();
  const auto refused = [&](std::uint32_t child, auto change) {
    auto copy = sound;
    change(copy);
    const auto got = one.tell(child, copy);
    BOOST_TEST(!got);
    BOOST_TEST(one.out.empty());
    return got ? std::string() : got.error().text();
  };
  const auto contains = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  BOOST_TEST(contains(refused(1, [](auto& p) { ++p.version; }), "belongs to version 1"));
  BOOST_TEST(contains(refused(1, [](auto& p) { ++p.run; }), "another run"));
  BOOST_TEST(contains(refused(0, [](auto&) {}), "came from aggregator 0"));
  BOOST_TEST(contains(refused(1, [](auto& p) { p.folded.push_back({7, 0}); }), "does not contain exactly"));
  BOOST_TEST(contains(refused(1, [](auto& p) { ++p.weight; }), "sums that do not match"));
  BOOST_TEST(contains(refused(1, [](auto& p) { p.sums.words.pop_back(); }), ""));
  BOOST_TEST(contains(refused(2, [](auto&) {}), "was not asked for"));
  BOOST_TEST(one.tell(1, sound).has_value());
  BOOST_TEST(!one.tell(1, sound));  // twice
  // Nor may a child fold when its share is over.
  BOOST_TEST(!one.tell(1, settled{{one.ended(7, outcome::folded)}}));
  BOOST_TEST(!one.tell(1, attached{{20, 24}, {}}));  // there is no client 24
}

BOOST_AUTO_TEST_CASE(a_task_follows_its_client_from_child_to_child) {
  relay one;
  one.share(0, {1, 2, 3});
  one.out.clear();
  BOOST_TEST(one.tell(1, attached{{0, 4}, {one.task(1)}}).has_value());
  BOOST_REQUIRE(one.out.size() == 2U);
  BOOST_TEST(std::holds_alternative<attached>(std::get<tell_parent>(one.out[0]).content));  // before anything else
  std::size_t withdrawn_tasks = 0;
  const auto asked = one.down<withdrawal>();
  for (const auto& back : asked.at(0)) withdrawn_tasks += back.tasks.size();
  BOOST_TEST(withdrawn_tasks == 3U);
  BOOST_TEST(one.tell(0, detached{{0, 4}}).has_value());
  BOOST_TEST(one.out.empty());  // it is still here
  // Task 3 had ended before it could be given back.
  BOOST_TEST(one.tell(0, settled{{one.ended(3, outcome::late)}}).has_value());
  BOOST_TEST((one.down<verdicts>()[1].at(0).each.at(0).task == one.task(3)));  // where the node is now
  BOOST_TEST(one.tell(0, withdrawn{{one.task(1), one.task(2)}}).has_value());
  BOOST_TEST((one.up<withdrawn>().at(0).tasks == tasks{one.task(1), one.task(2)}));  // whichever node holds them
  one.share(0, {1}, false);
  BOOST_TEST((one.down<assign>().at(1).at(0).tasks == tasks{one.task(1)}));
}

BOOST_AUTO_TEST_CASE(a_child_ends_its_own_tasks_only) {
  relay one;
  one.share(0, {1, 6});
  one.out.clear();
  BOOST_TEST(one.tell(1, settled{{one.ended(1, outcome::late)}}).has_value());  // of child 0
  BOOST_TEST(one.up<settled>().empty());
  BOOST_TEST(one.machine.open() == 2U);
  BOOST_TEST(one.tell(0, settled{{one.ended(1, outcome::late)}}).has_value());
  BOOST_TEST(one.machine.open() == 1U);
}

BOOST_AUTO_TEST_CASE(the_parent_has_back_what_it_asks_for) {
  relay one;
  one.share(0, {1, 6});
  one.out.clear();
  one.machine.on_order(withdrawal{{one.task(1), one.task(6), one.task(7)}}, one.out);
  BOOST_TEST(one.down<withdrawal>().size() == 2U);
  one.machine.on_order(withdrawal{{one.task(6)}}, one.out);
  BOOST_TEST(one.out.empty());  // once
  BOOST_TEST(one.tell(1, withdrawn{{one.task(6)}}).has_value());
  BOOST_TEST((one.up<withdrawn>().at(0).tasks == tasks{one.task(6)}));
  BOOST_TEST(one.machine.open() == 1U);
}

BOOST_AUTO_TEST_CASE(what_a_lost_child_had_not_sent_is_lost) {
  relay one;
  one.share(0, {1, 5, 6, 7, 8});
  one.report(1, one.task(5));
  one.report(0, one.task(1));
  BOOST_TEST(one.tell(2, attached{{7, 7}, {one.task(7)}}).has_value());  // on its way to child 2
  BOOST_TEST(one.tell(2, attached{{8, 8}, {}}).has_value());
  one.machine.on_order(close_request{0, false}, one.out);
  one.out.clear();
  one.machine.on_child_lost(1, one.out);
  const auto effects = one.out;
  const auto lost = one.up<tasks_lost>();
  BOOST_REQUIRE(lost.size() == 1U);
  BOOST_TEST((lost[0].folded == tasks{one.task(5)}));
  BOOST_TEST((lost[0].open == tasks{one.task(6)}));
  one.out = effects;
  BOOST_TEST((one.up<withdrawn>().at(0).tasks == tasks{one.task(7), one.task(8)}));
  one.out = effects;
  BOOST_TEST((one.up<detached>().at(0).clients == federated::client_range{5, 9}));
  one.out = effects;
  BOOST_TEST(one.up<detached>().at(0).strayed);
  BOOST_TEST(one.machine.open() == 0U);
  // Nobody waits for it: the share closes without what it had.
  one.close(0, 0);
  BOOST_TEST((one.up<federated::partial_aggregate>().at(0).folded == std::vector<federated::member>{{1, 0}}));
  BOOST_TEST(one.tell(1, withdrawn{{one.task(7)}}).has_value());  // a voice from the grave
  BOOST_TEST(one.out.empty());
}

BOOST_AUTO_TEST_CASE(what_a_child_sent_before_it_was_lost_is_not_lost) {
  relay one;
  one.share(0, {1, 6});
  one.report(1, one.task(6));
  one.machine.on_order(close_request{0, false}, one.out);
  one.close(1, 0);
  one.out.clear();
  one.machine.on_child_lost(1, one.out);
  BOOST_TEST(one.up<tasks_lost>().empty());
  one.close(0, 0);
  BOOST_TEST(one.up<federated::partial_aggregate>().at(0).folded.size() == 1U);
}

BOOST_AUTO_TEST_CASE(losses_further_down_are_passed_on) {
  relay one;
  one.share(0, {5, 6, 7});
  one.report(1, one.task(5));
  one.report(1, one.task(6));
  one.out.clear();
  BOOST_TEST(one.tell(1, tasks_lost{{one.task(5), one.task(9)}, {one.task(7), one.task(8)}}).has_value());
  const auto lost = one.up<tasks_lost>();
  BOOST_TEST((lost.at(0).folded == tasks{one.task(5)}));  // the others are none of its own
  BOOST_TEST((lost.at(0).open == tasks{one.task(7)}));
}

BOOST_AUTO_TEST_CASE(scores_come_from_where_clients_are_or_are_missing) {
  relay one;
  using federated::group;
  const evaluation_down asked{one.model(2),
                              {{group::seen, 1}, {group::seen, 6}, {group::unseen, 6}, {group::seen, 20}}};
  one.machine.on_order(asked, one.out);
  const auto effects = one.out;
  const auto missing = one.up<evaluation_scores>();
  BOOST_TEST(missing.at(0).each.at(0).client == 20U);
  BOOST_TEST(missing.at(0).unscored);
  one.out = effects;
  BOOST_TEST(one.down<evaluation_down>().at(1).at(0).clients.size() == 2U);
  evaluation_scores got{2, {}};
  got.each.push_back({group::seen, 6, {}});
  got.each.back().score.examples = 3;
  got.each.push_back({group::seen, 1, {}});  // not asked of this child
  BOOST_TEST(one.tell(1, got).has_value());
  const auto passed = one.up<evaluation_scores>();
  BOOST_REQUIRE(passed.at(0).each.size() == 1U);
  BOOST_TEST(passed.at(0).each[0].score.examples == 3U);
  BOOST_TEST(!passed.at(0).unscored);
  one.machine.on_child_lost(1, one.out);
  const auto rest = one.up<evaluation_scores>();
  BOOST_TEST(rest.at(0).each.size() == 1U);
  BOOST_TEST((rest.at(0).each[0].in == group::unseen));
  BOOST_TEST(rest.at(0).unscored);
}

BOOST_AUTO_TEST_CASE(scores_of_an_evaluation_that_is_over_go_nowhere) {
  relay one;
  using federated::group;
  one.machine.on_order(evaluation_down{one.model(1), {{group::seen, 6}, {group::seen, 7}}}, one.out);
  one.machine.on_order(evaluation_down{one.model(2), {{group::seen, 6}}}, one.out);
  one.out.clear();
  BOOST_TEST(one.tell(1, evaluation_scores{1, {{group::seen, 6, {}}, {group::seen, 7, {}}}}).has_value());
  BOOST_TEST(one.out.empty());
  BOOST_TEST(one.tell(1, evaluation_scores{2, {{group::seen, 6, {}}, {group::seen, 7, {}}}}).has_value());
  const auto passed = one.up<evaluation_scores>();
  BOOST_REQUIRE(passed.size() == 1U);
  BOOST_TEST(passed[0].version == 2U);
  BOOST_TEST(passed[0].each.size() == 1U);
  one.machine.on_child_lost(1, one.out);  // it owes nothing of the first
  BOOST_TEST(one.up<evaluation_scores>().empty());
}

BOOST_AUTO_TEST_CASE(verdicts_go_by_the_way_and_checkpoints_to_all) {
  relay one;
  one.machine.on_order(
      verdicts{{{one.task(6), verdict_kind::durable, {}}, {one.task(20), verdict_kind::durable, {}}}, 7}, one.out);
  const auto judged = one.down<verdicts>();
  BOOST_TEST(judged.size() == 1U);
  BOOST_TEST(judged.at(1).at(0).each.size() == 1U);
  BOOST_TEST(judged.at(1).at(0).version == 7U);
  one.machine.on_order(checkpointed{4}, one.out);
  BOOST_TEST(one.down<checkpointed>().size() == 3U);
  one.machine.on_order(displaced{4711}, one.out);
  BOOST_TEST(one.down<displaced>().size() == 3U);
}

BOOST_AUTO_TEST_CASE(there_is_room_for_fan_in_aggregators_and_others_are_sent_on_in_turn) {
  relay one;
  const auto ask = [&](const char* own) {
    const auto place = one.machine.place_aggregator({"test", "new", "new:1", own});
    return place.here ? std::string("here") : place.elsewhere;
  };
  BOOST_TEST(ask("") == "a:2");
  BOOST_TEST(ask("new:2") == "b:2");
  BOOST_TEST(ask("") == "a:2");
  BOOST_TEST(ask("b:2") == "a:2");  // back before its loss was noticed: not to itself
  one.machine.on_child_lost(1, one.out);
  BOOST_TEST(ask("") == "here");
  BOOST_TEST(one.machine.add_child({"test", "c", "c:1", ""}) == 3U);
  BOOST_TEST(ask("") == "b:2");
  one.machine.on_child_lost(2, one.out);
  BOOST_TEST(one.machine.add_child({"test", "d", "d:1", ""}) == 4U);
  BOOST_TEST(ask("") == "");  // nowhere
}

BOOST_AUTO_TEST_CASE(nodes_are_sent_on_to_where_fewer_clients_are) {
  relay one;
  BOOST_TEST(one.machine.routes().gateway_with_fewer({17, 17}, "") == "");     // five everywhere
  BOOST_TEST(one.machine.routes().gateway_with_fewer({18, 18}, "") == "a:1");  // another one is about to attach here
  one.machine.routes().refused({18, 18});
  BOOST_TEST(one.tell(0, attached{{15, 16}, {}}).has_value());
  BOOST_TEST(one.machine.routes().gateway_with_fewer({17, 17}, "") == "a:1");
  BOOST_TEST(one.machine.routes().gateway_with_fewer({17, 17}, "a:1") == "b:1");
}

BOOST_AUTO_TEST_SUITE_END()
