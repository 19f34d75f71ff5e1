// Data that are interactions: the source "interactions", ratings taken for interactions, and the split leave-one-out.
#include <algorithm>
#include <set>

#include "scenarios/data/own_interactions.hpp"
#include "tests/scenarios/text_support.hpp"

BOOST_AUTO_TEST_SUITE(interaction_data)

using namespace furlong;
using namespace furlong::scenarios;
using federated::part;
using testing::build_data;
using testing::good_data;
using testing::temporary_directory;
using names = std::vector<std::string>;
using options = std::vector<setting_override>;

namespace {

/// The items of a client's part by name, in their order.
names items_of(const dataset& data, std::uint32_t client, part which) {
  models::examples scratch;
  names items;
  const auto view = data.clients->load(client, which, scratch);
  for (const float label : view.labels) BOOST_TEST(label == 1.0F);
  for (const auto item : view.features) items.push_back(data.clients->feature_name(item));
  return items;
}

options with(options more) {
  const options usual = {{"path", "t.csv"}, {"time_column", "time"}, {"min_interactions", "1"},
                         {"order", "time"}, {"user_column", "user"}, {"item_column", "item"}};
  options all;
  for (const auto& option : usual)
    if (std::ranges::find(more, option.key, &setting_override::key) == more.end()) all.push_back(option);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// What is said of a file.
std::string said_of(std::string_view text, options more = {}, const std::string& file = "t.csv") {
  temporary_directory root;
  root.write(file, text);
  auto said = testing::text_of(build_data("interactions", with(std::move(more)), root.path()));
  const auto prefix = root.path().string() + "/";
  for (auto at = said.find(prefix); at != std::string::npos; at = said.find(prefix)) said.erase(at, prefix.size());
  return said;
}

dataset read(std::string_view text, options more = {}) {
  temporary_directory root;
  root.write("t.csv", text);
  return good_data("interactions", with(std::move(more)), root.path());
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_file_in_any_order_with_text_ids_is_read) {
  // A byte order mark, line ends of two characters, quotes with commas, quotes and line breaks, other columns.
  const auto data = read(
      "\xEF\xBB\xBFtime,\"item\",note,user\r\n"
      "30,\"b, the \"\"second\"\"\",x,zoe\r\n"
      "10,a,,zoe\r\n"
      "\r\n"
      "5,\"two\nlines\",y,10\r\n"
      "20,a,z,9\r\n");
  BOOST_TEST((data.clients->facts().labels == models::objective::ranking));
  BOOST_TEST(data.clients->facts().clients == 3U);
  BOOST_TEST(data.clients->facts().features == 3U);
  // Whole numbers first, by value.
  BOOST_TEST(data.clients->client_name(0) == "9");
  BOOST_TEST(data.clients->client_name(1) == "10");
  BOOST_TEST(data.clients->client_name(2) == "zoe");
  BOOST_TEST((items_of(data, 2, part::train) == names{"a", "b, the \"second\""}));
  BOOST_TEST((items_of(data, 1, part::train) == names{"two\nlines"}));
  BOOST_TEST((data.item_names == names{"a", "b, the \"second\"", "two\nlines"}));
  BOOST_TEST(data.files.size() == 1U);
  BOOST_TEST(data.notes.empty());
  BOOST_TEST(data.clients->taste(1) == 0.0);
}

BOOST_AUTO_TEST_CASE(tabs_separate_too_and_quotes_are_letters_there) {
  temporary_directory root;
  root.write("t.tsv", "who\twhat\nann\t\"a\"\nann\tb\n");
  const auto data = good_data(
      "interactions", {{"path", "t.tsv"}, {"user_column", "who"}, {"item_column", "what"}, {"min_interactions", "1"}},
      root.path());
  BOOST_TEST((data.item_names == names{"\"a\"", "b"}));
}

BOOST_AUTO_TEST_CASE(repeated_pairs_are_one_interaction_at_their_latest_time) {
  const auto data = read("user,item,time,plays\nann,a,1,2\nann,b,2,1\nann,a,3,2\n",
                         {{"weight_column", "plays"}, {"min_weight", "1"}});
  BOOST_TEST((items_of(data, 0, part::train) == names{"b", "a"}));
  BOOST_TEST(
      (data.notes == names{"rows that repeat a user and an item: 1; each pair is one interaction at its latest time"}));
  const auto heavy = read("user,item,time,plays\nann,a,1,2\nann,b,2,1\nann,a,3,2\n",
                          {{"weight_column", "plays"}, {"min_weight", "4"}});
  BOOST_TEST((items_of(heavy, 0, part::train) == names{"a"}));
  BOOST_TEST((heavy.item_names == names{"a"}));  // nobody interacted with b then
  const auto equal =
      read("user,item,time,plays\nann,a,1,0.7\nann,b,2,0.69\n", {{"weight_column", "plays"}, {"min_weight", "0.7"}});
  BOOST_TEST((equal.item_names == names{"a"}));
}

BOOST_AUTO_TEST_CASE(users_with_few_interactions_are_left_out_and_counted) {
  const auto data = read("user,item,time\nann,a,1\nann,b,2\nbob,c,1\ncid,a,1\ncid,d,2\n", {{"min_interactions", "2"}});
  BOOST_TEST(data.clients->facts().clients == 2U);
  BOOST_TEST(data.clients->client_name(1) == "cid");
  BOOST_TEST((data.item_names == names{"a", "b", "d"}));
  BOOST_TEST(
      (data.notes == names{"1 of 3 users have fewer than 2 interactions and are left out (data.min_interactions)"}));
}

BOOST_AUTO_TEST_CASE(whatever_a_file_may_hold_is_checked) {
  const std::string header = "user,item,time\n";
  BOOST_TEST(said_of("") == "t.csv: the file is empty; expected a header and one row per line");
  BOOST_TEST(said_of(header) == "t.csv: the file has a header but no rows; expected one interaction per line");
  BOOST_TEST(said_of("user,thing,time\nann,a,1\n") ==
             "t.csv:1: the header \"user,thing,time\" has no column \"item\"; name the columns in data.user_column, "
             "data.item_column, data.time_column and data.weight_column");
  BOOST_TEST(said_of("user,item,time,item\nann,a,1,b\n") ==
             "t.csv:1: the header \"user,item,time,item\" has the column \"item\" twice; rename one of them");
  BOOST_TEST(said_of(header + "ann,a\n") ==
             "t.csv:2: has 2 fields, but the header has 3; give every row one field for each column");
  BOOST_TEST(said_of(header + "ann,a,1\n,b,2\n") ==
             "t.csv:3: the field \"user\" is empty; give every row a user and an item");
  BOOST_TEST(said_of(header + "ann,,1\n") == "t.csv:2: the field \"item\" is empty; give every row a user and an item");
  BOOST_TEST(said_of(header + "ann,\xFF,1\n") == "t.csv:2: the field \"item\" is not UTF-8; save the file in UTF-8");
  BOOST_TEST(said_of(header + "ann,a,\n") ==
             "t.csv:2: the field \"time\" is empty; expected a whole number, such as seconds since 1970");
  for (const std::string time : {"noon", "1.5", "1e9", "99999999999999999999", " 1"})
    BOOST_TEST(said_of(header + "ann,a," + time + "\n") ==
               "t.csv:2: the field \"time\" is \"" + time + "\"; expected a whole number, such as seconds since 1970");
  for (const std::string weight : {"", "many", "inf", "nan", "1,5"})
    BOOST_TEST(said_of("user\titem\tw\nann\ta\t" + weight + "\n", {{"path", "t.tsv"}, {"time_column", "w"}}, "t.tsv")
                   .starts_with("t.tsv:2: the field \"w\" is "));
  BOOST_TEST(said_of("user,item,time,w\nann,a,1,much\n", {{"weight_column", "w"}, {"min_weight", "1"}}) ==
             "t.csv:2: the field \"w\" is \"much\"; expected a number, such as 1 or 3.5");
  BOOST_TEST(said_of(header + "ann,\"a,1\n").find("has a quote that is not closed") != std::string::npos);
  BOOST_TEST(said_of(header + "ann,a,1\n", {{"min_interactions", "2"}}) ==
             "t.csv: no user has 2 interactions; lower data.min_interactions");
  BOOST_TEST(said_of("user,item,time,w\nann,a,1,1\n", {{"weight_column", "w"}, {"min_weight", "5"}}) ==
             "t.csv: no user has 1 interactions; lower data.min_interactions, or data.min_weight");
  BOOST_TEST(said_of("{}", {{"path", "t.jsonl"}}, "t.jsonl") ==
             "t.jsonl: is a file of JSON lines; give a table: .csv or .tsv");
  BOOST_TEST(said_of("", {{"path", "other.csv"}}) ==
             "other.csv: the file or folder does not exist; correct data.path, or FURLONG_DATA");
}

BOOST_AUTO_TEST_CASE(options_that_contradict_each_other_are_refused) {
  const auto said = [](options more) { return said_of("user,item,time\nann,a,1\n", std::move(more)); };
  BOOST_TEST(said({{"weight_column", "w"}}) ==
             "weight_column: has no effect without data.min_weight; add min_weight, or remove it");
  BOOST_TEST(said({{"min_weight", "2"}}) ==
             "min_weight: has no effect without data.weight_column; add weight_column, or remove it");
  BOOST_TEST(said({{"user_column", ""}}) == "user_column: is empty; name a column of the file's header, or remove it");
  BOOST_TEST(said({{"split_by", "leave-one-out"}, {"split", "0.8,0.1,0.1"}}) ==
             "split: gives shares, and split_by = \"leave-one-out\" holds out one example of each part; remove one of "
             "them");
  temporary_directory root;
  root.write("t.csv", "user,item\nann,a\n");
  for (const char* name : {"order", "split_by"})
    BOOST_TEST(testing::text_of(build_data("interactions", {{"path", "t.csv"}, {name, "time"}}, root.path())) ==
               std::string(name) + ": is \"time\", and no column has times; add time_column, or remove it");
}

BOOST_AUTO_TEST_CASE(the_newest_is_test_and_the_one_before_it_validation) {
  // Of the two at time 9 the earlier line is the newer one.
  const std::string text = "user,item,time\nann,a,5\nann,b,9\nann,c,1\nann,d,9\nann,e,7\nbob,a,1\nbob,b,2\ncid,a,1\n";
  const auto data = read(text, {{"split_by", "leave-one-out"}});
  BOOST_TEST((items_of(data, 0, part::test) == names{"b"}));
  BOOST_TEST((items_of(data, 0, part::validation) == names{"d"}));
  BOOST_TEST((items_of(data, 0, part::train) == names{"c", "a", "e"}));
  // With fewer than three there is no validation part, with one no test part.
  BOOST_TEST((items_of(data, 1, part::test) == names{"b"}));
  BOOST_TEST(items_of(data, 1, part::validation).empty());
  BOOST_TEST((items_of(data, 1, part::train) == names{"a"}));
  BOOST_TEST(items_of(data, 2, part::test).empty());
  BOOST_TEST((items_of(data, 2, part::train) == names{"a"}));
  for (std::uint32_t client = 0; client < 3; ++client)
    for (const auto which : {part::train, part::validation, part::test})
      BOOST_TEST(data.clients->count(client, which) == items_of(data, client, which).size());
}

BOOST_AUTO_TEST_CASE(without_times_the_held_out_ones_are_drawn_by_the_seed) {
  std::string text = "user,item\n";
  for (int user = 0; user < 40; ++user)
    for (int item = 0; item < 12; ++item) text += "u" + std::to_string(user) + ",i" + std::to_string(item) + "\n";
  temporary_directory root;
  root.write("t.csv", text);
  const auto tested = [&](const std::string& seed) {
    const auto data = good_data("interactions",
                                {{"path", "t.csv"}, {"split_by", "leave-one-out"}, {"split_seed", seed}}, root.path());
    names all;
    for (std::uint32_t client = 0; client < 40; ++client) {
      const auto own = items_of(data, client, part::test);
      BOOST_REQUIRE(own.size() == 1U);
      BOOST_TEST(items_of(data, client, part::validation).size() == 1U);
      BOOST_TEST(items_of(data, client, part::train).size() == 10U);
      all.push_back(own.front());
    }
    return all;
  };
  const auto first = tested("1");
  BOOST_TEST((first == tested("1")));
  BOOST_TEST((first != tested("2")));
  BOOST_TEST((std::set<std::string>(first.begin(), first.end()).size() > 5U));  // not always the last line
}

BOOST_AUTO_TEST_CASE(unseen_users_are_scored_on_their_newest_interaction) {
  std::string text = "user,item,time\n";
  for (int user = 0; user < 10; ++user)
    for (int item = 0; item < 4; ++item)
      text += std::to_string(user) + "," + std::to_string(item) + "," + std::to_string(item) + "\n";
  const auto data =
      read(text, {{"split_by", "leave-one-out"}, {"unseen_users.validation", "0.2"}, {"unseen_users.test", "0.3"}});
  BOOST_TEST(data.clients->unseen_test().size() == 3U);
  for (const auto client : data.clients->unseen_test()) {
    BOOST_TEST((items_of(data, client, part::test) == names{"3"}));
    BOOST_TEST(items_of(data, client, part::validation).empty());
    BOOST_TEST((items_of(data, client, part::train) == names{"0", "1", "2"}));
  }
  BOOST_TEST(data.clients->unseen_validation().size() == 2U);
  for (const auto client : data.clients->unseen_validation()) {
    BOOST_TEST((items_of(data, client, part::validation) == names{"3"}));
    BOOST_TEST(items_of(data, client, part::test).empty());
  }
}

BOOST_AUTO_TEST_CASE(ratings_are_interactions_if_the_scenario_says_so) {
  temporary_directory root;
  root.write("ml/ratings.dat",
             "1::10::5::100\n1::20::2::300\n1::30::4::200\n2::10::1::100\n2::20::4::200\n3::40::3::100\n");
  const auto load = [&](options more) {
    options all = {{"path", "ml"}, {"feedback", "implicit"}, {"order", "time"}};
    all.insert(all.end(), more.begin(), more.end());
    return good_data("movielens", all, root.path());
  };
  const auto all = load({{"min_interactions", "2"}});
  BOOST_TEST((all.clients->facts().labels == models::objective::ranking));
  BOOST_TEST(all.clients->facts().clients == 2U);
  BOOST_TEST((all.item_ids == std::vector<std::uint32_t>{10, 20, 30}));
  BOOST_TEST((items_of(all, 0, part::train) == names{"item 10", "item 30", "item 20"}));
  BOOST_TEST(all.clients->client_name(1) == "user 2");
  BOOST_TEST(!all.binarize.has_value());
  const auto liked = load({{"min_interactions", "1"}, {"implicit_at", "4"}});
  BOOST_TEST((items_of(liked, 0, part::train) == names{"item 10", "item 30"}));
  BOOST_TEST((items_of(liked, 1, part::train) == names{"item 20"}));
  BOOST_TEST(liked.clients->facts().clients == 2U);
  const auto said = [&](options more) {
    more.insert(more.begin(), setting_override{"path", "ml"});
    return testing::text_of(build_data("movielens", more, root.path()));
  };
  BOOST_TEST(said({{"implicit_at", "4"}}) ==
             "implicit_at: is about interactions, and the data are ratings; add feedback = \"implicit\" to [data], or "
             "remove it");
  BOOST_TEST(said({{"feedback", "implicit"}, {"binarize", "4"}}).starts_with("binarize: makes classes of ratings"));
  testing::check_says(said({{"feedback", "implicit"}}), "no user has 10 interactions; lower data.min_interactions");
}

BOOST_AUTO_TEST_CASE(generated_ratings_can_be_interactions) {
  temporary_directory root;
  const options usual = {{"users", "30"},
                         {"items", "60"},
                         {"ratings_per_user", "20"},
                         {"feedback", "implicit"},
                         {"split_by", "leave-one-out"}};
  const auto data = good_data("synthetic-ratings", usual, root.path());
  BOOST_TEST(data.clients->facts().clients == 30U);
  for (std::uint32_t client = 0; client < 30; ++client) {
    BOOST_TEST(items_of(data, client, part::test).size() == 1U);
    BOOST_TEST(items_of(data, client, part::validation).size() == 1U);
  }
  auto on_demand = usual;
  on_demand.push_back({"generate", "on-demand"});
  BOOST_TEST(testing::text_of(build_data("synthetic-ratings", on_demand, root.path())) ==
             "generate: is \"on-demand\", and interactions are generated ahead; remove it");
}

BOOST_AUTO_TEST_CASE(one_persons_items_are_read_from_a_list_or_a_table) {
  const auto data = read("user,item,time\nann,a,1\nann,\"b,c\",2\nann,d,3\n");
  temporary_directory root;
  const auto own = [&](std::string_view text) { return read_own_interactions(root.write("own.csv", text), data); };
  for (const auto* text : {"\xEF\xBB\xBF"
                           "d\r\nb,c\r\nx\r\nd\r\n",
                           "time,item\n1,d\n2,\"b,c\"\n3,x\n4,d\n"}) {
    const auto found = own(text);
    BOOST_REQUIRE_MESSAGE(found.has_value(), testing::text_of(found));
    BOOST_TEST((found->table.features == std::vector<std::uint32_t>{2, 1}));
    BOOST_TEST((found->unknown == names{"x"}));
  }
  testing::check_says(testing::text_of(own("a\n\nd\n")),
                      "own.csv:2: has no item; expected the id of one item per line");
  testing::check_says(testing::text_of(own("x\ny\n")), "the dataset of the run has none of the items");
  testing::check_says(testing::text_of(own("")), "the dataset of the run has none of the items");
}

BOOST_AUTO_TEST_SUITE_END()
