// The fate of a task, from the device, the settings and a few draws.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/random.hpp"
#include "federated/algorithm.hpp"
#include "federated/algorithm_traits.hpp"
#include "federated/experiment.hpp"
#include "federated/settings/devices.hpp"
#include "federated/simulation/world.hpp"

namespace furlong::federated {

namespace {

/// Uniform in (0, 1), 32 bits of resolution.
double uniform(random_stream& stream) { return (static_cast<double>(stream()) + 0.5) * 0x1p-32; }

/// A task's way through its stages: the clock, and how long the client stays available.
class task_progress {
 public:
  task_progress(const experiment& e, const task_id& task, virtual_time start)
      : presence_(*e.around->presence),
        how_(*e.settings.dropout),
        task_(task),
        stream_(e.settings.seed, purpose::fate, static_cast<std::uint32_t>(task.version), task.client, task.attempt),
        now_(start) {
    if (presence_.available(task.client, start, task.version)) online_until_ = next_change();
  }

  [[nodiscard]] random_stream& stream() { return stream_; }
  [[nodiscard]] virtual_time now() const { return now_; }

  /// A stage of `span` of work, interrupted once it has done `broken_at` of it if that is less than all. Whether the
  /// client gets through it; if not, now() is when it dropped out.
  [[nodiscard]] bool work(virtual_time span, double broken_at) {
    if (broken_at >= 1.0) return advance(span);
    const auto first = static_cast<virtual_time>(broken_at * static_cast<double>(span));
    if (!advance(first)) return false;
    if (how_.policy == dropout_policy::abort) return false;
    pause();
    return advance(span - first);
  }

 private:
  [[nodiscard]] virtual_time next_change() const { return presence_.changes(task_.client, now_, task_.version); }

  void pause() {
    now_ = std::min(never, now_ + from_seconds(-how_.mean_pause * std::log(uniform(stream_))));
    if (now_ >= never || now_ < online_until_) return;
    online_until_ = presence_.available(task_.client, now_, task_.version) ? next_change() : now_;
  }

  bool advance(virtual_time span) {
    while (span > 0 && now_ < never) {
      if (now_ >= online_until_ && !wait()) return false;
      // An end that is out of reach is not walked to, rest after rest.
      const bool endless = how_.policy == dropout_policy::pause && span >= never - now_;
      const auto done = endless ? never - now_ : std::min(span, online_until_ - now_);
      now_ += done;
      span -= done;
    }
    return true;
  }

  /// The client is not available: waits until it is again, if it may and ever will be.
  bool wait() {
    if (how_.policy == dropout_policy::abort) return false;
    const auto back = next_change();
    if (back >= never) return false;
    now_ = back;
    online_until_ = next_change();
    return true;
  }

  const availability& presence_;
  const dropout_settings& how_;
  const task_id& task_;
  random_stream stream_;
  virtual_time now_;
  virtual_time online_until_ = 0;  // not after now_: not available
};

virtual_time transfer(const device_settings& settings, const device& of, std::uint64_t bytes) {
  double seconds = settings.latency;
  if (bytes > 0) seconds += static_cast<double>(bytes) / of.bytes_per_second;
  return from_seconds(seconds);
}

/// How long each stage takes without interruptions.
std::array<virtual_time, drop_stage_count> stages_of(const experiment& e, const task_id& task, double factor) {
  const auto& settings = *e.settings.devices;
  const auto own = e.around->devices.of(task.client);
  const auto count = e.participants->count(task.client, part::train);
  const auto examples = e.settings.algorithm->does->plan(e.settings, count);
  const auto upload = e.planned_upload_bytes ? e.planned_upload_bytes(task.client) : 0;
  return {transfer(settings, own, e.download_bytes),
          from_seconds(static_cast<double>(examples) * own.seconds_per_example * factor),
          transfer(settings, own, upload)};
}

}  // namespace

// A client that is interrupted with policy abort, or is not available at an instant at which it has work left, drops
// out there. With policy pause it rests; one that would rest forever drops out when the rest begins. A stage that ends
// at the instant at which the client ceases to be available is done. ends_at is never only when a stage is out of
// reach.
//
// Draws are always taken in the same order, also those that settings make useless: two runs whose rates differ then
// differ in the clients that the rates concern, and in no others.
fate draw_fate(const experiment& e, const task_id& task, virtual_time start) {
  if (e.around == nullptr) return {start, start, {}};
  task_progress way(e, task, start);
  const auto& devices = *e.settings.devices;
  const auto& dropout = *e.settings.dropout;
  const bool straggles = uniform(way.stream()) < devices.straggler_share;
  std::array<double, drop_stage_count> broken_at{1.0, 1.0, 1.0};
  const std::array<double, drop_stage_count> rates{dropout.download, dropout.train, dropout.upload};
  if (rates != std::array<double, drop_stage_count>{}) {
    for (std::size_t stage = 0; stage < drop_stage_count; ++stage) {
      const bool breaks = uniform(way.stream()) < rates[stage];
      const double where = uniform(way.stream());
      if (breaks) broken_at[stage] = where;
    }
  }
  const auto spans = stages_of(e, task, straggles ? devices.straggler_factor : 1.0);
  fate out;
  for (std::size_t stage = 0; stage < drop_stage_count; ++stage) {
    const bool through = way.work(spans[stage], broken_at[stage]);
    out.ends_at = way.now();
    if (!through) {
      out.dropped = static_cast<drop_stage>(stage);
      return out;
    }
    if (out.ends_at >= never) return out;
    if (stage == static_cast<std::size_t>(drop_stage::train)) out.trained_at = way.now();
  }
  return out;
}

}  // namespace furlong::federated
