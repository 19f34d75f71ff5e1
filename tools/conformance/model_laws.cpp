// Laws of models, on the examples of one client at values that are drawn beside the initial ones.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>

#include "federated/experiment/population.hpp"
#include "models/logistic.hpp"
#include "tools/conformance/laws.hpp"
#include "tools/conformance/model_bench.hpp"

namespace furlong::tools::conformance {

namespace {

using federated::part;
using models::examples_view;
using models::objective;

constexpr std::size_t slopes_of_tensor = 12;
constexpr float long_step = 1e-2F;
constexpr float short_step = 1e-3F;
constexpr float step_rate = 0.5F;

bool is_close(double first, double second, double tolerance) {
  return std::abs(first - second) <= tolerance * (1.0 + std::abs(first));
}

class model_trial {
 public:
  explicit model_trial(const federated::experiment& setup)
      : setup_(setup), model_(*setup.model), client_(client_of(setup)), bench_(setup, client_) {
    bench_.move_weights();
  }

  /// At the initial values and at the drawn ones.
  [[nodiscard]] std::string fault_of_values() {
    model_bench initial(setup_, client_);
    for (auto* bench : {&initial, &bench_}) {
      const auto [loss, gradient] = bench->gradient(bench->data(), setup_.parts.all_tensors);
      if (!std::isfinite(loss)) return "the loss is not finite";
      if (!std::ranges::all_of(gradient, [](float value) { return std::isfinite(value); }))
        return "the gradient is not finite";
      if (!predicts()) continue;
      const auto predicted = bench->predictions(bench->data());
      if (!std::ranges::all_of(predicted, [](float value) { return std::isfinite(value); }))
        return "a prediction is not finite";
    }
    return {};
  }

  [[nodiscard]] std::string fault_of_gradient() {
    const auto written = bench_.gradient(bench_.data(), setup_.parts.all_tensors).gradient;
    for (const auto t : setup_.parts.all_tensors) {
      const auto count = bench_.size_of(t);
      const auto stride = std::max<std::size_t>(1, count / slopes_of_tensor);
      for (std::size_t i = 0; i < count; i += stride)
        if (auto fault = fault_of_slope(bench_.offset(t) + i, written[bench_.offset(t) + i]); !fault.empty())
          return fmt::format("by value {} of {}, {}", i, (*setup_.parts.model)[t].name, fault);
    }
    return {};
  }

  /// A step moves the rows that the model has marked, and each once.
  [[nodiscard]] std::string fault_of_marks() {
    model_bench stepped(setup_, client_);
    stepped.move_weights();
    const auto written = stepped.gradient(stepped.data(), setup_.parts.all_tensors).gradient;
    stepped.step(step_rate);
    for (const auto t : setup_.parts.all_tensors)
      for (std::size_t i = bench_.offset(t); i < bench_.offset(t) + bench_.size_of(t); ++i) {
        const double moved = static_cast<double>(bench_.weight(i)) - static_cast<double>(stepped.weight(i));
        const double expected = static_cast<double>(step_rate) * static_cast<double>(written[i]);
        if (!is_close(moved, expected, 1e-4))
          return fmt::format("a step of rate {} moves value {} of {} by {}, and its gradient is {}", step_rate,
                             i - bench_.offset(t), (*setup_.parts.model)[t].name, -moved, written[i]);
      }
    return {};
  }

  [[nodiscard]] std::string fault_of_frozen_tensors() {
    const auto together = bench_.gradient(bench_.data(), setup_.parts.all_tensors);
    for (const auto t : setup_.parts.all_tensors) {
      const auto& name = (*setup_.parts.model)[t].name;
      const auto alone = bench_.gradient(bench_.data(), std::span(&t, 1));
      if (!is_close(together.loss, alone.loss, 1e-5))
        return fmt::format("the loss is {}, and {} when all tensors but {} are frozen", together.loss, alone.loss,
                           name);
      for (std::size_t i = bench_.offset(t); i < bench_.offset(t) + bench_.size_of(t); ++i)
        if (!is_close(static_cast<double>(together.gradient[i]), static_cast<double>(alone.gradient[i]), 1e-5))
          return fmt::format("the gradient by value {} of {} is {}, and {} when the others are frozen",
                             i - bench_.offset(t), name, together.gradient[i], alone.gradient[i]);
    }
    return {};
  }

