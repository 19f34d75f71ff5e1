#include "base/exact_math.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

namespace furlong::exact {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// A number as an unevaluated sum: |low| is at most half a unit of the last place of high.
struct double_double {
  double high = 0.0;
  double low = 0.0;
};

constexpr double_double ln2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
// The same in other parts: a product of the first with an exponent of a double is exact.
constexpr double_double ln2_short{0x1.62e42fee00000p-1, 0x1.a39ef35793c76p-33};
constexpr double_double two_pi{0x1.921fb54442d18p+2, 0x1.1a62633145c07p-52};

/// a + b exactly (Knuth's TwoSum).
double_double sum(double a, double b) {
  const double high = a + b;
  const double from_b = high - a;
  return {high, (a - (high - from_b)) + (b - from_b)};
}

/// a + b exactly for |a| >= |b| or a = 0 (Dekker).
double_double sum_of_ordered(double a, double b) {
  const double high = a + b;
  return {high, b - (high - a)};
}

/// a * b exactly (Dekker, with Veltkamp's splitting: without fused multiplication); |a|, |b| < 2^995.
double_double product(double a, double b) {
  const auto halves = [](double factor) {
    const double wide = factor * 0x1.000002p27;
    const double high = wide - (wide - factor);
    return double_double{high, factor - high};
  };
  const double high = a * b;
  const auto left = halves(a);
  const auto right = halves(b);
  return {high,
          ((left.high * right.high - high) + left.high * right.low + left.low * right.high) + left.low * right.low};
}

/// c[0] + c[1] x + c[2] x^2 ...
template <std::size_t N>
double polynomial(const double (&c)[N], double x) {
  double value = c[N - 1];
  for (std::size_t i = N - 1; i-- > 0;) value = value * x + c[i];
  return value;
}

/// value * 2^exponent, -1,100 <= exponent <= 1,100, rounded once.
double scaled(double value, int exponent) {
  const auto power = [](int n) { return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52); };
  if (exponent > 1000) return value * power(1000) * power(exponent - 1000);
  if (exponent < -1000) return value * power(exponent + 1000) * power(-1000);
  return value * power(exponent);
}

/// The nearest integer of |x| < 2^51, ties to even.
double nearest(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

/// e^(x.high + x.low), x.high between -746 and 710.
double exp_of(double_double x) {
  // The inverse factorials from 1/2! on.
  constexpr double tail[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                             1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                             1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  const double k = nearest(x.high * 0x1.71547652b82fep+0);
  const auto r = sum(x.high - k * ln2_short.high, x.low - k * ln2_short.low);
  const double grown = r.high * r.high * polynomial(tail, r.high);
  const double value = 1.0 + (r.high + (grown + r.low * (1.0 + r.high)));
  return scaled(value, static_cast<int>(k));
}

/// log(x) of a finite x > 0, with a relative error below 2^-59.
double_double log_of(double x) {
  // log(1 + f) = 2 atanh(s), s = f / (2 + f): the coefficients of s^3, s^5, ...
  constexpr double tail[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                             2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
  constexpr std::uint64_t root_of_half = 0x3FE6A09E667F3BCDU;
  int exponent = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    exponent = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto octave = static_cast<std::int64_t>(bits - root_of_half) >> 52;
  exponent += static_cast<int>(octave);
  const double f = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(octave) << 52)) - 1.0;  // exact
  const auto below = sum_of_ordered(2.0, f);
  double_double s{f / below.high, 0.0};
  const auto back = product(s.high, below.high);
  s.low = (((f - back.high) - back.low) - s.high * below.low) / below.high;
  const double z = s.high * s.high;
  const double k = exponent;
  const auto leading = sum(k * ln2_short.high, 2.0 * s.high);
  return sum_of_ordered(leading.high,
                        leading.low + (2.0 * s.low + (s.high * z * polynomial(tail, z) + k * ln2_short.low)));
}

/// Quarter turns in `turns` and e^(2 pi i rest): {cos, sin} of the rest, which lies within an eighth of a turn.
struct quarter {
  std::int64_t number;
  double cos;
  double sin;
};

quarter quarter_of(double turns) {
  // Of sin(x) from x^3 on, of cos(x) from x^4 on.
  constexpr double of_sin[] = {-1.0 / 6,
                               1.0 / 120,
                               -1.0 / 5040,
                               1.0 / 362880,
                               -1.0 / 39916800,
                               1.0 / 6227020800.0,
                               -1.0 / 1307674368000.0,
                               1.0 / 355687428096000.0};
  constexpr double of_cos[] = {1.0 / 24,
                               -1.0 / 720,
                               1.0 / 40320,
                               -1.0 / 3628800,
                               1.0 / 479001600,
                               -1.0 / 87178291200.0,
                               1.0 / 20922789888000.0,
                               -1.0 / 6402373705728000.0};
  const double whole = nearest(4.0 * (turns - nearest(turns)));
  const double rest = (turns - nearest(turns)) - whole / 4.0;  // exact
  auto angle = product(rest, two_pi.high);
  angle.low += rest * two_pi.low;
  const double z = angle.high * angle.high;
  const double half = 0.5 * z;
  const double most = 1.0 - half;
  const double of_whole = ((1.0 - most) - half) + (z * z * polynomial(of_cos, z) - angle.high * angle.low);
  return {static_cast<std::int64_t>(whole), most + of_whole,
          angle.high + (angle.high * z * polynomial(of_sin, z) + angle.low * most)};
}

}  // namespace

