#include "actors/federation/child_sessions.hpp"

#include "base/narrow_variant.hpp"
#include "federated/aggregation/accumulator.hpp"
#include "federated/settings/network.hpp"

namespace furlong::actors::federation {

child_sessions::child_sessions(std::shared_ptr<const federation_context> run, processes::children_parent& parent,
                               child_messages later)
    : run_(std::move(run)),
      later_(std::move(later)),
      decoder_(run_->e.parts.down, run_->e.parts.up, federated::rule_sizes_of(run_->e)),
      children_(*this, parent, run_->welcome.facts.clients) {}

void child_sessions::on_opened(const session_opened& opened) {
  open(opened.session, opened.channel);
  children_.on_opened(opened.session, facts_of(opened));
}

void child_sessions::on_frame(const session_frame& got) {
  if (!is_open(got.session)) return;
  result<wire::message> message;
  std::optional<federated::partial_aggregate> whole;
  const auto failure = guarded("this process", [&] {
    message = decoder_.decode(got.frame->bytes());
    const auto* const partial = message ? std::get_if<wire::partial_view>(&*message) : nullptr;
    if (partial != nullptr) decoder_.copy(*partial, whole.emplace());
  });
  if (failure) return children_.on_undecodable(got.session, *failure);
  if (!message) return children_.on_undecodable(got.session, message.error());
  if (whole) return children_.on_partial(got.session, std::move(*whole));
  auto control = narrow_variant<wire::control>(std::move(*message));
  if (!control) return children_.on_unexpected(got.session);
  children_.on_message(got.session, std::move(*control));
}

void child_sessions::on_closed(const session_closed& closed) {
  forget(closed.session);
  children_.on_closed(closed.session, {closed.why, closed.denied});
}

void child_sessions::end_later(protocol::session_number session, const std::shared_ptr<const error>& failure) {
  if (failure) later_.end(session_closed{session, failure->text()});
}

void child_sessions::send(protocol::session_number session, wire::control message) {
  end_later(session, guarded("this process", [&] { role_host::send(session, std::move(message)); }));
}

bool child_sessions::send(protocol::session_number session, const federated::broadcast_ptr& model) {
  bool is_sent = false;
  end_later(session, guarded("this process", [&] { is_sent = role_host::send(session, model); }));
  return is_sent;
}

void child_sessions::admitted(protocol::session_number session) {
  if (auto* const channel = find(session)) channel->limit(run_->e.settings.network->max_message);
}

}  // namespace furlong::actors::federation
