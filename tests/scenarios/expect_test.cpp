// [expect], [smoke], and the tables of a simulated run: how they are read, replaced and written back.
#include <boost/test/unit_test.hpp>

#include "federated/settings/devices.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/settings.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(expectations_and_variants)

using namespace furlong;
using namespace furlong::scenarios;
using testing::valid_scenario;

namespace {

scenario read(const std::string& more, const std::vector<setting_override>& overrides = {},
              variant which = variant::full) {
  auto made = parse_scenario_text(valid_scenario() + more, "folder/valid.toml", overrides, which);
  BOOST_REQUIRE_MESSAGE(made.has_value(), testing::text_of(made));
  return *made;
}

std::string refused(const std::string& more, const std::vector<setting_override>& overrides = {},
                    variant which = variant::full) {
  return testing::text_of(parse_scenario_text(valid_scenario() + more, "valid.toml", overrides, which));
}

/// What the resolved text of a scenario gives again.
void check_round_trip(const scenario& of) {
  const auto text = resolved_toml(of);
  const auto again = parse_scenario_text(text, "resolved.toml");
  BOOST_REQUIRE_MESSAGE(again.has_value(), testing::text_of(again));
  BOOST_TEST(resolved_toml(*again) == text);
  BOOST_TEST(run_id(*again) == run_id(of));
  BOOST_TEST(again->notes == of.notes, boost::test_tools::per_element());
  BOOST_TEST(again->settings.events->size() == of.settings.events->size());
  BOOST_TEST(again->settings.devices->classes.size() == of.settings.devices->classes.size());
  BOOST_REQUIRE(again->expectations.size() == of.expectations.size());
  for (std::size_t i = 0; i < of.expectations.size(); ++i) {
    BOOST_TEST(again->expectations[i].text() == of.expectations[i].text());
    BOOST_TEST((again->expectations[i].kind == of.expectations[i].kind));
  }
}

const std::string simulated = R"(
policy = "power-of-choice"
candidates = 30
over_selection = 1.5
selection_timeout = 20
retry = 30
deadline = 600
min_reports = 3
reconnect = [60, 600.5]

[private]
commit = "after-ack"
layout = "bucketed"
open_shards = 7
key_file = "store.key"

[devices]
network = {latency = 0.05}
stragglers = {share = 0.1, factor = 20}
classes = [{share = 3, ms_per_example = 2}, {mbit = 1.5}]
availability = {kind = "diurnal", rate = 0.3, swing = 3, peak_hour = 1.5, dwell = 900, zones = 4}
correlation = {speed_availability = 0.5, speed_taste = -0.5, availability_taste = 0.25}

[dropout]
download = 0.1
train = 0.2
upload = 0.3
policy = "pause"
mean_pause = 100

[[event]]
at = "round 10"
leave = "0-9"
erase = true

[[event]]
at = "1.5h"
partition = 0.25

[[event]]
at = "2 d"
heal = "17"
)";

}  // namespace

BOOST_AUTO_TEST_CASE(bounds_are_read_and_written_back) {
  const auto made = read(R"(
[expect]
"eval.seen.rmse" = {at_least = 0.5, at_most = 1}
"bytes_up" = {within = 0.02, baseline = "../other.toml"}
"model_sha256" = {equals = "ab\"c"}
rounds = {equals = 10}
[expect.private_staleness]
mean = {at_most = 3.5}
)");
  BOOST_REQUIRE(made.expectations.size() == 6);
  const auto& e = made.expectations;
  BOOST_TEST(e[0].text() == "bytes_up = {within = 0.02, baseline = " +
                                ('"' + (std::filesystem::current_path() / "other.toml").string() + '"') + "}");
  BOOST_TEST((e[0].kind == expectation_kind::within));
  BOOST_TEST(e[0].baseline == std::filesystem::current_path() / "other.toml");
  BOOST_TEST(e[1].key == "eval.seen.rmse");
  BOOST_TEST((e[1].kind == expectation_kind::at_least));
  BOOST_TEST(std::get<double>(e[1].value) == 0.5);
  BOOST_TEST((e[2].kind == expectation_kind::at_most));
  BOOST_TEST(std::get<double>(e[2].value) == 1.0);
  BOOST_TEST(e[2].place == "folder/valid.toml:23:47");
  BOOST_TEST(std::get<std::string>(e[3].value) == "ab\"c");
  BOOST_TEST(e[4].text() == "private_staleness.mean = {at_most = 3.5}");
  BOOST_TEST(e[5].text() == "rounds = {equals = 10.0}");
  check_round_trip(made);
  BOOST_TEST(run_id(made) == run_id(read("")));
  BOOST_TEST(read("", {{"expect.rounds", "{equals = 3}"}}).expectations[0].place == "--set expect.rounds");
}

