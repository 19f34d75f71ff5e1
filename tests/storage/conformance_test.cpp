// The contract of private_store, held against every implementation.
#include <boost/mpl/list.hpp>
#include <map>
#include <thread>

#include "storage/memory_store.hpp"
#include "storage/rocks_store.hpp"
#include "tests/storage/store_kinds.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(private_store_contract)

using federated::run_history;
using models::private_parameters;

namespace {

struct memory_harness {
  static constexpr std::uint32_t trials = 6;
  models::layout_ptr layout = small_layout();
  std::unique_ptr<storage::memory_store> store = std::make_unique<storage::memory_store>(layout);
  void crash(const run_history& history) { store->resume(history); }
  void erase(std::uint32_t client) { BOOST_TEST(must(store->erase(client))); }
};

/// A durable store with more shards than it may keep open.
template <storage::store_layout Layout, bool Encrypted, std::uint32_t OpenShards>
struct rocks_harness {
  static constexpr std::uint32_t trials = OpenShards == 1 ? 1 : 2;  // they open and close shards all the time
  models::layout_ptr layout = small_layout();
  temporary_folder folder;
  storage::store_options options = store_kind{Layout, Encrypted}.options(
      {.run = 7, .history = {}, .expected_clients = 1600, .open_shards = OpenShards});
  std::unique_ptr<storage::rocks_store> store = must(storage::rocks_store::create(folder.path(), layout, options));
  void crash(const run_history& history) {
    store.reset();
    options.history = history;
    store = must(storage::rocks_store::open(folder.path(), layout, options));
  }
  void erase(std::uint32_t client) { BOOST_TEST(must(store->erase(client))); }
};

template <class Harness>
void put(Harness& h, std::uint32_t client, std::uint64_t version) {
  must(h.store->commit(client, version, make_value(h.layout, client, version)));
}
/// Whether the client has the value that was made for `version`.
template <class Harness>
bool has(Harness& h, std::uint32_t client, std::uint64_t version) {
  private_parameters out(h.layout);
  return must(h.store->load(client, out)) && same(out, make_value(h.layout, client, version));
}
template <class Harness>
bool absent(Harness& h, std::uint32_t client) {
  private_parameters out(h.layout);
  return !must(h.store->load(client, out));
}
template <class Harness>
void checkpoint(Harness& h, std::uint64_t version) {
  must(h.store->sync());
  h.store->covered(version);
}

}  // namespace

using enum storage::store_layout;
using harnesses =
    boost::mpl::list<memory_harness, rocks_harness<per_client, false, 2>, rocks_harness<bucketed, false, 2>,
                     rocks_harness<per_client, true, 2>, rocks_harness<bucketed, true, 2>,
                     rocks_harness<per_client, false, 1>, rocks_harness<bucketed, true, 1>>;

