#include "scenarios/python/problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/large_memory.hpp"
#include "base/random.hpp"
#include "base/shared_memory.hpp"
#include "models/work_scope.hpp"
#include "scenarios/python/fit_request.hpp"
#include "scenarios/python/server_request.hpp"
#include "scenarios/python/step_request.hpp"
#include "scenarios/python/task_request.hpp"
#include "scenarios/python/trainer_pool.hpp"
#include "scenarios/python/trainer_setup.hpp"

namespace furlong::scenarios {

namespace {

/// The round of a step (step_request::round).
std::uint32_t current_round() {
  const auto now = models::work_scope::current();
  const auto done = static_cast<std::uint32_t>(now.version);
  if (now.kind == models::work_kind::other) return 0;
  return now.kind == models::work_kind::evaluation ? done : done + 1;
}

class problem final : public trainer_problem {
 public:
  explicit problem(problem_settings settings, int memory) : trainers_(std::move(settings), memory) {}

  [[nodiscard]] result<void> describe() { return trainers_.describe(); }

  const std::vector<problem_parameter>& parameters() const override { return is().parameters; }
  const std::vector<problem_client>& clients() const override { return is().clients; }
  const std::vector<models::model_metric>& metrics() const override { return is().metrics; }
  const option_values& options() const override { return is().options; }
  const source_code& code() const override { return is().code; }
  const std::string& arithmetic() const override { return is().arithmetic; }
  const std::vector<problem_constant>& constants() const override { return is().constants; }
  const std::vector<std::pair<std::string, std::string>>& aliases() const override { return is().aliases; }
  std::vector<std::string> constant_values() const override;
  result<void> prepare(std::size_t threads) const override { return trainers_.prepare(threads); }
  void rest() const override { trainers_.rest(); }
  std::uint32_t examples() const override { return trainers_.starts().back(); }
  std::uint32_t first_example(std::uint32_t client, std::uint32_t part) const override {
    return trainers_.starts()[std::size_t{client} * 3 + part];
  }
  std::span<const float> initial() const override { return initial_; }
  result<void> read_initial() const override;

  double gradient(tensors weights, numbers examples, std::uint64_t seed, std::span<float* const> out) const override {
    const trainer_pool::borrowed trainer(trainers_);
    const bool dropout = seed != 0;
    const step_request step{weights, examples, dropout ? seed : next_seed(examples), current_round(), dropout, 0, &out};
    const auto answer = call(*trainer, message_kind::gradient, step);
    if (answer.size() != sizeof(double)) throw trainers_.failed(not_understood("a gradient has no loss"));
    step.read_copies((*trainer).copies);
    double loss = 0.0;
    std::memcpy(&loss, answer.data(), sizeof loss);
    return loss;
  }

  models::phase_result fit(const models::training_phase& phase) const override {
    const auto starts = trainers_.starts();
    const auto client = static_cast<std::uint32_t>(part_of(starts, phase.examples.front()) / 3);
    refuse_mixed(phase.examples);
    const trainer_pool::borrowed trainer(trainers_);
    const fit_request request{phase, is().parameters, current_round()};
    const auto answer = trainers_.call(*trainer, message_kind::fit, client, [&](worker& receiver) {
      request.write(starts, receiver.request, receiver.copies);
    });
    models::phase_result done;
    if (answer.size() != 32) throw trainers_.failed(not_understood("a phase of training has no figures"));
    std::memcpy(&done.loss_sum, answer.data(), 8);
    std::memcpy(&done.examples, answer.data() + 8, 8);
    std::memcpy(&done.steps, answer.data() + 16, 8);
    std::memcpy(&done.rates, answer.data() + 24, 8);
    if (done.examples == 0 || done.steps == 0 || !(done.rates >= 0.0 && std::isfinite(done.rates)))
      throw trainers_.failed(not_understood("a phase of training has no steps, or no learning rates"));
    request.read_copies((*trainer).copies);
    return done;
  }
  bool fits() const override { return is().fits; }
  bool takes_plain_steps() const override { return is().plain; }
  bool has_gradient() const override { return is().has_gradient; }

  void score(tensors weights, numbers examples, std::uint32_t batch_size, models::class_scores& scores) const override {
    const trainer_pool::borrowed trainer(trainers_);
    const step_request step{
        .weights = weights, .examples = examples, .round = current_round(), .batch_size = batch_size};
    add_figures(text_of(call(*trainer, message_kind::evaluate, step)), examples.size(), scores);
  }
  bool scores_clients() const override { return is().scores_clients; }
  void add_figures(std::string_view said, std::size_t examples, models::class_scores& scores) const override;

