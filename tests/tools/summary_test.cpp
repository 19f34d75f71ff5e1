// The figures of summary.json, each against its definition on a state made by hand.
#include <boost/test/unit_test.hpp>

#include "federated/rounds/round.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"
#include "tools/cli/expiry_watch.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/figures_json.hpp"
#include "tools/runs/json.hpp"

BOOST_AUTO_TEST_SUITE(summaries)

using namespace furlong;
using federated::drop_stage;
using federated::rejection;
using tools::json;

namespace {

constexpr federated::virtual_time second = federated::microseconds_per_second;

federated::accounting sample_counts() {
  federated::accounting counts;
  counts.selected = 100;
  counts.folded = 60;
  counts.rejected[static_cast<std::size_t>(rejection::norm_bound)] = 4;
  counts.rejected[static_cast<std::size_t>(rejection::not_finite)] = 2;
  counts.late = 7;
  counts.surplus = 3;
  counts.dropped[static_cast<std::size_t>(drop_stage::train)] = 10;
  counts.dropped[static_cast<std::size_t>(drop_stage::upload)] = 5;
  counts.abandoned = 8;
  counts.rounds_abandoned = 2;
  counts.clients_trained = 76;
  counts.examples = 1900;
  counts.bytes_up = 5000;
  counts.bytes_down = 9000;
  counts.staleness_sum = 90;
  counts.staleness_max = 4;
  return counts;
}

/// Ten clients with private values, trained 0, 1, ..., 9 versions and as many half seconds ago.
struct sample {
  tools::prepared_run of;
  federated::run_outcome outcome;
  tools::private_facts own;

