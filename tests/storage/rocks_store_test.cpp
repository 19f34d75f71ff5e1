// What is particular to the durable store: its folder, its shards, its logs.
#include "storage/rocks_store.hpp"

#include "tests/storage/fixtures.hpp"

namespace furlong::tests {

using models::private_parameters;
using storage::rocks_store;
using storage::store_access;
using storage::store_options;

namespace {

std::uintmax_t bytes_below(const fs::path& folder) {
  std::uintmax_t sum = 0;
  for (const auto& file : files_below(folder)) sum += fs::file_size(file);
  return sum;
}

bool has(rocks_store& store, std::uint32_t client, std::uint64_t version) {
  private_parameters out(store.layout());
  return must(store.load(client, out)) && same(out, make_value(store.layout(), client, version));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rocks_store_folder)

BOOST_AUTO_TEST_CASE(a_closed_store_has_all_its_values_when_opened_again) {
  const temporary_folder folder;
  const auto layout = small_layout();
  {
    const auto store = must(rocks_store::create(folder.path(), layout, {.run = 5, .history = {}}));
    for (std::uint32_t client = 0; client < 30; ++client)
      must(store->commit(client, client, make_value(layout, client, client)));
  }
  const auto store = must(rocks_store::open(folder.path(), layout, {.run = 5, .history = {{100}}}));
  for (std::uint32_t client = 0; client < 30; ++client) BOOST_TEST(has(*store, client, client));
}

BOOST_AUTO_TEST_CASE(shards_follow_from_the_expected_clients) {
  for (const auto& [clients, shards] : {std::pair{0U, 1U}, {400U, 1U}, {401U, 2U}, {10'000U, 25U}, {1U << 31U, 256U}}) {
    const temporary_folder folder;
    const auto store =
        must(rocks_store::create(folder.path(), small_layout(), {.history = {}, .expected_clients = clients}));
    BOOST_TEST(store->shards() == shards);
  }
}

BOOST_AUTO_TEST_CASE(wrong_folders_and_settings_are_refused_with_a_reason) {
  const temporary_folder folder;
  const auto layout = small_layout();
  const auto missing = must_fail(rocks_store::open(folder.path(), layout, {.history = {}}));
  BOOST_TEST(contains(missing, "there is no private store here"));
  must(rocks_store::create(folder.path(), layout, {.run = 5, .history = {}}));
  BOOST_TEST(contains(must_fail(rocks_store::create(folder.path(), layout, {.run = 5, .history = {}})), "already"));
  BOOST_TEST(contains(must_fail(rocks_store::open(folder.path(), layout, {.run = 6, .history = {}})), "another run"));
  const auto other = must_fail(rocks_store::open(folder.path(), small_layout(20), {.run = 5, .history = {}}));
  BOOST_TEST(contains(other, "another private layout"));
  BOOST_TEST(contains(other, "user 1 50"));
}

BOOST_AUTO_TEST_CASE(a_store_has_one_writer) {
  const temporary_folder folder;
  const auto writer = must(rocks_store::create(folder.path(), small_layout(), {.history = {}}));
  BOOST_TEST(contains(must_fail(rocks_store::open(folder.path(), small_layout(), {.history = {}})), "another process"));
  BOOST_TEST(contains(must_fail(rocks_store::inspect(folder.path(), store_access::read)), "another process"));
}

BOOST_AUTO_TEST_CASE(an_inspected_store_lists_and_shows_and_changes_nothing) {
  const temporary_folder folder;
  const auto layout = small_layout();
  {
    const auto store =
        must(rocks_store::create(folder.path(), layout, {.run = 5, .history = {}, .expected_clients = 900}));
    for (const std::uint32_t client : {800U, 3U, 450U}) must(store->commit(client, 7, make_value(layout, client, 7)));
  }
  const auto before = files_below(folder.path());
  const auto bytes = bytes_below(folder.path());
  {
    const auto first = must(rocks_store::inspect(folder.path(), store_access::read));
    const auto store = must(rocks_store::inspect(folder.path(), store_access::read));  // readers share
    BOOST_TEST(store->run() == 5);
    BOOST_TEST(store->layout()->signature() == layout->signature());
    const auto all = must(store->list());
    BOOST_REQUIRE(all.size() == 3);
    BOOST_TEST(all[0].client == 3);
    BOOST_TEST(all[1].client == 450);
    BOOST_TEST(all[2].client == 800);
    for (const auto& one : all) BOOST_TEST((one.version == 7 && one.life == 0 && one.bytes > 51 * sizeof(float)));
    BOOST_TEST(has(*store, 450, 7));
    BOOST_TEST(store->verify().empty());
    BOOST_TEST(!store->commit(3, 8, make_value(layout, 3, 8)).has_value());
    BOOST_TEST(!store->erase(3).has_value());
  }
  BOOST_TEST(files_below(folder.path()) == before, boost::test_tools::per_element());
  BOOST_TEST(bytes_below(folder.path()) == bytes);
}

BOOST_AUTO_TEST_CASE(few_open_shards_hold_all_values) {
  const temporary_folder folder;
  const auto layout = small_layout();
  const auto store =
      must(rocks_store::create(folder.path(), layout, {.history = {}, .expected_clients = 10 * 400, .open_shards = 1}));
  for (std::uint64_t version = 0; version < 3; ++version)
    for (std::uint32_t client = 17; client < 4000; client += 400)
      must(store->commit(client, version, make_value(layout, client, version)));
  must(store->sync());
  for (std::uint32_t client = 17; client < 4000; client += 400) BOOST_TEST(has(*store, client, 2));
  BOOST_TEST(store->verify().empty());
}

BOOST_AUTO_TEST_CASE(logs_stay_bounded_however_often_clients_commit) {
  const temporary_folder folder;
  const auto layout = small_layout();
  constexpr std::uintmax_t bound = 10U << 20U;
  std::uintmax_t most = 0;
  {
    const auto store = must(rocks_store::create(folder.path(), layout, {.history = {}}));
    std::uint64_t version = 0;
    for (; version < 90'000; ++version) {  // some 25 MB of records
      const auto client = static_cast<std::uint32_t>(version % 7);
      auto value = private_parameters(layout);
      value.values()[0] = static_cast<float>(version);
      must(store->commit(client, version, value));
      if (version % 5'000 == 0) {
        most = std::max(most, bytes_below(folder.path()));
        must(store->sync());
        store->covered(version);
      }
    }
    private_parameters out(layout);
    for (std::uint64_t last = version - 7; last < version; ++last) {
      BOOST_TEST(must(store->load(static_cast<std::uint32_t>(last % 7), out)));
      BOOST_TEST(out.values()[0] == static_cast<float>(last));
    }
  }
  BOOST_TEST(most > bound / 2);  // else the test has not reached the bound
  BOOST_TEST(most < bound);
  BOOST_TEST(bytes_below(folder.path()) < bound);
}

BOOST_AUTO_TEST_CASE(many_openings_do_not_pile_up_files) {
  const temporary_folder folder;
  const auto layout = small_layout();
  must(rocks_store::create(folder.path(), layout, {.history = {}}));
  for (std::uint64_t version = 1; version < 60; ++version) {
    const auto store = must(rocks_store::open(folder.path(), layout, {.history = {{version}}}));
    if (version > 1) BOOST_TEST(has(*store, 1, version - 1));
    must(store->commit(1, version, make_value(layout, 1, version)));
    must(store->sync());
  }
  BOOST_TEST(files_below(folder.path()).size() < 30);
}

BOOST_AUTO_TEST_CASE(large_values_live_in_tables) {
  const temporary_folder folder;
  const auto layout = small_layout(20'000);
  {
    const auto store = must(rocks_store::create(folder.path(), layout, {.history = {}}));
    for (std::uint64_t version = 0; version < 12; ++version) {
      if (version == 8) store->covered(8);
      for (std::uint32_t client = 0; client < 3; ++client)
        must(store->commit(client, version, make_value(layout, client, version)));
    }
  }
  BOOST_TEST(!files_below(folder.path(), ".sst").empty());
  const auto store = must(rocks_store::open(folder.path(), layout, {.history = {{8}}}));
  for (std::uint32_t client = 0; client < 3; ++client) BOOST_TEST(has(*store, client, 7));
  BOOST_TEST(store->verify().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
