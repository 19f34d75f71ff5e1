#include "federated/evaluation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/exact_math.hpp"
#include "federated/client_groups.hpp"
#include "federated/participation/uniform.hpp"
#include "federated/quantized_traffic.hpp"
#include "federated/round.hpp"
#include "federated/settings/evaluation.hpp"

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

}  // namespace

namespace {

std::shared_ptr<const models::shared_parameters> as_sent(const experiment& e, const protocol::model_version& of) {
  if (of.model.shape() == e.parts.down && !rounds_numbers(e.settings)) return nullptr;
  return std::make_shared<models::shared_parameters>(sent_model(e, of));
}

}  // namespace

evaluation::evaluation(const experiment& e, const protocol::model_version& of, private_store* store,
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

result<void> evaluation::score(std::size_t i, workspace& use) {
  if (std::ranges::binary_search(left_out_, work_[i].client)) return {};
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
  scores_[static_cast<std::size_t>(at - work_.begin())] = std::move(score.score);
  return true;
}

group_metrics evaluation::pool(std::span<const std::size_t> items) const {
  group_metrics total;
  double squared = 0.0;
  std::uint64_t correct = 0;
  std::uint64_t words = 0;
  std::uint64_t words_correct = 0;
  std::uint64_t inside = 0;
  std::uint64_t inside_correct = 0;
  std::vector<std::pair<float, bool>> odds;
  std::vector<models::metric_sum> custom;
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
    labels.add(scores_[i]);
    odds.insert(odds.end(), scores_[i].odds.begin(), scores_[i].odds.end());
    custom.resize(std::max(custom.size(), scores_[i].metrics.size()));
    for (std::size_t m = 0; m < scores_[i].metrics.size(); ++m) {
      custom[m].sum += scores_[i].metrics[m].sum;
      custom[m].count += scores_[i].metrics[m].count;
    }
  }
  if (total.examples == 0) {
    total.loss = std::numeric_limits<double>::quiet_NaN();
    return total;
  }
  const auto n = static_cast<double>(total.examples);
  total.loss /= n;
  total.constant = labels.constant(e_.model->objective(), e_.clients->facts().classes);
  if (e_.model->objective() != models::objective::custom) total.accuracy = static_cast<double>(correct) / n;
  switch (e_.model->objective()) {
    case models::objective::squared_error: total.rmse = std::sqrt(squared / n); break;
    case models::objective::logistic: total.auc = area_under_curve(std::move(odds)); break;
    case models::objective::categorical: break;
    case models::objective::custom:
      for (std::size_t m = 0; m < custom.size(); ++m) {
        const auto& [name, smaller] = e_.model->metrics()[m];
        if (custom[m].count > 0) total.custom.push_back({name, custom[m].sum / custom[m].count, smaller});
      }
      break;
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

std::vector<participation_bin> evaluation::bins() const {
  constexpr std::size_t most_bins = 10;
  std::vector<std::size_t> items;  // seen clients with a score, by participation
  const auto folded = [&](std::size_t i) { return folded_[i - first_seen_]; };
  for (std::size_t i = first_seen_; i < first_seen_ + folded_.size(); ++i)
    if (counts(i)) items.push_back(i);
  std::ranges::stable_sort(items, {}, folded);
  std::vector<participation_bin> all;
  const auto add = [&](std::size_t first, std::size_t last) {
    const auto metrics = pool(std::span(items).subspan(first, last - first));
    all.push_back({folded(items[first]), folded(items[last - 1]), metrics.clients, metrics});
  };
  const auto untrained = static_cast<std::size_t>(std::ranges::count(items, 0U, folded));
  if (untrained > 0) add(0, untrained);
  const std::size_t parts = most_bins - all.size();
  const std::size_t trained = items.size() - untrained;
  // All clients with the same count are in one bin: that of the first of them in a division into equal parts.
  std::size_t first = untrained;
  std::size_t in_part = 0;
  for (std::size_t i = untrained; i < items.size(); ++i) {
    if (i > untrained && folded(items[i]) == folded(items[i - 1])) continue;
    const std::size_t part_of = (i - untrained) * parts / trained;
    if (part_of != in_part) {
      add(first, i);
      first = i;
      in_part = part_of;
    }
  }
  if (first < items.size()) add(first, items.size());
  return all;
}

evaluation_report evaluation::report() const {
  return {version_,
          pool_group(group::validation),
          pool_group(group::seen),
          pool_group(group::unseen),
          pool_group(group::train),
          bins(),
          by_client_group(),
          unscored()};
}

namespace {

struct named_group {
  std::string_view name;
  std::optional<group_metrics> evaluation_report::*group;
};
constexpr std::array<named_group, 4> named_groups = {{{group_names[0], &evaluation_report::validation},
                                                      {group_names[1], &evaluation_report::seen},
                                                      {group_names[2], &evaluation_report::unseen},
                                                      {group_names[3], &evaluation_report::train}}};

struct known_figure {
  std::string_view name;
  bool smaller_is_better;
  std::optional<double> (*figure)(const group_metrics&);
  std::optional<models::objective> only = std::nullopt;  ///< models that have it; empty: all but custom ones

  [[nodiscard]] bool fits(const models::model* of) const {
    if (of == nullptr || name == "loss") return true;
    return only ? of->objective() == *only : of->objective() != models::objective::custom;
  }
};
constexpr std::array<known_figure, 7> known_figures = {
    {{"rmse", true, [](const group_metrics& of) { return of.rmse; }, models::objective::squared_error},
     {"perplexity", true, [](const group_metrics& of) { return of.perplexity; }, models::objective::next_token},
     {"accuracy", false, [](const group_metrics& of) { return of.accuracy; }},
     {"accuracy_words", false, [](const group_metrics& of) { return of.accuracy_words; },
      models::objective::next_token},
     {"accuracy_no_end", false, [](const group_metrics& of) { return of.accuracy_no_end; },
      models::objective::next_token},
     {"auc", false, [](const group_metrics& of) { return of.auc; }, models::objective::logistic},
     {"loss", true, [](const group_metrics& of) { return std::optional(of.loss); }}}};

/// The parts of a metric's name: its group, null where there is none, and its figure.
std::pair<const named_group*, std::string_view> parts_of(std::string_view name) {
  const auto point = std::min(name.find('.'), name.size());
  const auto* in = std::ranges::find(named_groups, name.substr(0, point), &named_group::name);
  return {in == named_groups.end() ? nullptr : in, name.substr(std::min(point + 1, name.size()))};
}

/// The value of a figure and its direction, where the report has it.
std::optional<named_figure> figure_of(const evaluation_report& report, std::string_view name) {
  const auto [in, what] = parts_of(name);
  if (in == nullptr || !(report.*(in->group))) return std::nullopt;
  const group_metrics& metrics = *(report.*(in->group));
  for (const auto& one : metrics.custom)
    if (one.name == what) return one;
  const auto* known = std::ranges::find(known_figures, what, &known_figure::name);
  const auto value = known == known_figures.end() ? std::nullopt : known->figure(metrics);
  if (!value) return std::nullopt;
  return named_figure{std::string(what), *value, known->smaller_is_better};
}

}  // namespace

std::optional<double> metric_of(const evaluation_report& report, std::string_view name) {
  const auto found = figure_of(report, name);
  return found ? std::optional(found->value) : std::nullopt;
}

bool valid_metric(std::string_view name, const models::model* of) {
  const auto [in, what] = parts_of(name);
  if (in == nullptr) return false;
  const auto* known = std::ranges::find(known_figures, what, &known_figure::name);
  if (known != known_figures.end() && known->fits(of)) return true;
  return of != nullptr && std::ranges::find(of->metrics(), what, &models::model_metric::name) != of->metrics().end();
}

bool smaller_is_better(const evaluation_report& report, std::string_view name) {
  const auto found = figure_of(report, name);
  return found && found->smaller_is_better;
}

bool smaller_is_better(const models::model& of, std::string_view figure) {
  const auto own = of.metrics();
  if (const auto at = std::ranges::find(own, figure, &models::model_metric::name); at != own.end())
    return at->smaller_is_better;
  const auto* known = std::ranges::find(known_figures, figure, &known_figure::name);
  return known != known_figures.end() && known->smaller_is_better;
}

std::string figure_names(const models::model* of) {
  std::vector<std::string_view> fitting;
  if (of != nullptr)
    for (const auto& one : of->metrics()) fitting.push_back(one.name);
  for (const auto& one : known_figures)
    if (one.fits(of)) fitting.push_back(one.name);
  std::string all;
  for (std::size_t i = 0; i < fitting.size(); ++i)
    all.append(i == 0 ? "" : i + 1 == fitting.size() ? " or " : ", ").append(fitting[i]);
  return all;
}

}  // namespace furlong::federated