  const algorithm_description* algorithm() const override { return is().algorithm ? &*is().algorithm : nullptr; }
  task_figures train(const task_request& task) const override;
  personal_answer personalize(const task_request& task) const override;
  bool step(const server_request& server) const override;
  std::vector<std::uint64_t> costs(const std::string& settings, numbers sizes) const override;

  bool predicts() const override { return is().predicts; }
  bool has_labels() const override { return is().has_labels; }
  std::string predict(tensors weights, numbers examples) const override {
    return text_answer(message_kind::predict, {weights, examples});
  }
  std::string labels(tensors weights, numbers examples) const override {
    return text_answer(message_kind::labels, {weights, examples});
  }

 private:
  /// Of a step that has no stream of dropout: the same in whatever order clients are worked on.
  [[nodiscard]] std::uint64_t next_seed(numbers examples) const {
    constexpr std::uint32_t first = 3U << 20U;  // apart from the streams of dropout
    const auto now = models::work_scope::current();
    const auto kind = static_cast<std::uint32_t>(now.kind) << 20U;
    const auto client = static_cast<std::uint32_t>(part_of(trainers_.starts(), examples.front()) / 3);
    random_stream draws(trainers_.settings().seed, purpose::dropout, static_cast<std::uint32_t>(now.version), client,
                        first + kind + models::work_scope::next_draw());
    const std::uint64_t high = draws();
    return std::max<std::uint64_t>(high << 32U | draws(), 1);
  }
  /// A request names examples of one part of one client by their numbers in it.
  void refuse_mixed(numbers examples) const {
    if (!is_of_one_part(trainers_.starts(), examples))
      throw trainers_.failed({error::kind::runtime, "algorithm.kind",
                              "works on examples of several clients or parts at once",
                              "a class trains one part of one client: choose another algorithm"});
  }
  [[nodiscard]] std::string text_answer(message_kind kind, const step_request& step) const {
    const trainer_pool::borrowed trainer(trainers_);
    return std::string(text_of(call(*trainer, kind, step)));
  }
  static std::string_view text_of(std::span<const std::byte> answer) {
    return {reinterpret_cast<const char*>(answer.data()), answer.size()};
  }
  [[nodiscard]] const problem_description& is() const { return trainers_.description(); }
  std::span<const std::byte> call(worker& trainer, message_kind kind, const step_request& step) const {
    const auto starts = trainers_.starts();
    const auto client = static_cast<std::uint32_t>(part_of(starts, step.examples.front()) / 3);
    return trainers_.call(trainer, kind, client,
                          [&](worker& receiver) { step.write(starts, receiver.request, receiver.copies); });
  }

