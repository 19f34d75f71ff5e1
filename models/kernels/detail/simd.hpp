// Vectors of one level's width, and their functions for activations. Only for the units of a level.
//
// Loops over vectors are written out, because a compiler adds the lanes of a reduction one by one, which is slower than
// the products of a row of 50, and calls a library function for each tanh. Copies are written out because a standard
// algorithm would be compiled for this level and then linked into other units.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>

namespace furlong::models::FURLONG_LEVEL {

using pack = Eigen::internal::packet_traits<float>::type;
constexpr std::uint32_t lanes = sizeof(pack) / sizeof(float);

inline pack load(const float* source) { return Eigen::internal::ploadu<pack>(source); }
inline pack filled(float value) { return Eigen::internal::pset1<pack>(value); }
inline void store(float* target, pack value) { Eigen::internal::pstoreu(target, value); }

inline pack add(pack a, pack b) { return Eigen::internal::padd(a, b); }
inline pack subtract(pack a, pack b) { return Eigen::internal::psub(a, b); }
inline pack times(pack a, pack b) { return Eigen::internal::pmul(a, b); }
inline pack times_add(pack a, pack b, pack c) { return Eigen::internal::pmadd(a, b, c); }
/// Rounded as each lane above.
inline float times_add(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
inline pack larger(pack a, pack b) { return Eigen::internal::pmax(a, b); }
/// Infinity for very large arguments, NaN stays NaN; relative error below 1e-6.
inline pack exponential(pack x) { return Eigen::internal::pexp(x); }
/// Relative error below 1e-6 down to the smallest normal numbers; 0 beyond.
inline pack sigmoid(pack x) {
  return Eigen::internal::pdiv(filled(1.0F), add(filled(1.0F), exponential(Eigen::internal::pnegate(x))));
}
/// Relative error below 1e-6.
inline pack tangent(pack x) { return Eigen::internal::ptanh(x); }
/// 1 - x
inline pack complement(pack x) { return subtract(filled(1.0F), x); }

/// Reads and writes a whole vector ...
struct whole {
  static pack read(const float* source) { return load(source); }
  static void write(float* target, pack value) { store(target, value); }
};
/// ... and the first `count` elements of one; the others are read as zero.
struct part {
  std::size_t count;
  pack read(const float* source) const {
    float buffer[lanes] = {};
    for (std::size_t i = 0; i < count; ++i) buffer[i] = source[i];
    return load(buffer);
  }
  void write(float* target, pack value) const {
    float buffer[lanes];
    store(buffer, value);
    for (std::size_t i = 0; i < count; ++i) target[i] = buffer[i];
  }
};

/// Calls body(i, whole or part) for vectors that begin at i = 0, lanes, ... and cover n elements: every element is
/// computed by the same instructions.
template <class Body>
inline void each_pack(std::size_t n, const Body& body) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) body(i, whole());
  if (i < n) body(i, part{n - i});
}

}  // namespace furlong::models::FURLONG_LEVEL
