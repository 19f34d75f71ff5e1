// The clients that a rogue server talks to: the project's own code for each, and an update that the test knows.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "federated/client/secure_tasks.hpp"
#include "federated/settings/aggregation.hpp"
#include "tests/support/temporary_folder.hpp"

namespace furlong::federated::testing {

using sum_words = std::vector<std::int64_t>;

/// A run as its clients know it.
struct rogue_world {
  std::string name;
  privacy::adversary_kind against = privacy::adversary_kind::semi_honest;
  std::uint32_t clients = 10;     ///< of a sum; there are more
  std::uint32_t min_reports = 8;  ///< synchronous; in FedBuff two thirds of a sum's clients are the fewest
  bool is_async = false;
  bool client_noise = false;
  bool is_signed = true;  ///< keys: false: as with --insecure

  [[nodiscard]] std::uint32_t fewest() const {
    const auto two_thirds = clients - clients / 3;
    return !is_async ? min_reports : client_noise ? std::max(min_reports, two_thirds) : two_thirds;
  }
};

/// What the server sends to a client beside letters; `colludes`: it tells the server its secrets.
enum class sent_inputs { same, other_settings, other_model, other_clip, colludes };

/// Of one task.
struct client_secrets {
  crypto::agreement_key sealing, masking;
};

/// The clients of one run, all on one node, whose store outlives it.
class rogue_cohort {
 public:
  explicit rogue_cohort(const rogue_world& of);

  [[nodiscard]] const rogue_world& world() const { return world_; }
  /// From now on this client has other inputs. Its updates are then nothing, or known.
  void send_inputs(std::uint32_t client, sent_inputs what);
  /// The node is killed and started again. Another `start_id`: the server says that it began the run from nothing.
  /// False: the node takes no part in that.
  bool restart(std::uint64_t start_id = first_start);
  static constexpr std::uint64_t first_start = 1;

  /// Those of a client that colludes.
  [[nodiscard]] std::optional<client_secrets> secrets_of(const task_id& task) const;
  [[nodiscard]] const digest& terms_of(std::uint32_t client) const { return inputs_of(client).terms; }
  [[nodiscard]] privacy::secure_letter enter(const task_id& task);
  /// The client's answer to a letter, if it gives one.
  std::optional<privacy::secure_letter> tell(const privacy::secure_letter& letter);
  /// The client makes its update of this task now, whatever it is sent until upload().
  void train(const task_id& task) { trained_[task] = clients_.at(task.client).inputs; }
  /// The masked words of the client's update.
  std::optional<sum_words> upload(const task_id& task);

  /// The words of the update without masks, in a sum for this version.
  [[nodiscard]] sum_words plain(const task_id& task, std::uint64_t version);
  /// How much of the client's update of this task is in a sum for this version: 1, less if stale, 0 if it has none.
  [[nodiscard]] double part_of(const task_id& task, std::uint64_t version) const;

 private:
  struct client {
    sent_inputs inputs = sent_inputs::same;
    std::optional<secure_tasks> tasks = {};
  };
  [[nodiscard]] const experiment& inputs_of(std::uint32_t client) const;
  /// What the task's update is made from.
  [[nodiscard]] sent_inputs inputs_for(const task_id& task) const;
  [[nodiscard]] broadcast_ptr model_of(const task_id& task, sent_inputs inputs);
  [[nodiscard]] client_update update_of(const task_id& task) const;
  void open(client& of, std::uint32_t number);

  rogue_world world_;
  std::map<sent_inputs, experiment> experiments_;
  std::map<std::pair<sent_inputs, std::uint64_t>, broadcast_ptr> models_;  ///< by version
  std::vector<client> clients_;
  std::map<task_id, sent_inputs> trained_;
  tests::temporary_folder folder_;
  std::shared_ptr<confirmed_lists> confirmed_ = std::make_shared<confirmed_lists>();
};

}  // namespace furlong::federated::testing
