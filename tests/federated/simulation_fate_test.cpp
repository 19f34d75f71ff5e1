#include <boost/test/unit_test.hpp>

#include "federated/settings/devices.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "tests/federated/simulation_worlds.hpp"

BOOST_AUTO_TEST_SUITE(fates)

using namespace furlong;
using namespace furlong::federated;
using tests::hour;
using tests::second;

namespace {

const auto clients = std::make_shared<tests::counted_population>();  // 20 examples each

/// Download 2 s, training 20 x 3 x 50 ms = 3 s, upload 1 s; all devices alike and always there.
run_settings plain() {
  run_settings settings;
  settings.devices->ms_per_example = 50.0;
  settings.devices->mbit = 8.0;
  settings.devices->speed_sigma = 0.0;
  settings.devices->network_sigma = 0.0;
  return settings;
}

experiment assemble(const run_settings& settings) {
  experiment e;
  e.settings = settings;
  e.participants = clients;
  e.download_bytes = 2'000'000;
  e.planned_upload_bytes = [](std::uint32_t) { return std::uint64_t{1'000'000}; };
  e.around = make_world(settings, *clients, tests::draw_trace(7));
  return e;
}

/// Available from each even entry up to the following odd one; after the last for good as it left it.
class scripted final : public availability {
 public:
  explicit scripted(std::vector<virtual_time> flips) : flips_(std::move(flips)) {}
  bool available(std::uint32_t, virtual_time now, std::uint64_t) const override { return passed(now) % 2 == 1; }
  virtual_time changes(std::uint32_t, virtual_time now, std::uint64_t) const override {
    return passed(now) < flips_.size() ? flips_[passed(now)] : never;
  }

