#include <boost/test/unit_test.hpp>

#include "scenarios/data/entries.hpp"
#include "scenarios/data/movielens_titles.hpp"
#include "scenarios/data/own_ratings.hpp"
#include "scenarios/data/ratings_file.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(rating_files)

using namespace furlong;
using namespace furlong::scenarios;
using testing::temporary_directory;

namespace {

using ids = std::vector<std::uint32_t>;
using stars = std::vector<float>;

std::string error_of(std::string_view text) {
  const auto read = read_ratings(text, "f");
  BOOST_REQUIRE(!read.has_value());
  BOOST_TEST((read.error().what == error::kind::data));
  return read.error().text();
}

result<dataset> load_movielens(const std::filesystem::path& root, const std::string& folder) {
  const auto entry = movielens_entry();
  auto options = defaults(entry.options);
  options.set("path", folder);
  options.set("split_seed", std::int64_t{1});
  options.set("order", std::string("time"));
  return entry.build(options, root);
}

/// Two users of odd ids, three films, one of them untitled.
void check_small(const result<dataset>& data, float second_rating) {
  BOOST_REQUIRE_MESSAGE(data.has_value(), testing::text_of(data));
  const auto& clients = *data->clients;
  BOOST_TEST(clients.facts().clients == 2U);
  BOOST_TEST(clients.facts().features == 3U);
  BOOST_TEST((data->item_ids == ids{10, 20, 30}));
  BOOST_TEST(clients.client_name(0) == "user 3");
  BOOST_TEST(clients.client_name(1) == "user 7");
  BOOST_TEST(clients.feature_name(0) == "Caf\xC3\xA9, the \"Film\" (1999)");
  BOOST_TEST(clients.feature_name(1) == "Second (2000)");
  BOOST_TEST(clients.feature_name(2) == "item 30");
  models::examples scratch;
  const auto of_first = clients.load(0, federated::part::train, scratch);
  BOOST_REQUIRE(of_first.size() == 1);
  BOOST_TEST(of_first.features[0] == 1U);
  BOOST_TEST(of_first.labels[0] == second_rating);
  const auto of_second = clients.load(1, federated::part::train, scratch);  // by time: film 30 before film 10
  BOOST_REQUIRE(of_second.size() == 2);
  BOOST_TEST(of_second.features[0] == 2U);
  BOOST_TEST(of_second.labels[0] == 1.0F);
  BOOST_TEST(of_second.features[1] == 0U);
  BOOST_TEST(of_second.labels[1] == 5.0F);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_format_is_told_by_the_first_line) {
  const auto colons = read_ratings("7::10::5::200\n3::20::4::50\n", "f");
  const auto tabs = read_ratings("7\t10\t5\t200\r\n3\t20\t4\t50", "f");
  const auto csv = read_ratings("userId,movieId,rating,timestamp\n7,10,5.0,200\n3,20,0.5,50\n", "f");
  for (const auto* read : {&colons, &tabs, &csv}) {
    BOOST_REQUIRE(read->has_value());
    BOOST_TEST(((*read)->items == ids{10, 20}));
  }
  BOOST_TEST((colons->format == rating_format::colons));
  BOOST_TEST((tabs->format == rating_format::tabs));
  BOOST_TEST((csv->format == rating_format::csv));
  BOOST_TEST((colons->users == ids{7, 3}));
  BOOST_TEST((tabs->times == ids{200, 50}));
  BOOST_TEST((csv->ratings == stars{5.0F, 0.5F}));
  BOOST_TEST(csv->line_of(1) == "3");
}

BOOST_AUTO_TEST_CASE(the_first_bad_line_is_named_with_what_was_found_and_expected) {
  const std::string bounds = ", user and item at most 16777215, the timestamp below 2^32";
  const std::string colons = "; expected user::item::rating::timestamp, the rating 1, 2, 3, 4 or 5" + bounds;
  BOOST_TEST(error_of("1::2::3::4\n1::3::0::4\n") == "f:2: found \"1::3::0::4\"" + colons);
  BOOST_TEST(error_of("1::2::3::4\n1::3::4.5::4\n") == "f:2: found \"1::3::4.5::4\"" + colons);
  BOOST_TEST(error_of("1::2::3::4\n\n1::3::4::4\n") == "f:2: found an empty line" + colons);
  BOOST_TEST(error_of("1::2::3::4 \n") == "f:1: found \"1::2::3::4 \"" + colons);
  BOOST_TEST(error_of("1::2::3::4\n-1::3::4::4\n") == "f:2: found \"-1::3::4::4\"" + colons);
  BOOST_TEST(error_of("1::2::3::4\n1::99999999999999999999::4::4\n") ==
             "f:2: found \"1::99999999999999999999::4::4\"" + colons);
  BOOST_TEST(error_of("1::2::3::4\n1::16777216::4::4\n") == "f:2: found \"1::16777216::4::4\"" + colons);
  BOOST_TEST(error_of("1::2::3::4294967296\n") == "f:1: found \"1::2::3::4294967296\"" + colons);
  BOOST_TEST(
      error_of("1\t2\t3\n") ==
      "f:1: found \"1\\t2\\t3\"; expected user, item, rating and timestamp between tabs, the rating 1, 2, 3, 4 or "
      "5" +
          bounds);
  BOOST_TEST(error_of("userId,movieId,rating,timestamp\n1,2,5.5,4\n") ==
             "f:2: found \"1,2,5.5,4\"; expected userId,movieId,rating,timestamp, the rating 0.5 to 5 in steps of 0.5" +
                 bounds);
  BOOST_TEST(error_of("userId,movieId,rating,timestamp\n") ==
             "f: the file has a header but no ratings; expected one rating per line");
  BOOST_TEST(error_of("") == "f: the file is empty; expected one rating per line");
  const std::string nul("1::2::3::4\n1::2\0::3::4\n", 22);
  BOOST_TEST(error_of(nul) == "f:2: found \"1::2?::3::4\"" + colons);
}

BOOST_AUTO_TEST_CASE(all_three_formats_load_with_dense_ids_titles_and_time_order) {
  const temporary_directory root;
  root.write("m/ratings.dat", "7::10::5::200\n3::20::4::50\n7::30::1::100\n");
  root.write("m/movies.dat",
             "10::Caf\xE9, the \"Film\" (1999)::Drama\n20::Second (2000)::Drama|Comedy\n99::Unrated::War\n");
  check_small(load_movielens(root.path(), "m"), 4.0F);
  root.write("k/u.data", "7\t10\t5\t200\n3\t20\t4\t50\n7\t30\t1\t100\n");
  root.write("k/u.item", "10|Caf\xE9, the \"Film\" (1999)|01-Jan-1999||http://x|0|1\n20|Second (2000)|||||\n");
  check_small(load_movielens(root.path(), "k"), 4.0F);
  root.write("c/ratings.csv", "userId,movieId,rating,timestamp\n7,10,5.0,200\n3,20,4.5,50\n7,30,1.0,100\n");
  root.write("c/movies.csv",
             "movieId,title,genres\n10,\"Caf\xC3\xA9, the \"\"Film\"\" (1999)\",Drama\n20,Second (2000),Drama\n");
  check_small(load_movielens(root.path(), "c"), 4.5F);
}

BOOST_AUTO_TEST_CASE(the_range_of_ratings_is_the_formats) {
  const temporary_directory root;
  root.write("m/ratings.dat", "7::10::5::200\n");
  root.write("c/ratings.csv", "userId,movieId,rating,timestamp\n7,10,5.0,200\n");
  BOOST_TEST(load_movielens(root.path(), "m")->label_low == 1.0F);
  BOOST_TEST(load_movielens(root.path(), "c")->label_low == 0.5F);
  BOOST_TEST(load_movielens(root.path(), "c")->label_high == 5.0F);
}

BOOST_AUTO_TEST_CASE(titles_name_their_bad_line) {
  const auto titles = read_titles("1::A::x\nnonsense\n", "movies.dat", rating_format::colons, {1});
  BOOST_REQUIRE(!titles.has_value());
  BOOST_TEST(titles.error().text() == "movies.dat:2: found \"nonsense\"; expected id::title::genres");
}

BOOST_AUTO_TEST_CASE(own_ratings_are_read_in_every_format_and_mapped_to_features) {
  const temporary_directory root;
  root.write("m/ratings.dat", "7::10::5::200\n3::20::4::50\n7::30::1::100\n");
  const auto data = load_movielens(root.path(), "m");
  BOOST_REQUIRE(data.has_value());
  for (const std::string text : {"30,4.5\n11,1\n10,2\n", "\xEF\xBB\xBFitem,rating\r\n30,4.5\r\n11,1\r\n10,2\r\n",
                                 "user,item,rating\n1,30,4.5\n1,11,1\n1,10,2\n",
                                 "userId,movieId,rating,timestamp\n1,30,4.5,3\n1,11,1,3\n1,10,2,3\n"}) {
    const auto own = read_own_ratings(root.write("own.csv", text), *data);
    BOOST_REQUIRE_MESSAGE(own.has_value(), testing::text_of(own));
    BOOST_TEST((own->table.features == ids{2, 0}));
    BOOST_TEST((own->table.labels == stars{4.5F, 2.0F}));
    BOOST_TEST((own->unknown == ids{11}));
  }
  auto classes = *data;
  classes.binarize = 4.0;
  BOOST_TEST((read_own_ratings(root.write("own.csv", "30,4.5\n10,2\n"), classes)->table.labels == stars{1.0F, 0.0F}));

  const auto message = [&](const std::string& text) {
    const auto own = read_own_ratings(root.write("own.csv", text), *data);
    BOOST_REQUIRE(!own.has_value());
    const auto all = own.error().text();
    return all.substr(all.find("own.csv"));
  };
  BOOST_TEST(
      message("30,4\n10,2\n30,5\n").starts_with("own.csv:3: user 0 rated item 30 more than once, on lines 1 and 3"));
  BOOST_TEST(message("1::10::3::5\n2::30::3::5\n") ==
             "own.csv:2: found user 2 after user 1; expected the ratings of one person");
  BOOST_TEST(message("11,4\n").starts_with("own.csv: the dataset of the run has none of the rated items"));
  BOOST_TEST(message("item,rating\n") == "own.csv: has no ratings; expected one item,rating per line");
  BOOST_TEST(message("10,4\n30\n") ==
             "own.csv:2: found \"30\"; expected item,rating: a whole number up to 16777215, and a rating such as 3.5");
}

BOOST_AUTO_TEST_CASE(own_ratings_have_the_range_of_the_data) {
  const temporary_directory root;
  root.write("m/ratings.dat", "7::10::5::200\n3::20::4::50\n7::30::1::100\n");
  auto data = *load_movielens(root.path(), "m");
  const auto problem = [&](const std::string& text) {
    const auto own = read_own_ratings(root.write("own.csv", text), data);
    return own ? "" : own.error().text().substr(own.error().text().find("own.csv"));
  };
  BOOST_TEST(problem("10,4\n30,6\n") ==
             "own.csv:2: the rating 6 is not from 1 to 5, the range of the run's data; correct it");
  BOOST_TEST(problem("1::10::0.5::3\n").starts_with("own.csv:1: found"));
  BOOST_TEST(problem("userId,movieId,rating,timestamp\n1,10,0.5,3\n").starts_with("own.csv:2: the rating 0.5 is not"));
  data.label_low = -10.0F;
  data.label_high = 100.0F;
  BOOST_TEST((read_own_ratings(root.write("own.csv", "item,rating\n30,87.25\n10,-6.5\n"), data)->table.labels ==
              stars{87.25F, -6.5F}));
  BOOST_TEST(problem("10,100.5\n").find("is not from -10 to 100") != std::string::npos);
  for (const std::string rating : {"nan", "inf"})
    BOOST_TEST(problem("10," + rating + "\n").find("the rating " + rating + " is not from") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
