#include "federated/evaluation/client_scorer.hpp"

#include <algorithm>
#include <cmath>

#include "federated/aggregation/contracts.hpp"
#include "federated/attack/attack.hpp"
#include "federated/client/personalization.hpp"
#include "federated/client/scored_examples.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/attack.hpp"
#include "federated/settings/evaluation.hpp"
#include "models/logistic.hpp"
#include "models/work_scope.hpp"

namespace furlong::federated {

namespace {

/// Whether a stored value counts for the rows that a client's train part names, and no others.
bool keeps_rows_of_examples(const experiment& e) {
  return std::ranges::any_of(e.groups, [](const placed_group& group) {
    return group.where == place::kept && group.first == first_value::received;
  });
}

/// The sum of the squared differences from the mean.
double spread_of(std::span<const float> labels) {
  double sum = 0.0;
  for (const float label : labels) sum += static_cast<double>(label);
  const double mean = labels.empty() ? 0.0 : sum / static_cast<double>(labels.size());
  double spread = 0.0;
  for (const float label : labels) spread += (static_cast<double>(label) - mean) * (static_cast<double>(label) - mean);
  return spread;
}

}  // namespace

client_scorer::client_scorer(const experiment& e, const models::shared_parameters& model, std::uint64_t version,
                             private_store* store)
    : e_(e),
      model_(model),
      version_(version),
      store_(store),
      validation_is_unseen_(!e.clients->unseen_validation().empty()) {
  if (e.model->objective() == models::objective::ranking)
    ranking_.emplace(item_ranking{item_scores(e, model), ranking::client_ranking(e)});
  if (const auto* attack = e.settings.attack->entry; attack != nullptr && attack->has_success())
    attack_.emplace(e, model);
}

void client_scorer::exclude(std::vector<std::uint32_t> clients) {
  excluded_ = std::move(clients);
  std::ranges::sort(excluded_);
}

bool client_scorer::reads_private(std::uint32_t client) const {
  return store_ != nullptr && e_.settings.algorithm->traits.keeps_state &&
         !std::ranges::binary_search(excluded_, client);
}

result<bool> client_scorer::load_private(std::uint32_t client, workspace& use) const {
  if (use.own.shape() != e_.parts.private_) use.own = models::private_parameters(e_.parts.private_);
  if (reads_private(client)) {
    auto found = store_->load(client, use.own);
    if (!found || *found) return found;
  }
  initial_private(e_, 0, client, use.own);
  return false;
}

void client_scorer::add_predictions(const models::examples_view& batch, workspace& use, client_score& out) const {
  use.predictions.resize(batch.size());
  e_.model->predict(use.weights.weights(), batch, use.predictions);
  const auto& settings = *e_.settings.evaluation;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    float guess = use.predictions[i];
    const float label = batch.labels[i];
    if (e_.model->objective() == models::objective::logistic) {
      out.loss += models::logistic_loss(guess, label);
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

/// Batch by batch: the activations of a sequence model take much more room than its examples.
void client_scorer::add_scores(const models::examples_view& asked, workspace& use, client_score& out) const {
  const auto kind = e_.model->objective();
  const bool by_model = kind != models::objective::squared_error && kind != models::objective::logistic;
  const auto batch_size = e_.settings.evaluation->batch_size;
  models::class_scores sums;
  if (by_model) {
    e_.model->score_in_batches(use.weights.weights(), asked, batch_size, sums);
  } else {
    cut_batches(0, static_cast<std::uint32_t>(asked.size()), batch_size, use.batches);
    for (const auto& range : use.batches) add_predictions(asked.slice(range.first, range.last), use, out);
  }
  if (kind == models::objective::squared_error) out.spread = spread_of(asked.labels);
  add_sums(sums, out);
}

void client_scorer::add_sums(const models::class_scores& sums, client_score& out) {
  out.loss += sums.loss;
  out.correct += sums.correct;
  out.examples += sums.predictions;
  out.words += sums.words;
  out.words_correct += sums.words_correct;
  out.inside += sums.inside;
  out.inside_correct += sums.inside_correct;
  out.metrics.resize(std::max(out.metrics.size(), sums.metrics.size()));
  for (std::size_t i = 0; i < sums.metrics.size(); ++i) out.metrics[i].add(sums.metrics[i]);
}

void client_scorer::score_examples(group scored, std::uint32_t client, const client_kind& kind,
                                   const models::examples_view& known, const models::examples_view& asked,
                                   workspace& use, client_score& out) const {
  score_prediction(scored, client, kind, known, asked, use, out);
  if (attack_ && is_finite(out)) attack_->add(scored, client, kind, known, asked, use, out);
}

void client_scorer::score_prediction(group scored, std::uint32_t client, const client_kind& kind,
                                     const models::examples_view& known, const models::examples_view& asked,
                                     workspace& use, client_score& out) const {
  if (ranking_) {
    use.item_scores.resize(e_.clients->facts().features);
    static_cast<void>(ranking_->scores.score(client, kind, known, use, use.item_scores));
    return ranking_->ranking.score(scored, client, asked.features, use.item_scores, out);
  }
  use.weights.gather(*e_.model, e_.parts, model_, use.own, known, client, false, asked);
  personal_task task(e_, model_, client, use, kind.has_state);
  const auto& algorithm = *e_.settings.algorithm->does;
  models::class_scores sums;
  const bool is_scored = ask_algorithm(e_, "in the scoring of client", client, [&] {
    if (algorithm.score(task, kind, asked, sums)) return true;
    static_cast<void>(algorithm.personalize(task, kind));
    return false;
  });
  if (is_scored) return add_sums(sums, out);
  models::examples questions;
  use.weights.renumber(asked, questions);
  add_scores(questions.view(), use, out);
}

result<void> client_scorer::score_seen(group in, std::uint32_t client, workspace& use, client_score& out) const {
  models::examples scratch;
  const auto test = e_.clients->load(client, scored_part(*e_.clients, in, client), scratch);
  if (test.size() == 0) return {};
  auto stored = load_private(client, use);
  if (!stored) return tl::unexpected(stored.error());
  const client_kind who{.trains = true, .has_state = *stored};
  const bool needs_own =
      e_.settings.algorithm->does->personalizes_from_examples(e_, who) || (who.has_state && keeps_rows_of_examples(e_));
  const auto own = needs_own ? e_.clients->load(client, part::train, use.data) : models::examples_view();
  score_examples(in, client, who, own, test, use, out);
  return {};
}

void client_scorer::score_unseen(group scored, std::uint32_t client, workspace& use, client_score& out) const {
  const auto examples = split_held_out(e_, scored, client);
  if (examples.asked.labels.empty()) return;
  if (use.own.shape() != e_.parts.private_) use.own = models::private_parameters(e_.parts.private_);
  initial_private(e_, 0, client, use.own);
  score_examples(scored, client, {.trains = false}, examples.known.view(), examples.asked.view(), use, out);
}

result<client_score> client_scorer::score(group in, std::uint32_t client, workspace& use) const try {
  const models::work_scope scope(models::work_kind::evaluation, version_);
  client_score score;
  if (in == group::seen || in == group::train || (in == group::validation && !validation_is_unseen_)) {
    if (auto done = score_seen(in, client, use, score); !done) return tl::unexpected(done.error());
  } else {
    score_unseen(in, client, use, score);
  }
  return score;
} catch (const models::broken_part& broken) {
  return tl::unexpected(broken.why);
} catch (const models::model_failure& failed) {
  if (failed.why.what == error::kind::data) return failed_score();  // of this client alone: the run goes on without it
  auto why = failed.why;
  why.what = error::kind::model;
  return tl::unexpected(std::move(why));
}

}  // namespace furlong::federated
