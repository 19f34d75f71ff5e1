// What a federation in a test network must keep to, checked while it runs: a second set of books.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "federated/protocol/server_machine.hpp"
#include "federated/server_optimizer.hpp"
#include "tests/support/network_link.hpp"

namespace furlong::tests::net {

/// A private store with its rules (private_store.hpp), and beside it everything that it was ever given.
class history_store {
 public:
  explicit history_store(models::layout_ptr shape) : shape_(std::move(shape)) {}

  void open(const federated::run_history& history, std::uint64_t covered);
  void cover(std::uint64_t version) { covered_ = std::max(covered_, version); }
  /// Whether there is a value; `faithful` is false when it is not the newest one that the history contains.
  [[nodiscard]] bool load(std::uint32_t client, models::private_parameters& out, bool& faithful) const;
  void commit(std::uint32_t client, std::uint64_t version, const models::private_parameters& value);
  [[nodiscard]] std::uint32_t life() const { return history_.life(); }
  [[nodiscard]] const federated::run_history& history() const { return history_; }

 private:
  struct kept {
    std::uint32_t life = 0;
    std::uint64_t version = 0;
    std::vector<float> value;
    bool present = false;
    std::uint64_t order = 0;
  };
  [[nodiscard]] const kept* current(const kept (&two)[2]) const;
  [[nodiscard]] const kept* newest(std::uint32_t client) const;

  struct slots {
    kept two[2];
  };
  models::layout_ptr shape_;
  federated::run_history history_;
  std::uint64_t covered_ = 0;
  std::uint64_t order_ = 0;
  std::map<std::uint32_t, slots> slots_;
  std::map<std::uint32_t, std::vector<kept>> all_;
};

/// Everything of the server that survives its death, and what the books know of it.
struct saved_life {
  federated::protocol::server_state state;
  std::set<federated::task_id> folded;
  std::uint64_t in_flight = 0;  ///< as its last round reported
};

class books {
 public:
  explicit books(const federated::experiment& e) : e_(e) {}

  // The server.
  void begin_life(const saved_life& from);
  void check_counts(const federated::protocol::server_machine& server);
  void merged(const partial_with_members& partial);
  void closed(const federated::round_report& report, const federated::protocol::server_machine& server);
  [[nodiscard]] const std::set<federated::task_id>& folded() const { return folded_; }
  [[nodiscard]] saved_life life(federated::protocol::server_state state) const {
    return {std::move(state), folded_, in_flight_};
  }
  void durable(const saved_life& what) { durable_ = what.folded; }

  // Nodes. `history`: as the node knows it.
  void told(const federated::protocol::verdict& what, const federated::run_history& history);
  void kept(const federated::task_id& task, std::uint32_t life) { kept_.emplace(life, task); }
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
  void mix_in_base(federated::aggregate& round) const;
  void check_round(const federated::round_report& report);

  const federated::experiment& e_;
  federated::protocol::server_state shadow_;
  std::optional<federated::server_optimizer> optimizer_;
  std::map<std::uint64_t, models::shared_parameters> models_;
  std::map<federated::task_id, update_ptr> in_round_;
  std::uint64_t in_flight_ = 0;           ///< after the last round
  std::set<federated::task_id> folded_;   ///< by the life under way
  std::set<federated::task_id> durable_;  ///< in the last durable checkpoint
  std::set<std::pair<std::uint32_t, federated::task_id>> told_unwanted_;
  std::set<std::pair<std::uint32_t, federated::task_id>> kept_;
  std::set<federated::task_id> to_be_kept_;
};

[[nodiscard]] inline std::string text_of(const federated::task_id& id) {
  return "task " + std::to_string(id.version) + "/" + std::to_string(id.client) + "/" + std::to_string(id.attempt);
}

}  // namespace furlong::tests::net
