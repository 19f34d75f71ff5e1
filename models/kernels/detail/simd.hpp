// Vectors of one level's width, and the functions of theirs that activations need. Only for the units of a level.
//
// Loops over vectors are written out: a compiler adds up the lanes of a reduction one after the other, which takes
// longer than the products of a row of 50, and it calls a library for each tanh. So are copies: an algorithm of the
// standard library would be compiled for this level and then serve other units too.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>

namespace furlong::models::FURLONG_LEVEL {

using pack = Eigen::internal::packet_traits<float>::type;
constexpr std::uint32_t lanes = sizeof(pack) / sizeof(float);

inline pack load(const float* from) { return Eigen::internal::ploadu<pack>(from); }
inline pack all(float value) { return Eigen::internal::pset1<pack>(value); }
inline void store(float* to, pack value) { Eigen::internal::pstoreu(to, value); }

inline pack add(pack a, pack b) { return Eigen::internal::padd(a, b); }
inline pack subtract(pack a, pack b) { return Eigen::internal::psub(a, b); }
inline pack times(pack a, pack b) { return Eigen::internal::pmul(a, b); }
inline pack times_add(pack a, pack b, pack c) { return Eigen::internal::pmadd(a, b, c); }
inline pack larger(pack a, pack b) { return Eigen::internal::pmax(a, b); }
/// Finite for all but NaN and very large arguments, where it is infinity; relative error below 1e-6.
inline pack exponential(pack x) { return Eigen::internal::pexp(x); }
/// Relative error below 1e-6 down to the smallest normal numbers; 0 beyond.
inline pack sigmoid(pack x) {
  return Eigen::internal::pdiv(all(1.0F), add(all(1.0F), exponential(Eigen::internal::pnegate(x))));
}
/// Relative error below 1e-6.
inline pack tangent(pack x) { return Eigen::internal::ptanh(x); }
/// 1 - x
inline pack complement(pack x) { return subtract(all(1.0F), x); }

/// How to read and write a whole vector ...
struct whole {
  static pack read(const float* from) { return load(from); }
  static void write(float* to, pack value) { store(to, value); }
};
/// ... and the first `count` elements of one; the others are read as zero.
struct part {
  std::size_t count;
  pack read(const float* from) const {
    float buffer[lanes] = {};
    for (std::size_t i = 0; i < count; ++i) buffer[i] = from[i];
    return load(buffer);
  }
  void write(float* to, pack value) const {
    float buffer[lanes];
    store(buffer, value);
    for (std::size_t i = 0; i < count; ++i) to[i] = buffer[i];
  }
};

/// Calls body(i, whole or part) for vectors that begin at i = 0, lanes, ... and cover n elements: every element goes
/// through the same instructions, wherever it stands.
template <class Body>
inline void each_pack(std::size_t n, const Body& body) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) body(i, whole());
  if (i < n) body(i, part{n - i});
}

}  // namespace furlong::models::FURLONG_LEVEL
