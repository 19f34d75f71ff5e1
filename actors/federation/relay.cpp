#include "actors/federation/relay.hpp"

#include <spdlog/spdlog.h>

namespace furlong::actors::federation {

relay_host::relay_host(relay_pointer self, std::shared_ptr<const federation_context> run, upward_actor up,
                       protocol::welcome content)
    : self_(self),
      run_(std::move(run)),
      up_(std::move(up)),
      number_(content.aggregator),
      role_(run_->e, std::move(content), *this),
      sessions_(run_, role_,
                child_messages{[self](run_failure failure) { self->send(self, std::move(failure)); },
                               [self](session_closed end) { self->send(self, std::move(end)); }}) {
  self_->monitor(up_);
}

void relay_host::use(gateway_actor gateway) {
  gateway_ = std::move(gateway);
  self_->monitor(gateway_);
}

void relay_host::on_down(const caf::down_msg& down) {
  if (up_.address() == down.source)
    return self_->send(
        self_, to_branch{std::make_shared<const downward>(protocol::close_notice{"the aggregator stops", false})});
  if (gateway_ && gateway_.address() == down.source)
    self_->send(self_, branch_gone{processes::own_gateway_number, "its actor ended"});
}

void relay_host::tell_parent(upward&& content) {
  self_->send(up_, from_branch{number_, std::make_shared<upward>(std::move(content))});
}

void relay_host::tell_gateway(downward&& content) {
  if (gateway_) self_->send(gateway_, to_branch{std::make_shared<const downward>(std::move(content))});
}

void relay_host::violated(std::uint32_t child, const std::string& reason) {
  spdlog::error("aggregator {} violates the protocol: {}", child, reason);
}

void relay_host::fail_run(const error& reason) { self_->send(up_, run_failure{reason}); }

void relay_host::end(const protocol::close_notice& notice) {
  self_->quit(notice.final ? caf::exit_reason::normal : caf::exit_reason::user_shutdown);
}

relay_actor::behavior_type relay_behavior(relay_pointer self, std::shared_ptr<const federation_context> run,
                                          upward_actor up, protocol::welcome content) {
  auto& host = self->state.host.emplace(self, std::move(run), std::move(up), std::move(content));
  self->set_down_handler([&host](const caf::down_msg& down) { host.on_down(down); });
  return {
      [&host](const from_branch& message) { host.role().hear(message.branch, std::move(*message.what)); },
      [&host](const run_failure& message) { host.fail_run(message.why); },
      [&host](const branch_gone& gone) { host.role().on_gateway_ended(gone.why); },
      [self, &host](const node_arrived& arrived) {
        const auto gateway = caf::actor_cast<gateway_actor>(self->current_sender());
        self->send(gateway, node_placed{host.role().place_node(arrived.node)});
      },
      [&host](const session_opened& opened) { host.sessions().on_opened(opened); },
      [&host](const session_frame& got) { host.sessions().on_frame(got); },
      [&host](const session_closed& closed) { host.sessions().on_closed(closed); },
      [&host](const to_branch& message) { host.role().on_downward(*message.what); },
      [&host](const own_gateway& own) { host.use(own.actor); },
  };
}

}  // namespace furlong::actors::federation
