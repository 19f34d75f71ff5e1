// The part of a model that one client uses: the rows that its examples name, gathered into small dense tensors, with
// the examples renumbered to match. Computing on it gives the same numbers as computing on the whole model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/large_memory.hpp"
#include "models/delta.hpp"
#include "models/feature_model.hpp"
#include "models/local_step.hpp"
#include "models/model.hpp"
#include "models/parameters.hpp"

namespace furlong::models {

class working_set;

/// Values shaped like all gathered tensors of a model: one buffer, with the offsets of the working set's weights. Valid
/// until the next gather().
struct tensor_values {
  float* data = nullptr;
  const working_set* of = nullptr;
  /// A tensor by its index in the model.
  [[nodiscard]] tensor_view operator[](std::size_t tensor) const;
};

/// to = from, to += factor from, to *= factor and the sum of a b, over these tensors of the model.
void assign(tensor_values target, tensor_values source, std::span<const std::size_t> tensors);
void add(tensor_values target, float factor, tensor_values source, std::span<const std::size_t> tensors);
void scale(tensor_values target, float factor, std::span<const std::size_t> tensors);
[[nodiscard]] double dot(tensor_values a, tensor_values b, std::span<const std::size_t> tensors);

/// A term that is added to the gradient of a step: factor times these values. They may be the weights, which are then
/// those before the step. Only trained tensors have a gradient.
struct gradient_term {
  float factor = 1.0F;
  tensor_values values;
  std::span<const std::size_t> tensors;  ///< of the model
};

/// A reusable workspace: it allocates only for a client with more weights or examples than any before it, and at the
/// first use of momentum, a proximal term, reorder() or reinitialize(). A model's memory for a step is separate
/// (layers/arena.hpp). One thread at a time.
class working_set {
 public:
  /// Gathers the rows that `data` names (and of tables over clients the rows of its owners, or of `client` if the
  /// examples have none). The model, partition and parameters must outlive the use of the result.
  /// @param shared of the shared layout, or of one that begins with it
  /// @param all_rows also gathers all other rows, after those that the examples name
  /// @param later examples whose rows are gathered after those of `data`, and which are not kept: for renumber()
  void gather(const model& implementation, const partition& parts, const shared_parameters& shared,
              const private_parameters& own, const examples_view& data, std::uint32_t client, bool all_rows = false,
              const examples_view& later = {});

  /// The examples given to gather(), their features and owners numbered as rows of weights().
  [[nodiscard]] examples_view data() const { return local_.view(); }
  /// Other examples of the same client, numbered likewise; all their rows must have been gathered.
  void renumber(const examples_view& given, examples& numbered) const;
  /// One view per tensor of the model.
  [[nodiscard]] std::span<const tensor_view> weights() const { return views_; }
  /// The same, as values().
  [[nodiscard]] tensor_values values() { return {weights_.data(), this}; }
  /// Another buffer of size() floats, as values of this shape.
  [[nodiscard]] tensor_values values_in(float* buffer) const { return {buffer, this}; }
  [[nodiscard]] std::size_t size() const { return offsets_.back(); }
  [[nodiscard]] std::size_t offset(std::size_t tensor) const { return offsets_[tensor]; }
  /// The gathered rows of tensors of this kind: local -> global. Those that the examples name come first, in the
  /// order of the examples.
  [[nodiscard]] std::span<const std::uint32_t> rows(row_index index) const;
  /// Gathers the same rows of other parameters, which have the layouts of those given to gather().
  void gather_again(const shared_parameters& shared, const private_parameters& own, tensor_values target) const;

  /// Reorders the examples of data(): example i becomes the former example order[i].
  void reorder(std::span<const std::uint32_t> order);

