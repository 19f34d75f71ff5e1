// The part of a model that one client uses: the rows that its examples name, gathered into small dense tensors, with
// the examples renumbered to match. Computing on it gives the same numbers as computing on the whole model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/large_memory.hpp"
#include "models/delta.hpp"
#include "models/local_step.hpp"
#include "models/model.hpp"
#include "models/parameters.hpp"

namespace furlong::models {

/// A reusable workspace: it allocates only for a client with more weights or examples than any before it, and at the
/// first use of momentum, a proximal term, reorder() or reinitialize(). A model's memory for a step is separate
/// (layers/arena.hpp). One thread at a time.
class working_set {
 public:
  /// Gathers the rows that `data` names (and of tables over clients the rows of its owners, or of `client` if the
  /// examples have none). The model, partition and parameters must outlive the use of the result.
  void gather(const model& of, const partition& parts, const shared_parameters& shared, const private_parameters& own,
              const examples_view& data, std::uint32_t client);

  /// The examples given to gather(), their features and owners numbered as rows of weights().
  [[nodiscard]] examples_view data() const { return local_.view(); }
  /// One view per tensor of the model.
  [[nodiscard]] std::span<const tensor_view> weights() const { return views_; }

  /// Reorders the examples of data(): example i becomes the former example order[i].
  void reorder(std::span<const std::uint32_t> order);

  /// Selects the tensors (by index in the model) that step() trains; all others are frozen. Resets momentum.
  void train_only(std::span<const std::size_t> tensors);
  /// Sets the stream of dropout until the next gather().
  void drop_by(const random_stream& stream) { noise_ = stream; }
  /// One step on a batch (a slice of data()): returns the sum of its losses before the step.
  double step(const examples_view& batch, const sgd_options& options);

  /// Draws a tensor's initial values again, keyed by (seed, client).
  void reinitialize(std::size_t tensor, std::uint64_t seed, std::uint32_t client);

  /// The update of the shared tensors since gather(). `shared` must be the parameters given to gather().
  void difference(const shared_parameters& shared, delta& out) const;
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
  void select_rows(const examples_view& data, std::uint32_t client);
  void copy_in(const shared_parameters& shared, const private_parameters& own);
  void add_proximal(std::size_t tensor);
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
  std::vector<float*> targets_;  ///< where each tensor's gradient goes; null: frozen
  std::vector<std::size_t> trained_;
};

}  // namespace furlong::models
