// Elementary functions against those of the C library in extended precision, and the bits that every machine must get.
#include "base/exact_math.hpp"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cfloat>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "base/digest.hpp"
#include "base/random.hpp"

BOOST_AUTO_TEST_SUITE(exact_math)

using namespace furlong;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

using argument_range = std::pair<double, double>;

double drawn(random_stream& from, argument_range in) {
  const double u = (static_cast<double>(from()) + static_cast<double>(from()) * 0x1p-32) * 0x1p-32;
  return in.first + (in.second - in.first) * u;
}

double units_off(double value, long double expected) {
  int exponent = 0;
  std::frexp(static_cast<double>(expected), &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - DBL_MANT_DIG, DBL_MIN_EXP - DBL_MANT_DIG));
  return static_cast<double>(std::abs((static_cast<long double>(value) - expected) / static_cast<long double>(unit)));
}

/// cos(2 pi turns) for a quarter of 0, sin(2 pi turns) for 3: reduced before the multiplication, which is not exact.
long double wave(double turns, int quarter) {
  const auto whole = std::round(4.0 * turns);
  const auto angle = 2.0L * std::numbers::pi_v<long double> * (static_cast<long double>(turns) - whole / 4.0L);
  switch ((static_cast<int>(whole) + quarter) & 3) {
    case 0: return std::cos(angle);
    case 1: return -std::sin(angle);
    case 2: return -std::cos(angle);
    default: return std::sin(angle);
  }
}

struct unary_case {
  const char* name;
  argument_range in;
  double bound;  ///< in units of the last place
  double (*function)(double);
  long double (*expected)(long double);
};

constexpr unary_case unary_cases[] = {
    {"exp", {-708, 709.7}, 1, exact::exp, std::exp},
    {"exp of small", {-1, 1}, 1, exact::exp, std::exp},
    {"exp to subnormal", {-745, -708}, 1.5, exact::exp, std::exp},
    {"exp2", {-1022, 1023.9}, 1, exact::exp2, std::exp2},
    {"log", {0, 1e6}, 0.6, exact::log, std::log},
    {"log near 1", {0.6, 1.6}, 0.6, exact::log, std::log},
    {"log of subnormal", {0, 1e-308}, 0.6, exact::log, std::log},
    {"log1p", {-1, 100}, 1, exact::log1p, std::log1p},
    {"log1p of small", {-1e-3, 1e-3}, 1, exact::log1p, std::log1p},
    {"log1p of tiny", {-1e-15, 1e-15}, 1, exact::log1p, std::log1p},
    {"cos", {-3, 3}, 1, exact::cos_of_turns, [](long double x) { return wave(static_cast<double>(x), 0); }},
    {"sin", {-3, 3}, 1, exact::sin_of_turns, [](long double x) { return wave(static_cast<double>(x), 3); }},
    {"erfc", {-6, 26}, 12, exact::erfc, std::erfc},
    {"erfc of small", {-0.5, 0.5}, 12, exact::erfc, std::erfc},
};

struct binary_case {
  const char* name;
  argument_range in;
  argument_range second;
  double bound;
  double (*function)(double, double);
  long double (*expected)(long double, long double);
};

constexpr binary_case binary_cases[] = {
    {"pow", {0.01, 100}, {-10, 10}, 1, exact::pow, std::pow},
    {"pow of far", {0.001, 1000}, {-100, 100}, 8, exact::pow, std::pow},
    {"hypot", {-1, 1}, {-1, 1}, 1.5, exact::hypot, std::hypot},
    {"hypot of small", {-1e-300, 1e-300}, {-1e-300, 1e-300}, 1.5, exact::hypot, std::hypot},
    {"hypot of large", {-1e308, 1e308}, {-1e308, 1e308}, 1.5, exact::hypot, std::hypot},
};

constexpr int draws = 50'000;
constexpr bool extended = LDBL_MANT_DIG > DBL_MANT_DIG;

}  // namespace