BOOST_AUTO_TEST_CASE(the_smoke_table_makes_another_scenario_and_overrides_win_over_it) {
  const std::string more = R"(
[expect]
"rounds" = {equals = 10}

[[event]]
at = "round 9"
kill = 0.1

[smoke]
"scenario.epochs" = 3
"data.users" = 30
participation.per_round = 5
event = []

[smoke.expect]
"rounds" = {equals = 18}
)";
  const auto full = read(more);
  BOOST_TEST((full.which == variant::full));
  BOOST_TEST(full.has_smoke);
  BOOST_TEST(full.data.integer("users") == 50);
  BOOST_TEST(full.settings.events->size() == 1U);
  BOOST_TEST(full.expectations.at(0).text() == "rounds = {equals = 10.0}");
  BOOST_TEST(resolved_toml(full).find("smoke") == std::string::npos);
  check_round_trip(full);

  const auto small = read(more, {{"data.users", "40"}}, variant::smoke);
  BOOST_TEST((small.which == variant::smoke));
  BOOST_TEST(small.data.integer("users") == 40);
  BOOST_TEST(small.values.integer("scenario.epochs") == 3);
  BOOST_TEST(!small.values.has("scenario.rounds"));
  BOOST_TEST(small.settings.events->empty());
  BOOST_TEST(small.places.at("participation.per_round") == "folder/valid.toml:32:27");
  BOOST_TEST(small.expectations.at(0).text() == "rounds = {equals = 18.0}");
  check_round_trip(small);

  BOOST_TEST(read("\n[expect]\n\"rounds\" = {equals = 10}\n[smoke]\n", {}, variant::smoke).expectations.empty());
  BOOST_TEST(read("", {{"smoke.data.users", "20"}}, variant::smoke).data.integer("users") == 20);
  BOOST_TEST(!read("").has_smoke);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_in_the_smoke_table_is_found_in_both_variants) {
  const std::string more = "\n[smoke]\n\"scenario.rounds\" = 3\n[[smoke.event]]\nat = \"round 4\"\nkill = \"1\"\n";
  const std::string message = "valid.toml:25:6: smoke.event[1].at: is after the last round, 3; choose an earlier round";
  BOOST_TEST(refused(more) == message);
  BOOST_TEST(refused(more, {}, variant::smoke) == message);
  // Overrides are of the run at hand: they are not held against the small one.
  BOOST_TEST(refused("\n[smoke]\n\"participation.per_round\" = 4\n", {{"participation.min_reports", "5"}}) == "");
}

BOOST_AUTO_TEST_CASE(a_simulated_run_reaches_the_settings_and_survives_the_round_trip) {
  using namespace federated;
  const auto made = read(simulated);
  const auto& s = made.settings;
  BOOST_TEST((s.clock == clock_kind::simulated));
  BOOST_TEST((s.participation->policy.kind == "power-of-choice"));
  BOOST_TEST(s.participation->candidates == 30U);
  BOOST_TEST(s.participation->over_selection == 1.5);
  BOOST_TEST(s.participation->reconnect_least == 60.0);
  BOOST_TEST(s.participation->reconnect_most == 600.5);
  BOOST_TEST((s.own->commit == commit_kind::after_ack));
  BOOST_TEST((s.own->layout == layout_kind::bucketed));
  BOOST_TEST(s.own->key_file == (std::filesystem::current_path() / "folder/store.key").string());
  BOOST_REQUIRE(s.devices->classes.size() == 2U);
  BOOST_TEST(s.devices->classes[0].share == 3.0);
  BOOST_TEST(s.devices->classes[1].ms_per_example == device_class{}.ms_per_example);
  BOOST_TEST(s.devices->classes[1].mbit == 1.5);
  BOOST_TEST((s.devices->availability.kind == "diurnal"));
  BOOST_TEST(s.devices->availability.zones == 4U);
  BOOST_TEST(s.devices->speed_taste == -0.5);
  BOOST_TEST((s.dropout->policy == dropout_policy::pause));
  BOOST_REQUIRE(s.events->size() == 3U);
  BOOST_TEST(((*s.events)[0].what == event_kind::leave));
  BOOST_TEST(((*s.events)[0].at_round && (*s.events)[0].round == 10U && (*s.events)[0].erase));
  BOOST_TEST(((*s.events)[0].first == 0U && (*s.events)[0].last == 9U && (*s.events)[0].share == 0.0));
  BOOST_TEST(((*s.events)[1].what == event_kind::partition && !(*s.events)[1].at_round));
  BOOST_TEST((*s.events)[1].seconds == 5400.0);
  BOOST_TEST((*s.events)[1].share == 0.25);
  BOOST_TEST(((*s.events)[2].what == event_kind::heal));
  BOOST_TEST((*s.events)[2].seconds == 172800.0);
  BOOST_TEST(((*s.events)[2].first == 17U && (*s.events)[2].last == 17U));
  BOOST_TEST(made.notes.empty());
  check_round_trip(made);
}

