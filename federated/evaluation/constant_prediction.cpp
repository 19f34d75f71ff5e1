#include "federated/evaluation/constant_prediction.hpp"

#include <algorithm>

#include "base/exact_math.hpp"

namespace furlong::federated {

void pooled_labels::add(const client_score& score) {
  examples_ += score.examples;
  spread_ += score.spread;
  freedom_ += std::max<std::uint64_t>(score.examples, 1) - 1;
  ++clients_;
  if (score.squared_error < score.spread) ++closer_;
  sides_ += score.odds.size();
  positives_ +=
      static_cast<std::uint64_t>(std::ranges::count_if(score.odds, [](const auto& each) { return each.second; }));
  words_ += score.words;
  inside_ += score.inside;
}

std::optional<constant_prediction> pooled_labels::constant(models::objective kind, std::uint32_t classes) const {
  switch (kind) {
    case models::objective::squared_error: return constant_rating();
    case models::objective::logistic: return constant_side();
    case models::objective::categorical:
      if (classes < 2) break;
      return constant_prediction{exact::log(classes), 1.0 / classes};
    case models::objective::next_token: return constant_token();
    case models::objective::custom:
    case models::objective::ranking: break;
  }
  return std::nullopt;
}

std::optional<constant_prediction> pooled_labels::constant_rating() const {
  if (freedom_ == 0 || !(spread_ > 0.0)) return std::nullopt;
  return constant_prediction{spread_ / static_cast<double>(freedom_), {}, 2 * closer_ > clients_};
}

std::optional<constant_prediction> pooled_labels::constant_side() const {
  if (positives_ == 0 || positives_ == sides_) return std::nullopt;
  const double share = static_cast<double>(positives_) / static_cast<double>(sides_);
  const double entropy = -share * exact::log(share) - (1.0 - share) * exact::log(1.0 - share);
  return constant_prediction{entropy, std::max(share, 1.0 - share)};
}

std::optional<constant_prediction> pooled_labels::constant_token() const {
  if (examples_ == 0 || inside_ > examples_ || words_ > inside_) return std::nullopt;
  const auto most = std::max(examples_ - inside_, inside_ - words_);
  if (most == examples_) return std::nullopt;
  return constant_prediction{{}, static_cast<double>(most) / static_cast<double>(examples_)};
}

}  // namespace furlong::federated
