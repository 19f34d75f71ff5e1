// A problem of somebody else's program: a model and the clients' data behind trainers (trainer_process.hpp), which
// compute its losses and gradients. docs/trainer-protocol.md.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "federated/experiment/algorithm.hpp"
#include "models/model.hpp"
#include "scenarios/data/dataset.hpp"
#include "scenarios/parameters/array_file.hpp"

namespace furlong::scenarios {

struct server_request;
struct task_request;

/// The table [python] of a scenario.
struct problem_settings {
  std::string problem;        ///< "FILE.py:CLASS", the file's path absolute
  std::string interpreter;    ///< empty: $FURLONG_PYTHON, else python3
  std::uint32_t workers = 0;  ///< most trainers at work; 0: one for each thread that needs one
  std::uint32_t threads = 1;  ///< of one trainer
  double timeout = 600.0;     ///< seconds for one request
  bool drops_client = false;  ///< a failure is its client's alone (kind data); else of the run (kind runtime)
  std::uint64_t seed = 0;     ///< of the initial values, and of the order of examples
  std::map<std::string, option_value, std::less<>> options = {};  ///< of the class, by name
  std::string profile = {};    ///< the folder that trainers write profiles to; empty: none
  std::string algorithm = {};  ///< "FILE.py:CLASS", the file's path absolute; empty: none
  std::map<std::string, option_value, std::less<>> algorithm_options = {};
  std::vector<std::string> devices = {};  ///< that modules are on, such as "cuda:0", by turns; empty: none

  friend bool operator==(const problem_settings&, const problem_settings&) = default;
};

/// One parameter: float32, C order, any number of dimensions.
struct problem_parameter {
  std::string name;
  std::vector<std::uint32_t> shape;
  bool buffer = false;  ///< moved by the module in training, by no gradient
};

/// An entry of the module's state that stays as it is: a frozen parameter or a buffer.
struct problem_constant {
  std::string name;
  const element_type* type = nullptr;
  std::vector<std::uint32_t> shape;
};

/// One client: its name, and how many examples its train, validation and test parts have.
struct problem_client {
  enum class group_kind : std::uint8_t { train, validation, test };
  std::string name;
  group_kind group = group_kind::train;
  std::array<std::uint32_t, 3> sizes{};
};

/// An algorithm of the same program.
struct algorithm_description {
  option_values options;            ///< of the class, by name, with the values in effect
  std::vector<std::string> groups;  ///< as algorithm.python.groups has them (federated/algorithms/python.cpp)
  std::vector<std::string> traits;  ///< likewise
  bool uses_examples = false;       ///< to predict for a client, beside what it keeps
  bool personalizes = false;        ///< has a personalize() of its own,
  bool has_outputs = false;         ///< an outputs(): predictions are not those of a set of weights,
  bool has_cost = false;            ///< a cost(),
  bool steps = false;               ///< and a step()
};

/// What a task processed.
struct task_figures {
  double loss_sum = 0.0;  ///< of the weight
  std::uint64_t weight = 0;
  std::uint64_t examples = 0;  ///< work, counting repeats
};

/// What a client predicts with, and what it says.
struct personal_answer {
  federated::personal_source source = federated::personal_source::model;
  std::string said;  ///< as what was asked for: nothing, figures or JSON
};

/// A problem, opened. Thread-safe: each call takes a trainer that is free, starts one, or waits. An example is a number
/// below examples(): those of a client's parts follow each other. A trainer that ends during a call is started again
/// and the call repeated: its result does not depend on the trainer. A call that fails throws models::model_failure.
class trainer_problem {
 public:
  using tensors = std::span<const models::tensor_view>;  ///< values of all parameters
  using numbers = std::span<const std::uint32_t>;        ///< of examples

  /// Starts a trainer and asks what the problem is. The same object for settings that were opened before.
  [[nodiscard]] static result<std::shared_ptr<const trainer_problem>> open(const problem_settings& settings);
  /// The same without initial values, with the seed that the class was first opened with.
  [[nodiscard]] static result<std::shared_ptr<const trainer_problem>> outline(const problem_settings& settings);
  /// Starts a trainer for a new object.
  [[nodiscard]] static result<std::shared_ptr<const trainer_problem>> describe(const problem_settings& settings);
  virtual ~trainer_problem() = default;