  /// Selects the tensors (by index in the model) that step() trains, with the buffers that these move
  /// (moved_buffers()); all others are frozen. Resets momentum.
  void train_only(std::span<const std::size_t> tensors);
  /// Sets the stream of dropout until the next gather().
  void drop_by(const random_stream& stream) { noise_ = stream; }
  /// One step on a batch (a slice of data()): returns the sum of its losses before the step. Terms are added in their
  /// order, to every row: the gradient of rows that the batch does not touch is zero.
  double step(const examples_view& batch, const sgd_options& options, std::span<const gradient_term> terms = {});
  /// The gradient of the batch's mean loss by `tensors`, at any weights; rows that the batch does not touch are zero.
  /// `out` also receives the new values of the buffers that these move. Returns the sum of its losses.
  /// @param added a term of the loss in the features of a feature_model; null: none
  double gradient(const examples_view& batch, tensor_values weights, std::span<const std::size_t> tensors,
                  tensor_values out, const feature_loss* added = nullptr);
  /// One view per tensor of the model, of other values than the weights. Valid until the next call.
  [[nodiscard]] std::span<const tensor_view> views(tensor_values values);

  /// Draws a tensor's initial values again.
  void reinitialize(std::size_t tensor, const random_stream& stream);

  /// The update of the shared tensors since gather(); the caller appends the values of added tensors. `shared` must
  /// be the parameters given to gather().
  void difference(const shared_parameters& shared, delta& out) const;
  /// An update's entry for the gathered rows of a tensor of this kind, with values from `value_begin` on.
  [[nodiscard]] delta::piece piece(row_index index, std::size_t value_begin) const;
  /// Writes the private tensors' values; rows that the examples do not name stay unchanged in `out`.
  void copy_private(private_parameters& out) const;
  /// True when every weight is finite.
  [[nodiscard]] bool finite() const;

 private:
  /// The rows of the tensors of one row_index kind.
  struct selection {
    std::vector<std::uint32_t> rows;  ///< local -> global
    std::vector<std::uint32_t> slot;  ///< global -> local, valid where seen == epoch
    std::vector<std::uint32_t> seen;
    std::uint32_t epoch = 0;
    std::vector<std::uint32_t> stamp;  ///< for row_marks
    std::vector<std::uint32_t> touched;
    std::uint32_t now = 0;

    void begin(std::size_t global_rows);
    std::uint32_t local(std::uint32_t global);
    void prepare_marks();
    row_marks next_marks();
  };

  [[nodiscard]] std::uint32_t local_rows(std::size_t tensor) const;
  void select_rows(const examples_view& data, std::uint32_t client, bool all_rows, const examples_view& later);
  void add_proximal(std::size_t tensor);
  void clip_gradient(float longest);
  [[nodiscard]] float rate_of(std::size_t tensor, const sgd_options& options) const;
  void apply(std::size_t tensor, const gradient_views& gradient, const sgd_options& options);
  void apply_adam(std::size_t tensor, const sgd_options& options);

  const model* model_ = nullptr;
  const partition* parts_ = nullptr;
  float proximal_ = 0.0F;
  bool every_row_moves_ = false;
  std::optional<random_stream> noise_;  ///< of dropout

  selection features_;
  selection clients_;
  examples local_;
  examples reordered_;
  std::vector<std::size_t> offsets_;  ///< of each tensor in the buffers below
  large_floats weights_;
  large_floats origin_;  ///< weights at gather(), kept only while a proximal term needs them
  large_floats gradient_;
  large_floats velocity_;       ///< of momentum, or Adam's first moment
  large_floats second_moment_;  ///< Adam's
  std::uint32_t adam_steps_ = 0;
  std::vector<float> redrawn_;  // a whole tensor, while its rows are picked
  std::vector<tensor_view> views_;
  std::vector<float*> targets_;               ///< where each tensor's gradient goes; null: frozen
  std::vector<tensor_view> views_elsewhere_;  // of views()
  std::vector<float*> targets_elsewhere_;
  std::vector<std::size_t> trained_;          ///< without buffers
  std::vector<std::size_t> moved_;            ///< buffers
  std::vector<std::size_t> moved_elsewhere_;  // of gradient()
};

}  // namespace furlong::models