namespace {

/// Tasks of pending values whose content is that made for their versions.
template <class Harness>
std::vector<federated::task_id> pending(Harness& h) {
  std::vector<federated::task_id> found;
  must(h.store->visit_pending([&](const federated::task_id& task, const private_parameters& value) {
    BOOST_TEST(same(value, make_value(h.layout, task.client, 100 + task.version)));
    found.push_back(task);
  }));
  return found;
}
template <class Harness>
void stage(Harness& h, const federated::task_id& task) {
  must(h.store->stage(task, make_value(h.layout, task.client, 100 + task.version)));
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(pending_values_wait_beside_the_others, Harness, harnesses) {
  using tasks = std::vector<federated::task_id>;
  Harness h;
  BOOST_TEST(pending(h).empty());
  must(h.store->discard({7, 0, 3, 0}));
  put(h, 3, 0);
  stage(h, {7, 1, 3, 2});
  stage(h, {7, 1, 1599, 0});
  BOOST_TEST(has(h, 3, 0));
  BOOST_TEST(absent(h, 1599));
  BOOST_TEST((pending(h) == tasks{{7, 1, 3, 2}, {7, 1, 1599, 0}}));
  must(h.store->discard({7, 1, 3, 1}));  // another attempt
  stage(h, {7, 3, 1599, 0});             // in place of the earlier one
  must(h.store->discard({7, 1, 1599, 0}));
  BOOST_TEST((pending(h) == tasks{{7, 1, 3, 2}, {7, 3, 1599, 0}}));
  put(h, 3, 1);
  must(h.store->discard({7, 1, 3, 2}));
  BOOST_TEST(has(h, 3, 1));
  BOOST_TEST((pending(h) == tasks{{7, 3, 1599, 0}}));
  stage(h, {7, 1, 5, 0});
  checkpoint(h, 2);
  h.crash({{2}, {1}});  // task 3/1599 started after the checkpoint
  BOOST_TEST((pending(h) == tasks{{7, 1, 5, 0}}));
  BOOST_TEST(has(h, 3, 1));
  h.erase(5);
  BOOST_TEST(pending(h).empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_pending_value_that_a_checkpoint_covers_waits_beside_later_ones, Harness, harnesses) {
  using tasks = std::vector<federated::task_id>;
  Harness h;
  stage(h, {7, 0, 3, 0});
  stage(h, {7, 2, 3, 0});
  BOOST_TEST((pending(h) == tasks{{7, 2, 3, 0}}));
  checkpoint(h, 3);
  stage(h, {7, 5, 3, 0});
  stage(h, {7, 6, 3, 0});  // in place of that of version 5
  stage(h, {7, 6, 3, 0});
  auto found = pending(h);
  std::ranges::sort(found);
  BOOST_TEST((found == tasks{{7, 2, 3, 0}, {7, 6, 3, 0}}));
  h.crash({{3}, {1}});
  BOOST_TEST((pending(h) == tasks{{7, 2, 3, 0}}));
  stage(h, {7, 4, 3, 1});
  checkpoint(h, 5);
  stage(h, {7, 5, 3, 0});  // that of version 2 was decided before the checkpoint
  found = pending(h);
  std::ranges::sort(found);
  BOOST_TEST((found == tasks{{7, 4, 3, 1}, {7, 5, 3, 0}}));
  must(h.store->discard({7, 4, 3, 1}));
  must(h.store->discard({7, 5, 3, 0}));
  BOOST_TEST(pending(h).empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_was_committed_last_is_loaded, Harness, harnesses) {
  Harness h;
  BOOST_TEST(absent(h, 3));
  put(h, 3, 0);
  put(h, 1599, 0);
  BOOST_TEST(has(h, 3, 0));
  put(h, 3, 1);
  BOOST_TEST(has(h, 3, 1));
  BOOST_TEST(has(h, 1599, 0));
  BOOST_TEST(absent(h, 4));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_value_of_another_size_is_refused, Harness, harnesses) {
  Harness h;
  const private_parameters other(small_layout(3));
  BOOST_TEST(!h.store->commit(3, 0, other).has_value());
  BOOST_TEST(absent(h, 3));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_resumed_run_has_what_its_checkpoint_covers, Harness, harnesses) {
  Harness h;
  put(h, 1, 2);
  checkpoint(h, 5);
  put(h, 1, 6);
  put(h, 1, 7);
  put(h, 2, 7);
  BOOST_TEST(has(h, 1, 7));
  h.crash({{5}});
  BOOST_TEST(has(h, 1, 2));
  BOOST_TEST(absent(h, 2));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_a_lost_life_wrote_stays_lost_after_later_checkpoints, Harness, harnesses) {
  Harness h;
  put(h, 1, 3);
  checkpoint(h, 5);
  put(h, 1, 8);
  h.crash({{5}});
  put(h, 2, 9);
  checkpoint(h, 10);  // above 8, but of a life that never saw it
  BOOST_TEST(has(h, 1, 3));
  h.crash({{5, 10}});
  BOOST_TEST(has(h, 1, 3));
  BOOST_TEST(has(h, 2, 9));
  put(h, 1, 11);
  BOOST_TEST(has(h, 1, 11));
  h.crash({{5, 10, 10}});
  BOOST_TEST(has(h, 1, 3));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(two_crashes_after_one_checkpoint_give_its_values_both_times, Harness, harnesses) {
  Harness h;
  put(h, 1, 3);
  checkpoint(h, 5);
  put(h, 1, 6);
  h.crash({{5}});
  put(h, 1, 7);
  h.crash({{5}});  // the same history as before: no checkpoint has told of the life in between
  BOOST_TEST(has(h, 1, 3));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_run_that_begins_anew_finds_nothing, Harness, harnesses) {
  Harness h;
  put(h, 1, 0);
  h.crash({});
  BOOST_TEST(absent(h, 1));
  put(h, 1, 4);
  BOOST_TEST(has(h, 1, 4));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(visit_shows_every_value_in_order, Harness, harnesses) {
  Harness h;
  for (const std::uint32_t client : {1500U, 2U, 700U, 401U, 5000U, 399U}) put(h, client, client + 1);
  checkpoint(h, 6000);
  put(h, 9, 6001);
  h.crash({{6000}});
  std::vector<std::uint32_t> seen;
  must(h.store->visit([&](std::uint32_t client, std::uint64_t version, const private_parameters& value) {
    seen.push_back(client);
    BOOST_TEST(version == client + 1);
    BOOST_TEST(same(value, make_value(h.layout, client, version)));
  }));
  BOOST_TEST(seen == (std::vector<std::uint32_t>{2, 399, 401, 700, 1500, 5000}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_erased_client_is_gone, Harness, harnesses) {
  Harness h;
  put(h, 1, 0);
  put(h, 2, 0);
  h.erase(1);
  BOOST_TEST(absent(h, 1));
  BOOST_TEST(has(h, 2, 0));
  put(h, 1, 1);
  BOOST_TEST(has(h, 1, 1));
}

// The definition of the contract: after any sequence of commits, checkpoints and crashes, load() gives what a run would
// have that simply went back to its last checkpoint's state.
BOOST_AUTO_TEST_CASE_TEMPLATE(any_history_equals_going_back_to_the_checkpoint, Harness, harnesses) {
  for (std::uint32_t trial = 0; trial < Harness::trials; ++trial) {
    Harness h;
    random_stream draws(trial, purpose::test);
    std::map<std::uint32_t, std::uint64_t> now;
    std::map<std::uint32_t, std::uint64_t> saved;
    std::uint64_t version = 0;
    std::uint64_t saved_version = 0;
    run_history history;
    run_history saved_history;
    for (int step = 0; step < 80; ++step) {
      const auto what = draws.below(100);
      if (what < 75) {
        const auto client = draws.below(12) * 131;
        put(h, client, version);
        now[client] = version;
        if (draws.below(3) == 0) ++version;
      } else if (what < 88) {
        checkpoint(h, ++version);
        saved = now;
        saved_version = version;
        saved_history = history;
      } else {
        history = saved_history;
        history.resume(saved_version, 1);
        h.crash(history);
        now = saved;
        version = saved_version;
      }
      if (step % 10 != 9) continue;
      for (std::uint32_t client = 0; client < 12 * 131; client += 131)
        BOOST_REQUIRE_MESSAGE(now.contains(client) ? has(h, client, now[client]) : absent(h, client),
                              "trial " << trial << ", step " << step << ", client " << client);
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(threads_may_work_on_distinct_clients, Harness, harnesses) {
  Harness h;
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (std::uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&h, &wrong, t] {
      private_parameters out(h.layout);
      for (std::uint64_t version = 0; version < 6; ++version)
        for (std::uint32_t client = t; client < 1600; client += 160) {  // each thread meets every shard
          const auto value = make_value(h.layout, client, version);
          if (!h.store->commit(client, version, value)) ++wrong;
          const auto found = h.store->load(client, out);
          if (!found || !*found || !same(out, value)) ++wrong;
        }
    });
  threads.clear();
  BOOST_TEST(wrong == 0);
  for (std::uint32_t client = 0; client < 4; ++client) BOOST_TEST(has(h, client, 5));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
