// FedAtt's distances and what they make of the weights.
#include "federated/aggregation/attention.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "federated/aggregation/accumulator.hpp"
#include "federated/aggregation/spectral_norm.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "storage/memory_store.hpp"
#include "tests/support/class_table.hpp"
#include "tests/support/updates.hpp"

BOOST_AUTO_TEST_SUITE(attention)

using namespace furlong;
using federated::spectral_norm;

namespace {

std::vector<float> normals(std::size_t count, std::uint64_t seed) {
  random_stream stream(seed, purpose::test);
  std::vector<float> made(count);
  for (auto& value : made) value = stream.normal();
  return made;
}

double length(std::span<const float> v) {
  double squares = 0.0;
  for (const double x : v) squares += x * x;
  return std::sqrt(squares);
}

std::vector<float> transposed(std::span<const float> a, std::size_t cols) {
  std::vector<float> made(a.size());
  const std::size_t rows = a.size() / cols;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < cols; ++c) made[c * rows + r] = a[r * cols + c];
  return made;
}

/// Largest singular value by one-sided Jacobi rotations, which make the columns orthogonal (Hestenes 1958).
double by_jacobi(std::span<const float> matrix, std::size_t cols) {
  const std::size_t rows = matrix.size() / cols;
  std::vector<double> a(matrix.begin(), matrix.end());
  for (int sweep = 0; sweep < 30; ++sweep)
    for (std::size_t p = 0; p < cols; ++p)
      for (std::size_t q = p + 1; q < cols; ++q) {
        double pp = 0.0, qq = 0.0, pq = 0.0;
        for (std::size_t r = 0; r < rows; ++r) {
          pp += a[r * cols + p] * a[r * cols + p];
          qq += a[r * cols + q] * a[r * cols + q];
          pq += a[r * cols + p] * a[r * cols + q];
        }
        if (std::abs(pq) < 1e-15) continue;
        const double angle = 0.5 * std::atan2(2 * pq, pp - qq);
        for (std::size_t r = 0; r < rows; ++r) {
          const double x = a[r * cols + p], y = a[r * cols + q];
          a[r * cols + p] = std::cos(angle) * x + std::sin(angle) * y;
          a[r * cols + q] = -std::sin(angle) * x + std::cos(angle) * y;
        }
      }
  double largest = 0.0;
  for (std::size_t c = 0; c < cols; ++c) {
    double squares = 0.0;
    for (std::size_t r = 0; r < rows; ++r) squares += a[r * cols + c] * a[r * cols + c];
    largest = std::max(largest, std::sqrt(squares));
  }
  return largest;
}

void check_near(double found, double expected) { BOOST_TEST(std::abs(found - expected) <= 2e-5 * expected); }

}  // namespace

BOOST_AUTO_TEST_CASE(the_spectral_norm_is_the_largest_singular_value) {
  for (const std::size_t rows : {2UL, 7UL, 30UL, 64UL})
    for (const std::size_t cols : {2UL, 5UL, 30UL}) {
      const auto a = normals(rows * cols, rows * 100 + cols);
      const double expected = by_jacobi(a, cols);
      check_near(spectral_norm(a, cols), expected);
      check_near(spectral_norm(transposed(a, cols), rows), expected);
    }
}

BOOST_AUTO_TEST_CASE(the_spectral_norm_of_what_is_known) {
  // u v' has one singular value: |u| |v|.
  const auto u = normals(200, 1);
  const auto v = normals(30, 2);
  std::vector<float> outer;
  for (const float x : u)
    for (const float y : v) outer.push_back(x * y);
  check_near(spectral_norm(outer, 30), length(u) * length(v));
  // Equal singular values: every direction is one of the largest.
  std::vector<float> identity(50 * 50, 0.0F);
  for (std::size_t i = 0; i < 50; ++i) identity[i * 51] = -3.0F;
  check_near(spectral_norm(identity, 50), 3.0);
  // Rows of zeros do not count, scale does.
  auto padded = normals(40, 3);
  const double before = spectral_norm(padded, 4);
  padded.resize(400, 0.0F);
  BOOST_TEST(spectral_norm(padded, 4) == before);
  for (auto& x : padded) x *= 1e-6F;
  check_near(spectral_norm(padded, 4), 1e-6 * before);
  // Where a matrix lies in memory does not matter.
  for (const std::size_t size : {12UL, 60UL, 900UL}) {
    const auto values = normals(size, size);
    std::vector<float> room(size + 16);
    for (std::size_t shift = 0; shift < 16; ++shift) {
      std::ranges::copy(values, room.begin() + static_cast<std::ptrdiff_t>(shift));
      BOOST_TEST(spectral_norm(std::span(room).subspan(shift, size), 4) == spectral_norm(values, 4));
    }
  }
  // Vectors have their length; nothing has none.
  check_near(spectral_norm(v, 30), length(v));
  check_near(spectral_norm(v, 1), length(v));
  BOOST_TEST(spectral_norm({}, 4) == 0.0);
  BOOST_TEST(spectral_norm(std::vector<float>(12, 0.0F), 4) == 0.0);
}

