// A model whose parameters, losses and gradients are those of a Python class.
#include <algorithm>
#include <optional>

#include "scenarios/python/problem.hpp"

namespace furlong::scenarios {

namespace {

/// Matrices as layouts have them: a vector is one row, further dimensions are columns.
models::layout_ptr layout_of(const trainer_problem& problem) {
  std::vector<models::tensor_spec> specs;
  for (const auto& parameter : problem.parameters()) {
    models::tensor_spec spec{.name = parameter.name, .exact = parameter.buffer, .buffer = parameter.buffer};
    if (parameter.shape.size() > 1) spec.rows = parameter.shape.front();
    for (std::size_t i = parameter.shape.size() > 1 ? 1 : 0; i < parameter.shape.size(); ++i)
      spec.cols *= parameter.shape[i];
    specs.push_back(std::move(spec));
  }
  return std::make_shared<const models::layout>(std::move(specs));
}

/// Phases of training by trainers: fit() of the class, or the package's, which does what the step of a model's local
/// optimizer does.
class python_loop final : public models::training_loop {
 public:
  explicit python_loop(std::shared_ptr<const trainer_problem> problem) : problem_(std::move(problem)) {}
  models::phase_result run(const models::training_phase& phase) const override { return problem_->fit(phase); }
  bool takes_plain_steps() const override { return !problem_->fits() || problem_->takes_plain_steps(); }

 private:
  std::shared_ptr<const trainer_problem> problem_;
};

class python_model final : public models::model {
 public:
  python_model(std::shared_ptr<const trainer_problem> problem, bool loops)
      : problem_(std::move(problem)), tensors_(layout_of(*problem_)) {
    if (loops || problem_->fits()) loop_.emplace(problem_);
  }

  std::string_view kind() const override { return "python"; }
  const models::layout_ptr& tensors() const override { return tensors_; }
  models::objective objective() const override { return models::objective::custom; }
  bool may_fail() const override { return true; }
  const models::training_loop* own_loop() const override { return loop_ ? &*loop_ : nullptr; }
  bool has_gradient() const override { return problem_->has_gradient(); }
  std::span<const models::model_metric> metrics() const override { return problem_->metrics(); }

  void initialize(std::size_t tensor, random_stream, std::span<float> values) const override {
    std::ranges::copy(problem_->initial().subspan(tensors_->offset(tensor), values.size()), values.begin());
  }

  double gradient(std::span<const models::tensor_view> weights, const models::examples_view& batch,
                  models::gradient_views& out) const override {
    std::uint64_t seed = 0;
    if (out.noise != nullptr) {
      seed = (*out.noise)();
      seed = seed << 32U | (*out.noise)();
      seed = std::max<std::uint64_t>(seed, 1);  // 0 means no dropout
    }
    return problem_->gradient(weights, batch.features, seed, out.data);
  }

  /// The most that a number can say of an example; predictions in full are trainer_problem::predict's.
  void predict(std::span<const models::tensor_view>, const models::examples_view&,
               std::span<float> out) const override {
    std::ranges::fill(out, 0.0F);
  }

  void score(std::span<const models::tensor_view> weights, const models::examples_view& batch,
             models::class_scores& scores) const override {
    problem_->score(weights, batch.features, 0, scores);
  }
  void score_in_batches(std::span<const models::tensor_view> weights, const models::examples_view& examples,
                        std::uint32_t batch_size, models::class_scores& scores) const override {
    if (!problem_->scores_clients()) return model::score_in_batches(weights, examples, batch_size, scores);
    problem_->score(weights, examples.features, batch_size, scores);
  }

 private:
  std::shared_ptr<const trainer_problem> problem_;
  models::layout_ptr tensors_;
  std::optional<python_loop> loop_;  ///< none: steps by gradient()
};

}  // namespace

std::shared_ptr<const models::model> model_of(std::shared_ptr<const trainer_problem> problem, bool loops) {
  return std::make_shared<const python_model>(std::move(problem), loops);
}

}  // namespace furlong::scenarios
