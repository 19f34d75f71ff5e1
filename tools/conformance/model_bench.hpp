// A model at work on the examples of one client.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "federated/experiment/experiment.hpp"
#include "federated/experiment/population.hpp"
#include "models/working_set.hpp"

namespace furlong::tools::conformance {

/// A loss, and the gradient by the tensors that were asked for.
struct loss_and_gradient {
  double loss = 0.0;
  std::vector<float> gradient;  ///< of all values of the working set; those of other tensors are zero
};

/// The working set of one client at drawn weights. One thread at a time.
class model_bench {
 public:
  static constexpr std::size_t most_examples = 12;

  /// @param reversed the examples are in reverse order, at the same weights
  model_bench(const federated::experiment& setup, std::uint32_t client, bool reversed = false) : setup_(setup) {
    models::examples scratch;
    const auto loaded = setup.participants->load(client, federated::part::train, scratch);
    std::vector<std::uint32_t> picks(std::min(loaded.size(), most_examples));
    std::iota(picks.begin(), picks.end(), 0U);
    given_.append(loaded, picks);
    federated::initial_private(setup, 0, client, own_);
    set_.gather(*setup.model, setup.parts, shared_, own_, given_.view(), client);
    if (reversed) {
      std::ranges::reverse(picks);
      set_.reorder(picks);
    }
  }

  [[nodiscard]] models::examples_view data() const { return set_.data(); }
  [[nodiscard]] std::size_t size() const { return set_.size(); }
  [[nodiscard]] std::size_t offset(std::size_t tensor) const { return set_.offset(tensor); }
  [[nodiscard]] std::size_t size_of(std::size_t tensor) const { return set_.weights()[tensor].size(); }
  [[nodiscard]] std::span<const models::tensor_view> weights() const { return set_.weights(); }
  /// Adds draws to the trained weights, which are then nowhere special.
  void move_weights() {
    random_stream draws(9, purpose::test);
    for (const auto t : setup_.parts.all_tensors)
      for (std::size_t i = 0; i < size_of(t); ++i)
        set_.values().data[offset(t) + i] += draws.uniform(-largest_draw, largest_draw);
  }
  /// One of the weights, by its position among all.
  [[nodiscard]] float& weight(std::size_t position) { return set_.values().data[position]; }

  /// At the weights, of a batch: those of data(), or others with as many examples and the same features.
  loss_and_gradient gradient(const models::examples_view& batch, std::span<const std::size_t> tensors) {
    loss_and_gradient made{0.0, std::vector<float>(size(), 0.0F)};
    made.loss = set_.gradient(batch, set_.values(), tensors, set_.values_in(made.gradient.data()));
    return made;
  }
  /// A step of SGD on data().
  void step(float rate) {
    set_.train_only(setup_.parts.all_tensors);
    static_cast<void>(set_.step(data(), {.rate = rate}));
  }
  double mean_loss() { return gradient(data(), setup_.parts.all_tensors).loss / static_cast<double>(data().size()); }

  std::vector<float> predictions(const models::examples_view& batch) const {
    std::vector<float> made(batch.size(), 0.0F);
    setup_.model->predict(set_.weights(), batch, made);
    return made;
  }
  models::class_scores scores(const models::examples_view& batch) const {
    models::class_scores made;
    setup_.model->score(set_.weights(), batch, made);
    return made;
  }

 private:
  static constexpr float largest_draw = 0.3F;

  const federated::experiment& setup_;
  models::examples given_;
  models::shared_parameters shared_{federated::initial_model(setup_)};
  models::private_parameters own_{setup_.parts.private_};
  models::working_set set_;
};

}  // namespace furlong::tools::conformance