BOOST_AUTO_TEST_CASE(errors_are_within_their_bounds, *boost::unit_test::enable_if<extended>()) {
  random_stream stream(1, purpose::initialize_shared, 0, 0);
  for (const auto& tested : unary_cases) {
    double worst = 0.0;
    for (int i = 0; i < draws; ++i) {
      const double x = drawn(stream, tested.in);
      worst = std::max(worst, units_off(tested.function(x), tested.expected(static_cast<long double>(x))));
    }
    BOOST_TEST(worst <= tested.bound, tested.name << ": " << worst);
    BOOST_TEST(worst > 0.3, tested.name);  // a comparison with the function itself would find no error at all
  }
  for (const auto& tested : binary_cases) {
    double worst = 0.0;
    for (int i = 0; i < draws; ++i) {
      const double x = drawn(stream, tested.in);
      const double y = drawn(stream, tested.second);
      const auto expected = tested.expected(static_cast<long double>(x), static_cast<long double>(y));
      if (expected < static_cast<long double>(std::numeric_limits<double>::max()))
        worst = std::max(worst, units_off(tested.function(x, y), expected));
    }
    BOOST_TEST(worst <= tested.bound, tested.name << ": " << worst);
  }
}

BOOST_AUTO_TEST_CASE(every_machine_computes_these_bits) {
  random_stream stream(2, purpose::initialize_shared, 0, 0);
  sha256_stream all;
  const auto add = [&](double value) { all.add(std::bit_cast<std::uint64_t>(value)); };
  for (const auto& tested : unary_cases)
    for (int i = 0; i < draws; ++i) add(tested.function(drawn(stream, tested.in)));
  for (const auto& tested : binary_cases)
    for (int i = 0; i < draws; ++i) {
      const double x = drawn(stream, tested.in);
      add(tested.function(x, drawn(stream, tested.second)));
    }
  for (int i = 0; i < draws; ++i) add(static_cast<double>(stream.normal()));
  BOOST_TEST(hex(all.finish()) == "7719f88875b625a9a0638431fec4c507df4a63872becac5a495205bd772e9c3f");
}

BOOST_AUTO_TEST_CASE(ends_of_ranges_are_exact) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(exact::exp(0.0) == 1.0);
  BOOST_TEST(exact::exp(710.0) == infinite);
  BOOST_TEST(exact::exp(-746.0) == 0.0);
  for (int n = -1074; n < 1024; ++n) BOOST_TEST(exact::exp2(n) == std::ldexp(1.0, n));
  BOOST_TEST(exact::exp2(1024.0) == infinite);
  BOOST_TEST(exact::log(0.0) == -infinite);
  BOOST_TEST(exact::log(1.0) == 0.0);
  BOOST_TEST(exact::log(infinite) == infinite);
  BOOST_TEST(exact::log1p(-1.0) == -infinite);
  BOOST_TEST(exact::log1p(infinite) == infinite);
  BOOST_TEST(exact::pow(0.0, 2.0) == 0.0);
  BOOST_TEST(exact::pow(0.0, -2.0) == infinite);
  BOOST_TEST(exact::pow(infinite, -2.0) == 0.0);
  BOOST_TEST(exact::pow(0.0, 0.0) == 1.0);
  BOOST_TEST(exact::pow(10.0, 400.0) == infinite);
  BOOST_TEST(exact::pow(10.0, -400.0) == 0.0);
  for (int n = -8; n <= 8; ++n) {
    BOOST_TEST(exact::cos_of_turns(n / 4.0) == (n % 2 != 0 ? 0.0 : n % 4 != 0 ? -1.0 : 1.0));
    BOOST_TEST(exact::sin_of_turns(n / 4.0) == exact::cos_of_turns((n - 1) / 4.0));
  }
  BOOST_TEST(exact::hypot(3e200, 4e200) == 5e200, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(exact::hypot(-infinite, none) == infinite);
  BOOST_TEST(exact::erfc(30.0) == 0.0);
  BOOST_TEST(exact::erfc(-30.0) == 2.0);
  for (int n = -1000; n < 1000; ++n) {
    BOOST_TEST(exact::ceil_log2(std::ldexp(1.0, n)) == n);
    BOOST_TEST(exact::ceil_log2(std::ldexp(1.25, n)) == n + 1);
  }
  for (const double value :
       {exact::exp(none), exact::exp2(none), exact::log(none), exact::log(-1.0), exact::log1p(none), exact::log1p(-2.0),
        exact::pow(none, 1.0), exact::pow(-1.0, 2.0), exact::pow(2.0, none), exact::cos_of_turns(none),
        exact::sin_of_turns(infinite), exact::hypot(none, 1.0), exact::erfc(none)})
    BOOST_TEST(std::isnan(value));
}

BOOST_AUTO_TEST_SUITE_END()
