// What is particular to the durable store: its folder, its shards, its logs.
#include "storage/rocks_store.hpp"

#include <unistd.h>

#include "tests/storage/store_kinds.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(rocks_store_folder)

using models::private_parameters;
using storage::rocks_store;
using storage::store_access;
using storage::store_layout;
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

BOOST_DATA_TEST_CASE(a_closed_store_has_all_its_values_when_opened_again, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  {
    const auto store = must(rocks_store::create(folder.path(), layout, kind.options({.run = 5, .history = {}})));
    for (std::uint32_t client = 0; client < 30; ++client)
      must(store->commit(client, client, make_value(layout, client, client)));
  }
  const auto store = must(rocks_store::open(folder.path(), layout, kind.options({.run = 5, .history = {{100}}})));
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
  BOOST_TEST(contains(missing, "the folder has no private store"));
  must(rocks_store::create(folder.path(), layout, {.run = 5, .history = {}}));
  BOOST_TEST(contains(must_fail(rocks_store::create(folder.path(), layout, {.run = 5, .history = {}})), "already"));
  BOOST_TEST(contains(must_fail(rocks_store::open(folder.path(), layout, {.run = 6, .history = {}})), "another run"));
  const auto other = must_fail(rocks_store::open(folder.path(), small_layout(20), {.run = 5, .history = {}}));
  BOOST_TEST(contains(other, "a different private layout"));
  BOOST_TEST(contains(other, "user 1 50"));
  const store_options bucketed{.run = 5, .history = {}, .layout = store_layout::bucketed};
  const auto contradiction = must_fail(rocks_store::open(folder.path(), layout, bucketed));
  BOOST_TEST(contains(contradiction, "has the layout per-client, not bucketed"));
}

BOOST_DATA_TEST_CASE(a_store_keeps_its_layout_and_cipher_when_none_is_named, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  must(must(rocks_store::create(folder.path(), layout, kind.options({.history = {}})))
           ->commit(3, 1, make_value(layout, 3, 1)));
  const auto store = must(rocks_store::open(folder.path(), layout, {.history = {{2}}, .key_file = kind.key_file()}));
  BOOST_TEST((store->kind() == kind.layout));
  BOOST_TEST(store->encrypted() == kind.encrypted);
  BOOST_TEST(has(*store, 3, 1));
}