BOOST_AUTO_TEST_CASE(with_the_spectral_norm_the_rule_weighs_by_it) {
  federated::aggregation_settings settings;
  settings.rule = federated::chosen_rule("fedatt");
  settings.rule.options.set("norm", std::string("spectral"));
  const auto shape = std::make_shared<models::layout>(std::vector<models::tensor_spec>{{"w", 2, 2}});
  federated::client_update wide, long_one;
  wide.weight = long_one.weight = 1;
  wide.change = {shape, {{false, 0, 0, 0}}, {}, {2.0F, 0.0F, 0.0F, 2.0F}};      // Frobenius 2.83, spectral 2
  long_one.change = {shape, {{false, 0, 0, 0}}, {}, {0.0F, 2.5F, 0.0F, 0.0F}};  // both 2.5
  const auto sum = federated::make_accumulator(settings, shape, {0.0});
  BOOST_REQUIRE(!sum->fold(wide));
  check_near(sum->distances()[0], 2.0);
  BOOST_REQUIRE(!sum->fold(long_one));
  check_near(sum->distances()[0], 2.5);
  const auto round = sum->report();
  const double share = 1.0 / (1.0 + std::exp(0.5));  // of the wide one
  BOOST_TEST(std::abs(round.change.values()[0] - 2.0 * share) < 1e-4);
  BOOST_TEST(std::abs(round.change.values()[1] - 2.5 * (1.0 - share)) < 1e-4);
}

BOOST_AUTO_TEST_CASE(weights_are_the_softmax_times_the_number_of_clients) {
  const models::layout shape(std::vector<models::tensor_spec>{{"a", 1, 2}, {"b", 3, 1}});
  const std::vector<std::vector<float>> distances{{0.0F, 5.0F}, {1.0F, 5.0F}, {2.0F, 5.0F}};
  std::vector<federated::client_distances> all;
  for (std::uint32_t i = 0; i < 3; ++i) all.push_back({10 + i, distances[i]});
  const auto made = federated::attention_of(shape, all);
  BOOST_TEST(made.clients == (std::vector<std::uint32_t>{10, 11, 12}), boost::test_tools::per_element());
  BOOST_REQUIRE(made.tensors.size() == 2U);
  const double total = 1.0 + std::exp(1.0) + std::exp(2.0);
  for (std::size_t i = 0; i < 3; ++i) {
    check_near(static_cast<double>(made.tensors[0].weights[i]), 3.0 * std::exp(static_cast<double>(i)) / total);
    BOOST_TEST(made.tensors[1].weights[i] == 1.0F);
  }
  BOOST_TEST(made.tensors[0].tensor == "a");
  BOOST_TEST(made.tensors[0].least == made.tensors[0].weights[0]);
  BOOST_TEST(made.tensors[0].most == made.tensors[0].weights[2]);
}

BOOST_AUTO_TEST_CASE(of_a_large_round_the_first_hundred_are_listed_and_all_count) {
  const models::layout shape(std::vector<models::tensor_spec>{{"a", 1, 2}});
  std::vector<std::vector<float>> distances(150, {0.0F});
  distances[149] = {3.0F};
  std::vector<federated::client_distances> all;
  for (std::uint32_t i = 0; i < 150; ++i) all.push_back({i, distances[i]});
  const auto made = federated::attention_of(shape, all);
  BOOST_TEST(made.clients.size() == 100U);
  BOOST_TEST(made.tensors[0].weights.size() == 100U);
  check_near(static_cast<double>(made.tensors[0].most), 150.0 * std::exp(3.0) / (149.0 + std::exp(3.0)));
}

BOOST_AUTO_TEST_CASE(rounds_report_it_when_asked) {
  federated::run_settings settings;
  settings.rounds = 2;
  *settings.client = {.lr = 0.5F, .batch_size = 3};
  settings.participation->per_round = 4;
  settings.aggregation->rule = federated::chosen_rule("fedatt");
  for (const bool asked : {false, true}) {
    settings.evaluation->attention = asked;
    const auto e = tests::class_experiment(settings, tests::make_sentences(9));
    storage::memory_store store(e.parts.private_);
    std::size_t rounds = 0;
    const federated::run_observer observer{[&](const federated::round_report& report) {
      ++rounds;
      BOOST_TEST(report.attention.has_value() == asked);
      if (!asked) return result<void>{};
      BOOST_TEST(report.attention->clients.size() == 4U);
      for (const auto& of : report.attention->tensors) {
        double sum = 0.0;
        for (const double weight : of.weights) sum += weight;
        BOOST_TEST(std::abs(sum - 4.0) < 1e-5);
        BOOST_TEST(of.least < of.most);
      }
      return result<void>{};
    }};
    BOOST_REQUIRE(federated::run_reference(e, store, observer));
    BOOST_TEST(rounds == 2U);
  }
}

BOOST_AUTO_TEST_SUITE_END()
