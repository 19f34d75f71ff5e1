// Ratings that lie with the clients: their files, and that parts and the whole are divided alike.
#include <boost/test/unit_test.hpp>

#include "federated/settings/evaluation.hpp"
#include "scenarios/data/hosted_file.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(hosted_ratings)

using namespace furlong;
using namespace furlong::scenarios;
using federated::part;
using testing::temporary_directory;
using ids = std::vector<std::uint32_t>;

namespace {

constexpr std::uint32_t users = 30;
constexpr std::uint32_t items = 40;

hosted_bounds small() {
  hosted_bounds bounds;
  bounds.users = 10;
  bounds.items = 20;
  bounds.low = 0.5F;
  bounds.first = 2;
  bounds.last = 4;
  return bounds;
}

std::string error_of(const std::string& text) { return testing::text_of(read_hosted_ratings(text, "f", small())); }

std::string hosted_text(const std::string& more = {}) {
  return R"([scenario]
name = "hosted"
rounds = 2
[data]
source = "hosted-ratings"
users = 30
items = 40
split = [0.6, 0.2, 0.2]
unseen_users = {validation = 0.1, test = 0.2}
)" + more +
         R"([model]
kind = "matrix-factorization"
rank = 2
private = ["user"]
[algorithm]
kind = "furl"
[participation]
per_round = 5
)";
}

scenario hosted(const std::vector<setting_override>& overrides = {}, const std::string& more = {}) {
  auto read = parse_scenario_text(hosted_text(more), "hosted.toml", overrides);
  BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
  return *read;
}

/// A line for each rating of users first to last but those in `without`; user u has 3 + u % 7.
std::string file_of(std::uint32_t first, std::uint32_t last, bool timed, const ids& without = {}) {
  std::string text = timed ? "user,item,rating,timestamp\n" : "user,item,rating\n";
  for (auto user = first; user <= last; ++user) {
    if (std::ranges::find(without, user) != without.end()) continue;
    for (std::uint32_t i = 0; i < 3 + user % 7; ++i) {
      text += std::to_string(user) + "," + std::to_string((user * 5 + i * 3) % items) + "," +
              std::to_string(1 + (user + i) % 5);
      text += timed ? "," + std::to_string(1000 - i / 2) + "\n" : "\n";
    }
  }
  return text;
}

dataset load(const result<dataset>& from) {
  BOOST_REQUIRE_MESSAGE(from.has_value(), testing::text_of(from));
  return *from;
}

