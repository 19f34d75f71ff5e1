// Where the updates of a run are added up, when those who train are many: an update is as large as the model, and its
// sum with others no larger.
//
// The sum of a version is one of integers, so that it does not depend on who adds what. But an update counts only if
// the run says so at its task's end in virtual time, which training is ahead of.
#pragma once

#include <cstdint>

#include "federated/experiment/experiment.hpp"

namespace furlong::federated {

enum class add_mode : std::uint8_t {
  at_once,    ///< where clients are trained, with the training: a valid update always counts, for its own version
  when_told,  ///< there too, once the run knows whether it counts, and for which version
  by_run,     ///< by the run, which gets every update
};

/// The mode of a run over workers: a function of its settings and sizes. The first of these that holds:
///   by_run     simulated processes ([topology] nodes); secure aggregation; an algorithm, a rule or an attack that
///              needs single updates; more updates in a version than an accumulator takes; clients' values that take
///              more than 1 GiB while they wait for the sum
///   by_run     asynchronous, with a rule that may refuse updates or has constants, or privacy.clip_quantile: both
///              depend on the version that an update goes into
///   at_once    synchronous, without deadline, over-selection and [[event]]
///   when_told  others
[[nodiscard]] add_mode add_mode_of(const experiment& run);

/// What becomes of an update that is kept (update_use::kept), or was added (update_use::added).
struct add_order {
  task_id task;
  std::uint32_t aggregator = 0;
  std::uint64_t version = 0;  ///< of the sum that it is added to; asynchronous: perhaps a later one than the task's
  double freshness = 1.0;     ///< accumulator::fold()
  bool counts = false;        ///< false: it does not; where it is in a sum, that sum is void
  friend bool operator==(const add_order&, const add_order&) = default;
};

}  // namespace furlong::federated
