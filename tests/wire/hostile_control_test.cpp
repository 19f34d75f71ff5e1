// Control messages that no encoder of ours makes.
#include <limits>

#include "tests/wire/control_samples.hpp"
#include "tests/wire/forge.hpp"
#include "wire/encode.hpp"

BOOST_AUTO_TEST_SUITE(hostile_control_messages)

using namespace furlong;
using namespace furlong::wire;
using samples::bytes;
using samples::check_refused;
using samples::data_of;
using samples::forge;
using samples::replay;
using samples::with;

namespace {

constexpr unsigned enough = 1U << 21U;  // words, for the longest list

using numbers8 = std::vector<std::uint8_t>;
using numbers32 = std::vector<std::uint32_t>;
using numbers64 = std::vector<std::uint64_t>;

bytes forge_verdicts(std::size_t task_bytes, const numbers8& kinds, const numbers8& reasons) {
  return forge([&](schema::Message::Builder root) {
    auto to = root.initVerdicts();
    to.initTasks(static_cast<unsigned>(task_bytes));
    to.setKinds(data_of(kinds));
    to.setReasons(data_of(reasons));
  });
}

bytes forge_settled(const std::function<void(schema::Settled::Builder)>& change) {
  return forge([&](schema::Message::Builder root) {
    auto to = root.initSettled();
    to.initTasks(48);
    for (const auto& field : {&schema::Settled::Builder::initOutcomes, &schema::Settled::Builder::initReasons,
                              &schema::Settled::Builder::initStages})
      (to.*field)(2);
    for (const auto& field : {&schema::Settled::Builder::initExamples, &schema::Settled::Builder::initBytes,
                              &schema::Settled::Builder::initLosses})
      (to.*field)(16);
    change(to);
  });
}

// Scores of one client with two odds, sound but for what `change` does.
bytes forge_scores(const std::function<void(schema::EvaluationScores::Builder)>& change) {
  return forge([&](schema::Message::Builder root) {
    auto to = root.initEvaluationScores();
    to.setGroups(data_of(numbers8{1}));
    to.setClients(data_of(numbers32{7}));
    to.setSquaredErrors(data_of(std::vector<double>{1.0}));
    to.setLosses(data_of(std::vector<double>{1.0}));
    to.setCorrect(data_of(numbers64{1}));
    to.setExamples(data_of(numbers64{2}));
    to.setOddsCounts(data_of(numbers32{2}));
    to.setPredictions(data_of(std::vector<float>{0.5F, 0.25F}));
    to.setClasses(data_of(numbers8{0, 1}));
    change(to);
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(content_that_is_missing) {
  for (const auto& [name, message] : samples::small_controls()) {
    const auto frame = samples::copy_of(encoder::encode(message).value());
    check_refused(with(frame, 3 * 8, std::uint64_t{0}), ": found nothing, expected its content");
  }
}

BOOST_AUTO_TEST_CASE(lists_that_are_no_whole_entries) {
  check_refused(forge([](auto root) { root.initHello().initHolding(25); }),
                "hello.holding: found 25 bytes, expected a multiple of 24");
  check_refused(forge([](auto root) { root.initAttached().initHolding(23); }), "attached.holding: found 23 bytes");
  check_refused(forge([](auto root) { root.initAssignment().initTasks(7); }),
                "assignment.tasks: found 7 bytes, expected a multiple of 8");
  check_refused(forge([](auto root) { root.initTaskFailures().initTasks(1); }), "task_failures.tasks: found 1 bytes");
  check_refused(forge([](auto root) { root.initWithdrawal().initTasks(1); }), "withdrawal.tasks: found 1 bytes");
  check_refused(forge([](auto root) { root.initWithdrawn().initTasks(1); }), "withdrawn.tasks: found 1 bytes");
  check_refused(forge([](auto root) { root.initTasksLost().initFolded(25); }), "tasks_lost.folded: found 25 bytes");
  check_refused(forge([](auto root) { root.initTasksLost().initOpen(1); }), "tasks_lost.open: found 1 bytes");
  check_refused(forge([](auto root) { root.initWelcome().initResumedAt(9); }), "welcome.resumedAt: found 9 bytes");
}

BOOST_AUTO_TEST_CASE(columns_of_different_lengths) {
  samples::check_accepted(forge_verdicts(48, {0, 2}, {0, 5}));
  check_refused(forge_verdicts(48, {0}, {0, 5}), "verdicts.kinds: found 1 bytes, expected 2");
  check_refused(forge_verdicts(48, {0, 2, 1}, {0, 5}), "verdicts.kinds: found 3 bytes, expected 2");
  check_refused(forge_verdicts(48, {0, 2}, {}), "verdicts.reasons: found 0 bytes, expected 2");
  check_refused(forge_verdicts(0, {0, 2}, {0, 5}), "verdicts.kinds: found 2 bytes, expected 0");
  samples::check_accepted(forge_settled([](auto) {}));
  check_refused(forge_settled([](auto to) { to.initOutcomes(1); }), "settled.outcomes: found 1 bytes, expected 2");
  check_refused(forge_settled([](auto to) { to.initReasons(3); }), "settled.reasons: found 3 bytes, expected 2");
  check_refused(forge_settled([](auto to) { to.initStages(0); }), "settled.stages: found 0 bytes, expected 2");
  check_refused(forge_settled([](auto to) { to.initExamples(15); }), "settled.examples: found 15 bytes, expected 16");
  check_refused(forge_settled([](auto to) { to.initBytes(8); }), "settled.bytes: found 8 bytes, expected 16");
  check_refused(forge_settled([](auto to) { to.initLosses(24); }), "settled.losses: found 24 bytes, expected 16");
  check_refused(forge_settled([](auto to) { to.initDistanceCounts(4); }), "settled.distanceCounts: found 4 bytes");
  check_refused(forge_settled([](auto to) { to.initDistances(6); }), "settled.distances: found 6 bytes");
  check_refused(forge_settled([](auto to) { to.initDistances(4); }),
                "settled.distanceCounts: found 0 in all, expected 1");
  check_refused(forge_settled([](auto to) {
                  to.setDistanceCounts(data_of(numbers32{UINT32_MAX, 1}));
                }),
                "settled.distanceCounts: found 4294967296 in all, expected 0");
  check_refused(forge([](auto root) {
                  auto to = root.initEvaluationRequest();
                  to.initClients(8);
                  to.initGroups(3);
                }),
                "evaluation_request.groups: found 3 bytes, expected 2");
}

BOOST_AUTO_TEST_CASE(scores_that_contradict_themselves) {
  samples::check_accepted(forge_scores([](auto) {}));
  check_refused(forge_scores([](auto to) { to.initGroups(2); }), "evaluation_scores.groups: found 2 bytes, expected 1");
  check_refused(forge_scores([](auto to) { to.initSquaredErrors(16); }), "evaluation_scores.squaredErrors: found 16");
  check_refused(forge_scores([](auto to) { to.initLosses(0); }), "evaluation_scores.losses: found 0 bytes");
  check_refused(forge_scores([](auto to) { to.initCorrect(4); }), "evaluation_scores.correct: found 4 bytes");
  check_refused(forge_scores([](auto to) { to.initExamples(9); }), "evaluation_scores.examples: found 9 bytes");
  check_refused(forge_scores([](auto to) { to.initWords(16); }), "evaluation_scores.words: found 16 bytes, expected 8");
  check_refused(forge_scores([](auto to) { to.initWordsCorrect(1); }), "evaluation_scores.wordsCorrect: found 1 bytes");
  check_refused(forge_scores([](auto to) { to.initInside(16); }), "evaluation_scores.inside: found 16 bytes");
  check_refused(forge_scores([](auto to) { to.initSpreads(4); }), "evaluation_scores.spreads: found 4 bytes");
  check_refused(forge_scores([](auto to) { to.setSpreads(data_of(std::vector<double>{-1.0})); }),
                "labels that 2 examples cannot have");
  check_refused(forge_scores([](auto to) { to.initInsideCorrect(1); }),
                "evaluation_scores.insideCorrect: found 1 bytes");
  check_refused(forge_scores([](auto to) { to.setWords(data_of(numbers64{3})); }),
                "evaluation_scores.words: found 3, expected at most the 2 examples");
  check_refused(forge_scores([](auto to) { to.initOddsCounts(8); }), "evaluation_scores.oddsCounts: found 8 bytes");
  check_refused(forge_scores([](auto to) { to.setOddsCounts(data_of(numbers32{3})); }),
                "evaluation_scores.oddsCounts: found 3 in all, expected 2");
  check_refused(forge_scores([](auto to) { to.setOddsCounts(data_of(numbers32{UINT32_MAX})); }),
                "evaluation_scores.oddsCounts: found 4294967295 in all, expected 2");
  check_refused(forge_scores([](auto to) { to.initPredictions(5); }), "evaluation_scores.predictions: found 5 bytes");
  check_refused(forge_scores([](auto to) { to.initClasses(1); }), "evaluation_scores.classes: found 1 bytes");
  check_refused(forge_scores([](auto to) {
                  to.setClasses(data_of(numbers8{0, 2}));
                }),
                "evaluation_scores.classes: found 2, expected less than 2");
  check_refused(forge_scores([](auto to) { to.setCorrect(data_of(numbers64{3})); }),
                "evaluation_scores.correct: found 3, expected at most the 2 examples");
}

// Sums over all clients stay finite and do not wrap, and nobody sets the pooled figure at will.
BOOST_AUTO_TEST_CASE(scores_that_no_client_has) {
  const auto claims = [](double squares, double losses, std::uint64_t examples) {
    return forge_scores([&](auto to) {
      to.setSquaredErrors(data_of(std::vector<double>{squares}));
      to.setLosses(data_of(std::vector<double>{losses}));
      to.setExamples(data_of(numbers64{examples}));
    });
  };
  samples::check_accepted(claims(0.0, -1e-6, 2));  // rounded
  samples::check_accepted(claims(1e77, 1e77, 2));  // diverging
  samples::check_accepted(claims(1.0, 1.0, std::uint64_t{1} << 40U));
  check_refused(claims(1.0, 1.0, std::uint64_t{1} << 63U),
                "evaluation_scores.examples: found 9223372036854775808 examples, and no client has more than");
  check_refused(claims(1.0, 1.0, (std::uint64_t{1} << 40U) + 1), "evaluation_scores.examples: found");
  const std::string errors = "evaluation_scores.examples: found errors that 2 examples cannot add up to";
  check_refused(claims(1.0, 1.7e308, 2), errors);
  check_refused(claims(1.7e308, 1.0, 2), errors);
  samples::check_accepted(claims(1.0, -1.0, 2));  // where the model defines its loss
  check_refused(claims(1.0, -1.7e308, 2), errors);
  check_refused(claims(-1.0, 1.0, 2), errors);
  check_refused(claims(0.0, 0.5, 0), "evaluation_scores.");
  check_refused(claims(1.0, 1.0, 1), "evaluation_scores.examples: found 2 predictions of 1 examples");
}

BOOST_AUTO_TEST_CASE(values_that_mean_nothing) {
  check_refused(forge_verdicts(24, {4}, {0}), "verdicts.kinds: found 4, expected less than 4");
  check_refused(forge_verdicts(24, {2}, {9}), "verdicts.reasons: found 9, expected less than 9");
  check_refused(forge_settled([](auto to) { to.setOutcomes(data_of(numbers8{0, 6})); }), "settled.outcomes: found 6");
  check_refused(forge_settled([](auto to) { to.setStages(data_of(numbers8{255, 0})); }), "settled.stages: found 255");
  check_refused(forge([](auto root) {
                  auto to = root.initEvaluationRequest();
                  to.initClients(4);
                  to.setGroups(data_of(numbers8{3}));
                }),
                "evaluation_request.groups: found 3");
  check_refused(forge([](auto root) { root.initWelcome().setLabels(schema::Objective(7)); }),
                "welcome.labels: found 7, expected less than 6");
}

BOOST_AUTO_TEST_CASE(texts_that_are_too_long_or_unprintable) {
  const std::string long_name(257, 'x');
  check_refused(forge([&](auto root) { root.initHello().setSoftware(long_name.c_str()); }),
                "hello.software: found 257");
  check_refused(forge([](auto root) { root.initHello().setSoftware("\x1b]0;title"); }),
                "hello.software: found character 27, expected printable text");
  check_refused(forge([](auto root) { root.initCloseNotice().setWhy("\xff"); }),
                "close_notice.why: found bytes that are no");
  check_refused(forge([](auto root) { root.initRedirect(); }), "redirect.address: found nothing");
  const std::string long_text(longest_scenario + 1, 'x');
  check_refused(forge([&](auto root) { root.initWelcome().setScenario(long_text.c_str()); }, enough),
                "welcome.scenario: found 1048577 bytes, expected at most 1048576");
  check_refused(forge([](auto root) {
                  auto to = root.initDetached();
                  to.setFirst(2);
                  to.setLast(1);
                }),
                "detached.last: found client 1, expected at least 2");
}

BOOST_AUTO_TEST_CASE(a_text_without_its_end) {
  auto frame =
      samples::copy_of(encoder::encode(federated::protocol::close_notice{"full", true, true, "1234567"}).value());
  BOOST_REQUIRE(frame.back() == std::byte{0});
  frame.back() = std::byte{'8'};
  check_refused(frame, "frame: not sound");
}

BOOST_AUTO_TEST_CASE(lists_longer_than_any_may_be) {
  const numbers64 many(longest_list + 1);
  check_refused(forge([&](auto root) { root.initWelcome().setResumedAt(data_of(many)); }, enough),
                "welcome.resumedAt: found 1048577 entries, expected at most 1048576");
  check_refused(forge([&](auto root) { root.initAssignment().setTasks(data_of(many)); }, enough),
                "assignment.tasks: found 1048577 entries");
}

BOOST_AUTO_TEST_CASE(random_messages_with_a_byte_changed) {
  random_stream random(12, purpose::test);
  for (int i = 0; i < 400; ++i)
    for (std::size_t kind = 0; kind < std::variant_size_v<control>; ++kind) {
      auto frame = samples::copy_of(encoder::encode(samples::random_control(kind, random)).value());
      const std::size_t at = random.below(static_cast<std::uint32_t>(frame.size()));
      BOOST_REQUIRE(replay(with(std::move(frame), at, static_cast<std::uint8_t>(random()))) == 0);
    }
}

BOOST_AUTO_TEST_SUITE_END()
