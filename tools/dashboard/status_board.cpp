#include "tools/dashboard/status_board.hpp"

#include <algorithm>
#include <chrono>

namespace furlong::tools::dashboard {

namespace {

template <class Clock>
double seconds_of() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

round_record record_of(const federated::round_report& report, double seconds, unix_time now) {
  round_record out;
  out.first = out.last = report.version;
  out.ended_at = now;
  out.seconds = seconds;
  out.selected = report.selected;
  out.folded = report.folded;
  for (const auto& refusal : report.refused) ++out.rejected[static_cast<std::size_t>(refusal.why)];
  out.late = report.late;
  out.surplus = report.surplus;
  out.dropped = report.dropped;
  out.abandoned = report.abandoned;
  out.gave_up = report.gave_up ? 1 : 0;
  out.applied = report.applied && !report.gave_up ? 1 : 0;
  out.loss = report.loss;
  out.change_norm = report.change_norm;
  out.bytes_up = report.bytes_up;
  out.bytes_down = report.bytes_down;
  return out;
}

std::string clients_text(const federated::run_event& event) {
  if (!event.client) return {};
  if (!event.last || *event.last == *event.client) return "client " + std::to_string(*event.client);
  return "clients " + std::to_string(*event.client) + "-" + std::to_string(*event.last);
}

// What a person should look at, by the words of events.jsonl.
severity severity_of(const std::string& label) {
  if (label == "rejected" || label == "abandoned" || label == "kill") return severity::fault;
  if (label == "dropped" || label == "late" || label == "leave" || label == "partition") return severity::warning;
  return severity::info;
}

}  // namespace

std::string_view to_string(phase_kind phase) {
  constexpr std::string_view words[] = {"waiting",  "training", "evaluating", "checkpointing",
                                        "draining", "done",     "diverged"};
  return words[static_cast<std::size_t>(phase)];
}

std::string_view to_string(severity level) {
  constexpr std::string_view words[] = {"info", "warning", "fault"};
  return words[static_cast<std::size_t>(level)];
}

board_clock system_clocks() {
  return {[] { return seconds_of<std::chrono::system_clock>(); },
          [] { return seconds_of<std::chrono::steady_clock>(); }};
}

status_board::status_board(board_clock clocks) : clocks_(std::move(clocks)), published_at_(clocks_.steady()) {}

void status_board::publish(live_status now) {
  const std::scoped_lock lock(mutex_);
  std::swap(live_, now);  // the old one is freed after the lock
  shown_ = now_;
  published_ = true;
  published_at_ = clocks_.steady();
}

void status_board::round_ended(const federated::round_report& report, double seconds) {
  const std::scoped_lock lock(mutex_);
  rounds_.add(record_of(report, seconds, clocks_.wall()));
  now_.version = report.version;
  for (std::size_t i = 0; i < report.staleness.size(); ++i) {
    const std::size_t index = std::min(i, most_staleness - 1);
    if (now_.staleness.size() <= index) now_.staleness.resize(index + 1);
    now_.staleness[index] += report.staleness[i];
  }
}

void status_board::evaluated(const federated::evaluation_report& report) {
  const std::scoped_lock lock(mutex_);
  // At the end of a run the best of its models may be evaluated again.
  if (!now_.learning.empty() && report.version < now_.learning.back().version) return;
  evaluation_record point{report.version, clocks_.wall(), report.validation, report.seen, report.unseen};
  // The newest is always there; unless it is one of those to keep, the next one takes its place.
  if (evaluations_ > 0 && (evaluations_ - 1) % keep_every_ != 0)
    now_.learning.back() = std::move(point);
  else
    now_.learning.push_back(std::move(point));
  ++evaluations_;
  if (now_.learning.size() <= most_points) return;
  auto& points = now_.learning;
  for (std::size_t i = 1; 2 * i < points.size(); ++i) points[i] = std::move(points[2 * i]);
  points.resize((points.size() + 1) / 2);
  keep_every_ *= 2;
}

void status_board::happened(event_record event) {
  const std::scoped_lock lock(mutex_);
  event.number = ++events_reported_;
  if (event.time == 0) event.time = clocks_.wall();
  now_.events.push_back(std::move(event));
  if (now_.events.size() > most_events) now_.events.pop_front();
}

void status_board::happened(const federated::run_event& event) {
  happened({0, 0, severity_of(event.what), event.round, event.what, clients_text(event), event.detail});
}

federation_status status_board::snapshot() const {
  const std::scoped_lock lock(mutex_);
  federation_status out;
  out.live = live_;
  out.published = published_;
  out.now = clocks_.wall();
  out.published_age = clocks_.steady() - published_at_;
  const auto& state = published_ ? shown_ : now_;
  out.rounds = rounds_.since(0);
  std::erase_if(out.rounds, [&](const round_record& record) { return record.last > state.version; });
  out.learning = state.learning;
  out.staleness = state.staleness;
  out.events.assign(state.events.begin(), state.events.end());
  return out;
}

std::vector<round_record> status_board::rounds_since(std::uint64_t first) const {
  const std::scoped_lock lock(mutex_);
  return rounds_.since(first);
}

double status_board::silence() const {
  const std::scoped_lock lock(mutex_);
  return clocks_.steady() - published_at_;
}

}  // namespace furlong::tools::dashboard
