#include "federated/evaluation.hpp"

#include <algorithm>
#include <cmath>

namespace furlong::federated {

namespace {

/// The share of (positive, negative) pairs ranked rightly; pairs that tie count half. Nothing when a class is missing.
std::optional<double> area_under_curve(std::vector<std::pair<float, bool>> odds) {
  std::ranges::sort(odds);
  double positives = 0;
  double negatives = 0;
  double ranked = 0;
  for (std::size_t begin = 0; begin < odds.size();) {
    std::size_t end = begin;
    double tied_positives = 0;
    while (end < odds.size() && odds[end].first == odds[begin].first) tied_positives += odds[end++].second ? 1 : 0;
    const double tied_negatives = static_cast<double>(end - begin) - tied_positives;
    ranked += tied_positives * (negatives + 0.5 * tied_negatives);
    positives += tied_positives;
    negatives += tied_negatives;
    begin = end;
  }
  if (positives == 0 || negatives == 0) return std::nullopt;
  return ranked / (positives * negatives);
}

bool rebuilds_unseen(const run_settings& settings) {
  return settings.algorithm != algorithm_kind::furl || settings.cold_start == cold_start_kind::reconstruct;
}

}  // namespace

void redraw_personal(const experiment& e, std::span<const std::size_t> tensors, std::uint32_t client,
                     models::working_set& weights) {
  for (const auto t : tensors) {
    const bool everybodys = !e.parts.slots[t].is_private && (*e.parts.model)[t].index != models::row_index::by_client;
    if (!everybodys) weights.reinitialize(t, e.settings.seed, 0, client);
  }
}

evaluation::evaluation(const experiment& e, const models::shared_parameters& model, private_store* store,
                       std::uint64_t version)
    : e_(e),
      model_(model),
      store_(store),
      version_(version),
      validation_is_unseen_(!e.clients->unseen_validation().empty()) {
  if (rebuilds_unseen(e.settings))
    for (const auto& name : e.settings.evaluation.reconstruct)
      if (const auto tensor = e.parts.model->find(name)) rebuilt_.push_back(*tensor);
  std::ranges::sort(rebuilt_);
  const auto add = [&](group in, std::span<const std::uint32_t> clients) {
    for (const auto client : clients) work_.push_back({in, client});
  };
  add(group::validation, validation_is_unseen_ ? e.clients->unseen_validation() : e.clients->training());
  add(group::seen, e.clients->training());
  add(group::unseen, e.clients->unseen_test());
  scores_.resize(work_.size());
}

result<bool> evaluation::load_private(std::uint32_t client, workspace& use) const {
  if (use.own.shape() != e_.parts.private_) use.own = models::private_parameters(e_.parts.private_);
  if (store_ != nullptr && is_stateful(e_.settings.algorithm)) {
    auto found = store_->load(client, use.own);
    if (!found || *found) return found;
  }
  initial_private(e_, 0, client, use.own);
  return false;
}

void evaluation::rebuild(std::uint32_t client, std::span<const std::size_t> tensors, workspace& use) const {
  redraw_personal(e_, tensors, client, use.weights);
  reconstruct(*e_.model, use.weights, tensors, use.support, e_.settings.reconstruction, use.solver);
}

void evaluation::add_scores(std::uint32_t first, std::uint32_t last, workspace& use, client_score& out) const {
  const auto batch = use.weights.data().slice(first, last);
  use.predictions.resize(batch.size());
  e_.model->predict(use.weights.weights(), batch, use.predictions);
  const auto& settings = e_.settings.evaluation;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    float guess = use.predictions[i];
    const float label = batch.labels[i];
    if (e_.model->objective() == models::objective::logistic) {
      out.loss += std::max(guess, 0.0F) + std::log1p(std::exp(-std::abs(guess))) - label * guess;
      out.correct += (guess > 0) == (label > 0.5F) ? 1 : 0;
      out.odds.emplace_back(guess, label > 0.5F);
    } else {
      if (settings.clip) guess = std::clamp(guess, settings.clip_low, settings.clip_high);
      const double miss = static_cast<double>(label) - guess;
      out.squared_error += miss * miss;
      out.loss += miss * miss;
      out.correct += std::abs(miss) <= 0.5 ? 1 : 0;
    }
  }
  out.examples += batch.size();
}

