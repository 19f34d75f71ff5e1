// The fate of a task, from the device, the settings and a few draws.
#include <algorithm>
#include <array>
#include <numeric>

#include "base/exact_math.hpp"
#include "base/random.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/participation/policy.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/devices.hpp"
#include "federated/world/world.hpp"

namespace furlong::federated {

namespace {

/// Uniform in (0, 1), 32 bits of resolution.
double uniform(random_stream& stream) { return (static_cast<double>(stream()) + 0.5) * 0x1p-32; }

/// A task's way through its stages: the clock, and how long the client stays available and connected.
class task_progress {
 public:
  task_progress(const experiment& e, const task_id& task, virtual_time start, std::span<const disconnection> offline)
      : presence_(*e.around->presence),
        how_(*e.settings.dropout),
        task_(task),
        offline_(offline),
        stream_(e.settings.seed, purpose::fate, static_cast<std::uint32_t>(task.version), task.client, task.attempt),
        now_(start) {
    if (presence_.available(task.client, start, task.version)) online_until_ = next_change();
  }

  [[nodiscard]] random_stream& stream() { return stream_; }
  [[nodiscard]] virtual_time now() const { return now_; }
  [[nodiscard]] drop_cause cause() const { return cause_; }
  /// From now on work needs a connection.
  void begin_upload() { uploads_ = true; }

  /// A stage of `span` of work, interrupted once it has done `broken_at` of it if that is less than all. Whether the
  /// client gets through it; if not, now() is when it dropped out.
  [[nodiscard]] bool work(virtual_time span, double broken_at) {
    if (broken_at >= 1.0) return advance(span) && reconnect();
    const auto first = static_cast<virtual_time>(broken_at * static_cast<double>(span));
    if (!advance(first)) return false;
    if (now_ >= never) return true;
    cause_ = drop_cause::drawn;
    if (how_.policy == dropout_policy::abort) return false;
    pause();
    return advance(span - first) && reconnect();
  }

 private:
  [[nodiscard]] virtual_time next_change() const { return presence_.changes(task_.client, now_, task_.version); }

  void pause() {
    now_ = std::min(never, now_ + from_seconds(-how_.mean_pause * exact::log(uniform(stream_))));
    if (now_ >= never || now_ < online_until_) return;
    online_until_ = presence_.available(task_.client, now_, task_.version) ? next_change() : now_;
  }

  bool advance(virtual_time span) {
    while (span > 0 && now_ < never) {
      if (!reconnect()) return false;
      if (now_ >= never) return true;
      if (now_ >= online_until_ && !wait()) return false;
      if (disconnection_at(now_) != nullptr) continue;
      // An end that is out of reach is not walked to, rest after rest.
      const bool endless = how_.policy == dropout_policy::pause && span >= never - now_;
      const auto done = endless ? never - now_ : std::min(span, std::min(online_until_, next_disconnection()) - now_);
      now_ += done;
      span -= done;
    }
    return true;
  }

  /// The disconnection that an upload at `when` is in, or null.
  [[nodiscard]] const disconnection* disconnection_at(virtual_time when) const {
    const auto covers = [when](const disconnection& gap) { return gap.from <= when && when < gap.to; };
    const auto found = std::ranges::find_if(offline_, covers);
    return uploads_ && found != offline_.end() ? &*found : nullptr;
  }
  [[nodiscard]] virtual_time next_disconnection() const {
    const auto found = std::ranges::find_if(offline_, [this](const disconnection& gap) { return gap.from > now_; });
    return uploads_ && found != offline_.end() ? found->from : never;
  }

  /// Waits for the end of a partition; never, if it is not known yet. False: the client drops out before.
  bool reconnect() {
    while (const auto* gap = now_ < never ? disconnection_at(now_) : nullptr) {
      if (online_until_ > now_ && online_until_ >= gap->to) {
        now_ = gap->to;
        continue;
      }
      now_ = std::max(now_, online_until_);
      if (!wait()) return false;
      if (gap->to >= never) now_ = never;
    }
    return true;
  }