double exp(double x) {
  if (x > 709.79) return infinite;
  if (x < -745.2) return 0.0;
  return x == x ? exp_of({x, 0.0}) : x;
}

double exp2(double x) {
  if (x >= 1024.0) return infinite;
  if (x < -1075.0) return 0.0;
  if (x != x) return x;
  const double whole = nearest(x);
  auto rest = product(x - whole, ln2.high);
  rest.low += (x - whole) * ln2.low;
  return scaled(exp_of(rest), static_cast<int>(whole));
}

double log(double x) {
  if (x == 0.0) return -infinite;
  if (!(x > 0.0)) return not_a_number;
  return x == infinite ? x : log_of(x).high;
}

double log1p(double x) {
  if (x == -1.0) return -infinite;
  if (!(x > -1.0)) return not_a_number;
  if (x == infinite || std::abs(x) < 0x1p-54) return x;
  const auto one_more = sum(1.0, x);
  const auto of_sum = log_of(one_more.high);
  return of_sum.high + (of_sum.low + one_more.low / one_more.high);
}

double pow(double x, double y) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (!(x >= 0.0) || y != y) return not_a_number;
  if (x == 0.0 || x == infinite) return (x == 0.0) == (y > 0.0) ? 0.0 : infinite;
  const auto of_x = log_of(x);
  if (const double rough = of_x.high * y; !(std::abs(rough) < 746.0)) return rough > 0.0 ? infinite : 0.0;
  auto exponent = product(of_x.high, y);
  exponent.low += of_x.low * y;
  exponent = sum_of_ordered(exponent.high, exponent.low);
  if (exponent.high > 709.79) return infinite;
  return exponent.high < -745.2 ? 0.0 : exp_of(exponent);
}

double cos_of_turns(double turns) {
  if (!(std::abs(turns) < 0x1p51)) return not_a_number;
  const auto angle = quarter_of(turns);
  switch (angle.number & 3) {
    case 0: return angle.cos;
    case 1: return -angle.sin;
    case 2: return -angle.cos;
    default: return angle.sin;
  }
}

double sin_of_turns(double turns) {
  if (!(std::abs(turns) < 0x1p51)) return not_a_number;
  const auto angle = quarter_of(turns);
  switch (angle.number & 3) {
    case 0: return angle.sin;
    case 1: return angle.cos;
    case 2: return -angle.sin;
    default: return -angle.cos;
  }
}

double hypot(double x, double y) {
  x = std::abs(x);
  y = std::abs(y);
  if (x == infinite || y == infinite) return infinite;
  if (!(x >= y)) std::swap(x, y);
  const double unit = x > 0x1p500 ? 0x1p600 : x < 0x1p-400 ? 0x1p-600 : 1.0;
  x /= unit;
  y /= unit;
  return std::sqrt(x * x + y * y) * unit;
}

double erfc(double x) {
  // e^(x^2) erfc(x) = t R(t), t = 4 / (4 + |x|): Chebyshev's coefficients of R over 0..1, computed with 60 digits.
  constexpr double chebyshev[] = {
      0x1.a1d12aa2b99e3p-2,   0x1.81640da73db47p-2,   0x1.2e3e9be35bb80p-3,   0x1.961696aa87e14p-5,
      0x1.d231a0d655c70p-7,   0x1.c35875e50d6e9p-9,   0x1.65b29b3cf475cp-11,  0x1.b1b5c1f5a252cp-14,
      0x1.466f92ca87aabp-17,  -0x1.0174a6a133f01p-23, -0x1.d3079e0a0819ep-23, -0x1.04344d3c6c2bcp-25,
      0x1.0494fd49213acp-30,  0x1.daa077c106015p-31,  0x1.2e3d9a50f6625p-34,  -0x1.2bae5cbd0194bp-36,
      -0x1.dd6663527f654p-39, 0x1.26838df279a75p-42,  0x1.11174a8a377d5p-43,  -0x1.30c2460a986e5p-49,
      -0x1.28af88d28c6b1p-48, -0x1.23dc4089147d6p-54, 0x1.4be1ee5d97426p-53,  0x1.50943359c9b4ap-58};
  const double size = std::abs(x);
  if (size != size) return x;
  if (size > 27.3) return x > 0.0 ? 0.0 : 2.0;
  const double t = 4.0 / (4.0 + size);
  const double place = 4.0 * t - 2.0;
  double before = 0.0;
  double last = 0.0;
  for (std::size_t i = std::size(chebyshev) - 1; i > 0; --i)  // Clenshaw's recurrence
    before = std::exchange(last, place * last - before + chebyshev[i]);
  const double r = 0.5 * place * last - before + chebyshev[0];
  const auto square = product(size, size);
  const double tail = t * r * exp_of({-square.high, -square.low});
  return x >= 0.0 ? tail : 2.0 - tail;
}

int ceil_log2(double x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5 ? exponent - 1 : exponent;
}

}  // namespace furlong::exact