result<void> evaluation::score_seen(const item& who, workspace& use, client_score& out) const {
  const auto held_out = who.in == group::seen ? part::test : part::validation;
  models::examples scratch;
  const auto test = e_.clients->load(who.client, held_out, scratch);
  if (test.size() == 0) return {};
  auto stored = load_private(who.client, use);
  if (!stored) return tl::unexpected(stored.error());
  const auto& settings = e_.settings;
  const bool cold = is_stateful(settings.algorithm) && !*stored && settings.cold_start == cold_start_kind::reconstruct;
  const auto tested = static_cast<std::uint32_t>(test.size());
  if (settings.algorithm != algorithm_kind::fedrecon && !cold) {
    use.weights.gather(*e_.model, e_.parts, model_, use.own, test, who.client);
    add_scores(0, tested, use, out);
    return {};
  }
  models::examples own_scratch;
  models::examples both;
  both.append(e_.clients->load(who.client, part::train, own_scratch));
  const auto trained = static_cast<std::uint32_t>(both.labels.size());
  both.append(test);
  use.weights.gather(*e_.model, e_.parts, model_, use.own, both.view(), who.client);
  const auto own_batches =
      settings.reconstruction.batch_size > 0 ? settings.reconstruction.batch_size : settings.client.batch_size;
  cut_batches(0, trained, own_batches, use.support);
  rebuild(who.client, e_.parts.private_tensors, use);
  add_scores(trained, trained + tested, use, out);
  return {};
}

void evaluation::score_unseen(const item& who, workspace& use, client_score& out) const {
  const auto data = e_.clients->load(who.client, part::train, use.data);
  if (data.size() == 0) return;
  if (use.own.shape() != e_.parts.private_) use.own = models::private_parameters(e_.parts.private_);
  initial_private(e_, 0, who.client, use.own);
  use.weights.gather(*e_.model, e_.parts, model_, use.own, data, who.client);
  const auto& settings = e_.settings;
  const auto batch_size =
      settings.evaluation.batch_size > 0 ? settings.evaluation.batch_size : settings.client.batch_size;
  deal_batches(use, batch_size, true, settings.reconstruction);
  rebuild(who.client, rebuilt_, use);
  for (const auto& batch : use.query) add_scores(batch.first, batch.last, use, out);
}

result<void> evaluation::score(std::size_t i, workspace& use) {
  const auto& who = work_[i];
  if (who.in == group::seen || (who.in == group::validation && !validation_is_unseen_))
    return score_seen(who, use, scores_[i]);
  score_unseen(who, use, scores_[i]);
  return {};
}

group_metrics evaluation::pool(group which) const {
  group_metrics total;
  double squared = 0.0;
  std::uint64_t correct = 0;
  std::vector<std::pair<float, bool>> odds;
  for (std::size_t i = 0; i < work_.size(); ++i) {
    if (work_[i].in != which || scores_[i].examples == 0) continue;
    ++total.clients;
    total.examples += scores_[i].examples;
    total.loss += scores_[i].loss;
    squared += scores_[i].squared_error;
    correct += scores_[i].correct;
    odds.insert(odds.end(), scores_[i].odds.begin(), scores_[i].odds.end());
  }
  if (total.examples == 0) return total;
  const auto n = static_cast<double>(total.examples);
  total.loss /= n;
  total.accuracy = static_cast<double>(correct) / n;
  if (e_.model->objective() == models::objective::squared_error)
    total.rmse = std::sqrt(squared / n);
  else
    total.auc = area_under_curve(std::move(odds));
  return total;
}

evaluation_report evaluation::report() const {
  evaluation_report all{version_, std::nullopt, std::nullopt, std::nullopt};
  const auto keep = [&](group which) -> std::optional<group_metrics> {
    const auto metrics = pool(which);
    return metrics.examples == 0 ? std::nullopt : std::optional(metrics);
  };
  all.validation = keep(group::validation);
  all.seen = keep(group::seen);
  all.unseen = keep(group::unseen);
  return all;
}

}  // namespace furlong::federated
