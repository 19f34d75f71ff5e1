// Elementary functions with the same bits on every processor, compiler and C library: made of +, -, x, / and square
// roots, which IEEE 754 defines to the last bit, in an order that the source fixes. What a result depends on uses
// these; those of <cmath> differ between versions of a library, and within one between processors with and without
// fused multiplication. Errors are bounds in units of the last place (ulp), tested in tests/models/exact_math_test.cpp.
//
// All functions are pure and thread-safe. NaN gives NaN; no function throws or sets errno.
#pragma once

namespace furlong::exact {

/// e^x within 1 ulp; subnormal results within 1.5.
[[nodiscard]] double exp(double x);
/// 2^x within 1 ulp, exact where x is an integer.
[[nodiscard]] double exp2(double x);
/// The natural logarithm within 0.6 ulp; -infinity for 0, NaN below.
[[nodiscard]] double log(double x);
/// log(1 + x) within 1 ulp; -infinity for -1, NaN below.
[[nodiscard]] double log1p(double x);
/// x^y for x >= 0 within 1 ulp where the result lies in 1e-20..1e20, 8 ulp elsewhere; NaN below 0.
[[nodiscard]] double pow(double x, double y);
/// cos(2 pi turns) and sin(2 pi turns) for |turns| < 2^51 within 1 ulp; exact at multiples of 1/4.
[[nodiscard]] double cos_of_turns(double turns);
[[nodiscard]] double sin_of_turns(double turns);
/// sqrt(x^2 + y^2) within 1.5 ulp, without overflow or underflow on the way.
[[nodiscard]] double hypot(double x, double y);
/// 1 - erf(x) within 12 ulp.
[[nodiscard]] double erfc(double x);
/// The least n with 2^n >= x; x is finite and above 0. Without error.
[[nodiscard]] int ceil_log2(double x);

}  // namespace furlong::exact
