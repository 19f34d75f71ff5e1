// The slot for models of availability: when a client's device can be asked to work. A model is one source file and one
// line of the table in availability.cpp; another program adds one with register_availability().
//
// Every model is a function of (seed, client, time): nothing is stored per client, so a million clients cost nothing
// until they are looked at, in any order and from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/virtual_time.hpp"

namespace furlong::federated {

class scenario_view;

/// Thread-safe and immutable.
class availability {
 public:
  virtual ~availability() = default;

  /// Whether the client is available at `now`, in the round that makes version `round` + 1.
  [[nodiscard]] virtual bool available(std::uint32_t client, virtual_time now, std::uint64_t round) const = 0;
  /// The first instant after `now` at which available() gives another answer; never, when there is none.
  [[nodiscard]] virtual virtual_time changes(std::uint32_t client, virtual_time now, std::uint64_t round) const = 0;
  /// True if it depends on the round alone: then waiting within a round helps nobody.
  [[nodiscard]] virtual bool by_round() const { return false; }
};

/// A client's standard normal score of availability: shifts how often it is available, where clients differ.
using availability_score = std::function<double(std::uint32_t client)>;

/// Intervals in which clients are available, from a trace file.
struct availability_trace;

/// What a model is built from.
struct availability_source {
  const availability_settings& settings;  ///< with the values of the model's own keys, `options`
  std::uint64_t seed = 0;
  availability_score score = {};  ///< empty: clients do not differ
  /// Of devices.availability.trace; null: there is none.
  std::shared_ptr<const availability_trace> trace = {};
};

/// One line of the table: how scenarios name and build a model of availability.
struct availability_entry {
  std::string kind;
  std::string doc;
  std::vector<option_spec> options = {};  ///< keys devices.availability.NAME
  /// Checks combinations of keys; empty: no check.
  std::function<void(scenario_view&)> check = {};
  std::function<std::unique_ptr<availability>(const availability_source& source)> build = {};
  /// As policy_entry::version.
  std::string version = {};
};

/// All models: the built-in ones and those registered since, in that order. Not to be called while others register.
[[nodiscard]] const std::vector<availability_entry>& registered_availabilities();
/// Adds a model of another library; a kind that is taken is replaced. Call before scenarios are read, from one thread.
/// Throws std::invalid_argument when it cannot be built.
void register_availability(availability_entry entry);
/// The entry of a kind, or null.
[[nodiscard]] const availability_entry* find_availability(std::string_view kind);
/// The model of the settings. Throws std::logic_error if its entry builds none.
[[nodiscard]] std::unique_ptr<availability> make_availability(const availability_source& source);

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
