#include "federated/protocol/aggregator_machine.hpp"

#include <algorithm>

#include "federated/validation.hpp"

namespace furlong::federated::protocol {

aggregator_machine::aggregator_machine(const experiment& e, std::uint32_t number, std::size_t window)
    : e_(e), number_(number), window_(window) {}

void aggregator_machine::on_assignment(const broadcast_ptr& from, std::vector<std::uint32_t> clients,
                                       aggregator_effects& out) {
  // Without FedAtt's constants an accumulator only depends on the settings: then the emptied one serves again.
  if (!sum_ || !from->reference.empty())
    sum_ = make_accumulator(e_.settings.aggregation, e_.parts.shared, from->reference);
  if (sum_->count() > 0) static_cast<void>(sum_->take());
  from_ = from;
  clients_ = std::move(clients);
  stages_.clear();
  stages_.reserve(clients_.size());
  next_ = 0;
  settled_ = 0;
  bytes_up_ = 0;
  partial_ = {};
  partial_.run = from->run;
  partial_.version = from->version;
  partial_.aggregator = number_;
  go_on(out);
}

void aggregator_machine::go_on(aggregator_effects& out) {
  if (settled_ < clients_.size())
    start_more(out);
  else
    send_up(out);
}

void aggregator_machine::start_more(aggregator_effects& out) {
  while (next_ < clients_.size() && next_ - settled_ < window_) {
    const auto client = clients_[next_++];
    stages_.emplace(client, stage::waiting);
    out.emplace_back(start_client{{from_->run, from_->version, client, 0}, from_});
  }
}

std::optional<rejection> aggregator_machine::check_identity(const task_id& id) const {
  if (!from_ || id.run != from_->run) return rejection::unknown_task;
  if (id.version != from_->version) return rejection::stale_version;
  const auto at = stages_.find(id.client);
  if (at == stages_.end() || id.attempt != 0) return rejection::unknown_task;
  if (at->second != stage::waiting) return rejection::duplicate;
  return std::nullopt;
}

std::optional<rejection> aggregator_machine::on_update(const client_update& update, aggregator_effects& out) {
  if (auto stranger = check_identity(update.id)) return stranger;
  if (e_.upload_bytes) bytes_up_ += e_.upload_bytes(update);
  auto refused = validate(update, *e_.parts.shared, e_.settings.aggregation);
  if (!refused) refused = sum_->fold(update);
  settle(update.id, refused, update.examples, out);
  return refused;
}

void aggregator_machine::on_failure(const task_id& task, aggregator_effects& out) {
  if (!check_identity(task)) settle(task, rejection::client_failed, 0, out);
}

void aggregator_machine::settle(const task_id& id, std::optional<rejection> refused, std::uint64_t examples,
                                aggregator_effects& out) {
  const member who{id.client, id.attempt};
  stages_[id.client] = refused ? stage::refused : stage::folded;
  ++settled_;
  if (refused) {
    partial_.refused.push_back({who, *refused});
  } else {
    partial_.folded.push_back(who);
    partial_.examples += examples;
  }
  go_on(out);
}

void aggregator_machine::send_up(aggregator_effects& out) {
  std::ranges::sort(partial_.folded);
  std::ranges::sort(partial_.refused, {}, [](const refused_member& m) { return m.who; });
  partial_.weight = sum_->weight();
  partial_.loss_fixed = sum_->loss_fixed();
  partial_.sums = sum_->take();
  out.emplace_back(send_partial{std::move(partial_), bytes_up_});
}

}  // namespace furlong::federated::protocol
