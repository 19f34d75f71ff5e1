#include "actors/federation/branch_link.hpp"

#include <spdlog/spdlog.h>

#include "actors/federation/model_frames.hpp"
#include "federated/aggregation/accumulator.hpp"
#include "federated/settings/network.hpp"

namespace furlong::actors::federation {

namespace {

void end(branch_link_pointer self, const std::string& why) {
  auto& state = self->state;
  if (state.channel) state.channel->close();
  if (state.number)
    self->send(state.parent, branch_gone{*state.number, why});
  else
    spdlog::warn("an aggregator at {}: {}", state.channel ? state.channel->other().address : "?", why);
  self->quit();
}

void send_up(branch_link_pointer self, upward content) {
  self->send(self->state.parent, from_branch{*self->state.number, std::make_shared<upward>(std::move(content))});
}

/// Ends the run if a message could not be encoded; false then.
bool expect(branch_link_pointer self, const result<void>& sent) {
  if (!sent) self->send(self->state.parent, run_failure{sent.error()});
  return sent.has_value();
}

template <class Message>
void send(branch_link_pointer self, const Message& content) {
  expect(self, send_control(*self->state.channel, content));
}

bool send_model(branch_link_pointer self, const federated::broadcast_ptr& model) {
  auto& state = self->state;
  return expect(self, state.run->frames->send(*state.channel, state.models, model));
}

void send(branch_link_pointer self, const protocol::assign& content) {
  if (send_model(self, content.from)) send(self, protocol::message_of(content));
}

void send(branch_link_pointer self, const evaluation_down& content) {
  if (send_model(self, content.from))
    expect(self, send_request(*self->state.channel, content.from->version, content.clients));
}

void send(branch_link_pointer self, const protocol::letters& content) {
  expect(self, send_letters(*self->state.channel, content));
}

/// Whether a node that an aggregator reports can be there: its clients are looked up in tables.
bool is_possible(const protocol::attached& node, std::uint64_t clients) {
  const auto& [first, last] = node.clients;
  return first <= last && last < clients && node.sizes.size() <= std::uint64_t{last} - first + 1;
}

void on_frame(branch_link_pointer self, const net::received& frame) {
  auto& state = self->state;
  auto got = state.decoder->decode(frame.bytes());
  if (!got) return end(self, got.error().text());
  if (const auto* hello = std::get_if<protocol::branch_hello>(&*got); hello != nullptr && !state.number)
    return self->send(state.parent, branch_arrived{*hello});
  if (const auto* notice = std::get_if<protocol::close_notice>(&*got)) {
    if (!notice->failed || !state.number) return end(self, notice->why);
    // The aggregator ends by the answer, as all others do.
    return self->send(state.parent, run_failure{error{error::kind::runtime, "an aggregator", notice->why, {}}});
  }
  if (!state.number) return end(self, "did not say hello first");
  if (const auto* partial = std::get_if<wire::partial_view>(&*got)) {
    federated::partial_aggregate whole;
    state.decoder->copy(*partial, whole);
    return send_up(self, std::move(whole));
  }
  if (auto* content = std::get_if<protocol::attached>(&*got)) {
    if (is_possible(*content, state.run->welcome.facts.clients)) return send_up(self, std::move(*content));
    return end(self, "reports a node of clients that there are not");
  }
  if (auto* content = std::get_if<protocol::detached>(&*got)) return send_up(self, *content);
  if (auto* content = std::get_if<protocol::settled>(&*got)) return send_up(self, std::move(*content));
  if (auto* content = std::get_if<protocol::withdrawn>(&*got)) return send_up(self, std::move(*content));
  if (auto* content = std::get_if<protocol::tasks_lost>(&*got)) return send_up(self, std::move(*content));
  if (auto* content = std::get_if<protocol::evaluation_scores>(&*got)) return send_up(self, std::move(*content));
  if (auto* content = std::get_if<protocol::letters>(&*got)) return send_up(self, std::move(*content));
  end(self, "sent a message that is not an aggregator's to send");
}

}  // namespace

branch_link_actor::behavior_type branch_link_behavior(branch_link_pointer self,
                                                      std::shared_ptr<const federation_context> run,
                                                      parent_actor parent) {
  auto& state = self->state;
  state.run = std::move(run);
  state.parent = std::move(parent);
  state.decoder.emplace(state.run->e.parts.down, state.run->e.parts.up, federated::rule_sizes_of(state.run->e));
  // A link that opened while the run ended is no branch of it: close it here, or the process would wait for it.
  self->monitor(state.parent);
  self->set_down_handler([self](const caf::down_msg& down) {
    const bool over = down.reason == caf::exit_reason::normal;
    if (self->state.channel) {
      send(self, protocol::close_notice{over ? run_is_over : "the parent stops", over});
      self->state.channel->close();
    }
    self->quit();
  });
  return {
      [self](const session_opened& opened) { self->state.channel = opened.channel; },
      [self](const session_frame& got) { on_frame(self, *got.frame); },
      [self](const session_closed& closed) { end(self, closed.why); },
      [self](const to_branch& message) {
        std::visit([&](const auto& content) { send(self, content); }, *message.what);
        const auto* notice = std::get_if<protocol::close_notice>(message.what.get());
        // An aggregator closes the link after it has told its nodes that the run is over.
        if (notice == nullptr || notice->final) return;
        self->state.channel->close();
        self->quit();
      },
      [self](const branch_welcome& welcome) {
        self->state.number = welcome.content->aggregator;
        self->state.channel->limit(self->state.run->e.settings.network->max_message);
        send(self, *welcome.content);
      },
      [self](const branch_sent_on& where) {
        auto& channel = *self->state.channel;
        if (where.address.empty())
          send(self, protocol::close_notice{where.why, where.for_good, where.for_good, where.remedy});
        else
          send(self, protocol::redirect{where.address});
        channel.close();
        self->quit();
      },
  };
}

}  // namespace furlong::actors::federation
