#include "models/half.hpp"

#include <Eigen/Core>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "base/random.hpp"

BOOST_AUTO_TEST_SUITE(halves)

using furlong::models::from_half;
using furlong::models::largest_half;
using furlong::models::to_half;

namespace {

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

}  // namespace

BOOST_AUTO_TEST_CASE(every_half_is_the_float_that_eigen_makes_of_it_and_comes_back) {
  for (std::uint32_t half = 0; half <= UINT16_MAX; ++half) {
    const float value = from_half(static_cast<std::uint16_t>(half));
    const float other =
        Eigen::half_impl::half_to_float(Eigen::half_impl::raw_uint16_to_half(static_cast<std::uint16_t>(half)));
    if (std::isnan(other)) {
      BOOST_REQUIRE(std::isnan(value));
      BOOST_REQUIRE(std::isnan(from_half(to_half(value))));
      continue;
    }
    BOOST_REQUIRE(bits(value) == bits(other));
    if (std::isinf(value))
      BOOST_REQUIRE(from_half(to_half(value)) == std::copysign(largest_half, value));
    else
      BOOST_REQUIRE(to_half(value) == half);
  }
}

BOOST_AUTO_TEST_CASE(halfway_between_two_halves_goes_to_the_even_one) {
  for (std::uint32_t half = 0; half < 0x7BFFU; ++half) {
    const float low = from_half(static_cast<std::uint16_t>(half));
    const float high = from_half(static_cast<std::uint16_t>(half + 1));
    const float middle = low + (high - low) / 2.0F;  // exact
    BOOST_REQUIRE(to_half(middle) == half + (half & 1U));
    BOOST_REQUIRE(to_half(std::nextafter(middle, low)) == half);
    BOOST_REQUIRE(to_half(std::nextafter(middle, high)) == half + 1);
    BOOST_REQUIRE(to_half(-middle) == (0x8000U | (half + (half & 1U))));
  }
}

BOOST_AUTO_TEST_CASE(any_float_rounds_as_eigen_rounds_it_unless_it_is_too_large) {
  furlong::random_stream random(1, furlong::purpose::test);
  for (int i = 0; i < 1000000; ++i) {
    const auto value = std::bit_cast<float>(random());
    const std::uint16_t other = Eigen::half(value).x;
    if (std::isnan(value))
      BOOST_REQUIRE(std::isnan(from_half(to_half(value))));
    else if ((other & 0x7FFFU) == 0x7C00U)
      BOOST_REQUIRE(to_half(value) == ((other & 0x8000U) | 0x7BFFU));
    else
      BOOST_REQUIRE(to_half(value) == other);
  }
}

BOOST_AUTO_TEST_CASE(the_largest_ones) {
  static_assert(from_half(0x7BFF) == largest_half);
  static_assert(to_half(65519.99F) == 0x7BFF && to_half(65520.0F) == 0x7BFF);
  static_assert(to_half(std::numeric_limits<float>::infinity()) == 0x7BFF);
  BOOST_TEST(to_half(-std::numeric_limits<float>::max()) == 0xFBFF);
}

BOOST_AUTO_TEST_SUITE_END()
