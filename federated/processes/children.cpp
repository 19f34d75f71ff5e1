#include "federated/processes/children.hpp"

#include <utility>

#include "base/narrow_variant.hpp"
#include "federated/processes/admission.hpp"

namespace furlong::federated::processes {

namespace {

/// Whether a node that an aggregator reports can be there: its clients are looked up in tables.
bool is_possible(const protocol::attached& node, std::uint64_t clients) {
  const auto& [first, last] = node.clients;
  return first <= last && last < clients && node.sizes.size() <= std::uint64_t{last} - first + 1;
}

}  // namespace

void children::on_opened(session_number session, peer_facts peer) { links_[session] = {std::move(peer)}; }

void children::on_message(session_number session, protocol::control&& message) {
  const auto found = links_.find(session);
  if (found == links_.end()) return;
  const auto number = found->second.number;
  if (const auto* hello = std::get_if<protocol::branch_hello>(&message); hello != nullptr && !number)
    return admit(session, *hello);
  if (const auto* notice = std::get_if<protocol::close_notice>(&message)) {
    if (!notice->failed || !number) return end(session, notice->why);
    // The aggregator ends by the answer, as all others do.
    return parent_.fail_run(error{error::kind::runtime, "an aggregator", notice->why, {}});
  }
  if (!number) return end(session, "did not say hello first");
  take(session, *number, std::move(message));
}

void children::take(session_number session, std::uint32_t child, protocol::control&& message) {
  if (const auto* node = std::get_if<protocol::attached>(&message); node != nullptr && !is_possible(*node, clients_))
    return end(session, "reports a node of clients that there are not");
  auto report = narrow_variant<protocol::upward>(std::move(message));
  if (!report) return on_unexpected(session);
  parent_.hear(child, std::move(*report));
}

void children::on_partial(session_number session, partial_aggregate&& partial) {
  const auto found = links_.find(session);
  if (found == links_.end()) return;
  if (const auto number = found->second.number) return parent_.hear(*number, std::move(partial));
  end(session, "did not say hello first");
}

void children::on_unexpected(session_number session) {
  end(session, "sent a message that is not an aggregator's to send");
}

void children::on_closed(session_number session, const session_end& end) { forget(session, end.why); }

void children::end(session_number session, const std::string& reason) {
  if (!links_.contains(session)) return;
  host_.close(session);
  forget(session, reason);
}

void children::forget(session_number session, const std::string& reason) {
  const auto found = links_.find(session);
  if (found == links_.end()) return;
  const auto link = std::move(found->second);
  links_.erase(found);
  if (!link.number && reason.empty()) return;  // it was no aggregator
  if (!link.number) return host_.log(log_level::warning, "an aggregator at " + link.peer.address + ": " + reason);
  numbers_.erase(*link.number);
  parent_.lose(*link.number, reason);
}

void children::turn_away(session_number session, protocol::control&& message) {
  host_.send(session, std::move(message));
  host_.close(session);
  links_.erase(session);
}

void children::admit(session_number session, const protocol::branch_hello& hello) {
  if (const auto reason = parent_.judge_kernels({hello.kernel_level, hello.kernel_levels})) {
    host_.log(log_level::warning, "aggregator " + hello.name + " is refused: " + *reason);
    return turn_away(session, protocol::close_notice{*reason, true, true, same_kernels_remedy});
  }
  if (!links_.contains(session)) return;  // to judge it ended the run
  const auto place = parent_.place(hello);
  if (!place.here && place.elsewhere.empty()) {
    host_.log(log_level::info, "aggregator " + hello.name + " is sent away");
    return turn_away(session, protocol::close_notice{no_room, false});
  }
  if (!place.here) {
    host_.log(log_level::info, "aggregator " + hello.name + " is sent to " + place.elsewhere);
    return turn_away(session, protocol::redirect{place.elsewhere});
  }
  auto welcome = parent_.add(hello);
  const auto number = welcome.aggregator;
  links_.at(session).number = number;
  numbers_[number] = session;
  host_.log(log_level::info, "aggregator " + std::to_string(number) + " (" + hello.name +
                                 ") is connected; nodes reach it at " + hello.gateway);
  host_.admitted(session);
  host_.send(session, std::move(welcome));
  if (leaving_) host_.send(session, protocol::close_notice{run_is_over, true});
}

void children::send(std::uint32_t child, const protocol::downward& content) {
  const auto found = numbers_.find(child);
  if (found == numbers_.end()) return;
  const auto session = found->second;
  links_.at(session).models.send(host_, session, content);
  const auto* notice = std::get_if<protocol::close_notice>(&content);
  // An aggregator closes the link after it has told its nodes that the run is over.
  if (notice == nullptr || notice->final) return;
  host_.close(session);
  links_.erase(session);
  numbers_.erase(found);
}

void children::end_all(const protocol::close_notice& notice) {
  for (const auto& [session, link] : links_) {
    host_.send(session, notice);
    host_.close(session);
  }
  links_.clear();
  numbers_.clear();
}

}  // namespace furlong::federated::processes
