#include "models/kernels/kernels.hpp"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "base/random.hpp"
#include "models/kernels/levels.hpp"

using namespace furlong;
using furlong::models::supported_kernels;

namespace {

__extension__ using int128 = __int128;

// Around every width of vectors and of unrolled loops.
constexpr std::size_t sizes[] = {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 50, 64, 129, 1000};

std::vector<float> draw(std::size_t n, std::uint32_t part, float low = -2.0F, float high = 2.0F) {
  random_stream stream(11, purpose::test, 0, 0, part);
  std::vector<float> values(n);
  for (auto& value : values) value = stream.uniform(low, high);
  return values;
}

/// value * 2^(power of `scale`) * weight, rounded to the nearest integer, ties to even: in integers alone.
int128 exact_fixed(float value, std::uint32_t weight, int power) {
  if (value == 0.0F) return 0;
  int exponent = 0;
  const auto digits = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 24));
  int128 product = static_cast<int128>(digits) * weight;
  const int shift = exponent - 24 + power;
  if (shift >= 0) return product << shift;
  if (shift < -100) return 0;
  const int128 unit = static_cast<int128>(1) << -shift;
  int128 whole = product / unit;
  int128 rest = product % unit;
  if (rest < 0) {
    rest += unit;
    --whole;
  }
  if (2 * rest > unit || (2 * rest == unit && (whole & 1) != 0)) ++whole;
  return whole;
}

template <class Work>
void at_every_level(const Work& work) {
  for (const auto* level : supported_kernels())
    for (const auto n : sizes) BOOST_TEST_CONTEXT(level->level << ", " << n << " elements") {
        work(*level, n);
      }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernels)

BOOST_AUTO_TEST_CASE(descend_is_w_minus_rate_times_g) {
  at_every_level([](const models::kernel_table& k, std::size_t n) {
    const auto w = draw(n, 1);
    const auto g = draw(n, 2);
    auto moved = w;
    k.descend(moved.data(), g.data(), n, 0.3F);
    for (std::size_t i = 0; i < n; ++i) BOOST_TEST(std::abs(moved[i] - (w[i] - 0.3F * g[i])) <= 5e-7F);
  });
}

BOOST_AUTO_TEST_CASE(descend_momentum_keeps_its_velocity) {
  at_every_level([](const models::kernel_table& k, std::size_t n) {
    auto w = draw(n, 1);
    auto v = draw(n, 2);
    const auto g = draw(n, 3);
    std::vector<double> expected_v(v.begin(), v.end());
    std::vector<double> expected_w(w.begin(), w.end());
    for (int step = 0; step < 3; ++step) {
      k.descend_momentum(w.data(), v.data(), g.data(), n, 0.3F, 0.9F);
      for (std::size_t i = 0; i < n; ++i) {
        expected_v[i] = 0.9 * expected_v[i] + static_cast<double>(g[i]);
        expected_w[i] -= 0.3 * expected_v[i];
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      BOOST_TEST(std::abs(v[i] - expected_v[i]) <= 3e-6);
      BOOST_TEST(std::abs(w[i] - expected_w[i]) <= 3e-6);
    }
  });
}

// An element's result must not depend on its place in the array: compact rows and whole tensors must agree.
BOOST_AUTO_TEST_CASE(an_element_moves_the_same_wherever_it_stands) {
  for (const auto* level : supported_kernels()) {
    const auto w = draw(200, 1);
    const auto g = draw(200, 2);
    auto whole = w;
    level->descend(whole.data(), g.data(), whole.size(), 0.37F);
    auto velocity = draw(200, 3);
    auto pushed = w;
    auto alone_v = velocity;
    level->descend_momentum(pushed.data(), velocity.data(), g.data(), pushed.size(), 0.37F, 0.9F);
    for (std::size_t i = 0; i < w.size(); ++i) {
      float alone = w[i];
      level->descend(&alone, &g[i], 1, 0.37F);
      BOOST_TEST(alone == whole[i]);
      alone = w[i];
      level->descend_momentum(&alone, &alone_v[i], &g[i], 1, 0.37F, 0.9F);
      BOOST_TEST(alone == pushed[i]);
    }
  }
}

BOOST_AUTO_TEST_CASE(sums_agree_with_long_double) {
  at_every_level([](const models::kernel_table& k, std::size_t n) {
    const auto a = draw(n, 1);
    const auto b = draw(n, 2);
    std::vector<float> difference(n);
    k.subtract(difference.data(), a.data(), b.data(), n);
    long double dot = 0;
    long double norm = 0;
    for (std::size_t i = 0; i < n; ++i) {
      BOOST_TEST(difference[i] == a[i] - b[i]);
      dot += static_cast<long double>(a[i]) * b[i];
      norm += static_cast<long double>(a[i]) * a[i];
    }
    BOOST_TEST(std::abs(k.dot(a.data(), b.data(), n) - static_cast<double>(dot)) <= 1e-12 * static_cast<double>(n));
    BOOST_TEST(std::abs(k.norm_squared(a.data(), n) - static_cast<double>(norm)) <= 1e-12 * static_cast<double>(n));
  });
}

BOOST_AUTO_TEST_CASE(one_element_that_is_not_finite_shows_in_the_norm) {
  at_every_level([](const models::kernel_table& k, std::size_t n) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()})
      for (std::size_t at = 0; at < n; at += 1 + n / 5) {
        auto values = draw(n, 1);
        values[at] = bad;
        BOOST_TEST(!std::isfinite(k.norm_squared(values.data(), n)));
      }
    const std::vector<float> largest(n, std::numeric_limits<float>::max());
    BOOST_TEST(std::isfinite(k.norm_squared(largest.data(), n)));
  });
}

