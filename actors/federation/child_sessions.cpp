#include "actors/federation/child_sessions.hpp"

#include "base/narrow_variant.hpp"
#include "federated/aggregation/accumulator.hpp"
#include "federated/settings/network.hpp"

namespace furlong::actors::federation {

child_sessions::child_sessions(std::shared_ptr<const federation_context> run, processes::children_parent& parent,
                               std::function<void(const error&)> fail_later)
    : run_(std::move(run)),
      fail_later_(std::move(fail_later)),
      decoder_(run_->e.parts.down, run_->e.parts.up, federated::rule_sizes_of(run_->e)),
      children_(*this, parent, run_->welcome.facts.clients) {}

void child_sessions::on_opened(const session_opened& opened) {
  open(opened.session, opened.channel);
  children_.on_opened(opened.session, facts_of(opened));
}

void child_sessions::on_frame(const session_frame& got) {
  if (!is_open(got.session)) return;
  auto message = decoder_.decode(got.frame->bytes());
  if (!message) return children_.on_undecodable(got.session, message.error());
  if (const auto* partial = std::get_if<wire::partial_view>(&*message)) {
    federated::partial_aggregate whole;
    decoder_.copy(*partial, whole);
    return children_.on_partial(got.session, std::move(whole));
  }
  auto control = narrow_variant<wire::control>(std::move(*message));
  if (!control) return children_.on_unexpected(got.session);
  children_.on_message(got.session, std::move(*control));
}

void child_sessions::on_closed(const session_closed& closed) {
  forget(closed.session);
  children_.on_closed(closed.session, {closed.why, closed.denied});
}

void child_sessions::admitted(protocol::session_number session) {
  if (auto* const channel = find(session)) channel->limit(run_->e.settings.network->max_message);
}

}  // namespace furlong::actors::federation
