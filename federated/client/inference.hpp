// Predictions for one person from a trained model.
#pragma once

#include <optional>
#include <vector>

#include "base/function_ref.hpp"
#include "federated/client/client_work.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/private_store.hpp"

namespace furlong::federated {

struct inference {
  std::vector<float> predictions;  ///< one per question, as models::model::predict() says it
  /// Questions x classes, if asked for; empty if the model does not know them (models::class_model).
  std::vector<float> probabilities;
  personal_source source = personal_source::model;
};
/// Predicts every question, for somebody with these examples: for a client with what evaluation scores it with, for
/// somebody new with the tensors of evaluation.reconstruct rebuilt from the examples.
/// @param model as clients get it (sent_model)
/// @param client whose stored values to use, or nothing for somebody new
/// @param store may be null: then nothing is stored
/// @param questions examples like the known ones; their labels are not looked at
[[nodiscard]] result<inference> predict_examples(const experiment& e, const models::shared_parameters& model,
                                                 private_store* store, std::optional<std::uint32_t> client,
                                                 const models::examples_view& known,
                                                 const models::examples_view& questions, bool probabilities = false);
/// The same with one question for every feature (item), in their order.
[[nodiscard]] result<inference> predict_all_features(const experiment& e, const models::shared_parameters& model,
                                                     private_store* store, std::optional<std::uint32_t> client,
                                                     const models::examples_view& known);

/// Takes a person's model: what personalize() made of the task, questions as rows of its weights, and the same
/// questions as the population has them.
using personal_model = function_ref<void(personal_task& task, const client_kind& who,
                                         const models::examples_view& questions, const models::examples_view& asked)>;
/// As predict_examples(), for whatever the model says of the questions.
[[nodiscard]] result<personal_source> with_personal_model(const experiment& e, const models::shared_parameters& model,
                                                          private_store* store, std::optional<std::uint32_t> client,
                                                          const models::examples_view& known,
                                                          const models::examples_view& questions, personal_model then);

}  // namespace furlong::federated
