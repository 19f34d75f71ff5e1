#include "federated/evaluation/evaluation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/exact_math.hpp"
#include "federated/experiment/client_groups.hpp"
#include "federated/experiment/quantized_traffic.hpp"
#include "federated/participation/uniform.hpp"
#include "federated/ranking/figures.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/state/broadcasts.hpp"

namespace furlong::federated {

namespace {

/// The share of correctly ranked (positive, negative) pairs; ties count half. Nothing if a class is missing.
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

/// Of a mean over clients with these counts, clients drawn at random: that of a ratio of sums.
std::optional<double> standard_error(std::span<const models::metric_sum> clients, double mean, double count) {
  if (clients.size() < 2) return std::nullopt;
  double squares = 0.0;
  for (const auto& client : clients) {
    const double miss = client.sum - mean * client.count;
    squares += miss * miss;
  }
  const auto n = static_cast<double>(clients.size());
  return std::sqrt(squares * n / (n - 1.0)) / count;
}

std::shared_ptr<const models::shared_parameters> as_sent(const experiment& e, const model_version& of) {
  if (of.model.shape() == e.parts.down && !rounds_numbers(e.settings)) return nullptr;
  return std::make_shared<models::shared_parameters>(sent_model(e, of));
}

}  // namespace

evaluation::evaluation(const experiment& e, const model_version& of, private_store* store,
                       const participation_ledger* ledger)
    : e_(e),
      sent_(as_sent(e, of)),
      scorer_(e, sent_ != nullptr ? *sent_ : of.model, of.version, store),
      version_(of.version) {
  const auto unseen = e.clients->unseen_validation();
  add_group(group::validation, unseen.empty() ? e.clients->training() : unseen);
  first_seen_ = work_.size();
  add_group(group::seen, e.clients->training());
  // Pooled training has one participant for all clients: its count says nothing about single clients.
  if (ledger != nullptr && e.participants == e.clients)
    for (std::size_t i = first_seen_; i < work_.size(); ++i) folded_.push_back((*ledger)[work_[i].client].folded);
  add_group(group::unseen, e.clients->unseen_test());
  add_group(group::train, e.clients->training());
  scores_.resize(work_.size());
}

void evaluation::add_group(group in, std::span<const std::uint32_t> clients) {
  if (!e_.settings.evaluation->groups.at(static_cast<std::size_t>(in))) return;
  const auto most = e_.settings.evaluation->clients;
  if (most == 0 || most >= clients.size()) {
    for (const auto client : clients) work_.push_back({in, client});
    return;
  }
  const random_stream stream(e_.settings.seed, purpose::scored_clients, 0, static_cast<std::uint32_t>(in));
  for (const auto client : draw_uniformly(clients, most, stream)) work_.push_back({in, client});
}

bool evaluation::belongs(std::size_t i) const {
  return scores_[i].examples > 0 && !std::ranges::binary_search(left_out_, work_[i].client);
}

bool evaluation::counts(std::size_t i) const { return belongs(i) && is_finite(scores_[i]); }

bool evaluation::wants(std::size_t i) const { return !std::ranges::binary_search(left_out_, work_[i].client); }

result<void> evaluation::score(std::size_t i, workspace& use) {
  if (!wants(i)) return {};
  auto score = scorer_.score(work_[i].in, work_[i].client, use);
  if (!score) return tl::unexpected(score.error());
  scores_[i] = std::move(*score);
  return {};
}

result<void> evaluation::score_all(workspace& use) {
  for (std::size_t i = 0; i < size(); ++i)
    if (auto done = score(i, use); !done) return done;
  return {};
}

bool evaluation::accept(scored_client score) {
  const auto at = std::ranges::lower_bound(work_, std::pair(score.in, score.client), {},
                                           [](const item& one) { return std::pair(one.in, one.client); });
  if (at == work_.end() || at->in != score.in || at->client != score.client) return false;
  score.score.best.clear();
  scores_[static_cast<std::size_t>(at - work_.begin())] = std::move(score.score);
  return true;
}

std::optional<double> evaluation::coverage(std::span<const std::size_t> items, std::uint32_t places) const {
  std::vector<bool> found(e_.clients->facts().features);
  for (const auto i : items) {
    const auto& best = scores_[i].best;
    if (best.empty()) return std::nullopt;
    for (std::size_t place = 0; place < std::min<std::size_t>(places, best.size()); ++place) found[best[place]] = true;
  }
  return static_cast<double>(std::ranges::count(found, true)) / static_cast<double>(found.size());
}

void evaluation::add_own_figures(std::span<const std::size_t> items, group_metrics& total) const {
  const auto metrics = e_.model->metrics();
  const bool ranks = e_.model->objective() == models::objective::ranking;
  const auto& settings = e_.settings.evaluation->ranking;
  const auto figures = ranks ? ranking::figures_of(settings) : std::vector<ranking::ranking_figure>();
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    const auto& [name, smaller] = metrics[m];
    if (ranks && figures[m].kind == ranking::figure_kind::coverage) {
      if (const auto share = coverage(items, settings.top[figures[m].top]))
        total.custom.push_back({name, *share, smaller});
      continue;
    }
    std::vector<models::metric_sum> sums;
    models::metric_sum pooled;
    for (const auto i : items) {
      if (m >= scores_[i].metrics.size()) continue;
      sums.push_back(scores_[i].metrics[m]);
      pooled.add(sums.back());
    }
    if (pooled.count <= 0) continue;
    const double mean = pooled.sum / pooled.count;
    total.custom.push_back({name, mean, smaller, ranks ? standard_error(sums, mean, pooled.count) : std::nullopt});
  }
}