// What is stored counts, not the population.
BOOST_AUTO_TEST_CASE(a_bucketed_store_of_a_million_clients_is_small_while_few_are_stored) {
  const temporary_folder folder;
  const auto layout = small_layout();
  const store_options options{
      .history = {{10}}, .expected_clients = 1'000'000, .open_shards = 64, .layout = store_layout::bucketed};
  const std::vector<std::uint32_t> some{0, 1, 4095, 4096, 500'000, 999'999};
  {
    const auto store = must(rocks_store::create(folder.path(), layout, options));
    BOOST_TEST(store->shards() == 64);
    BOOST_TEST(files_below(folder.path()).size() < 5);
    for (const auto client : some) must(store->commit(client, client, make_value(layout, client, client)));
  }
  BOOST_TEST(files_below(folder.path()).size() < 50);  // 4 shards
  BOOST_TEST(bytes_below(folder.path()) < 20'000);
  const auto store = must(rocks_store::inspect(folder.path(), store_access::read));
  const auto all = must(store->list());
  BOOST_REQUIRE(all.size() == some.size());
  for (std::size_t i = 0; i < some.size(); ++i) {
    BOOST_TEST(all[i].client == some[i]);
    BOOST_TEST(has(*store, some[i], some[i]));
  }
}

BOOST_DATA_TEST_CASE(clients_may_be_prepared_all_at_once, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  std::vector<std::uint32_t> clients;
  for (std::uint32_t client = 1000; client > 0; client -= 2) clients.push_back(client);
  {
    const auto store = must(rocks_store::create(
        folder.path(), layout, kind.options({.history = {}, .expected_clients = 1000, .open_shards = 1})));
    must(store->commit(500, 0, make_value(layout, 500, 0)));
    must(store->prepare(clients));
    must(store->prepare(clients));  // again, and with one of them stored
    private_parameters out(layout);
    BOOST_TEST(!must(store->load(2, out)));
    BOOST_TEST(has(*store, 500, 0));
    BOOST_TEST(must(store->list()).size() == 1);
    for (const auto client : clients) must(store->commit(client, 1, make_value(layout, client, 1)));
    must(store->sync());
  }
  const auto store = kind.inspect(folder.path(), store_access::read);
  BOOST_TEST(must(store->list()).size() == clients.size());
  for (const auto client : clients) BOOST_TEST(has(*store, client, 1));
  BOOST_TEST(!store->prepare(clients).has_value());  // opened for reading
  BOOST_TEST(store->verify().empty());
}

BOOST_AUTO_TEST_CASE(a_store_knows_buffers) {
  const temporary_folder folder;
  const auto layout = std::make_shared<const models::layout>(std::vector<models::tensor_spec>{
      {.name = "a buffer", .cols = 2}, {.name = "m", .cols = 3, .exact = true, .buffer = true}});
  must(rocks_store::create(folder.path(), layout, {.history = {}}));
  const auto store = must(rocks_store::inspect(folder.path(), store_access::read));
  BOOST_TEST((*store->layout() == *layout));
}

BOOST_AUTO_TEST_CASE(a_store_has_one_writer) {
  const temporary_folder folder;
  const auto writer = must(rocks_store::create(folder.path(), small_layout(), {.history = {}}));
  BOOST_TEST(contains(must_fail(rocks_store::open(folder.path(), small_layout(), {.history = {}})), "another process"));
  BOOST_TEST(contains(must_fail(rocks_store::inspect(folder.path(), store_access::read)), "another process"));
}

BOOST_DATA_TEST_CASE(an_inspected_store_lists_and_shows_and_changes_nothing, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  {
    const auto store = must(
        rocks_store::create(folder.path(), layout, kind.options({.run = 5, .history = {}, .expected_clients = 900})));
    for (const std::uint32_t client : {800U, 3U, 450U}) must(store->commit(client, 7, make_value(layout, client, 7)));
  }
  const auto before = files_below(folder.path());
  const auto bytes = bytes_below(folder.path());
  {
    const auto first = kind.inspect(folder.path(), store_access::read);
    const auto store = kind.inspect(folder.path(), store_access::read);  // readers share
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

BOOST_DATA_TEST_CASE(few_open_shards_hold_all_values, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  const auto store = must(rocks_store::create(
      folder.path(), layout, kind.options({.history = {}, .expected_clients = 10 * 400, .open_shards = 1})));
  for (std::uint64_t version = 0; version < 3; ++version)
    for (std::uint32_t client = 17; client < 4000; client += 400)
      must(store->commit(client, version, make_value(layout, client, version)));
  must(store->sync());
  for (std::uint32_t client = 17; client < 4000; client += 400) BOOST_TEST(has(*store, client, 2));
  BOOST_TEST(store->verify().empty());
}

BOOST_DATA_TEST_CASE(logs_stay_bounded_however_often_clients_commit, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  constexpr std::uintmax_t bound = 10U << 20U;
  std::uintmax_t most = 0;
  {
    const auto store = must(rocks_store::create(folder.path(), layout, kind.options({.history = {}})));
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

BOOST_DATA_TEST_CASE(many_openings_do_not_pile_up_files, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  must(rocks_store::create(folder.path(), layout, kind.options({.history = {}})));
  for (std::uint64_t version = 1; version < 60; ++version) {
    const auto store = must(rocks_store::open(folder.path(), layout, kind.options({.history = {{version}}})));
    if (version > 1) BOOST_TEST(has(*store, 1, version - 1));
    must(store->commit(1, version, make_value(layout, 1, version)));
    must(store->sync());
  }
  BOOST_TEST(files_below(folder.path()).size() < 30);
}

BOOST_DATA_TEST_CASE(a_life_goes_on_while_the_store_is_closed, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  const auto open = [&](std::vector<std::uint64_t> resumed_at) {
    auto options = kind.options({.history = {std::move(resumed_at)}});
    options.same_life = true;
    return must(rocks_store::open(folder.path(), layout, options));
  };
  must(must(rocks_store::create(folder.path(), layout, kind.options({.history = {}})))
           ->commit(1, 3, make_value(layout, 1, 3)));
  BOOST_TEST(has(*open({}), 1, 3));
  {
    const auto store = open({});
    store->covered(4);
    must(store->commit(1, 6, make_value(layout, 1, 6)));
  }
  BOOST_TEST(has(*open({}), 1, 6));
  // The run was resumed at 4 meanwhile, twice: what came after it does not count.
  BOOST_TEST(has(*open({4, 4}), 1, 3));
  must(open({4, 4})->commit(1, 5, make_value(layout, 1, 5)));
  BOOST_TEST(has(*open({4, 4}), 1, 5));
}

// Once a store has gone on after a checkpoint, it no longer has what older checkpoints cover.
BOOST_DATA_TEST_CASE(a_store_does_not_go_back_behind_a_checkpoint_that_it_went_on_from, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  const auto put = [&](rocks_store& store, std::uint32_t client, std::uint64_t version) {
    must(store.commit(client, version, make_value(layout, client, version)));
  };
  const auto options = [&](std::vector<std::uint64_t> resumed_at) {
    return kind.options({.history = {std::move(resumed_at)}});
  };
  {
    const auto store = must(rocks_store::create(folder.path(), layout, options({})));
    put(*store, 1, 12);
    store->covered(15);
    put(*store, 1, 22);
    put(*store, 2, 22);
  }
  {
    const auto store = must(rocks_store::open(folder.path(), layout, options({15})));
    BOOST_TEST(has(*store, 1, 12));
    BOOST_TEST(!has(*store, 2, 22));  // was first stored after the checkpoint
    put(*store, 1, 22);
    store->covered(25);
  }
  {
    const auto store = must(rocks_store::open(folder.path(), layout, options({15, 15})));  // nothing has followed 25
    BOOST_TEST(has(*store, 1, 12));
    put(*store, 1, 22);
    store->covered(25);
    put(*store, 1, 47);
  }
  const auto before = slurp(folder.path() / "store.furlong");
  const auto refused = rocks_store::open(folder.path(), layout, options({15, 15, 15}));
  BOOST_TEST(contains(must_fail(refused), "the private store is newer than the checkpoint"));
  BOOST_TEST((refused.error().what == error::kind::data));
  BOOST_TEST(slurp(folder.path() / "store.furlong") == before);
  BOOST_TEST(has(*must(rocks_store::open(folder.path(), layout, options({15, 15, 25}))), 1, 22));
  // Started again, it needs nothing of before.
  const auto anew = must(rocks_store::open(folder.path(), layout, options({})));
  put(*anew, 1, 3);
  anew->covered(4);
  put(*anew, 1, 5);
}

BOOST_AUTO_TEST_CASE(what_a_creation_leaves_that_was_cut_off_is_no_store) {
  const temporary_folder folder;
  BOOST_TEST(rocks_store::is_vacant(folder.path() / "none"));
  BOOST_TEST(rocks_store::is_vacant(folder.path()));
  fs::create_directory(folder.path() / "lost+found");
  spill(folder.path() / "LOCK", "");
  spill(folder.path() / "store.furlong.new", "FURLSTO");
  BOOST_TEST(rocks_store::is_vacant(folder.path()));
  must(rocks_store::create(folder.path(), small_layout(), {.history = {}}));
  BOOST_TEST(!rocks_store::is_vacant(folder.path()));
  must(rocks_store::open(folder.path(), small_layout(), {.history = {}}));
  const temporary_folder other;
  spill(other.path() / "letter.txt", "");
  BOOST_TEST(!rocks_store::is_vacant(other.path()));
}

BOOST_DATA_TEST_CASE(shards_without_their_store_are_not_taken_for_a_new_one, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  must(must(rocks_store::create(folder.path(), layout, kind.options({.history = {}})))
           ->commit(1, 3, make_value(layout, 1, 3)));
  BOOST_TEST(!rocks_store::is_headless(folder.path()));
  fs::rename(folder.path() / "store.furlong", folder.path() / "kept");
  BOOST_TEST(rocks_store::is_headless(folder.path()));
  const auto why = must_fail(rocks_store::create(folder.path(), layout, kind.options({.history = {}})));
  BOOST_TEST(contains(why, "its store.furlong is missing"));
  fs::rename(folder.path() / "kept", folder.path() / "store.furlong");
  BOOST_TEST(has(*must(rocks_store::open(folder.path(), layout, kind.options({.history = {{4}}}))), 1, 3));
}

BOOST_AUTO_TEST_CASE(a_key_file_is_made_whole_or_not_at_all) {
  const temporary_folder folder;
  const auto key = folder.path() / "key";
  fs::create_directory(key.string() + "." + std::to_string(::getpid()) + ".new");  // in the way of the temporary file
  BOOST_TEST(!storage::create_key_file(key).has_value());
  BOOST_TEST(!fs::exists(key));
  fs::remove(key.string() + "." + std::to_string(::getpid()) + ".new");
  must(storage::create_key_file(key));
  const auto made = slurp(key);
  BOOST_TEST(made.size() == 65U);
  BOOST_TEST(contains(must_fail(storage::create_key_file(key)), "already exists"));
  BOOST_TEST(slurp(key) == made);
  BOOST_TEST(files_below(folder.path()).size() == 1U);
}

BOOST_DATA_TEST_CASE(large_values_live_in_tables, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout(20'000);
  const std::uint32_t clients = kind.bucketed() ? 12 : 3;  // so many that their memtables are full
  {
    const auto store = must(rocks_store::create(folder.path(), layout, kind.options({.history = {}})));
    for (std::uint64_t version = 0; version < 12; ++version) {
      if (version == 8) store->covered(8);
      for (std::uint32_t client = 0; client < clients; ++client)
        must(store->commit(client, version, make_value(layout, client, version)));
    }
  }
  BOOST_TEST(!files_below(folder.path(), ".sst").empty());
  const auto store = must(rocks_store::open(folder.path(), layout, kind.options({.history = {{8}}})));
  for (std::uint32_t client = 0; client < clients; ++client) BOOST_TEST(has(*store, client, 7));
  for (const auto& problem : store->verify()) BOOST_ERROR(problem.text());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
