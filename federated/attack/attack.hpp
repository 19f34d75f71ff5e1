// The slot of simulated attacks: an attack is one source file, federated/attack/KIND.cpp, which kinds.hpp declares, and
// one line of the table in table.cpp. It changes what a bad client trains on, what it sends, or both; or it makes one
// update of those of several clients, which all bad ones send (collusion.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.hpp"
#include "base/options.hpp"
#include "base/random.hpp"
#include "federated/experiment/update.hpp"
#include "models/delta.hpp"
#include "models/examples.hpp"
#include "models/model.hpp"

namespace furlong::federated {

struct attack_settings;
struct experiment;
struct known_updates;

/// The task of a bad client.
struct attack_task {
  const experiment& run;
  const task_id& task;

  [[nodiscard]] const attack_settings& settings() const;
  /// Keyed by (seed, version, client); `part` names several streams.
  [[nodiscard]] random_stream draws(std::uint32_t part = 0) const;
  /// How many of an update's tensors are the model's; others are the algorithm's.
  [[nodiscard]] std::size_t model_tensors() const;
};

struct attack_entry {
  std::string kind;
  std::string doc;                        ///< what bad clients send
  std::vector<option_spec> options = {};  ///< keys attack.NAME; one that several attacks have is the same in all

  /// What data it is for: of which labels. Empty: any. `misfit` is what labels of other data are, for messages: "are
  /// neither ratings nor classes that can be mirrored".
  std::vector<models::objective> labels = {};
  std::string misfit = {};
  /// Those of its options that list features of the data by their names: items, words. They may not be empty.
  std::vector<std::string> names = {};
  /// Checks values against the data. Returns the reason and the fix, or nothing.
  struct problem {
    std::string option;
    std::string why;
    std::string fix;
  };
  std::vector<problem> (*check)(const attack_settings& settings, const models::data_facts& facts) = nullptr;

  /// What the client trains on: at most as many examples as its own, in `room`. Null: its own.
  models::examples_view (*poison)(const attack_task& bad, const models::examples_view& examples,
                                  models::examples& room) = nullptr;
  /// Changes the model's part of its update. Null: it stays.
  void (*change)(const attack_task& bad, models::delta& change) = nullptr;
  /// The update that all bad clients of a round send.
  /// @param harm how far an update, sent by all bad clients, moves the aggregate from the mean of honest updates; only
  ///             for attacks that search
  std::vector<double> (*craft)(const attack_settings& settings, const known_updates& known,
                               function_ref<double(std::span<const double> update)> harm) = nullptr;
  bool searches = false;  ///< asks for the harm, and must know all updates

  /// Backdoors: appends the scored examples with the trigger, of which the attack wants its answer.
  void (*trigger)(const attack_settings& settings, const models::data_facts& facts,
                  const models::examples_view& examples, models::examples& triggered) = nullptr;
  /// Whether a prediction of a triggered example is that answer.
  bool (*reached)(const attack_settings& settings, const models::data_facts& facts, float prediction) = nullptr;
  bool promotes = false;  ///< wants the items of its option target among the first of everybody

  /// Whether bad clients send one update that they make of several.
  [[nodiscard]] bool colludes() const { return craft != nullptr; }
  /// Whether it can be said of a client if the attack succeeds with it (attack_score.hpp).
  [[nodiscard]] bool has_success() const { return trigger != nullptr || promotes; }
};

/// All attacks.
[[nodiscard]] const std::vector<attack_entry>& attacks();
/// The attack of a kind, or null.
[[nodiscard]] const attack_entry* find_attack(std::string_view kind);

}  // namespace furlong::federated