group_metrics evaluation::pool(std::span<const std::size_t> items) const {
  group_metrics total;
  double squared = 0.0;
  std::uint64_t correct = 0;
  std::uint64_t words = 0;
  std::uint64_t words_correct = 0;
  std::uint64_t inside = 0;
  std::uint64_t inside_correct = 0;
  models::metric_sum attack;
  std::vector<std::pair<float, bool>> odds;
  std::vector<std::size_t> counted;
  pooled_labels labels;
  for (const auto i : items) {
    if (!belongs(i)) continue;
    if (!is_finite(scores_[i])) {
      ++total.unscored;
      continue;
    }
    ++total.clients;
    total.examples += scores_[i].examples;
    total.loss += scores_[i].loss;
    squared += scores_[i].squared_error;
    correct += scores_[i].correct;
    words += scores_[i].words;
    words_correct += scores_[i].words_correct;
    inside += scores_[i].inside;
    inside_correct += scores_[i].inside_correct;
    attack.add(scores_[i].attack);
    labels.add(scores_[i]);
    odds.insert(odds.end(), scores_[i].odds.begin(), scores_[i].odds.end());
    counted.push_back(i);
  }
  if (attack.count > 0.0) total.attack_success = attack.sum / attack.count;
  if (total.examples == 0) {
    total.loss = std::numeric_limits<double>::quiet_NaN();
    return total;
  }
  const auto n = static_cast<double>(total.examples);
  total.loss /= n;
  total.constant = labels.constant(e_.model->objective(), e_.clients->facts().classes);
  if (models::has_accuracy(e_.model->objective())) total.accuracy = static_cast<double>(correct) / n;
  switch (e_.model->objective()) {
    case models::objective::squared_error: total.rmse = std::sqrt(squared / n); break;
    case models::objective::logistic: total.auc = area_under_curve(std::move(odds)); break;
    case models::objective::categorical: break;
    case models::objective::custom:
    case models::objective::ranking: add_own_figures(counted, total); break;
    case models::objective::next_token:
      total.perplexity = exact::exp(total.loss);
      if (words > 0) total.accuracy_words = static_cast<double>(words_correct) / static_cast<double>(words);
      if (inside > 0) total.accuracy_no_end = static_cast<double>(inside_correct) / static_cast<double>(inside);
      break;
  }
  return total;
}

std::optional<group_metrics> evaluation::pool_scored(std::span<const std::size_t> items) const {
  const auto metrics = pool(items);
  return metrics.examples == 0 && metrics.unscored == 0 ? std::nullopt : std::optional(metrics);
}

