// The lists of clients in sums that a node's clients have helped to open.
#include "storage/confirmed_store.hpp"

#include <boost/test/unit_test.hpp>
#include <fstream>

#include "storage/rocks_store.hpp"
#include "tests/support/temporary_folder.hpp"

BOOST_AUTO_TEST_SUITE(confirmed_sums)

using namespace furlong;
using federated::confirmed_list;
using federated::confirmed_lists;
using storage::confirmed_store;

namespace {

digest digest_like(std::uint8_t byte) {
  digest made{};
  made.fill(byte);
  return made;
}

confirmed_list list(std::uint32_t client, std::uint64_t version, std::uint8_t members) {
  return {client, version, digest_like(members)};
}

std::unique_ptr<confirmed_store> open(const std::filesystem::path& folder, std::uint8_t run = 1,
                                      std::uint64_t start = 5) {
  auto opened = confirmed_store::open(folder, digest_like(run), start);
  BOOST_REQUIRE_MESSAGE(opened.has_value(), (opened ? std::string() : opened.error().text()));
  return std::move(*opened);
}

std::shared_ptr<confirmed_lists> read(const std::filesystem::path& folder, std::uint8_t run = 1) {
  auto lists = open(folder, run)->read();
  BOOST_REQUIRE(lists.has_value());
  return std::move(*lists);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_client_confirms_one_list_of_a_version) {
  confirmed_lists lists;
  lists.add(list(7, 3, 1));
  BOOST_TEST(lists.admits(list(7, 3, 1)));
  BOOST_TEST(!lists.admits(list(7, 3, 2)));
  BOOST_TEST(lists.admits(list(8, 3, 2)));
  BOOST_TEST(lists.admits(list(7, 2, 2)));
  BOOST_TEST(lists.admits(list(7, 4, 2)));
  lists.add(list(7, 3, 1));
  BOOST_TEST(lists.take_new().size() == 1U);
  BOOST_TEST(lists.take_new().empty());
}

BOOST_AUTO_TEST_CASE(versions_that_are_not_remembered_any_more_are_refused) {
  confirmed_lists lists;
  const auto count = static_cast<std::uint64_t>(confirmed_lists::most_versions);
  for (std::uint64_t version = 10; version < 10 + count + 2; ++version) lists.add(list(1, version, 1));
  for (std::uint64_t version = 8; version < 12; ++version) BOOST_TEST(!lists.admits(list(1, version, 1)));
  BOOST_TEST(lists.admits(list(1, 12, 1)));
  BOOST_TEST(!lists.admits(list(1, 12, 2)));
}

BOOST_AUTO_TEST_CASE(lists_outlive_the_process_of_the_node) {
  const tests::temporary_folder folder;
  {
    const auto store = open(folder.path());
    BOOST_REQUIRE(store->add(std::vector{list(1, 2, 3), list(300, 70'000, 4)}));
    for (std::uint64_t version = 10; version < 40; ++version)
      BOOST_REQUIRE(store->add(std::vector{list(2, version, static_cast<std::uint8_t>(version))}));
  }
  for (int again = 0; again < 2; ++again) {
    const auto lists = read(folder.path());
    BOOST_TEST(lists->take_new().empty());
    BOOST_TEST(lists->admits(list(1, 2, 3)));
    BOOST_TEST(!lists->admits(list(1, 2, 4)));
    BOOST_TEST(!lists->admits(list(300, 70'000, 3)));
    BOOST_TEST(!lists->admits(list(2, 39, 38)));
    BOOST_TEST(lists->admits(list(2, 39, 39)));
    BOOST_TEST(!lists->admits(list(2, 31, 31)));
  }
  BOOST_TEST(read(folder.path(), 2)->admits(list(1, 2, 4)));  // another run
}

BOOST_AUTO_TEST_CASE(a_second_start_is_refused_once_a_sum_was_opened) {
  const tests::temporary_folder folder;
  BOOST_TEST(confirmed_store::open(folder.path(), digest_like(1), 5).has_value());
  BOOST_TEST(confirmed_store::open(folder.path(), digest_like(1), 6).has_value());  // nothing was opened in the first
  BOOST_REQUIRE(open(folder.path(), 1, 6)->add(std::vector{list(1, 2, 3)}));
  BOOST_TEST(confirmed_store::open(folder.path(), digest_like(1), 6).has_value());
  const auto second = confirmed_store::open(folder.path(), digest_like(1), 7);
  BOOST_REQUIRE(!second.has_value());
  BOOST_TEST((second.error().what == error::kind::usage));
  BOOST_TEST(second.error().text().find("an earlier start of this run") != std::string::npos);
  BOOST_TEST(confirmed_store::open(folder.path(), digest_like(2), 7).has_value());
}

BOOST_AUTO_TEST_CASE(a_folder_with_nothing_else_is_vacant_for_a_private_store) {
  const tests::temporary_folder folder;
  open(folder.path());
  BOOST_TEST(storage::rocks_store::is_vacant(folder.path()));
  std::ofstream(folder.path() / "other") << "content";
  BOOST_TEST(!storage::rocks_store::is_vacant(folder.path()));
}

BOOST_AUTO_TEST_SUITE_END()
