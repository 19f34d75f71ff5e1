// What a server refuses to believe of its aggregators; one event at a time.
#include "federated/protocol/server_machine.hpp"

#include <boost/test/unit_test.hpp>
#include <functional>

#include "federated/experiment/validation.hpp"
#include "federated/rounds/is_over.hpp"
#include "federated/settings/aggregation.hpp"
#include "tests/federated/open_round.hpp"

BOOST_AUTO_TEST_SUITE(server_machines)

using namespace furlong;
using federated::outcome;
using federated::partial_aggregate;
using federated::rejection;
using federated::task_id;
using namespace furlong::federated::protocol;
using tests::open_round;

BOOST_AUTO_TEST_CASE(a_cohort_is_assigned_once) {
  const open_round round;
  std::vector<std::uint32_t> all;
  for (const auto& share : round.shares) {
    BOOST_TEST(share.tasks.size() == 4U);
    BOOST_TEST(share.from->version == 0U);
    for (const auto& task : share.tasks) all.push_back(task.client);
  }
  std::ranges::sort(all);
  BOOST_TEST((std::ranges::adjacent_find(all) == all.end()));
}

BOOST_AUTO_TEST_CASE(a_partial_that_cannot_be_is_refused_and_changes_nothing) {
  struct lie {
    const char* says;
    std::function<void(partial_aggregate&, const open_round&)> tell;
  };
  const std::vector<lie> lies = {
      {"another run", [](auto& p, auto&) { ++p.run; }},
      {"version 1", [](auto& p, auto&) { ++p.version; }},
      {"not asked for", [](auto& p, auto&) { p.aggregator = 2; }},
      {"exactly the updates", [](auto& p, auto&) { p.aggregator = 1; }},
      {"exactly the updates", [](auto& p, auto& r) { p.folded[0].client = r.shares[1].tasks[0].client; }},
      {"exactly the updates", [](auto& p, auto&) { p.folded[0] = p.folded[1]; }},
      {"exactly the updates", [](auto& p, auto&) { p.folded[0].attempt = 1; }},
      {"exactly the updates",
       [](auto& p, auto& r) {
         p.folded.push_back({r.shares[1].tasks[0].client, 0});
       }},
      {"do not match its members", [](auto& p, auto&) { p.folded.pop_back(); }},
      {"do not match its members", [](auto& p, auto&) { ++p.weight; }},
      {"do not match its members", [](auto& p, auto&) { ++p.loss_fixed; }},
      {"do not match its members", [](auto& p, auto&) { p.sums.words[0] = -1; }},
      {"do not match its members", [](auto& p, auto&) { ++p.sums.words[0]; }},
      {"do not match its members", [](auto& p, auto&) { p.sums.words.resize(2); }},
      {"words where this rule keeps", [](auto& p, auto&) { p.sums.words.push_back(0); }},
  };
  open_round round;
  BOOST_TEST(round.server.on_partial(round.answer(0).partial, 0).error().reason.find("exactly the updates") !=
             std::string::npos);  // of which nothing was told yet
  round.tell(0);
  round.tell(1);
  round.tell(1);  // twice is as good as once
  for (const auto& one : lies) {
    auto partial = round.answer(0).partial;
    one.tell(partial, round);
    const auto refused = round.server.on_partial(partial, 0);
    BOOST_REQUIRE_MESSAGE(!refused, one.says);
    BOOST_TEST(refused.error().text().find(one.says) != std::string::npos, refused.error().text());
  }
  // The truth is still welcome, once, and closes the round as if nothing had been.
  BOOST_TEST(round.server.on_partial(round.answer(1).partial, 0).value().empty());
  BOOST_TEST(round.server.on_partial(round.answer(1).partial, 0).error().reason == "arrived before");
  const auto closed = round.server.on_partial(round.answer(0).partial, 0).value();
  BOOST_TEST(std::get<acknowledge>(closed.at(0)).tasks.size() == 8U);
  const auto& report = std::get<round_closed>(closed.at(1)).report;
  BOOST_TEST(report.folded == 8U);
  BOOST_TEST(report.bytes_up > 0U);
  BOOST_TEST(report.applied);
  BOOST_TEST(round.server.on_partial(round.answer(0).partial, 0).error().reason == "belongs to version 0");
  open_round untouched;
  untouched.tell(0);
  untouched.tell(1);
  BOOST_REQUIRE(untouched.server.on_partial(untouched.answer(0).partial, 0));
  BOOST_REQUIRE(untouched.server.on_partial(untouched.answer(1).partial, 0));
  BOOST_TEST(tests::same_bits(round.server.state().model.values(), untouched.server.state().model.values()));
}

