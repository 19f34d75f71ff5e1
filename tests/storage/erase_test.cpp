// Erasing a client leaves no byte of it.
#include "storage/rocks_store.hpp"
#include "tests/storage/opened_files.hpp"
#include "tests/storage/store_kinds.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(erasing)

using models::private_parameters;
using storage::rocks_store;
using storage::store_access;

namespace {

constexpr std::uint32_t victim = 2'023'406'814;  // 0x789ABCDE: bytes that nothing else has
constexpr std::uint64_t commits = 6;

/// A store of a few clients of one shard, each with both slots in use.
void fill(const store_kind& kind, const fs::path& folder, const models::layout_ptr& layout) {
  const auto store = must(rocks_store::create(folder, layout, kind.options({.run = 1, .history = {}})));
  for (std::uint64_t version = 0; version < commits; ++version) {
    for (const auto client : {victim - 1, victim, victim + 1})
      must(store->commit(client, version, make_value(layout, client, version)));
    must(store->sync());
    if (version == 3) store->covered(4);
  }
}

/// How many files hold something of the client: a value's floats, its name or its number. Of encrypted files, what the
/// key gives.
std::size_t files_with(const store_kind& kind, const fs::path& folder, const models::layout_ptr& layout,
                       std::uint32_t client) {
  std::vector<std::string> needles{"client-" + std::to_string(client), std::string("\x78\x9A\xBC\xDE"),
                                   std::string("\xDE\xBC\x9A\x78")};
  for (std::uint64_t version = 0; version < commits; ++version) {
    const auto value = make_value(layout, client, version);
    for (std::size_t at = 0; at + 2 <= value.values().size(); at += 2)
      needles.emplace_back(reinterpret_cast<const char*>(value.values().data() + at), 2 * sizeof(float));
  }
  std::size_t count = 0;
  for (const auto& content : opened_files(kind, folder)) {
    count += std::ranges::any_of(needles, [&](const auto& needle) { return contains(content, needle); }) ? 1U : 0U;
  }
  return count;
}

void check_others(const store_kind& kind, const fs::path& folder, const models::layout_ptr& layout) {
  const auto store = kind.inspect(folder, store_access::read);
  private_parameters out(layout);
  BOOST_TEST(!must(store->load(victim, out)));
  for (const auto client : {victim - 1, victim + 1}) {
    BOOST_TEST(must(store->load(client, out)));
    BOOST_TEST(same(out, make_value(layout, client, commits - 1)));
  }
  BOOST_TEST(must(store->list()).size() == 2);
  BOOST_TEST(store->verify().empty());
}

}  // namespace

BOOST_DATA_TEST_CASE(no_byte_of_an_erased_client_is_in_any_file, all_kinds, kind) {
  for (const std::uint32_t rank : {50U, 8'000U}) {  // in the log; in tables
    const temporary_folder folder;
    const auto layout = small_layout(rank);
    fill(kind, folder.path(), layout);
    BOOST_TEST(files_with(kind, folder.path(), layout, victim) > 0);
    {
      const auto store = kind.inspect(folder.path(), store_access::change);
      BOOST_TEST(must(store->erase(victim)));
      BOOST_TEST(files_with(kind, folder.path(), layout, victim) == 0);  // while the store is still open
      BOOST_TEST(!must(store->erase(victim)));
    }
    BOOST_TEST(files_with(kind, folder.path(), layout, victim) == 0);
    check_others(kind, folder.path(), layout);
  }
}

BOOST_DATA_TEST_CASE(both_values_of_the_other_clients_stay, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  fill(kind, folder.path(), layout);
  must(kind.inspect(folder.path(), store_access::change)->erase(victim));
  const auto store = must(rocks_store::open(folder.path(), layout, kind.options({.run = 1, .history = {{4}}})));
  private_parameters out(layout);
  for (const auto client : {victim - 1, victim + 1}) {
    BOOST_TEST(must(store->load(client, out)));
    BOOST_TEST(same(out, make_value(layout, client, 3)));
  }
}

BOOST_DATA_TEST_CASE(a_crash_before_the_new_shard_is_sealed_leaves_the_old_one, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  fill(kind, folder.path(), layout);
  // What a crash in the middle leaves: a next generation without its seal.
  fs::copy(folder.path() / "shard-0000.g0", folder.path() / "shard-0000.g1", fs::copy_options::recursive);
  fs::remove(folder.path() / "shard-0000.g1" / "SEALED");
  {
    const auto store = kind.inspect(folder.path(), store_access::change);
    private_parameters out(layout);
    BOOST_TEST(must(store->load(victim, out)));
    BOOST_TEST(!fs::exists(folder.path() / "shard-0000.g1"));
    BOOST_TEST(must(store->erase(victim)));
  }
  BOOST_TEST(files_with(kind, folder.path(), layout, victim) == 0);
  check_others(kind, folder.path(), layout);
}

BOOST_DATA_TEST_CASE(a_crash_before_the_old_shard_is_deleted_is_made_good_when_opened, all_kinds, kind) {
  const temporary_folder folder;
  const temporary_folder aside;
  const auto layout = small_layout();
  fill(kind, folder.path(), layout);
  fs::copy(folder.path() / "shard-0000.g0", aside.path() / "old", fs::copy_options::recursive);
  must(kind.inspect(folder.path(), store_access::change)->erase(victim));
  fs::copy(aside.path() / "old", folder.path() / "shard-0000.g0", fs::copy_options::recursive);
  BOOST_TEST(files_with(kind, folder.path(), layout, victim) > 0);
  check_others(kind, folder.path(), layout);  // readers do not see it
  kind.inspect(folder.path(), store_access::change);
  BOOST_TEST(files_with(kind, folder.path(), layout, victim) == 0);
  check_others(kind, folder.path(), layout);
}

// Damage of one client's record must not keep another from being erased, nor pass for sound afterwards.
BOOST_DATA_TEST_CASE(damaged_records_of_two_clients_can_both_be_erased, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  fill(kind, folder.path(), layout);
  for (const auto client : {victim, victim + 1}) overwrite_record(kind, folder.path(), client, "not a record");
  const auto store = kind.inspect(folder.path(), store_access::change);
  private_parameters out(layout);
  BOOST_TEST(store->verify().size() == 2);
  BOOST_TEST(must(store->erase(victim)));
  const auto problems = store->verify();
  BOOST_TEST_REQUIRE(problems.size() == 1);
  BOOST_TEST(*problems.front().client == victim + 1);
  BOOST_TEST(!store->load(victim + 1, out).has_value());
  BOOST_TEST(must(store->load(victim - 1, out)));
  BOOST_TEST(must(store->erase(victim + 1)));
  BOOST_TEST(store->verify().empty());
  BOOST_TEST(must(store->list()).size() == 1);
  BOOST_TEST(files_with(kind, folder.path(), layout, victim) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