/// The examples of one client are the same in both.
void check_same(const dataset& a, const dataset& b, std::uint32_t client) {
  models::examples scratch;
  for (const auto which : {part::train, part::validation, part::test}) {
    const auto one = a.clients->load(client, which, scratch);
    const auto other = b.clients->load(client, which, scratch);
    BOOST_TEST((ids(one.features.begin(), one.features.end()) == ids(other.features.begin(), other.features.end())));
    BOOST_TEST((std::vector<float>(one.labels.begin(), one.labels.end()) ==
                std::vector<float>(other.labels.begin(), other.labels.end())));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_file_is_read_with_and_without_timestamps) {
  const auto timed = read_hosted_ratings("user,item,rating,timestamp\r\n3,0,4,77\r\n2,19,0.5,0\r\n", "f", small());
  BOOST_REQUIRE_MESSAGE(timed.has_value(), testing::text_of(timed));
  BOOST_TEST((timed->users == ids{3, 2}));
  BOOST_TEST((timed->items == ids{0, 19}));
  BOOST_TEST((timed->ratings == std::vector<float>{4.0F, 0.5F}));
  BOOST_TEST((timed->times == ids{77, 0}));
  const auto bare = read_hosted_ratings("user,item,rating\n4,1,3.25", "f", small());
  BOOST_REQUIRE(bare.has_value());
  BOOST_TEST((bare->times == ids{0}));
  BOOST_TEST(bare->ratings[0] == 3.25F);
  BOOST_TEST(read_hosted_ratings("user,item,rating\n", "f", small())->size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_byte_order_mark_is_passed_over) {
  BOOST_TEST(error_of("\xEF\xBB\xBF"
                      "user,item,rating\n2,3,1\n") == "");
}

BOOST_AUTO_TEST_CASE(what_is_wrong_in_a_file_is_told_with_its_line) {
  const std::string header = "user,item,rating\n";
  BOOST_TEST(error_of("") ==
             "f:1: found an empty line; expected the header user,item,rating or user,item,rating,timestamp");
  BOOST_TEST(error_of("2,1,3\n").starts_with("f:1: found \"2,1,3\"; expected the header"));
  const std::string expected =
      "; expected user,item,rating: whole numbers from 0 and below 2^32, and a rating such as 3.5";
  for (const std::string line : {"2,1", "2,1,3,4", "2,1,", "-2,1,3", "2,1,3 ", "2.0,1,3", "2,1,x", "\"2\",1,3", "",
                                 "2,99999999999,3", " 2,1,3", "2,1,0x3"})
    BOOST_TEST(error_of(header + "2,1,3\n" + line + "\n").ends_with(expected), line);
  BOOST_TEST(error_of(header + "2,1,3\n2,x,3\n") == "f:3: found \"2,x,3\"" + expected);
  BOOST_TEST(error_of(header + "10,1,3\n") ==
             "f:2: names user 10, and users are 0 to 9; number users as the federation does, or correct data.users on "
             "the server");
  BOOST_TEST(error_of(header + "2,1,3\n5,1,3\n") ==
             "f:3: names user 5, and the clients here are 2 to 4; leave its ratings to the node that hosts it, or "
             "correct --clients");
  BOOST_TEST(error_of(header + "1,1,3\n").starts_with("f:2: names user 1, and the clients here are 2 to 4"));
  BOOST_TEST(error_of(header + "2,20,3\n").starts_with("f:2: names item 20, and items are 0 to 19"));
  for (const std::string rating : {"nan", "inf", "-inf", "-1", "0.4", "5.1", "1e30"})
    BOOST_TEST(error_of(header + "2,1," + rating + "\n").find(" is not from 0.5 to 5; correct it") != std::string::npos,
               rating);
}

BOOST_AUTO_TEST_CASE(a_folder_has_one_file_or_many) {
  const temporary_directory root;
  root.write("one/ratings.csv", file_of(0, 29, true));
  root.write("one/ratings-old.csv", "not looked at");
  root.write("flat/ratings-a.csv", file_of(10, 29, true));
  root.write("flat/ratings-b.csv", file_of(0, 9, true));
  root.write("flat/items.csv", "not looked at");
  root.write("deep/east/ratings.csv", file_of(0, 14, true));
  root.write("deep/west/ratings.csv", file_of(15, 29, true));
  const auto of = [&](const char* folder) {
    return load(load_data(hosted({{"data.path", folder}, {"data.split_by", "time"}}), root.path()));
  };
  const auto one = of("one");
  BOOST_TEST(one.whole);
  BOOST_TEST(one.notes.empty());
  BOOST_TEST(one.clients->facts().clients == users);
  BOOST_TEST(one.clients->facts().features == items);
  for (const auto* other : {"flat", "deep"})
    for (std::uint32_t client = 0; client < users; ++client) check_same(one, of(other), client);
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_used_is_told) {
  const temporary_directory root;
  root.write("twice/ratings.csv", "user,item,rating\n3,5,2\n3,6,2\n3,5,4\n");
  root.write("two/ratings-a.csv", "user,item,rating\n3,5,2\n");
  root.write("two/ratings-b.csv", "user,item,rating\n4,5,2\n3,6,2\n");
  root.write("none/ratings.csv", "user,item,rating\n");
  root.write("empty/other.csv", "");
  const auto message = [&](const std::vector<setting_override>& overrides) {
    const auto all = testing::text_of(load_data(hosted(overrides), root.path()));
    const auto at = all.find(root.path().string());
    return at == std::string::npos ? all : all.substr(at + root.path().string().size() + 1);
  };
  BOOST_TEST(message({{"data.path", "twice"}}) ==
             "twice/ratings.csv:4: user 3 rated item 5 more than once, on lines 2 and 4; keep one of them");
  BOOST_TEST(message({{"data.path", "two"}}).starts_with("two/ratings-b.csv:3: user 3 has ratings in "));
  BOOST_TEST(message({{"data.path", "none"}}).starts_with("none: has no ratings at all"));
  BOOST_TEST(message({{"data.path", "empty"}}).starts_with("empty: has no ratings.csv, no ratings"));
  BOOST_TEST(message({{"data.path", "missing"}}).starts_with("missing: the folder does not exist"));
  BOOST_TEST(message({}).starts_with("data.path: is missing: this process has no ratings"));
}

BOOST_AUTO_TEST_CASE(a_nodes_part_is_divided_as_the_whole_is) {
  for (const bool timed : {false, true}) {
    const temporary_directory root;
    root.write("all/ratings.csv", file_of(0, 29, timed));
    root.write("node/ratings.csv", file_of(8, 19, timed));
    for (const std::vector<setting_override>& how : {std::vector<setting_override>{},
                                                     {{"data.split_by", "time"}, {"data.order", "time"}},
                                                     {{"data.max_examples", "4"}, {"data.split_by", "time"}},
                                                     {{"data.split_seed", "9"}}}) {
      auto settings = how;
      settings.push_back({"data.path", "all"});
      const auto whole = load(load_data(hosted(settings), root.path()));
      settings.back().value = "node";
      const auto node = load(load_part(hosted(settings), 8, 19, root.path()));
      const auto server = load(load_outline(hosted(how)));
      BOOST_TEST(!node.whole);
      BOOST_TEST(!server.whole);
      for (const auto* other : {&node, &server}) {
        BOOST_TEST((other->clients->facts().clients == users && other->clients->facts().features == items));
        BOOST_TEST((other->clients->facts().labels == whole.clients->facts().labels));
        BOOST_TEST((std::ranges::equal(other->clients->training(), whole.clients->training())));
        BOOST_TEST((std::ranges::equal(other->clients->unseen_test(), whole.clients->unseen_test())));
        BOOST_TEST((std::ranges::equal(other->clients->unseen_validation(), whole.clients->unseen_validation())));
      }
      for (std::uint32_t client = 8; client <= 19; ++client) check_same(whole, node, client);
      models::examples scratch;
      BOOST_TEST(node.clients->load(7, part::train, scratch).size() == 0U);
      for (std::uint32_t client = 0; client < users; ++client)
        BOOST_TEST(server.clients->load(client, part::train, scratch).size() == 0U);
    }
  }
}

BOOST_AUTO_TEST_CASE(clients_without_ratings_are_reported) {
  const temporary_directory root;
  root.write("node/ratings.csv", file_of(8, 12, false, {9, 11}));
  const auto node = load(load_part(hosted({{"data.path", "node"}}), 8, 12, root.path()));
  BOOST_REQUIRE(node.notes.size() == 1U);
  BOOST_TEST(node.notes[0] == "2 of the clients 8 to 12 have no ratings: 9, 11");
  const auto wide = load(load_part(hosted({{"data.path", "node"}}), 8, 29, root.path()));
  BOOST_TEST(wide.notes.at(0) ==
             "19 of the clients 8 to 29 have no ratings: 9, 11, 13, 14, 15, 16, 17, 18, 19, 20, ...");
  const auto all = load(load_data(hosted({{"data.path", "node"}}), root.path()));
  BOOST_TEST(all.notes.at(0).starts_with("27 of the clients 0 to 29 have no ratings: 0, 1"));
  auto scenario = hosted({{"data.path", "node"}});
  BOOST_REQUIRE(fit(scenario, all).has_value());
  BOOST_TEST(scenario.notes.back() == all.notes[0]);
}

BOOST_AUTO_TEST_CASE(a_server_without_data_cannot_choose_by_it) {
  for (const char* policy : {"weight", "power-of-choice"}) {
    auto scenario = hosted({{"participation.policy", policy}});
    const auto data = load(load_outline(scenario));
    BOOST_TEST(testing::text_of(fit(scenario, data)).find("which only nodes know") != std::string::npos);
  }
  for (const char* policy : {"uniform", "round-robin", "least-recent"}) {
    auto scenario = hosted({{"participation.policy", policy}});
    BOOST_TEST(fit(scenario, load(load_outline(scenario))).has_value());
  }
}

BOOST_AUTO_TEST_CASE(a_node_needs_a_folder_and_clients_that_there_are) {
  BOOST_TEST(testing::text_of(load_part(hosted(), 0, 9)).starts_with("--data: is missing"));
  BOOST_TEST(
      testing::text_of(load_part(hosted({{"data.path", "x"}}), 20, 30)).find("names client 30, and there are 30") !=
      std::string::npos);
}

BOOST_AUTO_TEST_CASE(bounds_of_ratings_are_those_of_predictions) {
  auto scenario = hosted({{"data.rating_low", "0"}, {"data.rating_high", "10"}});
  BOOST_REQUIRE(fit(scenario, load(load_outline(scenario))).has_value());
  BOOST_TEST(scenario.settings.evaluation->clip_low == 0.0F);
  BOOST_TEST(scenario.settings.evaluation->clip_high == 10.0F);
  const auto wrong = parse_scenario_text(hosted_text("rating_low = 5\n"), "hosted.toml");
  BOOST_TEST(testing::text_of(wrong).find("is not above rating_low") != std::string::npos);
  const auto many = parse_scenario_text(hosted_text(), "hosted.toml", {{"data.users", "1000000000000"}});
  BOOST_TEST(testing::text_of(many).find("data.users") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