  /// What the loss has beside that of the predictions, a penalty on the weights, cannot depend on labels.
  [[nodiscard]] verdict examine_loss() {
    if (!setup_.parts.buffers.empty()) return skipped("it has buffers, so losses of training are others");
    switch (model_.objective()) {
      case objective::custom: return skipped("it has a loss of its own");
      case objective::ranking: return skipped("its loss is of interactions and what is drawn beside them");
      case objective::next_token: return kept_unless(fault_of_token_loss());
      case objective::squared_error:
      case objective::logistic:
      case objective::categorical: break;
    }
    const auto data = bench_.data();
    std::vector<float> labels(data.labels.begin(), data.labels.end());
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = other_label(labels[i], i);
    auto relabelled = data;
    relabelled.labels = labels;
    const double penalty = excess_loss(data);
    const double shifted = excess_loss(relabelled);
    const double loss = bench_.gradient(data, setup_.parts.all_tensors).loss;
    if (std::abs(penalty - shifted) <= 1e-4 * (1.0 + std::abs(loss))) return {};
    return kept_unless(
        fmt::format("the loss of {} examples exceeds that of the predictions by {:.6g}, and with other "
                    "labels by {:.6g}",
                    data.size(), penalty, shifted));
  }

  [[nodiscard]] std::string fault_of_batches() {
    const auto data = bench_.data();
    if (!predicts()) return fault_of_batched_scores();
    const auto together = bench_.predictions(data);
    for (std::size_t i = 0; i < data.size(); ++i)
      if (const auto alone = bench_.predictions(data.slice(i, i + 1))[0];
          !is_close(static_cast<double>(together[i]), static_cast<double>(alone), 1e-4))
        return fmt::format("example {} is predicted as {}, and alone as {}", i, together[i], alone);
    return {};
  }

  [[nodiscard]] std::string fault_of_example_order() {
    model_bench reversed(setup_, client_, true);
    reversed.move_weights();
    const auto first = bench_.gradient(bench_.data(), setup_.parts.all_tensors);
    const auto second = reversed.gradient(reversed.data(), setup_.parts.all_tensors);
    if (!is_close(first.loss, second.loss, 1e-4))
      return fmt::format("the loss is {}, and {} with the examples in reverse order", first.loss, second.loss);
    for (const auto t : setup_.parts.all_tensors)
      for (std::size_t i = bench_.offset(t); i < bench_.offset(t) + bench_.size_of(t); ++i)
        if (!is_close(static_cast<double>(first.gradient[i]), static_cast<double>(second.gradient[i]), 1e-3))
          return fmt::format("the gradient by value {} of {} is {}, and {} with the examples in reverse order",
                             i - bench_.offset(t), (*setup_.parts.model)[t].name, first.gradient[i],
                             second.gradient[i]);
    return {};
  }

  /// Also on other threads, and after other work on the same one.
  [[nodiscard]] std::string fault_of_repetition() {
    const auto first = federated::initial_model(setup_);
    if (const auto second = federated::initial_model(setup_); !std::ranges::equal(first.values(), second.values()))
      return "the initial values are others when they are drawn again";
    const auto expected = bench_.gradient(bench_.data(), setup_.parts.all_tensors);
    constexpr std::size_t threads = 2;
    constexpr int repetitions = 200;
    std::string faults[threads];
    const auto work = [&](std::string& fault) {
      try {
        model_bench bench(setup_, client_);
        bench.move_weights();
        for (int repetition = 0; repetition < repetitions && fault.empty(); ++repetition) {
          static_cast<void>(bench.gradient(bench.data().slice(0, 1), setup_.parts.all_tensors));
          const auto again = bench.gradient(bench.data(), setup_.parts.all_tensors);
          if (again.loss != expected.loss || again.gradient != expected.gradient)
            fault = fmt::format("the loss is {}, and then {}, or the gradient another one", expected.loss, again.loss);
        }
      } catch (const std::exception& thrown) {
        fault = std::string("failed: ") + thrown.what();
      }
    };
    work(faults[0]);
    if (!faults[0].empty()) return faults[0] + " when it is asked for again";
    {
      std::vector<std::jthread> workers;
      for (auto& fault : faults) workers.emplace_back(work, std::ref(fault));
    }
    const auto found = std::ranges::find_if(faults, [](const std::string& fault) { return !fault.empty(); });
    return found == std::end(faults) ? std::string() : *found + " while another thread computes";
  }