  sample() {
    auto scenario = scenarios::parse_scenario_text(
        "[scenario]\nname = \"s\"\nrounds = 1\n[data]\nsource = \"synthetic-ratings\"\n"
        "[model]\nkind = \"matrix-factorization\"\nprivate = [\"user\"]\n[algorithm]\nkind = \"furl\"\n"
        "[participation]\nper_round = 4\n",
        "s.toml");
    BOOST_REQUIRE(scenario.has_value());
    of.scenario = std::move(*scenario);
    of.experiment = tests::make_experiment({}, tests::make_ratings(12), {}, {"user"});
    of.data.clients = of.experiment.clients;
    auto& state = outcome.state;
    state = federated::initial_state(of.experiment);
    state.version = 20;
    state.now = 30 * second;
    state.counts = sample_counts();
    state.open.push_back({{4711, 20, 3, 0}});
    state.train_seconds = 4.0;
    own = {"abc", 10, {}};
    for (std::uint32_t client = 0; client < 10; ++client) {
      own.holders.push_back({client, 99});
      auto& record = state.ledger->touch(client);
      record.trained_version = 20 - client;
      record.trained_at = 30 * second - client * second / 2;
    }
  }
  [[nodiscard]] json summary() const { return tools::summary_json(of, outcome, own); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(outcomes_are_the_counts) {
  const auto got = sample().summary();
  BOOST_TEST(got["selected"] == 100);
  BOOST_TEST(got["folded"] == 60);
  BOOST_TEST(got["rejected"] == json({{"not-finite", 2}, {"norm-bound", 4}}));
  BOOST_TEST(got["late"] == 7);
  BOOST_TEST(got["surplus"] == 3);
  BOOST_TEST(got["dropped"] == json({{"train", 10}, {"upload", 5}}));
  BOOST_TEST(got["abandoned"] == 8);
  BOOST_TEST(got["rounds_abandoned"] == 2);
  BOOST_TEST(got["in_flight"] == 1);
  BOOST_TEST(got["bytes_up"] == 5000);
  BOOST_TEST(got["bytes_down"] == 9000);
}

BOOST_AUTO_TEST_CASE(wasted_is_what_ended_without_a_model) {
  const auto wasted = sample().summary()["wasted"];
  BOOST_TEST(wasted["tasks"] == 39);                  // 6 + 7 + 3 + 15 + 8
  BOOST_TEST(wasted["share"].get<double>() == 0.39);  // of all selected, those in flight included
  BOOST_TEST(wasted["rejected"] == 6);
  BOOST_TEST(wasted["late"] == 7);
  BOOST_TEST(wasted["surplus"] == 3);
  BOOST_TEST(wasted["abandoned"] == 8);
  BOOST_TEST(wasted["dropped"] == json({{"train", 10}, {"upload", 5}}));
}

BOOST_AUTO_TEST_CASE(speeds_are_by_the_seconds_of_training) {
  sample of;
  BOOST_TEST(of.summary()["clients_per_second"].get<double>() == 19.0);
  BOOST_TEST(of.summary()["examples_per_second"].get<double>() == 475.0);
  of.outcome.state.train_seconds = 0.0;
  BOOST_TEST(of.summary()["clients_per_second"].get<double>() == 0.0);
}

BOOST_AUTO_TEST_CASE(staleness_of_updates_is_a_mean_over_the_folded) {
  const auto staleness = sample().summary()["staleness"];
  BOOST_TEST(staleness["mean"].get<double>() == 1.5);
  BOOST_TEST(staleness["max"] == 4);
}

BOOST_AUTO_TEST_CASE(private_staleness_counts_versions_and_virtual_seconds_since_training) {
  sample of;
  const auto got = of.summary();
  // trained_version is the version plus one: client 0 trained from version 19.
  BOOST_TEST(got["private_staleness"] == json({{"mean", 4.5}, {"p50", 4}, {"p90", 8}, {"max", 9}}));
  BOOST_TEST(got["private_staleness_seconds"] == json({{"mean", 2.25}, {"p50", 2.0}, {"p90", 4.0}, {"max", 4.5}}));
  of.outcome.state.now = 0;  // the real clock: the ledger has no times
  for (std::uint32_t client = 0; client < 10; ++client) of.outcome.state.ledger->touch(client).trained_version = 0;
  const auto real = of.summary();
  BOOST_TEST(real["private_staleness"]["max"] == 99);
  BOOST_TEST(!real.contains("private_staleness_seconds"));
}

// Centralized training has one client, which takes many seconds.
BOOST_AUTO_TEST_CASE(a_slow_rate_is_not_shown_as_none) {
  BOOST_TEST(tools::rate_text(0.0625) == "0.062");
  BOOST_TEST(tools::rate_text(4.2) == "4.2");
  BOOST_TEST(tools::rate_text(1234.4) == "1234");
}

BOOST_AUTO_TEST_CASE(events_name_one_client_or_a_range_or_all_of_them) {
  federated::run_event leave{2 * second, 7, "leave", {}, {}, "share 0.200000", {3, 5, 8}};
  BOOST_TEST(tools::to_json(leave)["members"] == json({3, 5, 8}));
  BOOST_TEST(tools::to_json(leave)["reason"] == "share 0.200000");
  federated::run_event erased{3 * second, 8, "erased", {}, {}, {}, {3, 5}};
  BOOST_TEST(tools::to_json(erased)["event"] == "erased");
  BOOST_TEST(tools::to_json(erased)["members"] == json({3, 5}));
  federated::run_event join{second, 1, "join", 10, 19, {}, {}};
  BOOST_TEST(tools::to_json(join)["clients"] == json({10, 19}));
  BOOST_TEST(!tools::to_json(join).contains("members"));
  federated::run_event dropped{second, 1, "dropped", 4, {}, "train", {}};
  BOOST_TEST(tools::to_json(dropped)["client"] == 4);
  BOOST_TEST(tools::to_json(dropped)["stage"] == "train");
}

BOOST_AUTO_TEST_CASE(a_task_that_outlasts_its_round_has_no_end) {
  federated::round_report report;
  report.spans = {{4, second, 2 * second, federated::outcome::folded}, {9, second, {}, federated::outcome::late}};
  const auto spans = tools::to_json(report)["spans"];
  BOOST_REQUIRE(spans.size() == 2U);
  BOOST_TEST(spans[0]["ended"] == 2.0);
  BOOST_TEST(!spans[1].contains("ended"));
  BOOST_TEST(spans[1]["started"] == 1.0);
}

BOOST_AUTO_TEST_CASE(a_clock_before_1970_is_told) {
  BOOST_TEST(furlong::tools::check_environment(0).has_value());
  const auto early = furlong::tools::check_environment(-1);
  BOOST_REQUIRE(!early.has_value());
  BOOST_TEST((early.error().what == furlong::error::kind::runtime));
  BOOST_TEST(early.error().text().starts_with("the clock: is before 1970"));
}

BOOST_AUTO_TEST_CASE(certificates_that_expire_are_told_of_once_before_and_once_after) {
  using namespace std::chrono_literals;
  const furlong::actors::tls::instant start{1'000'000'000s};
  furlong::actors::tls::tier_credentials soon;
  soon.certificate = "soon.pem";
  soon.until = start + std::chrono::days(3);  // told when the process started
  furlong::actors::tls::tier_credentials later;
  later.certificate = "later.pem";
  later.until = start + std::chrono::days(20);
  furlong::tools::expiry_notices notices({soon, later}, start);
  const auto said = [&](int days) {
    std::string all;
    for (const auto& text : notices.due(start + std::chrono::days(days)))
      all += text.substr(0, text.find(" at ")) + "|";
    return all;
  };
  BOOST_TEST(said(0) == "");
  BOOST_TEST(said(2) == "");
  BOOST_TEST(said(3) == "soon.pem: expired|");
  BOOST_TEST(said(5) == "");
  BOOST_TEST(said(6) == "later.pem: expires|");
  BOOST_TEST(said(7) == "");
  BOOST_TEST(said(20) == "later.pem: expired|");
  BOOST_TEST(said(21) == "");
}

BOOST_AUTO_TEST_SUITE_END()
