// What a node does with the store that it finds.
#include "tools/node_store.hpp"

#include <boost/test/unit_test.hpp>

#include "storage/rocks_store.hpp"
#include "tests/tools/command.hpp"
#include "tools/session.hpp"

using namespace furlong;
using tests::read_file;
using tests::scratch_folder;

namespace {

constexpr std::uint64_t first_start = 11;

struct node {
  node() {
    auto scenario = scenarios::parse_scenario(tests::small_scenario(folder, "furl"));
    BOOST_REQUIRE(scenario.has_value());
    auto ready = tools::open_session(std::move(*scenario));
    BOOST_REQUIRE(ready.has_value());
    of.emplace(std::move(*ready));
  }
  [[nodiscard]] federated::experiment& e() { return of->experiment; }
  auto open(std::vector<std::uint64_t> resumed_at, std::uint64_t start_id = first_start) {
    federated::protocol::welcome got;
    got.run = e().run;
    got.history = {std::move(resumed_at)};
    got.start_id = start_id;
    return tools::open_node_store(e(), store, got, 120);
  }
  void put(const std::vector<std::uint64_t>& resumed_at, std::uint32_t client, std::uint64_t version) {
    const auto values = open(resumed_at);
    BOOST_REQUIRE(values.has_value());
    models::private_parameters own(e().parts.private_);
    BOOST_REQUIRE((*values)->commit(client, version, own).has_value());
  }
  bool has(const std::vector<std::uint64_t>& resumed_at, std::uint32_t client) {
    const auto values = open(resumed_at);
    BOOST_REQUIRE_MESSAGE(values.has_value(), (values ? std::string() : values.error().text()));
    models::private_parameters out(e().parts.private_);
    const auto found = (*values)->load(client, out);
    BOOST_REQUIRE(found.has_value());
    return *found;
  }
  /// The server was started anew: the node has nothing to do with that, and its values stay as they are.
  void check_refused(const std::vector<std::uint64_t>& resumed_at) {
    const auto before = read_file(store / "store.furlong");
    const auto values = open(resumed_at, first_start + 1);
    BOOST_REQUIRE(!values.has_value());
    BOOST_TEST((values.error().what == error::kind::usage));
    BOOST_TEST(values.error().text().find("values of an earlier start of this run") != std::string::npos,
               values.error().text());
    BOOST_TEST(read_file(store / "store.furlong") == before);
  }
  scratch_folder folder;
  std::filesystem::path store = folder / "store";
  std::optional<tools::session> of;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(node_store, node)

BOOST_AUTO_TEST_CASE(another_start_finds_the_values_of_a_resumed_one) {
  put({}, 1, 6);
  put({5}, 2, 7);
  check_refused({});
  BOOST_TEST(has({5}, 2));
  BOOST_TEST(!has({5}, 1));
}

BOOST_AUTO_TEST_CASE(another_start_that_was_resumed_itself_voids_nothing) {
  put({}, 1, 6);
  check_refused({3});
  BOOST_TEST(has({}, 1));
}

BOOST_AUTO_TEST_CASE(another_start_finds_a_store_that_has_no_values_yet) {
  BOOST_TEST(!has({}, 1));
  BOOST_TEST(open({}, first_start + 1).has_value());
  BOOST_TEST(!has({}, 1));  // and back
}

BOOST_AUTO_TEST_CASE(a_store_of_another_run_says_so) {
  put({}, 1, 6);
  ++e().run;
  const auto values = open({}, first_start + 1);
  BOOST_REQUIRE(!values.has_value());
  BOOST_TEST(values.error().text().find("of another run") != std::string::npos, values.error().text());
}

BOOST_AUTO_TEST_CASE(what_a_first_start_leaves_that_was_cut_off_is_a_new_folder) {
  std::filesystem::create_directories(store / "lost+found");
  std::ofstream(store / "LOCK");
  std::ofstream(store / "store.furlong.new") << "FURLSTO";
  put({}, 1, 6);
  BOOST_TEST(has({}, 1));
}

BOOST_AUTO_TEST_CASE(a_folder_with_something_else_in_it_is_refused) {
  std::filesystem::create_directories(store);
  std::ofstream(store / "letter.txt") << "Dear";
  const auto values = open({});
  BOOST_REQUIRE(!values.has_value());
  BOOST_TEST(values.error().text().find("is not empty, and has no private store") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
