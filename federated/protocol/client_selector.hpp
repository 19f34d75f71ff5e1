// The clients that can be selected, and the policy's choice among them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/protocol/eligible_clients.hpp"
#include "federated/protocol/roster.hpp"
#include "federated/protocol/task_book.hpp"
#include "federated/state/server_state.hpp"

namespace furlong::federated {
class checked_policy;
}

namespace furlong::federated::protocol {

/// A client can be selected if it has no open task, has not had its task of this version, has rested, is let in by pace
/// steering, and is reached. Where an asynchronous run once found too few such clients, an index keeps them
/// (eligible_clients); until then each selection looks at as many clients as the policy wants to know of.
/// One thread at a time.
class client_selector {
 public:
  /// All must outlive the selector, but its `state` and `tasks` may change between calls.
  /// @param clients who is reached; null: all are
  /// @param awaits_expected clients that are expected to come back can be selected before they do
  client_selector(const experiment& e, const server_state& state, const task_book& tasks, roster* clients,
                  bool awaits_expected);
  ~client_selector();

  void begin_round();
  /// So many clients, or all that can be selected if they are fewer; ascending. Fails if the policy does.
  [[nodiscard]] result<std::vector<std::uint32_t>> choose(std::size_t count);
  /// These got tasks.
  void on_selected(const std::vector<std::uint32_t>& clients);
  /// A client's task began or ended.
  void on_task(std::uint32_t client);

  /// True if pace steering alone kept a client from the last selection.
  [[nodiscard]] bool has_paced() const { return paced_; }
  /// How often clients were looked at in this round. A client without a task and with rest counts only.
  [[nodiscard]] std::uint64_t looks() const { return looks_; }
  /// Clients that were, each counted once, and those of them that were reached at one of the looks.
  [[nodiscard]] std::uint64_t probed() const { return probed_count_; }
  [[nodiscard]] std::uint64_t available() const { return available_count_; }

 private:
  [[nodiscard]] const participation_settings& participation() const { return *e_.settings.participation; }
  [[nodiscard]] bool is_async() const;
  [[nodiscard]] std::uint64_t first_version(const client_record& record) const;
  [[nodiscard]] virtual_time paced_until(std::uint32_t client) const;
  [[nodiscard]] bool is_eligible(std::uint32_t client);
  [[nodiscard]] client_standing standing_of(std::uint32_t client) const;
  void note_look(std::uint32_t client, bool reached);
  [[nodiscard]] bool choose_all(std::size_t count, std::vector<std::uint32_t>& chosen);
  void index_clients(const std::vector<std::uint32_t>& chosen, std::size_t count);

  const experiment& e_;
  const server_state& state_;
  const task_book& tasks_;
  roster* roster_;
  bool awaits_expected_;
  std::unique_ptr<checked_policy> policy_;
  std::uint64_t looks_ = 0;
  client_bits probed_;   ///< in this round: looked at
  client_bits reached_;  ///< and reached at one of the looks
  std::uint64_t probed_count_ = 0;
  std::uint64_t available_count_ = 0;
  bool paced_ = false;
  std::unique_ptr<eligible_clients> index_;
  std::uint64_t foresight_ = 0;        ///< that the index relies on
  std::uint64_t indexed_version_ = 0;  ///< in which it was used last
};

}  // namespace furlong::federated::protocol
