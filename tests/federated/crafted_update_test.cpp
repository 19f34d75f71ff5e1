// The updates of clients that collude, against the results of byzfl and the definitions.
#include "federated/attack/crafted_update.hpp"

#include "federated/attack/attack.hpp"
#include "tests/federated/robust_cases.hpp"
#include "tests/support/attacks.hpp"

BOOST_AUTO_TEST_SUITE(crafted_updates)

using namespace furlong;
using namespace furlong::federated;
using tests::attack_plan;
using tests::check_near;
using tests::matrix;

namespace {

matrix seven_honest() {
  auto rows = tests::nine_updates();
  rows.resize(7);
  return rows;
}

std::vector<double> craft_update(const attack_plan& attack, const known_updates& known,
                                 function_ref<double(std::span<const double>)> harm) {
  const auto settings = attack.settings();
  return settings.entry->craft(settings, known, harm);
}

std::vector<double> crafted(const attack_plan& attack, const matrix& rows, std::size_t bad) {
  const known_updates known{.rows = {rows.begin(), rows.end()}, .bad = bad, .honest = rows.size()};
  return craft_update(attack, known, [](std::span<const double>) { return 0.0; });
}

double distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

std::vector<double> as_double(const std::vector<float>& row) { return {row.begin(), row.end()}; }

/// The factor that the search finds against a rule.
double found_factor(const char* kind, const matrix& honest, std::size_t bad, const std::string& rule,
                    const std::vector<std::string>& before, const tests::option_changes& changes = {}) {
  const auto mean = crafted({.kind = "alie", .strength = 0.0}, honest, bad);
  return search_factor([&](double factor) {
    const auto update = crafted({.kind = kind, .strength = factor}, honest, bad);
    auto rows = honest;
    rows.insert(rows.end(), bad, std::vector<float>(update.begin(), update.end()));
    return distance(tests::robust_of(rule, rows, static_cast<double>(bad), before, changes), mean);
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(attacks_have_the_published_results) {
  const auto honest = seven_honest();
  check_near(crafted({.kind = "ipm", .strength = 0.5}, honest, 2), {-0.5, -0.25, 0.125, -0.9375}, 1e-12);
  check_near(crafted({.kind = "ipm"}, tests::three_updates(), 1), {-8.0, -10.0, -12.0}, 1e-12);
  check_near(crafted({.kind = "alie", .strength = 1.5}, honest, 2),
             {1.4960783708, 0.9960783708, 0.2460783708, 2.6327722283}, 1e-9);
  check_near(crafted({.kind = "alie", .strength = 1.5}, tests::three_updates(), 1), {8.5, 9.5, 10.5}, 1e-12);
  check_near(crafted({.kind = "mimic"}, tests::three_updates(), 1), {1.0, 2.0, 3.0}, 0.0);
}

BOOST_AUTO_TEST_CASE(the_factor_of_alie_is_that_of_its_authors) {
  BOOST_TEST(std::abs(alie_factor(9, 2) - 0.1800123694) < 1e-9);
  BOOST_TEST(std::abs(alie_factor(11, 2) - 0.1397102989) < 1e-9);
  BOOST_TEST(std::abs(alie_factor(50, 10) - 0.2533471031) < 1e-9);
  BOOST_TEST(std::abs(alie_factor(50, 24) - 1.4260768723) < 1e-9);
  BOOST_TEST(std::abs(alie_factor(100, 20) - 0.2858408749) < 1e-9);
  const auto honest = seven_honest();
  check_near(crafted({.kind = "alie"}, honest, 2), crafted({.kind = "alie", .strength = alie_factor(9, 2)}, honest, 2),
             0.0);
}

// The authors' search stops 1e-5 below the largest factor.
BOOST_AUTO_TEST_CASE(min_max_is_as_far_from_the_mean_as_known_updates_are_apart) {
  const auto honest = seven_honest();
  const std::vector<double> mean = {1.0, 0.5, -0.25, 1.875};
  double widest = 0.0;
  for (const auto& a : honest)
    for (const auto& b : honest) widest = std::max(widest, distance(as_double(a), as_double(b)));
  for (const auto& [direction, factor] :
       {std::pair(std::string("mean"), 1.2007904053), {"sign", 0.8148002625}, {"deviation", 1.6610908508}}) {
    const auto update = crafted({.kind = "min-max", .direction = direction}, honest, 2);
    double furthest = 0.0;
    for (const auto& row : honest) furthest = std::max(furthest, distance(update, as_double(row)));
    BOOST_TEST(std::abs(furthest - widest) < 1e-9);
    if (direction == "sign") BOOST_TEST(std::abs(1.0 - update[0] - factor) < 2e-5);
    if (direction == "mean") BOOST_TEST(std::abs(distance(update, mean) - factor) < 2e-5);
    if (direction == "deviation")  // 0.3061862 is the population's deviation of the first value
      BOOST_TEST(std::abs((1.0 - update[0]) / 0.30618621784789724 - factor) < 2e-5);
  }
}

BOOST_AUTO_TEST_CASE(the_search_finds_the_factors_of_byzfl) {
  const auto three = tests::three_updates();
  const auto honest = seven_honest();
  const std::vector<std::string> mixed = {"nnm", "clip"};
  const auto check = [](double found, double expected) { BOOST_TEST(std::abs(found - expected) < 1e-9); };
  check(found_factor("ipm", three, 1, "trimmed-mean", mixed), 0.68719476736);
  check(found_factor("alie", three, 1, "trimmed-mean", mixed), 2.9732837209);
  check(found_factor("ipm", honest, 2, "trimmed-mean", {}), 10.0);
  check(found_factor("alie", honest, 2, "trimmed-mean", {}), 10.0);
  check(found_factor("ipm", honest, 2, "trimmed-mean", {"nnm"}), 0.0);
  check(found_factor("alie", honest, 2, "trimmed-mean", {"nnm"}), 2.9732837209);
  check(found_factor("ipm", honest, 2, "median", {"arc", "nnm"}), 0.0);
  check(found_factor("alie", honest, 2, "median", {"arc", "nnm"}), 12.147483648);
  const tests::option_changes byzfl = {{"neighbours", std::int64_t{6}}};
  check(found_factor("ipm", honest, 2, "krum", {}, byzfl), 0.0);
  check(found_factor("alie", honest, 2, "krum", {}, byzfl), 0.0);
}

BOOST_AUTO_TEST_CASE(the_search_grows_until_a_step_is_no_better) {
  BOOST_TEST(search_factor([](double factor) { return std::min(factor, 25.0); }) == 30.0);
  BOOST_TEST(std::abs(search_factor([](double factor) { return -std::abs(factor - 3.0); }) - 5.12) < 1e-9);
  BOOST_TEST(search_factor([](double) { return 1.0; }) == 0.0);
}

// The mean of 1 and 3 is 2: the harm is at a factor of 5, which only the grid tries.
BOOST_AUTO_TEST_CASE(harm_behind_a_valley_is_found_by_the_grid) {
  const matrix rows = {{1.0F}, {3.0F}};
  const known_updates known{.rows = {rows.begin(), rows.end()}, .bad = 1, .honest = 2};
  const auto update = craft_update({.kind = "opt-ipm"}, known, [](std::span<const double> sent) {
    return std::abs(sent[0] + 10.0) < 0.1 ? 100.0 : 0.0;
  });
  BOOST_TEST(update[0] == -10.0);
}

BOOST_AUTO_TEST_SUITE_END()