BOOST_AUTO_TEST_CASE(what_happens_to_clients_is_part_of_the_run) {
  const auto id = run_id(read(simulated));
  for (const setting_override& changed : {setting_override{"event", "[{at = 'round 10', leave = '0-9'}]"},
                                          {"devices.classes", "[{mbit = 1.5}]"},
                                          {"devices.availability.rate", "0.4"},
                                          {"dropout.train", "0.25"},
                                          {"participation.deadline", "601"},
                                          {"private.commit", "after-training"},
                                          {"scenario.seed", "2"}})
    BOOST_TEST(run_id(read(simulated, {changed})) != id, changed.key);
  for (const setting_override& changed : {setting_override{"private.layout", "per-client"},
                                          {"private.open_shards", "8"},
                                          {"private.key_file", ""},
                                          {"scenario.rounds", "20"},
                                          {"scenario.until", "{virtual_seconds = 1e6}"},
                                          {"evaluation.clients", "5"},
                                          {"evaluation.target", "{metric = 'validation.loss', at_least = 0.5}"},
                                          {"evaluation.metric", "accuracy"},
                                          {"evaluation.groups", "['validation']"},
                                          {"evaluation.every", "2"}})
    BOOST_TEST((run_id(read(simulated + "[data.unseen_users]\nvalidation = 0.1\n", {changed})) ==
                run_id(read(simulated + "[data.unseen_users]\nvalidation = 0.1\n"))),
               changed.key);
}

BOOST_AUTO_TEST_CASE(lengths_replace_each_other_and_the_endless_one_has_a_cap) {
  const std::string held_out = "[evaluation]\nevery = 2\n[data.unseen_users]\ntest = 0.1\n";
  auto made = read(held_out, {{"scenario.until", "{target = true}"},
                              {"evaluation.target", "{metric = 'unseen.rmse', at_most = 0.9}"}});
  BOOST_TEST(!made.values.has("scenario.rounds"));
  BOOST_TEST(made.settings.until->target);
  BOOST_TEST(made.settings.evaluation->target.metric == "unseen.rmse");
  BOOST_TEST(made.settings.evaluation->target.at_most);
  check_round_trip(made);
  const auto data = load_data(made);
  BOOST_REQUIRE(data.has_value());
  BOOST_REQUIRE(fit(made, *data).has_value());
  BOOST_TEST(made.settings.rounds == 4294967295U);
  auto capped = read("", {{"scenario.until", "{virtual_seconds = 60.5, rounds = 7}"}});
  BOOST_REQUIRE(fit(capped, *data).has_value());
  BOOST_TEST(capped.settings.rounds == 7U);
  BOOST_TEST(capped.settings.until->virtual_seconds == 60.5);
  const auto counted = read("", {{"scenario.until", "{virtual_seconds = 60.5}"}, {"scenario.rounds", "3"}});
  BOOST_TEST(!counted.values.has("scenario.until.virtual_seconds"));
  BOOST_TEST(counted.settings.until->virtual_seconds == 0.0);
  const std::string checked = "[evaluation]\nevery = 2\n[data.unseen_users]\nvalidation = 0.1\n";
  const auto patient = read(checked, {{"scenario.until", "{patience = 5}"}});
  BOOST_TEST(patient.settings.until->patience == 5U);
  BOOST_TEST(run_id(patient) == run_id(read(checked)));
  check_round_trip(patient);
  // A schedule over the rounds makes their number part of what is computed, but not the time.
  const setting_override linear{"algorithm.client.schedule", "linear"};
  const auto id = [&](const char* until) { return run_id(read("", {linear, {"scenario.until", until}})); };
  BOOST_TEST(id("{rounds = 7, virtual_seconds = 5}") == id("{rounds = 7, virtual_seconds = 6}"));
  BOOST_TEST(id("{rounds = 7, virtual_seconds = 5}") != id("{rounds = 8, virtual_seconds = 5}"));
}