  [[nodiscard]] verdict examine_design() {
    bool any = false;
    for (const auto t : setup_.parts.all_tensors) {
      const std::size_t tensors[] = {t};
      if (!predicts() || !model_.affine_in(tensors)) continue;
      any = true;
      if (auto fault = fault_of_design(t); !fault.empty()) return kept_unless(std::move(fault));
    }
    return any ? verdict() : skipped("its predictions are affine in no tensor");
  }

 private:
  static std::uint32_t client_of(const federated::experiment& setup) {
    const auto clients = setup.participants->training();
    std::optional<std::uint32_t> found;
    for (const auto client : clients) {
      const auto count = setup.participants->count(client, part::train);
      if (count > 0 && (!found || count > setup.participants->count(*found, part::train))) found = client;
      if (count >= model_bench::most_examples) break;
    }
    if (!found) throw std::runtime_error("no client has examples to train on");
    return *found;
  }

  /// predict() gives what loss is about.
  [[nodiscard]] bool predicts() const {
    return model_.objective() == objective::squared_error || model_.objective() == objective::logistic;
  }

  double slope_beside(std::size_t position, float step) {
    auto& weight = bench_.weight(position);
    const float before = weight;
    const double here = bench_.mean_loss();
    weight = before + step;
    const double moved = static_cast<double>(weight) - static_cast<double>(before);
    const double there = bench_.mean_loss();
    weight = before;
    return (there - here) / moved;
  }

  /// Near a kink, such as a unit of ReLU at zero, only a shorter step shows the slope, and at the kink it lies between
  /// those of both sides.
  std::string fault_of_slope(std::size_t position, float written) {
    const double slope = (slope_beside(position, long_step) + slope_beside(position, -long_step)) / 2;
    const double tolerance = 2e-3 * (1.0 + std::abs(slope) + 0.1 * std::abs(bench_.mean_loss()));
    const auto given = static_cast<double>(written);
    if (std::abs(slope - given) < tolerance) return {};
    const double right = slope_beside(position, short_step);
    const double left = slope_beside(position, -short_step);
    if (std::min(left, right) - tolerance < given && given < std::max(left, right) + tolerance) return {};
    return fmt::format("the gradient is {:.6g}, and the mean loss has a slope of {:.6g}", given, slope);
  }

  [[nodiscard]] float other_label(float label, std::size_t i) const {
    if (model_.objective() == objective::squared_error) return label + static_cast<float>(1 + i % 3);
    if (model_.objective() == objective::logistic) return 1.0F - label;
    const auto classes = setup_.participants->facts().classes;
    return label + 1 < static_cast<float>(classes) ? label + 1 : 0.0F;
  }

  /// The loss in training minus that of the predictions or scores.
  double excess_loss(const examples_view& batch) {
    const double trained = bench_.gradient(batch, setup_.parts.all_tensors).loss;
    if (!predicts()) return trained - bench_.scores(batch).loss;
    const auto predicted = bench_.predictions(batch);
    double loss = 0.0;
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      const double miss = static_cast<double>(batch.labels[i]) - static_cast<double>(predicted[i]);
      loss += model_.objective() == objective::logistic ? models::logistic_loss(predicted[i], batch.labels[i])
                                                        : miss * miss;
    }
    return trained - loss;
  }

  /// Its mean is over predictions, and a penalty only adds.
  std::string fault_of_token_loss() {
    const auto scored = bench_.scores(bench_.data());
    if (scored.predictions == 0) return "score() counts no predictions";
    const double mean = scored.loss / static_cast<double>(scored.predictions);
    const double trained = bench_.mean_loss();
    if (trained >= mean - 1e-4 * (1.0 + mean)) return {};
    return fmt::format("the mean loss is {:.6g}, and that of the scores {:.6g}", trained, mean);
  }

