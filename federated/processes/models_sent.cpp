#include "federated/processes/models_sent.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace furlong::federated::processes {

bool models_sent::send_model(surroundings& host, session_number session, const broadcast_ptr& model) {
  if (std::ranges::find(versions_, model->version) != versions_.end()) return true;
  if (!host.send(session, model)) return false;
  versions_.push_back(model->version);
  if (versions_.size() > models_kept) versions_.pop_front();
  return true;
}

void models_sent::send(surroundings& host, session_number session, const protocol::assign& share) {
  if (send_model(host, session, share.from)) host.send(session, protocol::message_of(share));
}

void models_sent::send(surroundings& host, session_number session, const protocol::evaluation_down& request) {
  if (send_model(host, session, request.from))
    host.send(session, protocol::evaluation_request{request.from->version, request.clients});
}

void models_sent::send(surroundings& host, session_number session, const protocol::downward& content) {
  std::visit(
      [&](const auto& message) {
        using kind = std::remove_cvref_t<decltype(message)>;
        if constexpr (std::is_same_v<kind, protocol::assign> || std::is_same_v<kind, protocol::evaluation_down>)
          send(host, session, message);
        else
          host.send(session, protocol::control(message));
      },
      content);
}

void models_received::add(broadcast_ptr model) {
  models_.push_back(std::move(model));
  if (models_.size() > models_kept) models_.pop_front();
}

broadcast_ptr models_received::find(std::uint64_t version) const {
  const auto found = std::ranges::find(models_, version, [](const broadcast_ptr& model) { return model->version; });
  return found == models_.end() ? nullptr : *found;
}

std::optional<protocol::assign> models_received::share_of(const protocol::assignment& message) const {
  auto model = find(message.version);
  if (!model) return std::nullopt;
  protocol::assign share{0, std::move(model), {}, message.begins};
  for (const auto& task : message.tasks)
    share.tasks.push_back({message.run, message.version, task.client, task.attempt});
  return share;
}

std::optional<protocol::evaluation_down> models_received::request_of(protocol::evaluation_request&& message) const {
  auto model = find(message.version);
  if (!model) return std::nullopt;
  return protocol::evaluation_down{std::move(model), std::move(message.clients)};
}

}  // namespace furlong::federated::processes