BOOST_AUTO_TEST_CASE(short_ways_of_writing_availability) {
  const auto kind = read("\n[devices]\navailability = \"markov\"\n");
  BOOST_TEST((kind.settings.devices->availability.kind == "markov"));
  const auto trace = read("\n[devices]\navailability = \"phones.csv\"\n");
  BOOST_TEST((trace.settings.devices->availability.kind == "trace"));
  BOOST_TEST(trace.settings.devices->availability.trace ==
             (std::filesystem::current_path() / "folder/phones.csv").string());
  BOOST_TEST(read("", {{"devices.availability", "phones.csv"}}).settings.devices->availability.trace ==
             (std::filesystem::current_path() / "phones.csv").string());
  check_round_trip(trace);
  const auto over =
      read("\n[devices]\navailability = {kind = \"bernoulli\", rate = 0.25}\n", {{"devices.availability", "diurnal"}});
  BOOST_TEST((over.settings.devices->availability.kind == "diurnal"));
  BOOST_TEST(over.settings.devices->availability.rate == 0.25);
}

BOOST_AUTO_TEST_CASE(asynchronous_runs_need_no_cohort) {
  using namespace federated;
  const std::vector<setting_override> async = {{"participation.mode", "async"},
                                               {"participation.update", "model"},
                                               {"participation.weighting", "hinge"},
                                               {"participation.staleness_exponent", "0.25"},
                                               {"participation.concurrency", "50"}};
  auto made = read("", async);
  BOOST_TEST((made.settings.participation->async == async_kind::model));
  BOOST_TEST(made.settings.participation->buffer == 1U);
  BOOST_REQUIRE(made.notes.size() == 2U);
  BOOST_TEST(made.notes[0] == "participation.per_round has no effect: mode is \"async\"");
  BOOST_TEST(made.notes[1] == "participation.staleness_exponent has no effect: weighting is \"hinge\"");
  check_round_trip(made);
  const auto data = load_data(made);
  BOOST_REQUIRE(data.has_value());
  BOOST_REQUIRE(fit(made, *data).has_value());
  BOOST_TEST(made.settings.participation->per_round == 1U);
  auto wide = read("", {{"participation.mode", "async"}, {"participation.concurrency", "51"}});
  const auto fitted = fit(wide, *data);
  BOOST_REQUIRE(!fitted.has_value());
  BOOST_TEST(fitted.error().text() ==
             "--set participation.concurrency: is 51, and 50 "
             "clients can train; lower it to 50");
}

// Of 13 selected clients a third may drop out; and what is written for a run is read again.
BOOST_AUTO_TEST_CASE(shares_of_noise_are_two_thirds_of_the_selected) {
  std::vector<setting_override> shares = {{"algorithm.aggregation.rule", "uniform-mean"},
                                          {"participation.per_round", "10"},
                                          {"participation.over_selection", "1.3"},
                                          {"privacy.clip", "0.5"},
                                          {"privacy.noise", "1"},
                                          {"privacy.noise_at", "client"},
                                          {"privacy.secure_aggregation", "true"}};
  for (const std::uint32_t given : {0U, 4U}) {
    if (given > 0) shares.push_back({"participation.min_reports", std::to_string(given)});
    auto made = read("", shares);
    check_round_trip(made);
    const auto data = load_data(made);
    BOOST_REQUIRE(data.has_value());
    BOOST_REQUIRE(fit(made, *data).has_value());
    BOOST_TEST(made.settings.participation->min_reports == (given > 0 ? given : 9U));
  }
  auto plain = read("", {{"participation.min_reports", "0"}});
  const auto data = load_data(plain);
  BOOST_REQUIRE(data.has_value());
  BOOST_REQUIRE(fit(plain, *data).has_value());
  BOOST_TEST(plain.settings.participation->min_reports == 1U);
}