  /// The client is not available: waits until it is again, if it may and ever will be.
  bool wait() {
    cause_ = drop_cause::off;
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
  std::span<const disconnection> offline_;
  bool uploads_ = false;
  drop_cause cause_ = drop_cause::drawn;  // if it drops out now
  random_stream stream_;
  virtual_time now_;
  virtual_time online_until_ = 0;  // not after now_: not available
};

virtual_time transfer(const device_settings& settings, const device& of, std::uint64_t bytes) {
  double seconds = settings.latency;
  if (bytes > 0) seconds += static_cast<double>(bytes) / of.bytes_per_second;
  return from_seconds(seconds);
}

/// The rates of dropout of a client, by stage.
std::array<double, drop_stage_count> rates_of(const dropout_settings& settings, const device& own) {
  return {own.dropout[0].value_or(settings.download), own.dropout[1].value_or(settings.train),
          own.dropout[2].value_or(settings.upload)};
}

/// How long each stage takes without interruptions.
std::array<virtual_time, drop_stage_count> stages_of(const experiment& e, const task_id& task, const device& own,
                                                     double factor) {
  const auto& settings = *e.settings.devices;
  const auto count = e.participants->count(task.client, part::train);
  const auto examples = e.settings.algorithm->does->plan(e.settings, count);
  const auto upload = e.planned_upload_bytes ? e.planned_upload_bytes(task.client) : 0;
  return {transfer(settings, own, e.download_bytes),
          from_seconds(static_cast<double>(examples) * own.seconds_per_example * factor),
          transfer(settings, own, upload)};
}

}  // namespace

std::optional<double> task_seconds(const experiment& e, std::uint32_t client) {
  if (e.around == nullptr) return std::nullopt;
  const auto spans = stages_of(e, {.client = client}, e.around->devices.of(client), 1.0);
  return to_seconds(std::accumulate(spans.begin(), spans.end(), virtual_time{0}));
}

// A client that is interrupted with policy abort, or is not available at an instant at which it has work left, drops
// out there. With policy pause it rests; one that would rest forever drops out when the rest begins. A stage that ends
// at the instant at which the client ceases to be available is done. ends_at is never only when a stage is out of
// reach, or waits for a connection. A client whose upload rests in a partition is interrupted by its availability as if
// it uploaded; an interruption that is drawn for a point of the upload comes when the upload gets there.
//
// Draws are always taken in the same order, also those that settings make useless: two runs whose rates differ then
// differ in the clients that the rates concern, and in no others.
fate draw_fate(const experiment& e, const task_id& task, virtual_time start, std::span<const disconnection> offline) {
  if (e.around == nullptr) return {start, start, {}};
  task_progress way(e, task, start, offline);
  const auto& devices = *e.settings.devices;
  const auto own = e.around->devices.of(task.client);
  const bool straggles = uniform(way.stream()) < devices.straggler_share;
  std::array<double, drop_stage_count> broken_at{1.0, 1.0, 1.0};
  const auto rates = rates_of(*e.settings.dropout, own);
  if (rates != std::array<double, drop_stage_count>{}) {
    for (std::size_t stage = 0; stage < drop_stage_count; ++stage) {
      const bool breaks = uniform(way.stream()) < rates[stage];
      const double where = uniform(way.stream());
      if (breaks) broken_at[stage] = where;
    }
  }
  const auto spans = stages_of(e, task, own, straggles ? devices.straggler_factor : 1.0);
  fate out;
  for (std::size_t stage = 0; stage < drop_stage_count; ++stage) {
    if (stage == static_cast<std::size_t>(drop_stage::upload)) way.begin_upload();
    const bool through = way.work(spans[stage], broken_at[stage]);
    out.ends_at = way.now();
    if (!through) {
      out.dropped = static_cast<drop_stage>(stage);
      out.cause = way.cause();
      return out;
    }
    if (out.ends_at >= never) return out;
    if (stage == static_cast<std::size_t>(drop_stage::train)) out.trained_at = way.now();
  }
  return out;
}

}  // namespace furlong::federated
