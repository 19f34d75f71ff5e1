#include "federated/simulation/cluster/carried_store.hpp"

#include <utility>

namespace furlong::federated::cluster {

namespace {

tl::unexpected<error> refuse(const std::string& call) {
  return fail(error::kind::runtime, "worker", call + " is for the head of the run, which has the private values");
}

}  // namespace

void carried_store::put(std::uint32_t client, models::packed_private&& value) {
  const std::lock_guard lock(mutex_);
  auto& held = values_[client];
  held.content = std::move(value);
  ++held.holders;
}

void carried_store::remove(std::uint32_t client) {
  const std::lock_guard lock(mutex_);
  if (const auto found = values_.find(client); found != values_.end() && --found->second.holders == 0)
    values_.erase(found);
}

result<bool> carried_store::load(std::uint32_t client, models::private_parameters& out) {
  const std::lock_guard lock(mutex_);
  const auto found = values_.find(client);
  if (found == values_.end()) return false;
  out = found->second.content.unpacked();
  return true;
}

result<void> carried_store::commit(std::uint32_t /*client*/, std::uint64_t /*version*/,
                                   const models::private_parameters& /*value*/) {
  return refuse("commit()");
}

result<void> carried_store::sync() { return refuse("sync()"); }

result<bool> carried_store::erase(std::uint32_t /*client*/) { return refuse("erase()"); }

result<void> carried_store::visit(
    const std::function<void(std::uint32_t, std::uint64_t, const models::private_parameters&)>& /*each*/) {
  return refuse("visit()");
}

}  // namespace furlong::federated::cluster
