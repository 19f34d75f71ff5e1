// What a node does with the store that it finds.
#include "tools/runs/node_store.hpp"

#include <boost/test/unit_test.hpp>
#include <fstream>

#include "federated/settings/algorithm_traits.hpp"
#include "storage/rocks_store.hpp"
#include "tests/tools/command.hpp"
#include "tools/runs/prepared_run.hpp"

using namespace furlong;
using tests::read_file;
using tests::scratch_folder;

namespace {

constexpr std::uint64_t first_start = 11;

struct node {
  node() {
    auto scenario = scenarios::parse_scenario(tests::small_scenario(folder, "furl"));
    BOOST_REQUIRE(scenario.has_value());
    auto ready = tools::open_prepared_run(std::move(*scenario));
    BOOST_REQUIRE(ready.has_value());
    of.emplace(std::move(*ready));
  }
  [[nodiscard]] federated::experiment& e() { return of->experiment; }
  auto open(std::vector<std::uint64_t> resumed_at, std::uint64_t start_id = first_start) {
    federated::protocol::welcome got;
    got.run = e().run;
    for (const auto version : resumed_at) got.history.resume(version, version + copy);
    got.start_id = start_id;
    return tools::open_node_store(e(), got, {store, clients, data, 1, {}, accept, accept_loss});
  }
  void put(const std::vector<std::uint64_t>& resumed_at, std::uint32_t client, std::uint64_t version) {
    const auto values = open(resumed_at);
    BOOST_REQUIRE(values.has_value());
    models::private_parameters own(e().parts.private_);
    BOOST_REQUIRE(values->values->commit(client, version, own).has_value());
  }
  bool has(const std::vector<std::uint64_t>& resumed_at, std::uint32_t client) {
    const auto values = open(resumed_at);
    BOOST_REQUIRE_MESSAGE(values.has_value(), (values ? std::string() : values.error().text()));
    models::private_parameters out(e().parts.private_);
    const auto found = values->values->load(client, out);
    BOOST_REQUIRE(found.has_value());
    return *found;
  }
  /// The server was started again: the node has nothing to do with that, and its values stay as they are.
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
  tools::data_digest data{"0815", "ratings.csv"};
  federated::client_range clients{0, 119};
  bool accept = false;
  bool accept_loss = false;
  std::uint64_t copy = 100;  ///< of the server's folder, from which it was resumed
  std::optional<tools::prepared_run> of;
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
  BOOST_TEST(values.error().text().find("belongs to another run") != std::string::npos, values.error().text());
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

BOOST_AUTO_TEST_CASE(changed_data_are_refused_until_they_are_accepted) {
  put({}, 1, 6);
  data.sha256 = "4711";
  for (const std::vector<std::uint64_t>& resumed_at : {std::vector<std::uint64_t>{}, {7}}) {
    const auto values = open(resumed_at);
    BOOST_REQUIRE(!values.has_value());
    BOOST_TEST((values.error().what == error::kind::data));
    BOOST_TEST(values.error().text().find("the content of ratings.csv has changed") != std::string::npos);
    BOOST_TEST(values.error().fix.find("--accept-changed-data") != std::string::npos);
  }
  accept = true;
  BOOST_TEST(has({}, 1));  // what was trained before stays
  accept = false;
  BOOST_TEST(has({}, 1));  // from now on these are the data
  data.sha256 = "0815";
  BOOST_TEST(!open({}).has_value());
}

BOOST_AUTO_TEST_CASE(a_server_that_goes_on_from_a_copy_does_not_find_this_store) {
  put({5}, 1, 6);
  copy = 200;  // the same checkpoint of version 5, put back and resumed
  for (const std::vector<std::uint64_t>& resumed_at : {std::vector<std::uint64_t>{5}, {5, 8}, {}}) {
    const auto values = open(resumed_at);
    BOOST_REQUIRE(!values.has_value());
    BOOST_TEST((values.error().what == error::kind::data));
    BOOST_TEST(values.error().text().find("restored from an earlier copy") != std::string::npos, values.error().text());
  }
  copy = 100;
  BOOST_TEST(has({5}, 1));
  BOOST_TEST(has({5, 9}, 1));
  copy = 200;
  accept_loss = true;
  BOOST_TEST(!has({5}, 1));
  put({5}, 2, 6);
  accept_loss = false;
  BOOST_TEST(has({5}, 2));
}

BOOST_AUTO_TEST_CASE(a_copy_that_knows_what_this_node_served_is_gone_on_with) {
  put({}, 1, 6);
  copy = 200;
  BOOST_TEST(has({8}, 1));
}

BOOST_AUTO_TEST_CASE(a_store_has_an_identity_and_says_up_to_where_it_served) {
  const auto told = [&] { return tools::check_node_store(store, {}, clients).value(); };
  BOOST_TEST((told() == federated::store_claim{}));
  const auto first = open({}).value().claim;
  BOOST_TEST(first.store != 0U);
  BOOST_TEST(first.openings == 1U);
  BOOST_TEST((told() == first));
  auto again = open({});
  BOOST_TEST(again->claim.store == first.store);
  BOOST_TEST(again->claim.openings == 2U);
  BOOST_REQUIRE(again->values->save(8).has_value());
  BOOST_REQUIRE(again->note_served(8).has_value());
  again->values.reset();
  BOOST_TEST(told().served == 8U);
  BOOST_TEST(open({}).value().claim.served == 8U);
  std::filesystem::remove(store / "store.furlong");
  BOOST_TEST(told().store == 0U);
  std::filesystem::remove_all(store);
  const auto other = open({}).value().claim;
  BOOST_TEST(other.store != first.store);
  BOOST_TEST(other.served == 0U);
}

// Its record and its store belong together.
BOOST_AUTO_TEST_CASE(a_record_beside_another_store_is_refused) {
  const auto serve = [&](std::uint64_t version) {
    auto at_work = open({});
    BOOST_REQUIRE(at_work.has_value());
    models::private_parameters own(e().parts.private_);
    BOOST_REQUIRE(at_work->values->commit(1, version, own).has_value());
    BOOST_REQUIRE(at_work->values->save(version + 1).has_value());
    BOOST_REQUIRE(at_work->note_served(version + 1).has_value());
  };
  const auto copy_to = [&](const std::filesystem::path& to) {
    std::filesystem::remove_all(to);
    std::filesystem::copy(store, to, std::filesystem::copy_options::recursive);
  };
  const auto refused = [&](const char* why) {
    const auto told = tools::check_node_store(store, {}, clients);
    BOOST_REQUIRE(!told.has_value());
    BOOST_TEST((told.error().what == error::kind::data));
    BOOST_TEST(told.error().text().find(why) != std::string::npos, told.error().text());
    BOOST_TEST(told.error().fix.find("--accept-state-loss") != std::string::npos);
  };
  serve(3);
  copy_to(folder / "older");
  serve(5);
  const auto record = read_file(store / "node.json");
  copy_to(folder / "kept");
  std::filesystem::remove_all(store);
  serve(5);
  const auto other = read_file(store / "node.json");
  std::ofstream(store / "node.json") << record;
  refused("its node.json belongs to another private store");
  std::ofstream(store / "node.json") << other;
  BOOST_TEST(tools::check_node_store(store, {}, clients).has_value());
  std::filesystem::remove_all(store);
  std::filesystem::rename(folder / "older", store);
  std::ofstream(store / "node.json") << record;
  refused("older than its node.json: it was last saved at version 4, and the node has served up to version 6");
  std::filesystem::remove_all(store);
  std::filesystem::rename(folder / "kept", store);
  BOOST_TEST(tools::check_node_store(store, {}, clients).value().served == 6U);
}

// And not only when its clients are at work, who would fail then.
BOOST_AUTO_TEST_CASE(a_store_that_lacks_what_it_had_is_refused_at_once) {
  {
    const auto at_work = open({});
    models::private_parameters own(e().parts.private_);
    BOOST_REQUIRE(at_work->values->commit(1, 3, own).has_value());
    BOOST_REQUIRE(at_work->values->save(4).has_value());
  }
  BOOST_TEST(tools::check_node_store(store, {}, clients).has_value());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(store))
    if (entry.path().extension() == ".log") std::filesystem::resize_file(entry.path(), 0);
  const auto told = tools::check_node_store(store, {}, clients);
  BOOST_REQUIRE(!told.has_value());
  BOOST_TEST((told.error().what == error::kind::data));
  BOOST_TEST(told.error().text().find("values are missing") != std::string::npos, told.error().text());
}

BOOST_AUTO_TEST_CASE(a_store_of_other_clients_is_refused) {
  put({}, 1, 6);
  put({}, 70, 6);
  clients = {60, 119};
  const auto told = tools::check_node_store(store, {}, clients);
  BOOST_REQUIRE(!told.has_value());
  BOOST_TEST((told.error().what == error::kind::usage));
  BOOST_TEST(
      told.error().text().find("values of client 1, which is not among the clients 60 to 119") != std::string::npos,
      told.error().text());
  clients = {0, 130};
  BOOST_TEST(tools::check_node_store(store, {}, clients).has_value());
}

BOOST_AUTO_TEST_CASE(another_start_of_the_run_may_have_other_data) {
  BOOST_TEST(open({}).has_value());
  data.sha256 = "4711";
  BOOST_TEST(!open({}).has_value());
  BOOST_TEST(open({}, first_start + 1).has_value());
}

BOOST_AUTO_TEST_CASE(a_run_without_private_values_remembers_its_data_too) {
  *e().settings.algorithm = federated::chosen_algorithm("fedrecon");
  BOOST_REQUIRE(open({}).has_value());
  data.sha256 = "4711";
  BOOST_TEST(!open({}).has_value());
  accept = true;
  BOOST_TEST(open({}).has_value());
  BOOST_TEST(!std::filesystem::exists(store / "store.furlong"));
}

BOOST_AUTO_TEST_CASE(a_run_without_private_values_leaves_a_store_alone) {
  put({}, 1, 6);
  *e().settings.algorithm = federated::chosen_algorithm("fedrecon");
  BOOST_TEST(!open({}, first_start + 1).has_value());
  *e().settings.algorithm = federated::chosen_algorithm("furl");
  BOOST_TEST(has({}, 1));
}

// Nothing of it is taken for a new store, and nothing is overwritten: it can be put back.
BOOST_AUTO_TEST_CASE(a_store_whose_head_is_gone_is_refused_until_its_loss_is_accepted) {
  put({}, 1, 6);
  const auto record = read_file(store / "node.json");
  std::filesystem::rename(store / "store.furlong", folder / "kept");
  const auto values = open({});
  BOOST_REQUIRE(!values.has_value());
  BOOST_TEST((values.error().what == error::kind::data));
  BOOST_TEST(values.error().text().find("its store.furlong is missing") != std::string::npos, values.error().text());
  BOOST_TEST(!std::filesystem::exists(store / "store.furlong"));
  BOOST_TEST(read_file(store / "node.json") == record);
  std::filesystem::rename(folder / "kept", store / "store.furlong");
  BOOST_TEST(has({}, 1));
  std::filesystem::remove(store / "store.furlong");
  accept_loss = true;
  BOOST_TEST(!has({}, 1));
}

BOOST_AUTO_TEST_CASE(a_damaged_record_is_no_new_store) {
  put({}, 1, 6);
  for (const auto* text : {"", "{", "[]", R"({"start_id": "11", "data_sha256": ""})", R"({"start_id": 11})"}) {
    std::ofstream(store / "node.json") << text;
    const auto values = open({});
    BOOST_REQUIRE(!values.has_value());
    BOOST_TEST((values.error().what == error::kind::data));
    BOOST_TEST(values.error().text().find("node.json: is damaged") != std::string::npos, values.error().text());
  }
}

BOOST_AUTO_TEST_SUITE_END()
