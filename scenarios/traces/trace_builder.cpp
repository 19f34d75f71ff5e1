#include "scenarios/traces/trace_builder.hpp"

#include <algorithm>
#include <tuple>

namespace furlong::scenarios {

using federated::availability_trace;
using federated::virtual_time;

virtual_time trace_builder::last_end() const {
  virtual_time last = 0;
  for (const auto& one : intervals_) last = std::max(last, one.end);
  return last;
}

std::uint64_t trace_builder::clients() const {
  std::uint64_t past = 0;
  for (const auto& one : intervals_) past = std::max(past, std::uint64_t{one.client} + 1);
  return past;
}

availability_trace trace_builder::build(std::uint32_t clients, virtual_time length) {
  const auto before = [](const interval& a, const interval& b) {
    return std::tie(a.client, a.start) < std::tie(b.client, b.start);
  };
  if (!std::ranges::is_sorted(intervals_, before)) std::ranges::sort(intervals_, before);
  availability_trace trace;
  trace.length = length == 0 ? whole_days(last_end()) : length;
  trace.starts.reserve(intervals_.size());
  trace.ends.reserve(intervals_.size());
  trace.offsets.push_back(0);
  auto at = intervals_.begin();
  std::uint64_t client = 0;
  while (clients == 0 ? at != intervals_.end() : client < clients) {
    if (clients == 0) client = at->client;
    const auto first = trace.starts.size();
    for (; at != intervals_.end() && at->client == client; ++at) {
      if (trace.starts.size() > first && at->start <= trace.ends.back()) {
        trace.ends.back() = std::max(trace.ends.back(), at->end);
      } else {
        trace.starts.push_back(at->start);
        trace.ends.push_back(at->end);
      }
    }
    trace.offsets.push_back(trace.starts.size());
    ++client;
  }
  intervals_ = {};
  return trace;
}

}  // namespace furlong::scenarios
