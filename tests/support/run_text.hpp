// Events and rounds of a run as text: whatever differs shows.
#pragma once

#include <string>

#include "federated/rounds/run_observer.hpp"

namespace furlong::tests {

[[nodiscard]] inline std::string text_of(const federated::run_event& event) {
  auto text = std::to_string(event.at) + " " + std::to_string(event.round) + " " + event.what + " " +
              (event.client ? std::to_string(*event.client) : "-") + " " + event.detail +
              (event.cause.empty() ? "" : " " + event.cause);
  for (const auto client : event.members) text += " m" + std::to_string(client);
  return text;
}

[[nodiscard]] inline std::string text_of(const federated::round_report& r) {
  std::string text = std::to_string(r.version);
  for (const std::uint64_t n :
       {static_cast<std::uint64_t>(r.began_at), static_cast<std::uint64_t>(r.ended_at), r.selected, r.folded,
        r.rejected, r.late, r.surplus, r.dropped[0], r.dropped[1], r.dropped[2], r.abandoned, r.in_flight, r.probed,
        r.available, r.examples, r.bytes_up, r.bytes_down})
    text += " " + std::to_string(n);
  for (const auto n : r.staleness) text += " s" + std::to_string(n);
  for (const auto& span : r.spans)
    text += " " + std::to_string(span.client) + "@" + std::to_string(span.ended_at.value_or(0));
  return text + " " + std::to_string(r.loss) + (r.applied ? "" : " unapplied") + (r.gave_up ? " gave up" : "");
}

[[nodiscard]] inline std::string text_of(const federated::evaluation_report& figures) {
  auto text = "evaluation of " + std::to_string(figures.version) + ":";
  for (const auto* group : {&figures.validation, &figures.seen, &figures.unseen})
    text += *group ? " " + std::to_string((*group)->clients) + "/" + std::to_string((*group)->loss) : " none";
  return text;
}

}  // namespace furlong::tests
