#include "federated/protocol/client_routes.hpp"

#include <algorithm>

namespace furlong::federated::protocol {

client_routes::client_routes(std::size_t clients, std::span<const std::uint32_t> training, absence_limits waits)
    : through_(clients, nowhere), trains_(clients, false), waits_(waits), expected_(clients, 0), instance_(clients, 0) {
  for (const auto client : training) trains_[client] = true;
}

std::uint32_t client_routes::add_aggregator(std::string gateway, std::string operators) {
  auto& added = aggregators_[next_];
  added.gateway = std::move(gateway);
  added.operators = std::move(operators);
  return next_++;
}

void client_routes::move(std::uint32_t client, std::uint32_t to, std::uint64_t instance) {
  instance_[client] = instance;
  const auto from = std::exchange(through_[client], to);
  if (from == to) return;
  if (const auto at = aggregators_.find(from); at != aggregators_.end()) --at->second.clients;
  if (const auto at = aggregators_.find(to); at != aggregators_.end()) ++at->second.clients;
  if (!trains_[client]) return;
  if (from == nowhere) ++reached_;
  if (to == nowhere) --reached_;
}

/// The client is not reached any more where it was: maybe elsewhere, or else it is expected until then.
void client_routes::unroute(std::uint32_t client, virtual_time expected) {
  std::uint32_t to = nowhere;
  std::uint64_t newest = 0;
  std::uint64_t instance = 0;
  for (const auto& [number, one] : aggregators_)
    for (const auto& of : one.here)
      if (of.clients.contains(client) && of.order > newest) {
        to = number;
        newest = of.order;
        instance = of.node();
      }
  move(client, to, instance);
  if (to == nowhere) expected_[client] = std::max(expected_[client], expected);
}

void client_routes::remove_aggregator(std::uint32_t number, virtual_time now) {
  aggregators_.erase(number);
  for (std::uint32_t client = 0; client < through_.size(); ++client)
    if (through_[client] == number) unroute(client, now + waits_.with_strayed);
}

void client_routes::on_node_seen(client_range clients, virtual_time now) {
  for (auto client = clients.first; client <= clients.last && client < expected_.size(); ++client)
    expected_[client] = std::max(expected_[client], now + waits_.with_strayed);
}

void client_routes::refused(client_range clients) {
  remove_coming(clients);
  for (auto client = clients.first; client <= clients.last && client < expected_.size(); ++client)
    expected_[client] = 0;
}

void client_routes::begin(virtual_time before, virtual_time now) {
  for (std::size_t client = 0; client < expected_.size(); ++client) {
    auto& until = expected_[client];
    until = trains_[client] || until <= before ? 0 : now + (until - before);
  }
}

bool client_routes::attach(std::uint32_t aggregator, client_range clients, std::uint64_t instance) {
  if (clients.first > clients.last || clients.last >= through_.size() || !aggregators_.contains(aggregator))
    return false;
  remove_coming(clients);
  const auto& added = aggregators_.at(aggregator).here.emplace_back(claim{clients, ++last_claim_, instance});
  for (auto client = clients.first; client <= clients.last; ++client) {
    move(client, aggregator, added.node());
    expected_[client] = 0;
  }
  return true;
}

std::vector<node_place> client_routes::others_with(const client_range& clients, std::uint64_t instance) const {
  std::vector<node_place> found;
  if (instance == 0) return found;
  for (const auto& [number, one] : aggregators_)
    for (const auto& of : one.here)
      if (of.instance != 0 && of.instance != instance && of.clients.overlaps(clients))
        found.push_back({number, of.instance});
  return found;
}

void client_routes::detach(std::uint32_t aggregator, client_range clients, virtual_time now, bool strayed) {
  const auto at = aggregators_.find(aggregator);
  if (clients.last >= through_.size() || at == aggregators_.end()) return;
  std::erase_if(at->second.here, [&](const claim& of) { return of.clients == clients; });
  for (auto client = clients.first; client <= clients.last; ++client)
    if (through_[client] == aggregator) unroute(client, now + (strayed ? waits_.with_strayed : waits_.with_node));
}

std::size_t client_routes::reached(std::uint32_t aggregator) const {
  const auto at = aggregators_.find(aggregator);
  return at == aggregators_.end() ? 0 : at->second.clients;
}

std::size_t client_routes::known_aggregator::load(virtual_time now) const {
  auto all = clients;
  for (const auto& [first, one] : coming)
    if (one.expected >= now) all += one.clients;
  return all;
}

void client_routes::remove_coming(client_range clients) {
  for (auto& [number, one] : aggregators_) one.coming.erase(clients.first);
}

client_routes::known_aggregator* client_routes::least_loaded(const std::string& avoid, virtual_time now) {
  known_aggregator* best = nullptr;
  for (auto& [number, one] : aggregators_) {
    if (one.gateway.empty() || one.gateway == avoid) continue;
    if (best == nullptr || one.load(now) < best->load(now)) best = &one;
  }
  return best;
}

std::string client_routes::send_to(known_aggregator& one, client_range clients, virtual_time now) const {
  one.coming[clients.first] = {clients.last - clients.first + std::size_t{1}, now + waits_.with_strayed};
  return one.gateway;
}

std::string client_routes::gateway_for(client_range clients, const std::string& avoid, virtual_time now) {
  remove_coming(clients);
  auto* best = least_loaded(avoid, now);
  return best == nullptr ? "" : send_to(*best, clients, now);
}

std::string client_routes::gateway_with_fewer(client_range clients, const std::string& avoid) {
  remove_coming(clients);
  auto* best = least_loaded(avoid, 0);
  const auto own = aggregators_.find(0);
  if (own == aggregators_.end()) return "";
  return send_to(best != nullptr && best->load(0) < own->second.load(0) ? *best : own->second, clients, 0);
}

aggregator_place client_routes::place_aggregator(std::size_t most, const std::string& own) {
  const auto attached_here = aggregators_.size() - aggregators_.count(0);
  if (most == 0 || attached_here < most) return {};
  known_aggregator* best = nullptr;
  for (auto& [number, one] : aggregators_) {
    if (one.operators.empty() || one.operators == own) continue;
    if (best == nullptr || one.sent_on < best->sent_on) best = &one;
  }
  if (best == nullptr) return {false, ""};
  ++best->sent_on;
  return {false, best->operators};
}

std::vector<client_range> client_routes::claims(std::uint32_t aggregator) const {
  std::vector<client_range> all;
  const auto at = aggregators_.find(aggregator);
  if (at == aggregators_.end()) return all;
  for (const auto& one : at->second.here) all.push_back(one.clients);
  return all;
}

bool client_routes::is_claimed(const client_range& clients) const {
  return std::ranges::any_of(aggregators_, [&](const auto& one) {
    return std::ranges::any_of(one.second.here, [&](const claim& of) { return of.clients == clients; });
  });
}

std::optional<std::uint32_t> client_routes::route(std::uint32_t client) const {
  if (client >= through_.size() || through_[client] == nowhere) return std::nullopt;
  return through_[client];
}

std::vector<std::uint32_t> client_routes::aggregators() const {
  std::vector<std::uint32_t> numbers;
  for (const auto& [number, one] : aggregators_) numbers.push_back(number);
  return numbers;
}

}  // namespace furlong::federated::protocol