  std::string fault_of_batched_scores() {
    const auto data = bench_.data();
    const auto together = bench_.scores(data);
    models::class_scores sum;
    for (std::size_t i = 0; i < data.size(); ++i) {
      const auto alone = bench_.scores(data.slice(i, i + 1));
      sum.loss += alone.loss;
      sum.predictions += alone.predictions;
      sum.correct += alone.correct;
    }
    if (is_close(together.loss, sum.loss, 1e-4) && together.predictions == sum.predictions &&
        together.correct == sum.correct)
      return {};
    return fmt::format(
        "the scores of {} examples have a loss of {} and {} predictions, {} of them correct, and one by "
        "one {}, {} and {}",
        data.size(), together.loss, together.predictions, together.correct, sum.loss, sum.predictions, sum.correct);
  }

  std::string fault_of_design(std::size_t tensor) {
    const std::size_t tensors[] = {tensor};
    const auto data = bench_.data();
    const auto width = bench_.size_of(tensor);
    std::vector<float> x(data.size() * width, 0.0F);
    std::vector<float> offset(data.size(), 0.0F);
    model_.affine_design(bench_.weights(), data, tensors, x, offset);
    const auto predicted = bench_.predictions(data);
    for (std::size_t i = 0; i < data.size(); ++i) {
      auto designed = static_cast<double>(offset[i]);
      for (std::size_t j = 0; j < width; ++j)
        designed +=
            static_cast<double>(x[i * width + j]) * static_cast<double>(bench_.weight(bench_.offset(tensor) + j));
      if (!is_close(designed, static_cast<double>(predicted[i]), 1e-4))
        return fmt::format("example {} is predicted as {}, and by affine_design() of {} as {}", i, predicted[i],
                           (*setup_.parts.model)[tensor].name, designed);
    }
    return {};
  }

  const federated::experiment& setup_;
  const models::model& model_;
  std::uint32_t client_;
  model_bench bench_;
};

}  // namespace

findings check_model(const federated::experiment& setup) {
  findings made;
  std::optional<model_trial> trial;
  made.examine({"values", "loss, gradient and predictions are finite, at the initial values and beside them",
                "correct gradient() and predict(), or draw smaller initial values"},
               [&] { return kept_unless(trial.emplace(setup).fault_of_values()); });
  const auto examine = [&](law subject, auto question) {
    made.examine(std::move(subject), [&]() -> verdict {
      if (!trial) return skipped("it computed no gradient");
      if constexpr (std::is_same_v<decltype(((*trial).*question)()), verdict>)
        return ((*trial).*question)();
      else
        return kept_unless(((*trial).*question)());
    });
  };
  examine({"gradient", "gradient() is the derivative of the mean loss by every value",
           "compare gradient() with the loss that it returns"},
          &model_trial::fault_of_gradient);
  examine({"marks", "a step moves every value by its gradient",
           "mark each row when it is written for the first time: a step moves those that are marked"},
          &model_trial::fault_of_marks);
  examine({"frozen-tensors", "freezing a tensor changes nothing for the others",
           "compute what others need from a tensor whose gradient is not wanted"},
          &model_trial::fault_of_frozen_tensors);
  examine({"loss", "the loss in training is that of predict() or score(), but for a penalty on the weights",
           "predict with the weights as the loss does"},
          &model_trial::examine_loss);
  examine({"batches", "an example is predicted and scored among others as it is alone",
           "let predict() and score() keep the examples of a batch apart"},
          &model_trial::fault_of_batches);
  examine({"example-order", "loss and gradient of a batch do not depend on the order of its examples",
           "let gradient() sum over the examples, each with its own features and label"},
          &model_trial::fault_of_example_order);
  examine({"repetition", "a gradient is the same when it is asked for again, on any thread",
           "keep nothing in the model that gradient() writes: all threads share it"},
          &model_trial::fault_of_repetition);
  examine({"design", "affine_design() gives the predictions wherever affine_in() holds",
           "correct affine_design(), or return false in affine_in()"},
          &model_trial::examine_design);
  return made;
}

}  // namespace furlong::tools::conformance