 private:
  [[nodiscard]] std::size_t passed(virtual_time now) const {
    return static_cast<std::size_t>(std::upper_bound(flips_.begin(), flips_.end(), now) - flips_.begin());
  }
  std::vector<virtual_time> flips_;
};

/// Of one task that starts at 10 s with a client available between these seconds.
fate of_script(const run_settings& settings, std::vector<virtual_time> seconds) {
  for (auto& at : seconds) at *= second;
  auto e = assemble(settings);
  e.around = std::make_shared<world>(
      world{device_park(*settings.devices, settings.seed, *clients), std::make_unique<scripted>(std::move(seconds))});
  return draw_fate(e, {0, 0, 0, 0}, 10 * second);
}

void check(const fate& is, virtual_time trained, virtual_time ends, std::optional<drop_stage> dropped) {
  BOOST_TEST(is.trained_at == (trained == never ? never : trained * second));
  BOOST_TEST(is.ends_at == ends * second);
  BOOST_TEST((is.dropped == dropped));
}

bool same(const fate& a, const fate& b) {
  return a.trained_at == b.trained_at && a.ends_at == b.ends_at && a.dropped == b.dropped;
}

/// Time between two instants in which the client is available.
virtual_time online(const availability& presence, const task_id& task, virtual_time from, virtual_time to) {
  virtual_time sum = 0;
  while (from < to) {
    const auto next = std::min(to, presence.changes(task.client, from, task.version));
    if (presence.available(task.client, from, task.version)) sum += next - from;
    from = next;
  }
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_interruptions_a_task_takes_its_three_stages) {
  auto settings = plain();
  check(draw_fate(assemble(settings), {0, 0, 5, 0}, 10 * second), 15, 16, {});
  settings.devices->latency = 0.5;  // once a message
  const auto late = draw_fate(assemble(settings), {0, 0, 5, 0}, 10 * second);
  BOOST_TEST(late.trained_at == 15 * second + second / 2);
  BOOST_TEST(late.ends_at == 17 * second);
  settings.devices->latency = 0.0;
  settings.client->epochs = 4;
  check(draw_fate(assemble(settings), {0, 0, 5, 0}, 10 * second), 24, 25, {});
  auto silent = assemble(plain());
  silent.planned_upload_bytes = {};
  check(draw_fate(silent, {0, 0, 5, 0}, 10 * second), 15, 15, {});
}

BOOST_AUTO_TEST_CASE(stages_go_at_the_speed_of_the_clients_device) {
  auto settings = plain();
  settings.devices->speed_sigma = 0.7;
  settings.devices->network_sigma = 0.9;
  const auto e = assemble(settings);
  for (std::uint32_t client = 0; client < 200; ++client) {
    const auto own = e.around->devices.of(client);
    const auto is = draw_fate(e, {0, 3, client, 0}, 0);
    const auto trained = from_seconds(2e6 / own.bytes_per_second) + from_seconds(20 * own.seconds_per_example);
    BOOST_TEST(is.trained_at == trained);
    BOOST_TEST(is.ends_at == trained + from_seconds(1e6 / own.bytes_per_second));
  }
}

BOOST_AUTO_TEST_CASE(stragglers_are_a_share_of_tasks_not_of_clients) {
  auto settings = plain();
  settings.devices->straggler_share = 0.2;
  settings.devices->straggler_factor = 10.0;
  const auto e = assemble(settings);
  double slow = 0;
  double again = 0;
  constexpr std::uint32_t tasks = 20'000;
  for (std::uint32_t client = 0; client < tasks; ++client) {
    const auto is = draw_fate(e, {0, 1, client, 0}, 0);
    BOOST_TEST_REQUIRE((is.trained_at == 5 * second || is.trained_at == 32 * second));
    BOOST_TEST_REQUIRE(is.ends_at - is.trained_at == second);
    if (is.trained_at == 5 * second) continue;
    ++slow;
    if (draw_fate(e, {0, 2, client, 0}, 0).trained_at != 5 * second) ++again;
  }
  BOOST_TEST(tests::share_fits(slow / tasks, 0.2, tasks));
  BOOST_TEST(tests::share_fits(again / slow, 0.2, slow));
}

BOOST_AUTO_TEST_CASE(clients_drop_out_at_the_rate_of_each_stage_and_anywhere_in_it) {
  auto settings = plain();
  *settings.dropout = {.download = 0.1, .train = 0.3, .upload = 0.2};
  const auto e = assemble(settings);
  constexpr std::uint32_t tasks = 40'000;
  const std::array<double, 4> begins{0, 2, 5, 6};
  std::array<tests::moments, 3> where;
  double reported = 0;
  for (std::uint32_t client = 0; client < tasks; ++client) {
    const auto is = draw_fate(e, {0, 1, client, 0}, 0);
    BOOST_TEST_REQUIRE((is.trained_at != never) == (is.dropped.value_or(drop_stage::upload) == drop_stage::upload));
    if (!is.dropped) {
      ++reported;
      BOOST_TEST_REQUIRE(is.ends_at == 6 * second);
      continue;
    }
    const auto stage = static_cast<std::size_t>(*is.dropped);
    const double at = (to_seconds(is.ends_at) - begins[stage]) / (begins[stage + 1] - begins[stage]);
    BOOST_TEST_REQUIRE((at >= 0 && at < 1));
    where[stage].add(at);
  }
  BOOST_TEST(tests::share_fits(where[0].n / tasks, 0.1, tasks));
  BOOST_TEST(tests::share_fits(where[1].n / tasks, 0.9 * 0.3, tasks));
  BOOST_TEST(tests::share_fits(where[2].n / tasks, 0.9 * 0.7 * 0.2, tasks));
  BOOST_TEST(tests::share_fits(reported / tasks, 0.9 * 0.7 * 0.8, tasks));
  for (const auto& one : where) {
    BOOST_TEST(std::abs(one.mean() - 0.5) < 5 * std::sqrt(1.0 / 12 / one.n));
    BOOST_TEST(std::abs(one.variance() - 1.0 / 12) < 5 * std::sqrt(1.0 / 180 / one.n));
  }
}

BOOST_AUTO_TEST_CASE(classes_of_devices_may_drop_out_at_rates_of_their_own) {
  auto settings = plain();
  *settings.dropout = {.download = 0.0, .train = 0.4, .upload = 0.3};
  settings.devices->classes = {{.share = 1, .ms_per_example = 50, .mbit = 8, .download = {}, .train = 0.1, .upload = 0},
                               {.share = 1, .ms_per_example = 25, .mbit = 8}};
  const auto e = assemble(settings);
  std::array<std::array<double, 4>, 2> ends{};  // by class: dropped in each stage, or not
  for (std::uint32_t client = 0; client < 20'000; ++client) {
    const auto is = draw_fate(e, {0, 1, client, 0}, 0);
    const bool slow = e.around->devices.of(client).seconds_per_example > 0.1;
    ++ends[slow ? 0 : 1][is.dropped ? static_cast<std::size_t>(*is.dropped) : 3];
  }
  BOOST_TEST(ends[0][0] + ends[0][2] + ends[1][0] == 0.0);
  const double slow = ends[0][1] + ends[0][3];
  const double fast = ends[1][1] + ends[1][2] + ends[1][3];
  BOOST_TEST(tests::share_fits(ends[0][1] / slow, 0.1, slow));
  BOOST_TEST(tests::share_fits(ends[1][1] / fast, 0.4, fast));
  BOOST_TEST(tests::share_fits(ends[1][2] / fast, 0.6 * 0.3, fast));
}

BOOST_AUTO_TEST_CASE(a_client_that_pauses_goes_on_after_an_exponential_time) {
  auto settings = plain();
  *settings.dropout = {.train = 0.4, .policy = dropout_policy::pause, .mean_pause = 50.0};
  const auto e = assemble(settings);
  constexpr std::uint32_t tasks = 40'000;
  tests::moments pauses;
  for (std::uint32_t client = 0; client < tasks; ++client) {
    const auto is = draw_fate(e, {0, 1, client, 0}, 0);
    BOOST_TEST_REQUIRE(!is.dropped);
    BOOST_TEST_REQUIRE(is.ends_at == is.trained_at + second);  // it rested in training
    if (is.ends_at > 6 * second) pauses.add(to_seconds(is.ends_at) - 6);
  }
  BOOST_TEST(tests::share_fits(pauses.n / tasks, 0.4, tasks));
  BOOST_TEST(std::abs(pauses.mean() - 50) < 5 * 50 / std::sqrt(pauses.n));
  BOOST_TEST(std::abs(pauses.variance() / 2500 - 1) < 5 * std::sqrt(8 / pauses.n));
}

BOOST_AUTO_TEST_CASE(a_pause_of_no_length_changes_nothing) {
  auto settings = plain();
  settings.devices->network_sigma = 0.5;
  const auto calm = assemble(settings);
  *settings.dropout = {.download = 1, .train = 1, .upload = 1, .policy = dropout_policy::pause, .mean_pause = 0.0};
  const auto e = assemble(settings);
  for (std::uint32_t client = 0; client < 200; ++client)
    BOOST_TEST(same(draw_fate(e, {0, 1, client, 0}, 7), draw_fate(calm, {0, 1, client, 0}, 7)));
}

BOOST_AUTO_TEST_CASE(every_stage_may_pause) {
  auto settings = plain();
  *settings.dropout = {.download = 1, .train = 1, .upload = 1, .policy = dropout_policy::pause, .mean_pause = 50.0};
  const auto e = assemble(settings);
  tests::moments both;
  constexpr std::uint32_t tasks = 20'000;
  for (std::uint32_t client = 0; client < tasks; ++client) {
    const auto is = draw_fate(e, {0, 1, client, 0}, 0);
    both.add(to_seconds(is.trained_at) - 5, to_seconds(is.ends_at - is.trained_at) - 1);
  }
  BOOST_TEST(std::abs(both.mean() - 100) < 5 * 50 * std::sqrt(2.0 / tasks));
  BOOST_TEST(std::abs(both.y / tasks - 50) < 5 * 50 / std::sqrt(tasks));
  BOOST_TEST(std::abs(both.correlation()) < 5 / std::sqrt(tasks));
}

BOOST_AUTO_TEST_CASE(fates_are_keyed_by_seed_version_client_and_attempt) {
  auto settings = plain();
  settings.devices->speed_sigma = 0.5;
  *settings.dropout = {.download = 0.3, .train = 0.3, .upload = 0.3, .policy = dropout_policy::pause};
  const auto e = assemble(settings);
  const auto twin = assemble(settings);
  settings.seed = 2;
  const auto other = assemble(settings);
  std::vector<fate> forward;
  for (std::uint32_t client = 0; client < 300; ++client) forward.push_back(draw_fate(e, {0, 4, client, 0}, hour));
  std::array<std::size_t, 3> differ{};
  for (std::uint32_t client = 300; client-- > 0;) {
    BOOST_TEST(same(draw_fate(twin, {0, 4, client, 0}, hour), forward[client]));
    if (!same(draw_fate(e, {0, 5, client, 0}, hour), forward[client])) ++differ[0];
    if (!same(draw_fate(e, {0, 4, client, 1}, hour), forward[client])) ++differ[1];
    if (!same(draw_fate(other, {0, 4, client, 0}, hour), forward[client])) ++differ[2];
    // Where nothing depends on the time of day a later start only shifts it.
    const auto later = draw_fate(e, {0, 4, client, 0}, 2 * hour);
    BOOST_TEST(later.ends_at == forward[client].ends_at + hour);
    BOOST_TEST(later.trained_at == forward[client].trained_at + hour);
  }
  for (const auto count : differ) BOOST_TEST(count > 150U);
}

BOOST_AUTO_TEST_CASE(a_higher_rate_concerns_more_clients_and_the_same_ones) {
  auto settings = plain();
  *settings.dropout = {.download = 0.05, .train = 0.1, .upload = 0.05};
  const auto mild = assemble(settings);
  *settings.dropout = {.download = 0.05, .train = 0.3, .upload = 0.05};
  const auto harsh = assemble(settings);
  std::size_t more = 0;
  for (std::uint32_t client = 0; client < 3000; ++client) {
    const auto before = draw_fate(mild, {0, 1, client, 0}, 0);
    const auto after = draw_fate(harsh, {0, 1, client, 0}, 0);
    if (same(before, after)) continue;
    BOOST_TEST((before.dropped.value_or(drop_stage::upload) == drop_stage::upload));
    BOOST_TEST((after.dropped == drop_stage::train));
    ++more;
  }
  BOOST_TEST((more > 400 && more < 800));
}

BOOST_AUTO_TEST_CASE(with_abort_a_client_that_ceases_to_be_available_drops_out_there) {
  const auto settings = plain();  // from 10: download to 12, training to 15, upload to 16
  check(of_script(settings, {0, 11}), never, 11, drop_stage::download);
  check(of_script(settings, {0, 14, 20}), never, 14, drop_stage::train);
  check(of_script(settings, {0, 15, 20}), 15, 15, drop_stage::upload);
  check(of_script(settings, {0, 16}), 15, 16, {});  // just through
  check(of_script(settings, {10, 17}), 15, 16, {});
  check(of_script(settings, {20}), never, 10, drop_stage::download);  // it was not even there
}

BOOST_AUTO_TEST_CASE(with_pause_a_client_rests_until_it_is_available_again) {
  auto settings = plain();
  settings.dropout->policy = dropout_policy::pause;
  check(of_script(settings, {0, 11, 21}), 25, 26, {});
  check(of_script(settings, {0, 11, 21, 22, 30, 31, 40}), 42, 43, {});
  check(of_script(settings, {0, 15, 50}), 15, 51, {});
  check(of_script(settings, {20}), 25, 26, {});
  // One that never comes back drops out when it goes.
  check(of_script(settings, {0, 14}), never, 14, drop_stage::train);
  check(of_script(settings, {0, 11, 21, 25}), 25, 25, drop_stage::upload);
  check(of_script(settings, {}), never, 10, drop_stage::download);
}

BOOST_AUTO_TEST_CASE(a_pause_that_ends_while_the_client_is_away_lasts_until_it_is_back) {
  auto settings = plain();
  *settings.dropout = {.download = 1, .policy = dropout_policy::pause, .mean_pause = 1.0};
  const auto free = of_script(settings, {0});
  const auto paused = free.ends_at - 16 * second;  // begins before 12 s
  BOOST_TEST_REQUIRE(paused > 0);
  const auto held = of_script(settings, {0, 12, 1000});
  BOOST_TEST(!held.dropped);
  const bool over_in_time = free.trained_at - 3 * second <= 12 * second;
  BOOST_TEST(held.ends_at > 1000 * second);
  BOOST_TEST((held.trained_at == 1003 * second) == over_in_time);
  settings.dropout->mean_pause = 1e5;  // as good as surely past the absence
  const auto slept = of_script(settings, {0, 12, 13});
  const auto slept_freely = of_script(settings, {0});
  BOOST_TEST(same(slept, slept_freely));
}

BOOST_AUTO_TEST_CASE(what_is_out_of_reach_never_ends) {
  for (const std::string kind : {"always", "markov", "diurnal"})
    for (const auto policy : {dropout_policy::abort, dropout_policy::pause}) {
      auto settings = plain();
      settings.devices->mbit = 0.0;
      settings.devices->availability.kind = kind;
      settings.dropout->policy = policy;
      const auto is = draw_fate(assemble(settings), {0, 0, 3, 0}, hour);
      const bool stays = kind == "always" || policy == dropout_policy::pause;
      BOOST_TEST((is.ends_at == never) == stays);
      BOOST_TEST(is.dropped.has_value() == !stays);
      BOOST_TEST(is.trained_at == never);
    }
}

BOOST_AUTO_TEST_CASE(work_is_done_only_while_the_client_is_available) {
  for (const std::string kind : {"always", "bernoulli", "markov", "diurnal", "trace"})
    for (const auto policy : {dropout_policy::abort, dropout_policy::pause}) {
      auto settings = plain();
      settings.devices->ms_per_example = 10'000.0;  // ten minutes of training
      settings.devices->mbit = 0.05;
      settings.devices->speed_sigma = 0.8;
      settings.devices->availability.kind = kind;
      settings.devices->availability.mean_online = 900;
      settings.devices->availability.dwell = 300;
      settings.dropout->policy = policy;
      const auto undisturbed = assemble(plain());
      const auto e = assemble(settings);
      settings.devices->availability.kind = "always";
      const auto calm = assemble(settings);
      std::size_t dropped = 0;
      for (std::uint32_t client = 0; client < 400; ++client) {
        const task_id task{0, 2, client, 0};
        const auto start = static_cast<virtual_time>(client) * 1234 * second;
        const auto& presence = *e.around->presence;
        const auto is = draw_fate(e, task, start);
        const auto ideal = draw_fate(calm, task, start);
        BOOST_TEST_REQUIRE((start <= is.ends_at && is.ends_at < never));
        if (is.dropped) ++dropped;
        if (is.trained_at != never) BOOST_TEST((start < is.trained_at && is.trained_at <= is.ends_at));
        const bool there = presence.available(client, start, 2);
        const auto until = presence.changes(client, start, 2);
        if (policy == dropout_policy::abort) {
          const bool in_time = there && ideal.ends_at <= until;
          BOOST_TEST(is.dropped.has_value() == !in_time);
          BOOST_TEST(is.ends_at == (in_time ? ideal.ends_at : there ? until : start));
          BOOST_TEST(is.trained_at == (there && ideal.trained_at <= until ? ideal.trained_at : never));
        } else if (!is.dropped) {
          BOOST_TEST(online(presence, task, start, is.trained_at) == ideal.trained_at - start);
          BOOST_TEST(online(presence, task, start, is.ends_at) == ideal.ends_at - start);
          BOOST_TEST(presence.available(client, is.ends_at - 1, 2));
        } else {
          BOOST_TEST((!presence.available(client, is.ends_at, 2) && presence.changes(client, is.ends_at, 2) == never));
        }
      }
      if (kind == "always") BOOST_TEST(dropped == 0U);
      if (kind == "markov") BOOST_TEST((dropped > 100) == (policy == dropout_policy::abort));
    }
}

BOOST_AUTO_TEST_CASE(times_are_in_order_whatever_happens) {
  random_stream stream(9, purpose::test);
  constexpr const char* kinds[] = {"always", "bernoulli", "markov", "diurnal", "trace"};
  const auto rate = [&] { return static_cast<double>(stream.uniform()) * 0.6; };
  for (int run = 0; run < 60; ++run) {
    auto settings = plain();
    settings.seed = stream();
    settings.devices->speed_sigma = 2.0;
    settings.devices->network_sigma = 2.0;
    settings.devices->latency = rate();
    settings.devices->straggler_share = rate();
    settings.devices->ms_per_example = 3000.0;
    settings.devices->availability.kind = kinds[stream.below(5)];
    settings.devices->availability.mean_online = 300.0;
    settings.devices->speed_availability = rate();
    *settings.dropout = {rate(), rate(), rate(), static_cast<dropout_policy>(stream.below(2)), 300.0};
    const auto e = assemble(settings);
    for (std::uint32_t client = 0; client < 100; ++client) {
      const auto start = static_cast<virtual_time>(stream()) * 100;
      const auto is = draw_fate(e, {0, stream.below(50), client, 0}, start);
      BOOST_TEST((is.ends_at >= start && is.ends_at < never));
      const bool trained = is.dropped.value_or(drop_stage::upload) == drop_stage::upload;
      BOOST_TEST((is.trained_at != never) == trained);
      if (trained) BOOST_TEST((start <= is.trained_at && is.trained_at <= is.ends_at));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
