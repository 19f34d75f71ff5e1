// The updates of colluding bad clients: those that move the model most among all that the server accepts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "federated/experiment/experiment.hpp"
#include "federated/experiment/validation.hpp"
#include "models/delta.hpp"

namespace furlong::campaigns {

/// What bad clients send, always as large as the limits of the version allow.
enum class attack : std::uint8_t {
  none,        ///< their own update, like honest clients
  minus_mean,  ///< the honest mean of the round, reversed
  minus_sd,   ///< that mean less a multiple of the standard deviation of each coordinate (Baruch et al. 2019, "A little
              ///< is enough"; here not only as far as the spread of honest updates)
  one_row,    ///< everything into one row of the first table
  direction,  ///< one direction, the same in every round: all coordinates alike
  promotion,  ///< an unpopular item's row and bias, so that its predictions rise
  early       ///< one direction, only while no limit is known
};
[[nodiscard]] std::string_view to_string(attack how);

struct attack_variant {
  attack how = attack::none;
  double deviations = 0.0;  ///< of minus_sd: how many
  double popularity = 1.0;  ///< of one_row: 1 is the feature with the most training examples, 0.5 the median
  bool bias_only = false;   ///< of promotion: without the item's row, which can also lower predictions
};
/// "minus-sd x 1.5".
[[nodiscard]] std::string to_string(const attack_variant& variant);
/// Those of an attack, or only the first: which one is worst depends on the model and on the limits.
[[nodiscard]] std::vector<attack_variant> variants_of(attack how, bool several);

/// The features that attacks aim at.
struct target_features {
  std::vector<std::uint32_t> by_examples;  ///< those with training examples, the fewest first
  std::uint32_t promoted = 0;              ///< of the first tenth of these, the one with the lowest mean label
};
[[nodiscard]] target_features find_targets(const federated::experiment& e);

/// Statistics of the honest updates of a round, by coordinate. Rows that an update does not name count as zeros.
class honest_statistics {
 public:
  explicit honest_statistics(models::layout_ptr up);

  void add(const federated::client_update& update);
  /// Weighted by the declared examples. Zeros without updates.
  [[nodiscard]] std::vector<float> mean() const;
  [[nodiscard]] std::vector<float> deviation() const;

 private:
  models::layout_ptr up_;
  double weight_ = 0.0;
  double count_ = 0.0;
  std::vector<double> weighted_;
  std::vector<double> sum_;
  std::vector<double> squares_;
};

/// The largest weight that the server accepts.
[[nodiscard]] std::uint32_t largest_weight(const federated::experiment& e, const federated::update_bounds& bounds);

/// The change that an attack makes, of all tensors of an update. Not of attack::none.
/// @param honest of this round; needed by minus_mean and minus_sd only
/// @param taste mean of the attackers' own user vectors, as the direction of a promotion; may be empty
[[nodiscard]] models::delta bad_change(const federated::experiment& e, const attack_variant& how,
                                       const target_features& targets, const std::optional<honest_statistics>& honest,
                                       std::span<const float> taste, const federated::update_bounds& bounds);

}  // namespace furlong::campaigns