// The loss that a client reports decides who is drawn by power of choice: only what passed the checks is remembered.
BOOST_AUTO_TEST_CASE(claims_of_updates_that_are_not_folded_are_not_believed) {
  open_round round;
  auto told = round.answer(0);
  auto& rejected = told.settled.at(0);
  rejected.what = federated::outcome::rejected;
  rejected.why = rejection::norm_bound;
  rejected.loss = 1e9;
  auto& late = told.settled.at(1);
  late.what = federated::outcome::late;
  late.loss = std::numeric_limits<double>::infinity();
  static_cast<void>(round.server.on_settled(0, told.settled, 0));
  const auto& ledger = *round.server.state().ledger;
  BOOST_TEST(ledger[rejected.id.client].loss == 0.0F);
  BOOST_TEST(ledger[late.id.client].loss == 0.0F);
  BOOST_TEST(ledger[told.settled.at(2).id.client].loss > 0.0F);
}

namespace {

/// Ends the round with what the aggregators answer to updates of values below `size`, the first one's changed by
/// `change`. What the server says to the last partial.
server_effects end_round(open_round& round, const std::function<void(std::vector<federated::settlement>&)>& change,
                         float size = 1.0F) {
  server_effects last;
  for (const std::uint32_t a : {0U, 1U}) {
    auto sent = round.answer(a, size);
    if (a == 0) change(sent.settled);
    BOOST_TEST(round.server.on_settled(a, sent.settled, 0).empty());
    auto told = round.server.on_partial(sent.partial, 0);
    BOOST_REQUIRE(told);
    last = std::move(*told);
  }
  return last;
}

const federated::round_report& report_in(const server_effects& effects) {
  for (const auto& effect : effects)
    if (const auto* closed = std::get_if<round_closed>(&effect)) return closed->report;
  throw std::logic_error("no round was closed");
}

void begin_next(open_round& round) {
  round.shares.clear();
  for (auto& effect : round.server.on_proceed()) round.shares.push_back(std::get<assign>(effect));
}

}  // namespace

BOOST_AUTO_TEST_CASE(limits_follow_the_updates_of_closed_versions) {
  open_round round;
  BOOST_TEST((round.shares[0].from->limits == federated::update_limits{}));
  BOOST_TEST(!report_in(end_round(round, [](auto&) {})).gave_up);
  begin_next(round);
  const auto& limits = round.shares[0].from->limits;
  BOOST_TEST(limits.norm != 0);
  BOOST_TEST(limits.weight == 0);  // the server knows how many examples its clients have
  BOOST_TEST((limits == round.server.state().sizes.limits(federated::norm_bound_kind::adaptive)));
  BOOST_TEST(round.server.state().sizes.recent().norms.total() == 8U);

  federated::aggregation_settings fixed;
  fixed.norm_bound = federated::norm_bound_kind::fixed;
  open_round other(fixed);
  end_round(other, [](auto&) {});
  begin_next(other);
  BOOST_TEST((other.shares[0].from->limits == federated::update_limits{}));
}

BOOST_AUTO_TEST_CASE(a_round_with_an_outlier_is_abandoned_when_no_limit_was_known) {
  const auto enlarge = [](auto& settled) { settled[0].size.norm = 255; };
  open_round round;
  const auto before = federated::initial_model(round.e);
  const auto effects = end_round(round, enlarge);
  const auto& report = report_in(effects);
  BOOST_TEST(report.gave_up);
  BOOST_TEST(report.abandoned == 8U);
  BOOST_TEST(report.folded == 0U);
  BOOST_TEST(tests::same_bits(round.server.state().model.values(), before.values()));
  const auto& event = std::get<note>(effects.front()).event;
  BOOST_TEST(event.what == "round-abandoned");
  BOOST_TEST(event.detail == federated::to_string(federated::size_fault::outlier));
  begin_next(round);
  BOOST_TEST(round.shares[0].from->limits.norm != 0);
  BOOST_TEST(round.shares[0].from->limits.norm < 255);
  BOOST_TEST(!report_in(end_round(round, enlarge)).gave_up);  // now its aggregator judges

  federated::aggregation_settings fixed;
  fixed.norm_bound = federated::norm_bound_kind::fixed;
  open_round other(fixed);
  BOOST_TEST(!report_in(end_round(other, enlarge)).gave_up);
}

BOOST_AUTO_TEST_CASE(a_version_before_any_limit_only_measures_where_updates_are_clipped) {
  federated::aggregation_settings clip;
  clip.norm_bound = federated::norm_bound_kind::clip;
  open_round round(clip);
  const auto before = federated::initial_model(round.e);
  const auto effects = end_round(round, [](auto&) {});
  BOOST_TEST(report_in(effects).gave_up);
  BOOST_TEST(std::get<note>(effects.front()).event.detail == federated::to_string(federated::size_fault::unknown));
  BOOST_TEST(tests::same_bits(round.server.state().model.values(), before.values()));
  begin_next(round);
  BOOST_TEST(round.shares[0].from->limits.norm != 0);
  BOOST_TEST(!report_in(end_round(
                            round, [](auto&) {}, 0.3F))
                  .gave_up);
  BOOST_TEST(!tests::same_bits(round.server.state().model.values(), before.values()));
}

