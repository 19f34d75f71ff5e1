#include "actors/federation/operator_entrance.hpp"

#include "actors/federation/model_frames.hpp"
#include "wire/decode.hpp"

namespace furlong::actors::federation {

namespace {

/// A link until its first frame, and the destination of its frames afterwards.
struct pending_link {
  branch_link_actor branch;
  net::channel_ptr channel;  ///< until the first frame; then the owner of the link holds it
  session_router* nodes;
  net::channel_events to;
};

bool is_hello(const net::received& frame) {
  wire::decoder control;
  const auto found = control.decode(frame.bytes());
  return found && std::holds_alternative<protocol::hello>(*found);
}

void refuse_node(const net::channel_ptr& channel) {
  const auto& other = channel->other();
  spdlog::warn("rejected node {} at {}: it connected to the operator port", other.name, other.address);
  send_control(*channel,
               protocol::close_notice{"nodes do not join at this port: use the --listen port, or set network.trust "
                                      "= \"operator\" in the scenario",
                                      true, true});
  channel->close();
}

/// Decides the owner of the link.
void decide(pending_link& at, const net::received& first) {
  const auto channel = std::exchange(at.channel, nullptr);
  const auto branch = std::exchange(at.branch, nullptr);
  if (!is_hello(first)) return;
  if (at.nodes == nullptr) {
    at.to.on_frame = [](net::received) {};
    return refuse_node(channel);
  }
  caf::anon_send_exit(branch, caf::exit_reason::user_shutdown);
  at.to = at.nodes->open(channel, true);
}

}  // namespace

net::channel_events operator_link_events(const branch_link_actor& branch, const net::channel_ptr& channel,
                                         session_router* nodes) {
  const auto at =
      std::make_shared<pending_link>(pending_link{branch, channel, nodes, events_for(session_events(branch), 0)});
  return {[at](net::received frame) {
            if (at->channel) decide(*at, frame);
            at->to.on_frame(std::move(frame));
          },
          [at](const error& why) {
            at->channel = nullptr;
            at->branch = nullptr;
            at->to.on_closed(why);
          }};
}

}  // namespace furlong::actors::federation
