// Pictures of user embeddings, and the figure for how similar two runs' are.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "tools/report/detail/figures.hpp"
#include "tools/report/detail/tsne.hpp"
#include "tools/report/report.hpp"

BOOST_AUTO_TEST_SUITE(embeddings)

using namespace furlong;
using namespace furlong::tools;

namespace {

constexpr std::size_t width = 5;

/// `count` vectors round three centres, in turn.
std::vector<float> three_clusters(std::size_t count, std::uint64_t seed) {
  random_stream stream(seed, purpose::test);
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < width; ++k) values.push_back((k == i % 3 ? 10.0F : 0.0F) + stream.normal());
  return values;
}

double distance(const point& a, const point& b) { return std::hypot(a.x - b.x, a.y - b.y); }

run_record run_of(std::vector<float> values, const std::string& name) {
  run_record run;
  run.name = run.algorithm = name;
  embedding_figures of;
  of.tensors = "user";
  of.width = width;
  of.values = std::move(values);
  of.classes = true;
  for (std::uint32_t i = 0; i < of.values.size() / width; ++i) {
    of.clients.push_back(i);
    of.labels.push_back(static_cast<float>(i % 3));
  }
  run.embeddings = std::move(of);
  return run;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(clusters_stay_together) {
  const auto values = three_clusters(90, 1);
  const auto places = tsne({values, width});
  BOOST_REQUIRE(places.size() == 90U);
  std::size_t right = 0;
  for (std::size_t i = 0; i < 90; ++i) {
    std::size_t nearest = i == 0 ? 1 : 0;
    for (std::size_t j = 0; j < 90; ++j)
      if (j != i && distance(places[i], places[j]) < distance(places[i], places[nearest])) nearest = j;
    right += nearest % 3 == i % 3 ? 1 : 0;
  }
  BOOST_TEST(right == 90U);
  const auto again = tsne({values, width});
  BOOST_TEST((again == places));
}

BOOST_AUTO_TEST_CASE(odd_sets_have_finite_places) {
  const std::vector<float> alike(20 * width, 0.25F);
  for (const auto& p : tsne({alike, width})) BOOST_TEST((std::isfinite(p.x) && std::isfinite(p.y)));
  for (const std::size_t count : {0UL, 1UL, 2UL, 4UL}) {
    const auto values = three_clusters(count, 2);
    const auto places = tsne({values, width});
    BOOST_TEST(places.size() == count);
    for (const auto& p : places) BOOST_TEST((std::isfinite(p.x) && std::isfinite(p.y)));
  }
  std::vector<float> line(60);  // one number a client
  std::iota(line.begin(), line.end(), 0.0F);
  for (const auto& p : tsne({line, 1})) BOOST_TEST((std::isfinite(p.x) && std::isfinite(p.y)));
}

BOOST_AUTO_TEST_CASE(overlap_counts_common_neighbours) {
  // On a line: 0 1 | 10 11 | 20 21. In b the pairs are others: 0 2, 1 3, 4 5.
  const std::vector<float> a{0, 1, 10, 11, 20, 21};
  const std::vector<float> b{0, 10, 1, 11, 20, 21};
  BOOST_TEST(neighbourhood_overlap({a, 1}, {a, 1}, 1) == 1.0);
  BOOST_TEST(neighbourhood_overlap({a, 1}, {b, 1}, 1) == 2.0 / 6.0);
  BOOST_TEST(neighbourhood_overlap({a, 1}, {b, 1}, 5) == 1.0);  // everybody
}

BOOST_AUTO_TEST_CASE(overlap_of_the_like_is_one_and_of_the_unlike_is_chance) {
  const auto values = three_clusters(400, 3);
  std::vector<float> turned;  // a rotation and a factor change no neighbourhood; nor does another width
  for (std::size_t i = 0; i < 400; ++i) {
    const auto* v = values.data() + i * width;
    for (const float x : {2 * v[1], -2 * v[0], 2 * v[4], 2 * v[2], 2 * v[3], 0.0F}) turned.push_back(x);
  }
  BOOST_TEST(neighbourhood_overlap({values, width}, {turned, width + 1}, 10) > 0.99);
  random_stream stream(4, purpose::test);
  std::vector<float> unrelated(400 * width);
  for (auto& x : unrelated) x = stream.normal();
  const double chance = 10.0 / 399.0;
  BOOST_TEST(std::abs(neighbourhood_overlap({values, width}, {unrelated, width}, 10) - chance) < 0.4 * chance);
}

BOOST_AUTO_TEST_CASE(the_report_has_the_picture_and_says_what_it_shows) {
  const auto one = run_of(three_clusters(60, 5), "furl");
  const auto html = report_html({&one, 1});
  BOOST_TEST(has(html, "User embeddings"));
  BOOST_TEST(has(html, "private values"));
  BOOST_TEST(has(html, "class 2"));
  BOOST_TEST(embedding_picture(one, "")["points"].size() == 60U);
  auto plain = one;
  plain.embeddings.reset();
  BOOST_TEST(!has(report_html({&plain, 1}), "User embeddings"));
}

BOOST_AUTO_TEST_CASE(a_comparison_says_how_alike_they_are) {
  auto other = run_of(three_clusters(60, 5), "centralized");
  const std::vector<run_record> runs{run_of(three_clusters(60, 5), "furl"), other};
  const auto told = embedding_likeness(runs, {"furl", "centralized"});
  BOOST_TEST(has(told, "furl and centralized have 100.0 % in common (60 clients; by chance 16.9 %)"), told);
  BOOST_TEST(has(report_html(runs), "in common"));
  // A client that one run does not have is left out of both.
  other.embeddings->clients.erase(other.embeddings->clients.begin());
  other.embeddings->values.erase(other.embeddings->values.begin(), other.embeddings->values.begin() + width);
  other.embeddings->labels.erase(other.embeddings->labels.begin());
  BOOST_TEST(has(embedding_likeness(std::vector<run_record>{runs[0], other}, {"a", "b"}), "59 clients"));
}

BOOST_AUTO_TEST_CASE(runs_of_other_data_are_not_compared) {
  std::vector<run_record> runs{run_of(three_clusters(60, 5), "a"), run_of(three_clusters(60, 5), "b")};
  for (auto& run : runs) {
    run.embeddings->data.set("source", std::string("movielens"));
    run.embeddings->data.set("split_seed", std::int64_t{1});
    run.embeddings->data.set("the number of clients", std::int64_t{60});
  }
  BOOST_TEST(has(embedding_likeness(runs, {"a", "b"}), "in common"));
  const auto refused = [&](const std::string& key, const option_value& value) {
    auto other = runs;
    other[1].embeddings->data.set(key, value);
    const auto told = embedding_likeness(other, {"a", "b"});
    BOOST_TEST(!has(told, "in common"));
    BOOST_TEST(has(report_html(other), "not compared"));
    return told;
  };
  BOOST_TEST(refused("split_seed", std::int64_t{2}) ==
             "a and b are not compared: their [data] differ in split_seed, so that a client's number may stand for "
             "somebody else in each.");
  BOOST_TEST(has(refused("the number of clients", std::int64_t{61}), "differ in the number of clients,"));
  BOOST_TEST(has(refused("path", std::string("ml-1m")), "differ in path,"));
  BOOST_TEST(has(refused("source", std::string("text")), "differ in source,"));
}

BOOST_AUTO_TEST_CASE(the_commonest_classes_have_colours_and_the_rest_share_one) {
  auto run = run_of(three_clusters(60, 6), "furl");
  for (std::size_t i = 0; i < 60; ++i) run.embeddings->labels[i] = static_cast<float>(i < 30 ? 7 : i % 20);
  const auto chart = embedding_picture(run, "");
  const auto& groups = chart["series"];
  BOOST_TEST(groups.size() == 8U);
  BOOST_TEST(groups[0]["name"] == "class 7");
  BOOST_TEST(groups.back()["name"] == "13 other classes");
  BOOST_TEST(groups.back()["colour"] == 7);
  BOOST_TEST(chart["points"].size() == 60U);
  BOOST_TEST(chart["points"][0][0] == 0);
  BOOST_TEST(chart["points"][0][3] == "client 0, class 7");
  run.embeddings->class_names = {"a", "b", "c", "d", "e", "f", "g", "<nova>"};
  BOOST_TEST(embedding_picture(run, "")["series"][0]["name"] == "<nova>");
  BOOST_TEST(!has(report_html({&run, 1}), "<nova>"));
  run.embeddings->classes = false;
  const auto means = embedding_picture(run, "");
  BOOST_TEST(means["series"].size() <= 5U);
  BOOST_TEST(means["series"][0]["name"].get<std::string>().starts_with("mean label 0.00 to"));
  run.embeddings->labels.clear();  // next tokens
  const auto alike = embedding_picture(run, "");
  BOOST_TEST(alike["series"].size() == 1U);
  BOOST_TEST(alike["points"].size() == 60U);
  BOOST_TEST(!has(alike["note"], "coloured"));
}

BOOST_AUTO_TEST_SUITE_END()