  [[nodiscard]] virtual const std::vector<problem_parameter>& parameters() const = 0;
  [[nodiscard]] virtual const std::vector<problem_client>& clients() const = 0;
  [[nodiscard]] virtual const std::vector<models::model_metric>& metrics() const = 0;
  [[nodiscard]] virtual std::uint32_t examples() const = 0;
  /// The number of the first example of a client's part.
  [[nodiscard]] virtual std::uint32_t first_example(std::uint32_t client, std::uint32_t part) const = 0;
  /// Initial values of all parameters, one after the other; empty before read_initial().
  [[nodiscard]] virtual std::span<const float> initial() const = 0;
  /// Asks for the initial values, once. open() does.
  [[nodiscard]] virtual result<void> read_initial() const = 0;
  /// The options of the class, by name, with the values in effect.
  [[nodiscard]] virtual const option_values& options() const = 0;
  /// The files of the class.
  [[nodiscard]] virtual const source_code& code() const = 0;
  /// What results depend on besides these, such as "torch 2.4.1, NVIDIA H100"; empty: unknown.
  [[nodiscard]] virtual const std::string& arithmetic() const = 0;
  [[nodiscard]] virtual const std::vector<problem_constant>& constants() const = 0;
  /// Further names of parameters in the module's state, each with the parameter's name.
  [[nodiscard]] virtual const std::vector<std::pair<std::string, std::string>>& aliases() const = 0;
  /// The bytes of each constant, in their order. Throws as gradient().
  [[nodiscard]] virtual std::vector<std::string> constant_values() const = 0;

  /// Opens the trainers that so many threads at work need, all at the same time: else each would be opened by the first
  /// call that finds none free.
  [[nodiscard]] virtual result<void> prepare(std::size_t threads) const = 0;
  /// Ends trainers that do nothing; the next call starts one again.
  virtual void rest() const = 0;

  /// Writes the gradient of the mean loss and the new values of buffers; null: not wanted. Returns the sum of the
  /// losses.
  /// @param seed of dropout and of what else the step draws; 0: without dropout, and drawn from a seed of its own
  virtual double gradient(tensors weights, numbers examples, std::uint64_t seed, std::span<float* const> out) const = 0;
  /// Trains a phase. Returns what the class recorded.
  virtual models::phase_result fit(const models::training_phase& phase) const = 0;
  /// The algorithm that it was opened with; null: none.
  [[nodiscard]] virtual const algorithm_description* algorithm() const = 0;
  /// Trains a client's task by that.
  virtual task_figures train(const task_request& task) const = 0;
  /// Finds what predicts for a client by that, and answers the question.
  virtual personal_answer personalize(const task_request& task) const = 0;
  /// Makes the server's step by that. Whether the change that it wrote is the server optimizer's to apply.
  virtual bool step(const server_request& server) const = 0;
  /// Adds the figures of an answer about the scores of so many examples.
  virtual void add_figures(std::string_view figures, std::size_t examples, models::class_scores& scores) const = 0;
  /// The examples that tasks of clients with so many examples process by that, one for each.
  /// @param settings as in requests of tasks
  [[nodiscard]] virtual std::vector<std::uint64_t> costs(const std::string& settings, numbers sizes) const = 0;
  /// True if the class has a fit() of its own, if that takes plain gradient steps, and if it has a gradient().
  [[nodiscard]] virtual bool fits() const = 0;
  [[nodiscard]] virtual bool takes_plain_steps() const = 0;
  [[nodiscard]] virtual bool has_gradient() const = 0;
  /// Adds losses and metrics of examples of a client.
  /// @param batch_size of the trainer's batches; 0: all examples are one
  virtual void score(tensors weights, numbers examples, std::uint32_t batch_size,
                     models::class_scores& scores) const = 0;
  /// True if some metrics are of all examples of a client that are scored together.
  [[nodiscard]] virtual bool scores_clients() const = 0;
  /// True if the class says that it can predict.
  [[nodiscard]] virtual bool predicts() const = 0;
  /// What the model says of each example, as JSON: a list.
  [[nodiscard]] virtual std::string predict(tensors weights, numbers examples) const = 0;
  /// True if the class may know labels of examples.
  [[nodiscard]] virtual bool has_labels() const = 0;
  /// What a prediction of each example is to be compared with, as JSON: a list, with null where there is nothing.
  [[nodiscard]] virtual std::string labels(tensors weights, numbers examples) const = 0;
};

/// The model of a problem: its tensors are the parameters, and its examples have one feature, their number.
/// @param loops whether trainers compute phases of training though the class has no fit() of its own
[[nodiscard]] std::shared_ptr<const models::model> model_of(std::shared_ptr<const trainer_problem> problem, bool loops);

/// The shape of a tensor: that of the problem's parameter, else rows and columns.
[[nodiscard]] std::vector<std::uint32_t> shape_of(const dataset& data, const models::layout& tensors,
                                                  std::size_t tensor);

}  // namespace furlong::scenarios
