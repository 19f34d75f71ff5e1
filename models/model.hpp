// The interface of a model: named tensors, an initialisation, a loss with its gradient, and predictions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "base/random.hpp"
#include "base/result.hpp"
#include "models/examples.hpp"
#include "models/layout.hpp"
#include "models/tensor_view.hpp"
#include "models/training_loop.hpp"

namespace furlong::models {

/// The rows that the gradient of one batch touches, each listed once.
struct row_marks {
  std::uint32_t* stamp = nullptr;    ///< one per row: equal to `now` when the row is listed
  std::uint32_t* touched = nullptr;  ///< the listed rows, in order of first touch
  std::uint32_t now = 0;
  std::uint32_t count = 0;
};

/// Where a model writes the gradient of a batch, and the new values of buffers. A tensor with a null pointer is frozen:
/// its gradient is not computed.
/// Tensors with row_index::none are overwritten whole. Of the others only touched rows are written: a model marks a row
/// the first time that it writes it, and unmarked rows are unspecified.
struct gradient_views {
  std::span<float* const> data;  ///< one per tensor of the model, shaped like the tensor
  row_marks by_feature;
  row_marks by_client;
  random_stream* noise = nullptr;  ///< the stream of dropout; null: no dropout
};

/// The meaning of predictions, which determines the metrics.
enum class objective {
  squared_error,  ///< a label is a number, a prediction its estimate
  logistic,       ///< a label is 0 or 1, a prediction the log-odds of 1
  categorical,    ///< a label is a class number; scored by score()
  next_token,     ///< an example is a sequence of tokens, each predicted from those before it; scored by score()
  custom,         ///< the model has its own loss and metrics(); scored by score(), labels mean nothing
  ranking         ///< labels are 1: a client's interactions with items; of predictions only their order counts
};

/// True if a prediction is right or wrong, so that there is an accuracy.
[[nodiscard]] constexpr bool has_accuracy(objective kind) {
  return kind != objective::custom && kind != objective::ranking;
}

/// A figure that a model defines itself: a mean, pooled over examples.
struct model_metric {
  std::string name;
  bool smaller_is_better = false;
};

inline constexpr std::size_t most_metrics = 128;     ///< of a score
inline constexpr std::size_t most_own_metrics = 16;  ///< that a model may define

/// What its mean is made of.
struct metric_sum {
  double sum = 0.0;
  double count = 0.0;
  void add(const metric_sum& more) {
    sum += more.sum;
    count += more.count;
  }
  friend bool operator==(const metric_sum&, const metric_sum&) = default;
};

/// Sums over predictions of classes (categorical: one per example; next_token: one per token after the first).
struct class_scores {
  double loss = 0.0;  ///< negative log-likelihoods, in nats
  std::uint64_t predictions = 0;
  std::uint64_t correct = 0;  ///< predictions whose most likely class was right
  /// next_token: those whose target is a word of the vocabulary, neither unknown nor the end.
  std::uint64_t words = 0;
  std::uint64_t words_correct = 0;
  /// next_token: those whose target is not the end; unknown words count.
  std::uint64_t inside = 0;
  std::uint64_t inside_correct = 0;
  std::vector<metric_sum> metrics;  ///< custom: one for each of the model's metrics()
};

/// A model that computes outside of this process could not (model::may_fail). Only such models throw. Of kind data:
/// only for this client, which the run leaves out; else the run ends.
class model_failure : public std::runtime_error {
 public:
  explicit model_failure(error what_failed) : std::runtime_error(what_failed.text()), why(std::move(what_failed)) {}
  error why;
};

/// A part of another library did what it may not do: the run ends, and goes on only with another part.
class broken_part : public model_failure {
 public:
  using model_failure::model_failure;
};

/// Token numbers that every vocabulary has; words follow, the most frequent first.
enum token : std::uint32_t { start_token = 0, end_token = 1, unknown_token = 2, first_word = 3 };

/// A model. Stateless and thread-safe: parameters are arguments. Tensors come as views in the order of tensors();
/// feature ids and owners in examples are row numbers of those views.
class model {
 public:
  virtual ~model() = default;

  [[nodiscard]] virtual std::string_view kind() const = 0;
  [[nodiscard]] virtual const layout_ptr& tensors() const = 0;
  [[nodiscard]] virtual models::objective objective() const = 0;
  /// True if it computes in other processes, and may throw a model_failure.
  [[nodiscard]] virtual bool may_fail() const { return false; }
  /// A loop that computes phases of local training in the place of gradient(); null: there is none. Such a model has
  /// tensors without rows, and examples with one feature each.
  [[nodiscard]] virtual const training_loop* own_loop() const { return nullptr; }
  /// False if there is such a loop alone, and no gradient().
  [[nodiscard]] virtual bool has_gradient() const { return true; }
  /// Ranking: true if gradient() takes pairs, examples of two features each: an item of an interaction, then one
  /// without. Else examples have one feature, and the label 1 or 0.
  [[nodiscard]] virtual bool ranks_pairs() const { return false; }
  /// The figures of a model with a custom objective or of rankings, in addition to its loss.
  [[nodiscard]] virtual std::span<const model_metric> metrics() const { return {}; }

