// Comparisons that take NaNs for what they are: bits.
#pragma once

#include <cstring>
#include <ranges>
#include <span>
#include <string>

#include "federated/experiment/update.hpp"

namespace furlong::wire::samples {

template <class A, class B>
[[nodiscard]] bool same_bits(const A& a, const B& b) {
  const auto left = std::as_bytes(std::span(a));
  const auto right = std::as_bytes(std::span(b));
  return std::ranges::equal(left, right);
}

[[nodiscard]] inline bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// What went wrong, or nothing: messages of Boost.Test are made even when a check holds.
template <class T>
[[nodiscard]] std::string complaint(const result<T>& outcome) {
  return outcome.has_value() ? std::string() : outcome.error().text();
}

[[nodiscard]] inline bool same(const federated::client_update& a, const federated::client_update& b) {
  return a.id == b.id && a.weight == b.weight && a.examples == b.examples && same_bits(a.loss_sum, b.loss_sum) &&
         same_bits(models::to_dense(a.change).values, models::to_dense(b.change).values);
}

[[nodiscard]] inline bool same(const federated::partial_aggregate& a, const federated::partial_aggregate& b) {
  const auto equal = [](const federated::refused_member& x, const federated::refused_member& y) {
    return x.who == y.who && x.why == y.why;
  };
  return a.run == b.run && a.version == b.version && a.aggregator == b.aggregator && a.folded == b.folded &&
         std::ranges::equal(a.refused, b.refused, equal) && a.examples == b.examples && a.weight == b.weight &&
         a.loss_fixed == b.loss_fixed && a.sums == b.sums;
}

}  // namespace furlong::wire::samples