BOOST_AUTO_TEST_CASE(fold_fixed_is_exact_integer_arithmetic) {
  at_every_level([](const models::kernel_table& k, std::size_t n) {
    std::vector<std::int64_t> sum(n, -17);
    std::vector<int128> expected(n, -17);
    std::uint32_t part = 0;
    for (const std::uint32_t weight : {1U, 7U, 65'536U}) {
      auto values = draw(n, ++part, -1024.0F, 1024.0F);
      if (n > 2) values[n / 2] = 1e-30F;  // far below one unit
      if (n > 4) values[n - 1] = 0.5F;    // a tie, at some powers
      for (const int power : {0, 24, static_cast<int>(39 - std::bit_width(weight))}) {
        k.fold_fixed(sum.data(), values.data(), n, std::ldexp(static_cast<double>(weight), power));
        for (std::size_t i = 0; i < n; ++i) expected[i] += exact_fixed(values[i], weight, power);
      }
    }
    for (std::size_t i = 0; i < n; ++i) BOOST_TEST((static_cast<int128>(sum[i]) == expected[i]));
  });
}

BOOST_AUTO_TEST_CASE(fold_wide_is_fold_fixed_on_a_grid_2_to_the_48_finer) {
  const auto check = [](const models::kernel_table& k, std::size_t n) {
    std::vector<std::int64_t> coarse(n);
    std::vector<std::int64_t> fine(n);
    std::vector<int128> expected(n);
    for (std::uint32_t part = 1; part < 6; ++part) {
      auto values = draw(n, part, -1024.0F, 1024.0F);
      if (n > 0) values[n / 2] = part % 2 == 0 ? 0x1p20F : -0x1p20F;  // above a unit, unlike most
      k.fold_wide(coarse.data(), fine.data(), values.data(), n, std::ldexp(part, -20));
      for (std::size_t i = 0; i < n; ++i) expected[i] += exact_fixed(values[i], part, 48 - 20);
    }
    for (std::size_t i = 0; i < n; ++i) BOOST_TEST(((static_cast<int128>(coarse[i]) << 48) + fine[i] == expected[i]));
  };
  at_every_level(check);
  for (const auto* level : supported_kernels()) check(*level, 1000);
}

// FedAtt's weights are no integers, but have 24 bits: products with them are exact, fused with an addition or not.
BOOST_AUTO_TEST_CASE(integer_sums_are_the_same_at_every_level_at_scales_of_24_bits) {
  const auto& base = *supported_kernels().front();
  at_every_level([&](const models::kernel_table& k, std::size_t n) {
    const auto values = draw(n, 1, -900.0F, 900.0F);
    for (const float scale : {std::exp(3.3F), 1.0F / 3.0F, std::exp(-20.0F), std::exp(29.0F) * 0x1p-13F}) {
      std::vector<std::int64_t> words[4];
      for (auto& one : words) one.assign(n, 3);
      base.fold_wide(words[0].data(), words[1].data(), values.data(), n, scale);
      k.fold_wide(words[2].data(), words[3].data(), values.data(), n, scale);
      BOOST_TEST(words[0] == words[2], boost::test_tools::per_element());
      BOOST_TEST(words[1] == words[3], boost::test_tools::per_element());
      base.add_fixed(words[0].data(), words[1].data(), n);
      k.add_fixed(words[2].data(), words[3].data(), n);
      BOOST_TEST(words[0] == words[2], boost::test_tools::per_element());
    }
  });
}

BOOST_AUTO_TEST_CASE(drain_fixed_rounds_once_and_leaves_zeros) {
  at_every_level([](const models::kernel_table& k, std::size_t n) {
    const auto values = draw(n, 1, -1.0F, 1.0F);
    std::vector<std::int64_t> words(n);
    for (std::size_t i = 0; i < n; ++i) words[i] = static_cast<std::int64_t>(static_cast<double>(values[i]) * 0x1p60);
    const auto before = words;
    std::vector<float> out(n, 9.0F);
    const double unit = 0x1p-40 / 3.0;
    k.drain_fixed(out.data(), words.data(), n, unit);
    for (std::size_t i = 0; i < n; ++i) {
      BOOST_TEST(out[i] == static_cast<float>(static_cast<double>(before[i]) * unit));
      BOOST_TEST(words[i] == 0);
    }
  });
}

BOOST_AUTO_TEST_CASE(drain_wide_adds_both_words_and_leaves_zeros) {
  at_every_level([](const models::kernel_table& k, std::size_t n) {
    const auto values = draw(n, 1, -1024.0F, 1024.0F);
    std::vector<std::int64_t> coarse(n);
    std::vector<std::int64_t> fine(n);
    k.fold_wide(coarse.data(), fine.data(), values.data(), n, 0x1p-3);
    std::vector<float> out(n, 9.0F);
    k.drain_wide(out.data(), coarse.data(), fine.data(), n, 0x1p3);
    BOOST_TEST(out == values, boost::test_tools::per_element());
    BOOST_TEST((coarse == std::vector<std::int64_t>(n) && fine == coarse));
  });
}

BOOST_AUTO_TEST_CASE(ridge_solve_satisfies_the_normal_equations) {
  for (const auto* level : supported_kernels())
    for (const std::size_t p : {1U, 2U, 9U, 20U})
      for (const std::size_t n : {1U, 8U, 60U}) {
        BOOST_TEST_CONTEXT(level->level << ", " << n << " x " << p) {
          const auto x = draw(n * p, 1);
          const auto y = draw(n, 2);
          const float ridge = 0.7F;
          std::vector<float> w(p);
          BOOST_REQUIRE(level->ridge_solve(x.data(), y.data(), n, p, ridge, w.data()));
          for (std::size_t j = 0; j < p; ++j) {  // X'(Xw - y) + ridge w = 0
            double residual = static_cast<double>(ridge) * w[j];
            for (std::size_t i = 0; i < n; ++i) {
              double error = -y[i];
              for (std::size_t c = 0; c < p; ++c) error += static_cast<double>(x[i * p + c]) * w[c];
              residual += static_cast<double>(x[i * p + j]) * error;
            }
            BOOST_TEST(std::abs(residual) < 2e-4);
          }
        }
      }
}

BOOST_AUTO_TEST_CASE(ridge_solve_refuses_what_has_no_single_solution) {
  const std::vector<float> x = {1, 0, 2, 0};  // the second column is empty
  const std::vector<float> y = {1, 2};
  for (const auto* level : supported_kernels()) {
    std::vector<float> w = {7, 8};
    BOOST_TEST(!level->ridge_solve(x.data(), y.data(), 2, 2, 0.0F, w.data()));
    BOOST_TEST(w == (std::vector<float>{7, 8}), boost::test_tools::per_element());
    BOOST_TEST(level->ridge_solve(x.data(), y.data(), 2, 2, 1e-3F, w.data()));
  }
}

BOOST_AUTO_TEST_SUITE_END()

// Run with FURLONG_KERNEL_LEVEL naming no level, this must fail with the error that names the levels; see CMakeLists.
BOOST_AUTO_TEST_SUITE(kernel_level)

BOOST_AUTO_TEST_CASE(the_environment_pins_the_level) {
  const char* pinned = std::getenv("FURLONG_KERNEL_LEVEL");
  const std::string level = models::kernels().level;
  if (pinned == nullptr || *pinned == '\0')
    BOOST_TEST(level == supported_kernels().back()->level);
  else
    BOOST_TEST(level == models::current_level_name(pinned));
}

BOOST_AUTO_TEST_CASE(a_process_changes_to_any_level_that_it_may_use) {
  const char* pinned = std::getenv("FURLONG_KERNEL_LEVEL");
  const auto usable = models::usable_levels();
  BOOST_TEST(usable.size() == (pinned != nullptr && *pinned != '\0' ? 1U : supported_kernels().size()));
  const std::string before = models::kernels().level;
  for (const auto level : usable) {
    BOOST_TEST(models::use_kernels(level));
    BOOST_TEST(models::kernels().level == level);
  }
  BOOST_TEST(!models::use_kernels("x86-64-v9"));
  BOOST_TEST(models::kernels().level == usable.back());
  BOOST_TEST(models::use_kernels(before));
}

BOOST_AUTO_TEST_CASE(levels_have_the_names_of_today) {
  for (const std::string old : {"x86-64", "generic", "portable"})
    BOOST_TEST(models::current_level_name(old) == "portable");
  BOOST_TEST(models::current_level_name("x86-64-v3") == "x86-64-v3");
}

BOOST_AUTO_TEST_SUITE_END()
