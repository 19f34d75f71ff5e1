#include "federated/protocol/round_record.hpp"

#include <algorithm>
#include <tuple>

#include "federated/settings/aggregation.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated::protocol {

namespace {

constexpr std::size_t most_spans = 200;

}  // namespace

/// The first and the middle round can be drawn task by task; not under privacy.noise, since tasks name clients.
bool round_record::has_timeline(std::uint64_t version) const {
  return settings_.privacy->noise <= 0 && (version == 0 || version == settings_.rounds / 2);
}

void round_record::add_span(const open_task& task, outcome ending, std::optional<virtual_time> ended_at,
                            std::uint64_t version) {
  if (has_timeline(version) && report_.spans.size() < most_spans)
    report_.spans.push_back({task.id.client, task.started_at, ended_at, ending});
}

/// The server itself ends tasks whose nodes or letters do not arrive in time; of others clients know the cause.
std::string round_record::take_cause(const task_id& task) {
  const auto known = causes_.extract(task);
  if (known.empty()) return {};
  switch (known.mapped()) {
    case drop_cause::drawn: return "drawn";
    case drop_cause::off: return "off";
    case drop_cause::left: return "left";
    case drop_cause::killed: return "killed";
    case drop_cause::unresponsive: return "unresponsive";
    case drop_cause::deadline: return "deadline";
  }
  return {};
}

void round_record::add_settlement(const open_task& task, const settlement& made, virtual_time now,
                                  std::uint64_t version) {
  add_span(task, made.what, now, version);
  auto cause = take_cause(made.id);
  if (made.what == outcome::folded) return;
  run_event event{now, version + 1, std::string(to_string(made.what)), made.id.client, {}, {}};
  if (made.what == outcome::rejected) event.detail = to_string(made.why);
  if (made.what == outcome::dropped) {
    event.detail = to_string(made.stage);
    event.cause = std::move(cause);
  }
  // Without a deadline a round closes early only since its masked sum cannot be opened.
  if (made.what == outcome::late && settings_.participation->deadline > 0.0) event.cause = "deadline";
  add_event(std::move(event));
}

void round_record::add_in_flight(const std::vector<open_task>& tasks, std::uint64_t version) {
  for (const auto& task : tasks)
    if (task.id.version == version) add_span(task, task.surplus ? outcome::surplus : outcome::late, {}, version);
}

void round_record::abandon(std::size_t updates, const std::string& reason, virtual_time now, std::uint64_t version) {
  report_.abandoned = updates;
  report_.gave_up = true;
  for (auto& span : report_.spans)
    if (span.what == outcome::folded) span.what = outcome::abandoned;
  add_event({now, version + 1, "round-abandoned", {}, {}, reason});
}

std::vector<run_event> round_record::take_events() {
  std::ranges::stable_sort(events_, {}, [](const run_event& event) { return std::pair(event.at, event.client); });
  return std::exchange(events_, {});
}

round_report round_record::take_report() {
  std::ranges::sort(report_.spans, {}, [](const task_span& span) {
    return std::tuple(span.ended_at.value_or(never), span.started_at, span.client);
  });
  return std::exchange(report_, {});
}

}  // namespace furlong::federated::protocol