// Else a limit that is too low for all would stay so for good.
BOOST_AUTO_TEST_CASE(updates_that_a_limit_refused_count_for_the_next_limit) {
  open_round round;
  const auto told = round.answer(0).settled;
  auto rejected = told;
  for (auto& one : rejected) {
    one.what = outcome::rejected;
    one.why = rejection::norm_bound;
    one.size.norm = 200;
  }
  static_cast<void>(round.server.on_settled(0, rejected, 0));
  aggregator_machine machine(round.e, 0);
  aggregator_effects out;
  machine.on_assignment(round.shares[0].from, {}, true, out);
  BOOST_REQUIRE(round.server.on_partial(std::get<partial_aggregate>(out.back()), 0));
  const auto sent = round.answer(1);
  static_cast<void>(round.server.on_settled(1, sent.settled, 0));
  BOOST_REQUIRE(round.server.on_partial(sent.partial, 0));
  BOOST_TEST(round.server.state().sizes.recent().norms.total() == 8U);
  BOOST_TEST(round.server.state().sizes.recent().norms.by_level()[200] == 4U);
}

BOOST_AUTO_TEST_CASE(a_median_training_loss_that_grew_too_much_ends_the_run) {
  for (const auto& [liars, diverges] : {std::pair(4U, false), std::pair(5U, true)}) {
    open_round round;
    const auto tell_losses = [&round](std::uint32_t high) {
      for (const std::uint32_t a : {0U, 1U}) {
        auto sent = round.answer(a);
        for (auto& one : sent.settled) one.loss = high > 0 && high-- > 0 ? 501.0 : 0.5;
        static_cast<void>(round.server.on_settled(a, sent.settled, 0));
        BOOST_REQUIRE(round.server.on_partial(sent.partial, 0));
      }
      return round.server.state().losses;
    };
    BOOST_TEST(tell_losses(0).training.value() == 0.5);
    begin_next(round);
    BOOST_TEST(tell_losses(liars).diverged.empty() == !diverges);
    BOOST_TEST(is_over(round.e.settings, round.server.state()) == diverges);
  }
}

// By then its client may be at work on the next one.
BOOST_AUTO_TEST_CASE(a_settlement_of_another_task_of_the_client_changes_nothing) {
  open_round round;
  const auto open = round.shares[0].tasks[0];
  const auto before = round.server.state().counts;
  for (auto other :
       {task_id{open.run, 1, open.client, 0}, {open.run, 0, open.client, 1}, {open.run + 1, 0, open.client, 0}})
    for (const auto what : {outcome::folded, outcome::rejected, outcome::dropped, outcome::late}) {
      federated::settlement one;
      one.id = other;
      one.what = what;
      one.examples = 7;
      BOOST_TEST(round.server.on_settled(0, {one}, 0).empty());
    }
  BOOST_TEST(round.server.in_flight() == 8U);
  BOOST_TEST(round.server.folding() == 0U);
  BOOST_TEST((round.server.state().counts == before));
  BOOST_TEST(round.next(1.0F).size() == 2U);  // its own end still counts
}

// A node can make them up. Of clients that wait for a sum with their updates, others would be selected instead.
BOOST_AUTO_TEST_CASE(letters_change_nothing_without_secure_aggregation) {
  auto e = tests::two_aggregators();
  e.settings.participation->mode = federated::participation_mode::async;
  e.settings.participation->buffer = 4;
  e.settings.participation->concurrency = 8;
  server_machine server(e, federated::initial_state(e));
  BOOST_REQUIRE(std::holds_alternative<proceed>(server.start().at(0)));
  BOOST_REQUIRE(!server.on_proceed().empty());
  letters forged;
  for (const auto& task : server.open_tasks())
    forged.each.push_back({task.id, federated::privacy::secure_step::keys, {1, 2, 3}});
  BOOST_REQUIRE(forged.each.size() == 8U);
  BOOST_TEST(server.on_letters(0, forged, 0).empty());
  BOOST_TEST(server.in_flight() == 8U);
}

// Clients that move by more than 30 would all be refused in the next round, and in all after it.
BOOST_AUTO_TEST_CASE(fedatts_constants_of_the_next_round_follow_this_one) {
  federated::aggregation_settings rule;
  rule.rule = federated::chosen_rule("fedatt");
  rule.max_norm = 1024.0;
  open_round round(rule);
  const auto given = round.next(3.0F);
  const auto& reference = given.at(0).from->reference;
  BOOST_REQUIRE(reference.size() == round.e.parts.shared->count());
  BOOST_TEST(*std::ranges::max_element(reference) > 0.0);  // as it was in the first round
  BOOST_TEST((reference == round.server.state().reference));
  BOOST_TEST((reference == given.at(1).from->reference));
}

BOOST_AUTO_TEST_SUITE_END()
