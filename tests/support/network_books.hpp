// What a federation in a test network must keep to, checked while it runs: a second set of books.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "federated/protocol/server_machine.hpp"
#include "federated/rounds/server_optimizer.hpp"
#include "federated/simulation/network/environment.hpp"

namespace furlong::tests::net {

using federated::virtual_time;
using federated::network::millisecond;
using federated::network::partial_ptr;
using federated::network::second;
using federated::network::update_ptr;

class books;

/// A node's private store with its rules (private_store.hpp), and beside it everything that it was ever given.
class history_store final : public federated::network::node_disk, public federated::private_store {
 public:
  /// @param id of the store, in claims
  history_store(models::layout_ptr shape, books& checks, std::uint64_t id)
      : shape_(std::move(shape)), checks_(checks), claim_{id, 0, 0, false} {}

  result<void> open(const federated::run_history& history, std::uint64_t covered) override;
  private_store& values() override { return *this; }
  [[nodiscard]] federated::store_claim claim() const override { return claim_; }
  result<void> note_served(std::uint64_t served) override {
    claim_.served = served;
    return {};
  }
  result<void> sync() override;

  result<bool> load(std::uint32_t client, models::private_parameters& out) override;
  result<void> commit(std::uint32_t client, std::uint64_t version, const models::private_parameters& value) override;
  void covered(std::uint64_t version) override { covered_ = std::max(covered_, version); }
  result<bool> erase(std::uint32_t client) override;
  result<void> visit(
      const std::function<void(std::uint32_t, std::uint64_t, const models::private_parameters&)>&) override {
    return {};
  }
  result<void> stage(const federated::task_id& task, const models::private_parameters& value) override;
  result<void> discard(const federated::task_id& task) override;
  result<void> visit_pending(
      const std::function<void(const federated::task_id&, const models::private_parameters&)>& each) override;

  /// What was committed since the last sync() is gone.
  void lose_power();

 private:
  struct kept {
    std::uint32_t life = 0;
    std::uint64_t version = 0;
    std::vector<float> value;
    bool present = false;
    std::uint64_t order = 0;
  };
  struct client_values {
    kept slots[2];
    std::vector<kept> all;
    std::map<federated::task_id, kept> pending;
  };
  [[nodiscard]] const kept* current(const kept (&two)[2]) const;
  [[nodiscard]] const kept* newest(const std::vector<kept>& all) const;

  models::layout_ptr shape_;
  books& checks_;
  federated::run_history history_;
  std::uint64_t covered_ = 0;
  std::uint64_t order_ = 0;
  federated::store_claim claim_;
  std::map<std::uint32_t, client_values> clients_;
  std::map<std::uint32_t, client_values> unsynced_;  ///< clients committed since the last sync, as they were at it
};

/// Everything of the server that survives its death, and what the books know of it.
struct saved_life {
  federated::server_state state;
  std::set<federated::task_id> folded;
  std::uint64_t in_flight = 0;  ///< as its last round reported
};

class books {
 public:
  explicit books(const federated::experiment& e) : e_(e) {}

  // Gateways and relays.
  void arrived(std::uint64_t gateway, const update_ptr& update);
  void settled(std::uint64_t gateway, const federated::settlement& one);
  void share_begins(std::uint64_t by) { members_[by].clear(); }
  void merged_below(std::uint64_t by, const partial_ptr& partial);
  void sent(std::uint64_t by, const partial_ptr& partial) { sent_[partial] = std::exchange(members_[by], {}); }

  // The server.
  void begin_life(const saved_life& from);
  void check_counts(const federated::protocol::server_machine& server);
  void merged(const partial_ptr& partial);
  void closed(const federated::round_report& report, const federated::protocol::server_machine& server);
  [[nodiscard]] const std::set<federated::task_id>& folded() const { return folded_; }
  [[nodiscard]] saved_life life(federated::server_state state) const { return {std::move(state), folded_, in_flight_}; }
  void durable(const saved_life& what) { durable_ = what.folded; }

  // Nodes. `history`: as the node knows it.
  void told(const federated::protocol::verdict& what, const federated::run_history& history);
  void kept(const federated::task_id& task, std::uint32_t life);
  /// A loss of power took values of this client that were trained from that version in a life.
  void lost(std::uint32_t client, std::uint32_t life, std::uint64_t version);
  /// A client begins a task; no node was killed before.
  void begins(const federated::task_id& task);
  /// A task that a node's process began ends with that process: no later one may begin it in the same life.
  void begins_on(const federated::task_id& task, std::uint32_t life, std::uint64_t process);
  /// Its training made private values, to be kept when its update is in the model.
  void to_be_kept(const federated::task_id& task) { to_be_kept_.insert(task); }
  [[nodiscard]] bool was_kept(const federated::task_id& task) const;

  void wrong(const std::string& what);
  void note(std::string line) { trace.push_back(std::move(line)); }

  std::vector<std::string> trace;        ///< whatever differs between two runs of a world shows in it
  std::vector<std::string> failures;     ///< what must not be
  std::vector<std::string> evaluations;  ///< their figures
  std::size_t rounds = 0;
  virtual_time now = 0;  ///< kept up to date by the network
  bool async_model_mixes_many = false;

 private:
  void add_base_difference(federated::aggregate& round) const;
  void check_round(const federated::round_report& report);

  using member_updates = std::map<federated::task_id, update_ptr>;

  const federated::experiment& e_;
  std::map<std::uint64_t, member_updates> arrived_;  ///< by gateway
  std::map<std::uint64_t, member_updates> members_;  ///< by gateway or relay: folded in the share under way
  std::map<partial_ptr, member_updates> sent_;       ///< and not merged by the parent yet
  std::set<federated::task_id> reported_;            ///< tasks whose updates reached a gateway
  std::set<federated::task_id> ever_folded_;         ///< by any life
  std::set<federated::task_id> told_durable_;        ///< tasks whose nodes heard that their updates are durable
  federated::server_state shadow_;
  std::optional<federated::server_optimizer> optimizer_;
  std::map<std::uint64_t, models::shared_parameters> models_;
  std::map<federated::task_id, update_ptr> in_round_;
  std::uint64_t in_flight_ = 0;           ///< after the last round
  std::set<federated::task_id> folded_;   ///< by the life under way
  std::set<federated::task_id> durable_;  ///< in the last durable checkpoint
  /// A server that goes back behind this version has not decided it.
  struct unwanted_task {
    std::uint32_t life = 0;
    std::uint64_t decided_at = 0;  ///< version
    federated::task_id task;
  };
  std::vector<unwanted_task> told_unwanted_;
  std::set<std::pair<std::uint32_t, federated::task_id>> kept_;
  std::set<federated::task_id> to_be_kept_;
  std::map<std::pair<std::uint32_t, federated::task_id>, std::uint64_t> begun_on_;  ///< processes, by life and task
};

using federated::network::text_of;

}  // namespace furlong::tests::net