std::optional<group_metrics> evaluation::pool_group(group which) const {
  std::vector<std::size_t> items;
  for (std::size_t i = 0; i < work_.size(); ++i)
    if (work_[i].in == which) items.push_back(i);
  return pool_scored(items);
}

std::vector<metrics_by_group> evaluation::by_client_group() const {
  const auto& groups = e_.settings.evaluation->groups_of_clients;
  if (groups == nullptr) return {};
  std::vector<std::array<std::vector<std::size_t>, group_names.size()>> items(groups->names.size());
  for (std::size_t i = 0; i < work_.size(); ++i)
    items[groups->of_client[work_[i].client]].at(static_cast<std::size_t>(work_[i].in)).push_back(i);
  std::vector<metrics_by_group> all(items.size());
  for (std::size_t number = 0; number < items.size(); ++number)
    std::ranges::transform(items[number], all[number].begin(), [&](const auto& some) { return pool_scored(some); });
  return all;
}

std::vector<unscored_client> evaluation::unscored() const {
  std::vector<unscored_client> all;
  std::array<std::size_t, group_names.size()> named{};
  for (std::size_t i = 0; i < work_.size(); ++i) {
    if (!belongs(i) || counts(i)) continue;
    const auto in = work_[i].in;
    if (named.at(static_cast<std::size_t>(in))++ < most_unscored)
      all.push_back({in, work_[i].client, not_finite(scores_[i], *e_.model)});
  }
  return all;
}

void evaluation::add_bins(std::vector<std::size_t> items, std::size_t parts, std::span<const std::uint32_t> counts,
                          std::vector<client_bin>& bins) const {
  const auto count_of = [&](std::size_t i) { return counts[i - first_seen_]; };
  std::ranges::stable_sort(items, {}, count_of);
  const auto add = [&](std::size_t first, std::size_t last) {
    const auto metrics = pool(std::span(items).subspan(first, last - first));
    bins.push_back({count_of(items[first]), count_of(items[last - 1]), metrics.clients, metrics});
  };
  // All clients with the same count are in one bin: that of the first of them in a division into equal parts.
  std::size_t first = 0;
  std::size_t in_part = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0 && count_of(items[i]) == count_of(items[i - 1])) continue;
    const std::size_t part_of = i * parts / items.size();
    if (part_of != in_part) {
      add(first, i);
      first = i;
      in_part = part_of;
    }
  }
  if (first < items.size()) add(first, items.size());
}

std::vector<client_bin> evaluation::by_participation() const {
  constexpr std::size_t most_bins = 10;
  std::vector<std::size_t> untrained;
  std::vector<std::size_t> trained;
  for (std::size_t i = first_seen_; i < first_seen_ + folded_.size(); ++i)
    if (counts(i)) (folded_[i - first_seen_] == 0 ? untrained : trained).push_back(i);
  std::vector<client_bin> bins;
  if (!untrained.empty()) add_bins(std::move(untrained), 1, folded_, bins);
  add_bins(std::move(trained), most_bins - bins.size(), folded_, bins);
  return bins;
}

std::vector<client_bin> evaluation::by_activity() const {
  constexpr std::size_t most_bins = 5;
  if (e_.model->objective() != models::objective::ranking) return {};
  std::vector<std::uint32_t> examples;  // of the seen group
  std::vector<std::size_t> items;
  for (std::size_t i = first_seen_; i < work_.size() && work_[i].in == group::seen; ++i) {
    examples.push_back(e_.clients->count(work_[i].client, part::train));
    if (counts(i)) items.push_back(i);
  }
  std::vector<client_bin> bins;
  const bool are_known = std::ranges::any_of(examples, [](auto count) { return count > 0; });
  if (are_known) add_bins(std::move(items), most_bins, examples, bins);
  return bins;
}

evaluation_report evaluation::report() const {
  return {version_,
          pool_group(group::validation),
          pool_group(group::seen),
          pool_group(group::unseen),
          pool_group(group::train),
          by_participation(),
          by_activity(),
          by_client_group(),
          unscored()};
}

}  // namespace furlong::federated
