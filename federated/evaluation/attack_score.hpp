// Whether an attack succeeds with a client, by the model that predicts for it: the personal one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "federated/client/item_scores.hpp"
#include "federated/experiment/client_score.hpp"

namespace furlong::federated {

/// Of attacks that want something of honest clients (attack_entry::has_success()). Immutable; thread-safe, each thread
/// with a workspace of its own.
class attack_score {
 public:
  /// A promoted item is to be among the first so many of all that a client does not know: ER@10.
  static constexpr std::uint32_t places = 10;

  /// `model` is as clients get it. Both must outlive this.
  attack_score(const experiment& setup, const models::shared_parameters& model);

  /// Adds to client_score::attack of an honest client: of backdoors its scored examples with the trigger, and those
  /// that are answered as the attack wants; of promotions the promoted items that the client does not know, and the
  /// chance of each to be among the first places. use.own has the client's private values.
  /// @param known,asked as the client is scored on
  void add(group scored, std::uint32_t client, const client_kind& kind, const models::examples_view& known,
           const models::examples_view& asked, workspace& use, client_score& out) const;

 private:
  void add_promoted(group scored, std::uint32_t client, std::span<const std::uint32_t> asked,
                    std::span<const float> scores, client_score& out) const;
  void add_triggered(std::uint32_t client, const client_kind& kind, const models::examples_view& known,
                     const models::examples_view& asked, workspace& use, client_score& out) const;

  const experiment& e_;
  const models::shared_parameters& model_;
  std::optional<item_scores> items_;  ///< of promotions
};

}  // namespace furlong::federated
