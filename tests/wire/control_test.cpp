// Control messages there and back, and those that may not be sent.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "tests/wire/compare.hpp"
#include "tests/wire/control_samples.hpp"
#include "tests/wire/samples.hpp"
#include "wire/decode.hpp"
#include "wire/encode.hpp"

BOOST_AUTO_TEST_SUITE(control_messages)

using namespace furlong;
using namespace furlong::wire;
using namespace furlong::federated::protocol;

namespace {

// The message in a frame, which must be a control message.
control read_back(decoder& read, const encoded& frame) {
  auto found = read.decode(frame.bytes());
  BOOST_REQUIRE_MESSAGE(found.has_value(), samples::complaint(found));
  return std::visit(
      []<class Found>(Found& one) -> control {
        if constexpr (std::is_constructible_v<control, Found>) {
          return std::move(one);
        } else {
          throw std::logic_error("not a control message");
        }
      },
      *found);
}

encoded frame_of(const control& message) {
  auto frame = encoder::encode(message);
  BOOST_REQUIRE_MESSAGE(frame.has_value(), samples::complaint(frame));
  return *frame;
}

void check_refused(const control& message, const std::string& part) {
  const auto outcome = encoder::encode(message);
  BOOST_REQUIRE_MESSAGE(!outcome.has_value(), "accepted, but expected: " << part);
  BOOST_TEST(outcome.error().text().find(part) != std::string::npos, outcome.error().text() << " lacks " << part);
}

close_notice saying(std::string why) { return {std::move(why), false}; }

evaluation_scores scores_of(federated::client_score score) {
  return {1, {{federated::group::seen, 1, std::move(score)}}};
}

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

BOOST_AUTO_TEST_CASE(one_of_each_kind_survives_a_round_trip_before_a_layout_is_known) {
  decoder read;
  std::set<std::size_t> kinds;
  for (const auto& [name, sent] : samples::small_controls()) {
    const auto frame = frame_of(sent);
    BOOST_TEST(frame.size() == encoded_size(sent), name);
    BOOST_TEST(frame.size() <= largest_control(3), name);
    BOOST_TEST(samples::same(read_back(read, frame), sent), name);
    kinds.insert(sent.index());
  }
  BOOST_TEST(kinds.size() == std::variant_size_v<control>);
}

BOOST_AUTO_TEST_CASE(random_messages_of_all_kinds) {
  random_stream random(11, purpose::test);
  decoder read(samples::small_layout());
  for (int i = 0; i < 200; ++i)
    for (std::size_t kind = 0; kind < std::variant_size_v<control>; ++kind) {
      const auto sent = samples::random_control(kind, random);
      const auto frame = frame_of(sent);
      BOOST_TEST(frame.size() == encoded_size(sent));
      BOOST_TEST(frame.size() <= largest_control(20 * 4));
      BOOST_TEST(samples::same(read_back(read, frame), sent));
      BOOST_TEST((samples::copy_of(frame_of(sent)) == samples::copy_of(frame)));
    }
}

BOOST_AUTO_TEST_CASE(without_a_layout_all_that_has_one_is_refused_by_kind) {
  const encoder make(samples::small_layout());
  decoder none;
  decoder null(nullptr);
  for (auto* read : {&none, &null}) {
    const auto refusal = [&](const encoded& frame) {
      const auto found = read->decode(frame.bytes());
      return found.has_value() ? std::string("accepted") : found.error().text();
    };
    const std::string rest = ", expected none of a run's layout before the run is known";
    BOOST_TEST(refusal(*make.encode(samples::small_broadcast())) == "message: found a broadcast" + rest);
    BOOST_TEST(refusal(*make.encode(samples::small_update(), update_format::dense)) ==
               "message: found an update" + rest);
    BOOST_TEST(refusal(*make.encode(samples::small_partial())) == "message: found a partial aggregate" + rest);
    BOOST_TEST(read->decode(encoder::encode(samples::small_task()).bytes()).has_value());
  }
}

BOOST_AUTO_TEST_CASE(control_messages_are_read_without_a_layout) {
  decoder read;
  for (const auto& [name, sent] : samples::small_controls())
    BOOST_TEST(read.decode(frame_of(sent).bytes()).has_value(), name);
}

BOOST_AUTO_TEST_CASE(an_assignment_of_4096_clients_is_small) {
  assignment sent{1, 2, true, {}};
  for (std::uint32_t client = 0; client < 4096; ++client) sent.tasks.push_back({client, 0});
  BOOST_TEST(frame_of(sent).size() == 4096U * 8U + 64U);
}

BOOST_AUTO_TEST_CASE(reasons_and_stages_travel_only_where_they_mean_something) {
  settled sent{
      {{{}, federated::outcome::folded, federated::rejection::norm_bound, federated::drop_stage::train, 0, 0, 0}}};
  decoder read;
  const auto received = std::get<settled>(read_back(read, frame_of(sent)));
  BOOST_TEST((received.each.at(0).why == federated::rejection{}));
  BOOST_TEST((received.each.at(0).stage == federated::drop_stage{}));
  const auto judged = std::get<verdicts>(
      read_back(read, frame_of(verdicts{{{{}, verdict_kind::durable, federated::rejection::norm_bound}}})));
  BOOST_TEST((judged.each.at(0).why == federated::rejection{}));
}

BOOST_AUTO_TEST_CASE(texts_have_limits) {
  decoder read;
  const auto accepted = [&](const control& message) {
    return samples::same(read_back(read, frame_of(message)), message);
  };
  BOOST_TEST(accepted(hello{std::string(256, 'x'), {}, 0, {}, std::string(256, 'y')}));
  check_refused(hello{std::string(257, 'x'), {}, 0, {}, ""}, "hello.software: found 257 bytes, expected at most 256");
  check_refused(hello{"", {}, 0, {}, std::string(257, 'x')}, "hello.avoid: found 257 bytes, expected at most 256");
  check_refused(branch_hello{"", std::string(257, 'x'), ""}, "branch_hello.name: found 257 bytes");
  check_refused(branch_hello{"", "", std::string(257, 'x')}, "branch_hello.gateway: found 257 bytes");
  check_refused(branch_hello{"", "", "", std::string(257, 'x')}, "branch_hello.operators: found 257 bytes");
  check_refused(redirect{std::string(257, 'x')}, "redirect.address: found 257 bytes");
  check_refused(redirect{""}, "redirect.address: found nothing, expected an address");
  BOOST_TEST(accepted(saying(std::string(1024, 'x'))));
  check_refused(saying(std::string(1025, 'x')), "close_notice.why: found 1025 bytes, expected at most 1024");
  welcome whole;
  whole.scenario.assign(longest_scenario, 'x');
  BOOST_TEST(accepted(whole));
  whole.scenario += 'x';
  check_refused(whole, "welcome.scenario: found 1048577 bytes, expected at most 1048576");
}

BOOST_AUTO_TEST_CASE(text_is_printable_utf8) {
  decoder read;
  for (const std::string text : {"caf\u00e9", "\u20ac 5", "\U0001f682", "\ufffd", "a\u00a0b", ""})
    BOOST_TEST(samples::same(read_back(read, frame_of(saying(text))), saying(text)), text);
  using namespace std::string_literals;
  for (const auto& text : {"\n"s, "\t"s, "\r"s, "\x1b[2J"s, "\x7f"s, "\0"s, "\u0085"s, "\u2028"s, "\u202e"s, "\u2066"s})
    check_refused(saying("a" + text), "close_notice.why: found character ");
  for (const auto& bytes : {"\xff"s, "\xc3"s, "\xc0\xaf"s /* overlong */, "\xe0\x80\xaf"s, "\xf8\x88\x80\x80\x80"s,
                            "\xed\xa0\x80"s /* a surrogate */, "\xf4\x90\x80\x80"s /* beyond the last character */})
    check_refused(saying(bytes), "close_notice.why: found bytes that are no UTF-8, expected text");
  welcome whole;
  whole.scenario = "a = 1\r\n\tb = 2\n";
  BOOST_TEST(samples::same(read_back(read, frame_of(whole)), whole));
  whole.scenario = "a\x1b";
  check_refused(whole, "welcome.scenario: found character 27, expected printable text");
}

BOOST_AUTO_TEST_CASE(ranges_begin_before_they_end) {
  check_refused(hello{"", {2, 1}, 0, {}, ""}, "hello.last: found client 1, expected at least 2");
  check_refused(attached{{2, 1}, {}}, "attached.last: found client 1, expected at least 2");
  check_refused(detached{{UINT32_MAX, 0}}, "detached.last: found client 0, expected at least 4294967295");
}

BOOST_AUTO_TEST_CASE(lists_have_limits) {
  task_failures tasks;
  tasks.tasks.resize(longest_list);
  BOOST_TEST(frame_of(tasks).size() <= largest_control());
  BOOST_TEST(frame_of(settled{std::vector<federated::settlement>(longest_list)}).size() <= largest_control());
  tasks.tasks.resize(longest_list + 1);
  check_refused(tasks, "task_failures.tasks: found 1048577 entries, expected at most 1048576");
  check_refused(withdrawal{tasks.tasks}, "withdrawal.tasks: found 1048577 entries");
  check_refused(withdrawn{tasks.tasks}, "withdrawn.tasks: found 1048577 entries");
  check_refused(tasks_lost{tasks.tasks, {}}, "tasks_lost.folded: found 1048577 entries");
  check_refused(tasks_lost{{}, tasks.tasks}, "tasks_lost.open: found 1048577 entries");
  check_refused(hello{"", {}, 0, tasks.tasks, ""}, "hello.holding: found 1048577 entries");
  check_refused(assignment{0, 0, false, std::vector<federated::member>(longest_list + 1)}, "assignment.tasks: found");
  federated::client_score score;
  score.examples = longest_list + 1;
  score.odds.resize(longest_list);
  BOOST_TEST(frame_of(scores_of(score)).size() <= largest_control());
  score.odds.resize(longest_list + 1);
  check_refused(scores_of(score), "evaluation_scores.predictions: found 1048577 entries");
}

BOOST_AUTO_TEST_CASE(values_that_mean_nothing) {
  check_refused(verdicts{{{{}, verdict_kind(4), {}}}}, "verdicts.kinds: found 4, expected less than 4");
  check_refused(verdicts{{{{}, verdict_kind::rejected, federated::rejection(9)}}}, "verdicts.reasons: found 9");
  check_refused(evaluation_request{0, {{federated::group(3), 1}}}, "evaluation_request.groups: found 3");
  check_refused(evaluation_scores{0, {{federated::group(3), 1, {}}}}, "evaluation_scores.groups: found 3");
  check_refused(settled{{{{}, federated::outcome(6), {}, {}, 0, 0, 0.0}}}, "settled.outcomes: found 6");
  check_refused(settled{{{{}, {}, {}, federated::drop_stage(3), 0, 0, 0.0}}}, "settled.stages: found 3");
  welcome odd;
  odd.facts.labels = models::objective(6);
  check_refused(odd, "welcome.labels: found 6, expected less than 6");
  odd.facts = {100, 10, models::objective::categorical, (1U << 24U) + 1, 0};
  check_refused(odd, "welcome.classes: found 16777217, expected less than 16777217");
  odd.facts = {100, 10, models::objective::next_token, 0, 101};
  check_refused(odd, "welcome.words: found 101, expected at most the 100 features");
}

// A model that diverged has scores that are not finite, and the server is to know.
BOOST_AUTO_TEST_CASE(scores_that_are_not_finite_arrive_as_they_are) {
  for (const double bad : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    const auto frame = frame_of(scores_of({bad, bad, 0, 1, {{static_cast<float>(bad), true}}}));
    decoder read;
    const auto got = read_back(read, frame);
    const auto& score = std::get<evaluation_scores>(got).each.at(0).score;
    BOOST_TEST(!std::isfinite(score.squared_error));
    BOOST_TEST(!std::isfinite(score.loss));
    BOOST_TEST(!std::isfinite(score.odds.at(0).first));
  }
}

BOOST_AUTO_TEST_CASE(right_answers_do_not_outnumber_examples) {
  check_refused(scores_of({0.0, 0.0, 3, 2, {}}), "evaluation_scores.correct: found 3, expected at most the 2 examples");
  check_refused(scores_of({0.0, 0.0, 0, 2, {}, 3, 0}),
                "evaluation_scores.words: found 3, expected at most the 2 examples");
  check_refused(scores_of({0.0, 0.0, 0, 2, {}, 1, 2}),
                "evaluation_scores.wordsCorrect: found 2, expected at most the 1 words");
  check_refused(scores_of({0.0, 0.0, 0, 2, {}, 0, 0, 3, 0}),
                "evaluation_scores.inside: found 3, expected at most the 2 examples");
  check_refused(scores_of({0.0, 0.0, 0, 2, {}, 0, 0, 1, 2}),
                "evaluation_scores.insideCorrect: found 2, expected at most the 1 inside");
}

BOOST_AUTO_TEST_CASE(distances_are_finite_and_have_a_limit) {
  federated::settlement one;
  one.distances = {0.5F, std::numeric_limits<float>::infinity()};
  check_refused(settled{{one}}, "settled.distances: found inf, expected finite");
  one.distances.assign(longest_list, 1.0F);
  BOOST_TEST(frame_of(settled{{one}}).size() <= largest_control());
  one.distances.push_back(1.0F);
  check_refused(settled{{one}}, "settled.distances: found 1048577 entries");
}

BOOST_AUTO_TEST_CASE(any_text_can_be_made_a_line) {
  const std::string euro = "\xE2\x82\xAC";
  BOOST_TEST(as_line("an error:\n\tin\x1b[1m " + euro + " \xff" + euro) == "an error:  in [1m " + euro + "  " + euro);
  BOOST_TEST(as_line("a\xE2\x80\xAE"
                     "b") == "a b");  // turns the direction of writing around
  BOOST_TEST(as_line(std::string(longest_why - 1, 'x') + euro) == std::string(longest_why - 1, 'x'));
  BOOST_TEST(as_line(euro + euro, 5) == euro);
  for (const std::string& odd : {std::string(5000, '\n'), std::string(5000, '\xE2'), euro + std::string(3, '\0')})
    BOOST_TEST(frame_of(close_notice{as_line(odd), true}).size() > 0U);
}

BOOST_AUTO_TEST_SUITE_END()
