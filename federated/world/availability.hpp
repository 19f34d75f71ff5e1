// When a client's device can be asked to work.
//
// Every model is a function of (seed, client, time): nothing is stored per client, so a million clients cost nothing
// until they are looked at, in any order and from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "federated/settings/virtual_time.hpp"

namespace furlong::federated {

struct availability_settings;

/// Thread-safe and immutable.
class availability {
 public:
  virtual ~availability() = default;

  /// Whether the client is available at `now`, in the round that makes version `round` + 1.
  [[nodiscard]] virtual bool available(std::uint32_t client, virtual_time now, std::uint64_t round) const = 0;
  /// The first instant after `now` at which available() gives another answer; never, when there is none.
  [[nodiscard]] virtual virtual_time changes(std::uint32_t client, virtual_time now, std::uint64_t round) const = 0;
};

/// A client's standard normal score of availability: shifts how often it is available, where clients differ.
using availability_score = std::function<double(std::uint32_t client)>;

/// Intervals in which clients are available, from a trace file.
struct availability_trace;

// One file each. `rate` is the mean over time of the median client: where the settings correlate availability with
// something, a score z moves a client's own rate to that of logit(rate) + z, so that clients differ.
[[nodiscard]] std::unique_ptr<availability> make_always();
/// Available in a round with probability `rate`, independently of other rounds.
[[nodiscard]] std::unique_ptr<availability> make_bernoulli(const availability_settings& of, std::uint64_t seed,
                                                           availability_score score);
/// A two-state Markov chain over slots of `step` seconds, stationary from the start.
[[nodiscard]] std::unique_ptr<availability> make_markov(const availability_settings& of, std::uint64_t seed,
                                                        availability_score score);
/// Follows the hour of the client's time zone, `swing` times as often at the best hour as at the worst.
[[nodiscard]] std::unique_ptr<availability> make_diurnal(const availability_settings& of, std::uint64_t seed,
                                                         availability_score score);
/// Follows recorded intervals, again and again when the run is longer than the trace.
[[nodiscard]] std::unique_ptr<availability> make_traced(std::shared_ptr<const availability_trace> trace);

}  // namespace furlong::federated