  mutable trainer_pool trainers_;
  mutable std::vector<float> initial_;  ///< written before the problem is shared
};

void problem::add_figures(std::string_view said, std::size_t examples, models::class_scores& scores) const {
  std::vector<double> figures(said.size() / sizeof(double));
  std::memcpy(figures.data(), said.data(), figures.size() * sizeof(double));
  if (figures.size() != 2 + 2 * is().metrics.size() || figures[1] != static_cast<double>(examples))
    throw trainers_.failed(not_understood("an evaluation has other figures than the problem's metrics"));
  scores.loss += figures[0];
  scores.predictions += examples;
  scores.metrics.resize(is().metrics.size());
  for (std::size_t i = 0; i < is().metrics.size(); ++i) {
    scores.metrics[i].sum += figures[2 + 2 * i];
    scores.metrics[i].count += figures[3 + 2 * i];
  }
}

task_figures problem::train(const task_request& task) const {
  refuse_mixed(task.examples);
  const trainer_pool::borrowed trainer(trainers_);
  const auto answer = trainers_.call(*trainer, message_kind::train, task.client, [&](worker& receiver) {
    task.write(trainers_.starts(), current_round(), receiver.request, receiver.copies);
  });
  task_figures done;
  if (answer.size() != 24) throw trainers_.failed(not_understood("a task has no figures"));
  std::memcpy(&done.loss_sum, answer.data(), 8);
  std::memcpy(&done.weight, answer.data() + 8, 8);
  std::memcpy(&done.examples, answer.data() + 16, 8);
  task.read_copies((*trainer).copies);
  return done;
}

personal_answer problem::personalize(const task_request& task) const {
  if (!task.examples.empty()) refuse_mixed(task.examples);
  const trainer_pool::borrowed trainer(trainers_);
  const auto answer = trainers_.call(*trainer, message_kind::personalize, task.client, [&](worker& receiver) {
    task.write(trainers_.starts(), current_round(), receiver.request, receiver.copies);
  });
  std::uint32_t source = UINT32_MAX;
  if (answer.size() >= sizeof source) std::memcpy(&source, answer.data(), sizeof source);
  if (source > static_cast<std::uint32_t>(federated::personal_source::tuned))
    throw trainers_.failed(not_understood("a personalization does not say where its values are from"));
  task.read_copies((*trainer).copies);
  return {static_cast<federated::personal_source>(source), std::string(text_of(answer.subspan(sizeof source)))};
}

bool problem::step(const server_request& server) const {
  const trainer_pool::borrowed trainer(trainers_);
  const auto answer = trainers_.call(*trainer, message_kind::step, trainer_pool::no_client, [&](worker& receiver) {
    server.write(current_round(), receiver.request, receiver.copies);
  });
  std::uint32_t optimized = UINT32_MAX;
  if (answer.size() == sizeof optimized) std::memcpy(&optimized, answer.data(), sizeof optimized);
  if (optimized > 1) throw trainers_.failed(not_understood("a step does not say what it has written"));
  server.read_copies((*trainer).copies);
  return optimized == 1;
}

std::vector<std::uint64_t> problem::costs(const std::string& settings, numbers sizes) const {
  using nlohmann::json;
  const trainer_pool::borrowed with(trainers_);
  auto& trainer = *with;
  if (auto ready = trainers_.wake(trainer); !ready) throw models::model_failure(ready.error());
  trainer.request.clear();
  const auto asked =
      json{{"settings", json::parse(settings)}, {"sizes", std::vector(sizes.begin(), sizes.end())}}.dump();
  trainer.request.put(std::span<const char>(asked));
  if (const auto why = trainers_.ask(trainer, message_kind::costs)) throw models::model_failure(*why);
  const auto said = json::parse(text_of(trainer.process.answer()), nullptr, false);
  const auto is_cost = [](const json& one) { return one.is_number_unsigned(); };
  if (!said.is_array() || said.size() != sizes.size() || !std::ranges::all_of(said, is_cost))
    throw models::model_failure(not_understood("the costs of tasks are not one number for each size"));
  return said.get<std::vector<std::uint64_t>>();
}

result<void> problem::read_initial() const {
  if (!initial_.empty()) return {};
  const trainer_pool::borrowed with(trainers_);
  auto& trainer = *with;
  if (auto ready = trainers_.wake(trainer); !ready) return ready;
  std::size_t size = 0;
  for (const auto& parameter : is().parameters) {
    std::size_t count = 1;
    for (const auto extent : parameter.shape) count *= extent;
    size += count;
  }
  large_floats values(size);
  const auto offset = shared_offset(values.data());
  if (size == 0 || !offset) return tl::unexpected(not_understood("the problem has no parameters"));
  trainer.request.clear();
  trainer.request.put(*offset);
  if (auto why = trainers_.ask(trainer, message_kind::initial)) return tl::unexpected(*why);
  initial_.assign(values.begin(), values.end());
  return {};
}

std::vector<std::string> problem::constant_values() const {
  const auto& constants = is().constants;
  const auto starts = constant_starts(constants);
  if (starts.back() == 0) return std::vector<std::string>(constants.size());
  const trainer_pool::borrowed with(trainers_);
  if (auto ready = trainers_.wake(*with); !ready) throw models::model_failure(ready.error());
  std::vector<std::string> values;
  for (std::size_t i = 0; i < constants.size(); ++i)
    values.emplace_back(trainers_.constants() + starts[i],
                        static_cast<std::size_t>(count_of(constants[i].shape)) * constants[i].type->bytes);
  return values;
}

}  // namespace

result<std::shared_ptr<const trainer_problem>> trainer_problem::describe(const problem_settings& settings) {
  const int memory = share_large_memory();
  if (memory < 0)
    return fail(error::kind::runtime, "python.problem", "no memory can be shared with trainers",
                "raise the limits of address space and of file size (ulimit -v, -f)");
  auto made = std::make_shared<problem>(settings, memory);
  if (auto described = made->describe(); !described) return tl::unexpected(described.error());
  return made;
}

}  // namespace furlong::scenarios