BOOST_AUTO_TEST_CASE(what_has_no_effect_is_noted) {
  const auto notes = [](const std::vector<setting_override>& overrides) {
    std::string all;
    for (const auto& note : read("", overrides).notes) all += note + "\n";
    return all;
  };
  BOOST_TEST(notes({{"participation.buffer", "5"}}) == "participation.buffer has no effect: mode is \"sync\"\n");
  BOOST_TEST(notes({{"participation.candidates", "5"}}) ==
             "participation.candidates has no effect: policy is \"uniform\"\n");
  BOOST_TEST(notes({{"participation.rate", "0.5"}}) == "participation.rate has no effect: policy is \"uniform\"\n");
  BOOST_TEST(notes({{"participation.policy", "poisson"},
                    {"participation.rate", "0.5"},
                    {"participation.over_selection", "1.5"},
                    {"participation.selection_timeout", "5"}}) ==
             "participation.per_round has no effect: policy is \"poisson\"\n"
             "participation.over_selection has no effect: policy is \"poisson\"\n"
             "participation.selection_timeout has no effect: policy is \"poisson\"\n");
  BOOST_TEST(notes({{"participation.mode", "async"}, {"participation.deadline", "5"}}) ==
             "participation.per_round has no effect: mode is \"async\"\n"
             "participation.deadline has no effect: mode is \"async\"\n");
  BOOST_TEST(notes({{"algorithm.kind", "fedrecon"}, {"private.layout", "bucketed"}}) ==
             "private.layout has no effect: fedrecon keeps nothing from round to round\n");
  BOOST_TEST(notes({{"devices.availability", "{kind = 'always', rate = 0.1}"}}) ==
             "devices.availability.rate has no effect: availability.kind is \"always\"\n");
  BOOST_TEST(notes({{"devices.availability", "{kind = 'diurnal', rate = 0.8}"}}) ==
             "devices.availability: rate and swing ask for more than all clients at the best hour; they are cut to "
             "all\n");
  BOOST_TEST(notes({{"devices.availability", "{kind = 'diurnal', rate = 0.6}"}}) == "");
  const std::string correlation = "devices.correlation.";
  BOOST_TEST(notes({{correlation + "availability_taste", "0.5"}}) ==
             correlation + "availability_taste has no effect: devices.availability.kind is \"always\"\n");
  BOOST_TEST(notes({{correlation + "availability_taste", "0.5"}, {"devices.availability.kind", "markov"}}) == "");
  BOOST_TEST(notes({{correlation + "speed_taste", "0.5"}, {"devices.speed.sigma", "0"}}) ==
             correlation + "speed_taste has no effect: all devices are equally fast (devices.speed.sigma is 0)\n");
  BOOST_TEST(notes({{correlation + "speed_taste", "0.5"}, {"devices.speed.sigma", "0.5"}}) == "");
  BOOST_TEST(notes({{"dropout.mean_pause", "5"}}) == "dropout.mean_pause has no effect: policy is \"abort\"\n");
  BOOST_TEST(notes({{"devices.classes", "[{mbit = 2}]"}, {"devices.speed.sigma", "0.1"}}) ==
             "devices.speed.sigma has no effect: devices.classes says how fast devices are\n");
  BOOST_TEST(notes({{"devices.classes", "[{mbit = 2}]"}, {correlation + "speed_taste", "0.5"}}) ==
             correlation + "speed_taste has no effect: all devices are of one class\n");
  BOOST_TEST(notes({{"devices.classes", "[{mbit = 2}, {mbit = 3}]"}, {correlation + "speed_taste", "0.5"}}) == "");
}

BOOST_AUTO_TEST_CASE(the_cap_of_attention_holds_for_all_that_are_asked) {
  const std::string many =
      "\n[smoke]\n\"data.users\" = 3500\n\"data.ratings_per_user\" = 10\n\"data.min_ratings\" = 1\n";
  auto wide = read(many,
                   {{"algorithm.aggregation.rule", "fedatt"},
                    {"participation.per_round", "3000"},
                    {"participation.over_selection", "1.4"}},
                   variant::smoke);
  const auto data = load_data(wide);
  BOOST_REQUIRE(data.has_value());
  const auto fitted = fit(wide, *data);
  BOOST_REQUIRE(!fitted.has_value());
  BOOST_TEST(fitted.error().text() ==
             "--set participation.per_round: asks 4200 clients a round, more than the exact "
             "sums of the rule fedatt hold; ask at most 4096");
}

BOOST_AUTO_TEST_SUITE_END()