  /// Draws the initial values of one tensor (of the given rows: part of an indexed tensor may be drawn alone).
  virtual void initialize(std::size_t tensor, random_stream stream, std::span<float> values) const = 0;

  /// Writes the gradient of the batch's *mean* loss and returns that mean times the number of its examples. The mean is
  /// over examples; of next_token over all predictions of the batch. The batch has at least one example. In the place
  /// of a buffer's gradient it writes the value that the buffer has after the batch.
  virtual double gradient(std::span<const tensor_view> weights, const examples_view& batch,
                          gradient_views& out) const = 0;

  /// Writes one prediction per example: an estimate (squared error), a log-odds (logistic), a score (ranking: of
  /// examples with one feature), the most likely class (categorical), the most likely token after the example's last
  /// (next_token).
  virtual void predict(std::span<const tensor_view> weights, const examples_view& batch,
                       std::span<float> out) const = 0;

  /// Adds the scores of the batch, for objectives that predict classes. Independent of the batching of examples,
  /// unless the model says otherwise.
  virtual void score(std::span<const tensor_view> /*weights*/, const examples_view& /*batch*/,
                     class_scores& /*to*/) const {}
  /// The same of all examples of a client that are scored, in batches of so many, 0: one batch. Models may have metrics
  /// of all of them together.
  virtual void score_in_batches(std::span<const tensor_view> weights, const examples_view& examples,
                                std::uint32_t batch_size, class_scores& scores) const;

  /// True when predictions are affine in the values of these tensors, all others fixed.
  [[nodiscard]] virtual bool affine_in(std::span<const std::size_t> /*tensors*/) const { return false; }
  /// True when predictions are affine in the rows of these tensors that an example names, all others fixed. All have
  /// rows for features, and an example names one.
  [[nodiscard]] virtual bool affine_in_rows(std::span<const std::size_t> /*tensors*/) const { return false; }
  /// With w the concatenated values of `tensors` (p of them): prediction of example i = offset[i] + sum_j x[i*p+j]
  /// w[j]. Called only where affine_in() holds, or affine_in_rows(), where w has the example's rows; examples all
  /// belong to one client.
  virtual void affine_design(std::span<const tensor_view> /*weights*/, const examples_view& /*batch*/,
                             std::span<const std::size_t> /*tensors*/, std::span<float> /*x*/,
                             std::span<float> /*offset*/) const {}
};

/// The facts about the data that determine a model's shapes.
struct data_facts {
  std::uint32_t features = 0;  ///< feature ids are below this (items, words)
  std::uint32_t clients = 0;   ///< client ids are below this
  models::objective labels = objective::squared_error;
  std::uint32_t classes = 0;  ///< categorical: labels are below this
  std::uint32_t words = 0;    ///< tokens below this are of the vocabulary; features from it on are buckets that unknown
                              ///< words are hashed into, predicted as unknown_token. 0: features are not tokens
};

/// One line of the registry: name, options and builder of a model.
struct model_entry {
  std::string kind;
  std::string doc;
  std::vector<option_spec> options;
  /// Options have been checked against `options`; fails if they do not fit the data.
  std::function<result<std::shared_ptr<const model>>(const option_values&, const data_facts&)> build;
  /// Changes whenever its results may: runs are not resumed, and federations not joined, with another one. One word,
  /// such as "1.2". Empty: that of the program (registered entries), or furlong's (built-in ones).
  std::string version = {};
};

/// What is wrong with a model for these data, for its author: no tensors, without a name of their own or values, fewer
/// rows than features or clients, first values that are not finite. Empty: nothing.
[[nodiscard]] std::string fault_of(const model& made, const data_facts& facts);

/// All models: the built-in ones, then those registered. Must not be called concurrently with register_model().
[[nodiscard]] const std::vector<model_entry>& registered_models();
/// Adds a model of another library; an existing kind is replaced. Call before scenarios are read, from one thread. What
/// it builds is checked: fault_of(). Throws std::invalid_argument when it cannot be built, and as check_options();
/// "kind", "private" and "start_from" are taken.
void register_model(model_entry entry);
/// The entry of a kind, or null.
[[nodiscard]] const model_entry* find_model(std::string_view kind);

}  // namespace furlong::models
