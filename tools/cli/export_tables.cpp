#include "tools/cli/export_tables.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>

#include "base/exact_math.hpp"
#include "federated/client/inference.hpp"
#include "federated/client/personalization.hpp"
#include "federated/client/scored_examples.hpp"
#include "federated/settings/evaluation.hpp"
#include "models/class_model.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "scenarios/data/text_files.hpp"
#include "scenarios/python/algorithm.hpp"
#include "scenarios/python/problem.hpp"
#include "tools/runs/csv.hpp"

namespace furlong::tools {

namespace {

using federated::group;
using federated::part;
using figure_visitor = std::function<void(const std::string& name, const json& value)>;

/// Calls `visitor` for each figure of a round; those within objects have names of several parts. Lists are no figures.
void each_figure(const json& object, const std::string& before, char separator, const figure_visitor& visitor) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object())
      each_figure(value, before + name + separator, separator, visitor);
    else if (!value.is_array())
      visitor(before + name, value);
  }
}

std::string csv_field(const json& value) {
  if (value.is_null()) return {};
  return csv_text(value.is_string() ? value.get<std::string>() : value.dump());
}

/// The entries of a list in JSON.
std::vector<std::string> csv_fields(const std::string& list) {
  std::vector<std::string> fields;
  for (const auto& entry : json::parse(list)) fields.push_back(csv_field(entry));
  return fields;
}

/// How examples are written.
class example_writer {
 public:
  explicit example_writer(const prepared_run& run) : problem_(run.data.problem.get()) {
    models::examples scratch;
    const auto& clients = *run.data.clients;
    const auto any = clients.training().empty() ? 0U : clients.training().front();
    single_ = clients.load(any, part::train, scratch).offsets.empty();
  }

  [[nodiscard]] std::string_view title() const {
    if (problem_ != nullptr) return "example";
    return single_ ? "item" : "features";
  }

  /// @param i number within the view
  /// @param first number of the client's first example of this part, of a problem
  [[nodiscard]] std::string features(const models::examples_view& examples, std::size_t i, std::uint32_t first) const {
    if (problem_ != nullptr) return std::to_string(examples.features[i] - first);
    if (single_) return std::to_string(examples.features[i]);
    std::string text;
    for (auto position = examples.offsets[i]; position < examples.offsets[i + 1]; ++position) {
      if (!text.empty()) text += ' ';
      text += std::to_string(examples.features[position]);
      if (!examples.values.empty()) text += fmt::format(":{}", examples.values[position]);
    }
    return text;
  }
  /// Of a problem's examples only the problem knows the labels.
  [[nodiscard]] std::string label(const models::examples_view& examples, std::size_t i) const {
    return problem_ != nullptr ? std::string() : fmt::format("{}", examples.labels[i]);
  }
  /// Of all these examples. The problem is asked for the labels.
  [[nodiscard]] std::vector<std::string> labels(std::span<const models::tensor_view> weights,
                                                const models::examples_view& examples) const {
    if (problem_ != nullptr && problem_->has_labels()) return csv_fields(problem_->labels(weights, examples.features));
    std::vector<std::string> labels(examples.size());
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = label(examples, i);
    return labels;
  }
  [[nodiscard]] std::uint32_t first(std::uint32_t client, part which) const {
    return problem_ == nullptr ? 0 : problem_->first_example(client, static_cast<std::uint32_t>(which));
  }

 private:
  const scenarios::trainer_problem* problem_;
  bool single_ = true;
};

/// A client's model and what it is asked.
struct asked_model {
  federated::personal_task& task;
  const federated::client_kind& kind;
  const models::examples_view& questions;  ///< as rows of its weights
  const models::examples_view& asked;
  [[nodiscard]] std::span<const models::tensor_view> weights() const { return task.weights().of->weights(); }
};

/// What the model says of questions, as texts.
std::vector<std::string> say(const trained_run& run, const asked_model& model) {
  if (const auto& problem = run.prepared.data.problem; problem != nullptr)
    return csv_fields(scenarios::predict(*problem, model.task, model.kind, model.asked.features));
  const auto weights = model.weights();
  const auto& questions = model.questions;
  std::vector<std::string> said;
  const auto& experiment = run.prepared.experiment;
  std::vector<float> numbers(questions.size());
  experiment.model->predict(weights, questions, numbers);
  const auto kind = experiment.model->objective();
  for (auto number : numbers) {
    if (kind == models::objective::logistic)
      said.push_back(fmt::format("{}", 1.0 / (1.0 + exact::exp(-static_cast<double>(number)))));
    else if (const auto& settings = *experiment.settings.evaluation;
             kind == models::objective::squared_error && settings.clip)
      said.push_back(fmt::format("{}", std::clamp(number, settings.clip_low, settings.clip_high)));
    else
      said.push_back(fmt::format("{}", number));
  }
  return said;
}

/// The numbers of a client's texts in the source, from 0. Equal texts are interchangeable: a model says the same of
/// them.
class row_finder {
 public:
  row_finder(const prepared_run& opened, std::uint32_t client, part which) {
    if (opened.data.texts == nullptr) return;
    models::examples scratch;
    const auto examples = opened.data.clients->load(client, which, scratch);
    const auto rows = opened.data.texts->rows(client, which);
    for (std::size_t i = examples.size(); i-- > 0;) rows_[key(examples, i)].push_back(rows[i]);
  }
  /// The next row of such a text.
  [[nodiscard]] std::string take(const models::examples_view& examples, std::size_t i) {
    const auto found = rows_.find(key(examples, i));
    if (found == rows_.end() || found->second.empty()) return {};
    const auto row = found->second.back();
    found->second.pop_back();
    return std::to_string(row);
  }

 private:
  using text_key = std::pair<std::vector<std::uint32_t>, float>;
  static text_key key(const models::examples_view& examples, std::size_t i) {
    const auto tokens = examples.features.subspan(examples.offsets[i], examples.offsets[i + 1] - examples.offsets[i]);
    return {{tokens.begin(), tokens.end()}, examples.labels[i]};
  }
  std::map<text_key, std::vector<std::uint32_t>> rows_;
};

/// Writes what the model says of scored examples.
class prediction_writer {
 public:
  explicit prediction_writer(const trained_run& run)
      : run_(run),
        examples_(run.prepared),
        classes_(dynamic_cast<const models::class_model*>(run.prepared.experiment.model.get())) {
    if (run.prepared.experiment.model->objective() != models::objective::categorical) classes_ = nullptr;
    out_ = is_sequence() ? "client,group,row,predictions,log_likelihood"
                         : fmt::format("client,group,{},label,prediction", examples_.title());
    if (has_rows() && !is_sequence()) out_ += ",row";
    for (std::uint32_t c = 0; classes_ != nullptr && c < classes_->classes(); ++c)
      out_ += fmt::format(",probability_{}", c);
    out_ += '\n';
  }

  /// @param rows_of the rows of this client's part
  void add(std::uint32_t client, group scored, part which, const asked_model& client_model, row_finder& rows_of) {
    const auto* group = scored == federated::group::seen ? "seen" : "unseen";
    const auto weights = client_model.weights();
    const auto& [task, kind, rows, asked] = client_model;
    const auto& model = *run_.prepared.experiment.model;
    if (is_sequence()) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        models::class_scores score;
        model.score(weights, rows.slice(i, i + 1), score);
        out_ += fmt::format("{},{},{},{},{}\n", client, group, rows_of.take(asked, i), score.predictions, -score.loss);
      }
      return;
    }
    const auto said = say(run_, client_model);
    const auto labels = examples_.labels(weights, asked);
    const std::size_t width = classes_ == nullptr ? 0 : classes_->classes();
    std::vector<float> chances(said.size() * width);
    if (classes_ != nullptr) classes_->probabilities(weights, rows, chances);
    for (std::size_t i = 0; i < said.size(); ++i) {
      out_ += fmt::format("{},{},{},{},{}", client, group, examples_.features(asked, i, examples_.first(client, which)),
                          labels[i], said[i]);
      if (has_rows()) out_ += "," + rows_of.take(asked, i);
      for (std::size_t c = 0; c < width; ++c) out_ += fmt::format(",{}", chances[i * width + c]);
      out_ += '\n';
    }
  }

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  [[nodiscard]] bool is_sequence() const {
    return run_.prepared.experiment.model->objective() == models::objective::next_token;
  }
  [[nodiscard]] bool has_rows() const { return run_.prepared.data.texts != nullptr; }

  const trained_run& run_;
  example_writer examples_;
  const models::class_model* classes_;
  std::string out_;
};

result<std::string> predict_scored(const trained_run& run) {
  const auto& experiment = run.prepared.experiment;
  prediction_writer out(run);
  const auto predict = [&](std::uint32_t client, group scored, part which, const models::examples_view& known,
                           const models::examples_view& questions, row_finder& rows_of) {
    const auto write = [&](auto& task, const auto& kind, const auto& rows, const auto& asked) {
      out.add(client, scored, which, {task, kind, rows, asked}, rows_of);
    };
    return federated::with_personal_model(experiment, run.model, run.store.get(), client, known, questions, write);
  };
  for (const auto client : experiment.clients->training()) {
    models::examples known_scratch;
    models::examples test_scratch;
    const auto test = experiment.clients->load(client, part::test, test_scratch);
    if (test.size() == 0) continue;
    const auto known = experiment.clients->load(client, part::train, known_scratch);
    row_finder rows_of(run.prepared, client, part::test);
    if (auto said = predict(client, group::seen, part::test, known, test, rows_of); !said)
      return tl::unexpected(said.error());
  }
  for (const auto client : experiment.clients->unseen_test()) {
    const auto [scored, known, asked] = federated::split_held_out(experiment, group::unseen, client);
    if (asked.labels.empty()) continue;
    row_finder rows_of(run.prepared, client, scored);
    if (auto said = predict(client, group::unseen, scored, known.view(), asked.view(), rows_of); !said)
      return tl::unexpected(said.error());
  }
  return out.take();
}

}  // namespace

result<std::vector<json>> read_rounds(const run_directory& folder) {
  const auto file = scenarios::mapped_file::open(folder.metrics());
  if (!file) return fail(error::kind::data, file.error().place, file.error().reason, "name the folder of a run");
  std::vector<json> rounds;
  auto rest = file->bytes();
  while (rest.find('\n') != std::string_view::npos) {
    auto round = json::parse(scenarios::next_line(rest), nullptr, false);
    if (!round.is_object() || !round.contains("round"))
      return fail(error::kind::data, folder.metrics().string() + ":" + std::to_string(rounds.size() + 1),
                  "is no round of a run", "restore the file");
    rounds.push_back(std::move(round));
  }
  if (rounds.empty())
    return fail(error::kind::data, folder.metrics().string(), "has no round yet", "let the run go on");
  return rounds;
}

std::string curves_csv(const std::vector<json>& rounds) {
  std::vector<std::string> columns;
  for (const auto& round : rounds)
    each_figure(round, "", '.', [&](const std::string& name, const json&) {
      if (std::ranges::find(columns, name) == columns.end()) columns.push_back(name);
    });
  std::string out;
  for (const auto& name : columns) out += (out.empty() ? "" : ",") + csv_text(name);
  out += '\n';
  for (const auto& round : rounds) {
    std::vector<std::string> row(columns.size());
    each_figure(round, "", '.', [&](const std::string& name, const json& value) {
      row[static_cast<std::size_t>(std::ranges::find(columns, name) - columns.begin())] = csv_field(value);
    });
    for (std::size_t i = 0; i < row.size(); ++i) out += (i == 0 ? "" : ",") + row[i];
    out += '\n';
  }
  return out;
}

std::vector<event_step> curve_steps(const std::vector<json>& rounds) {
  std::vector<event_step> steps;
  for (const auto& round : rounds) {
    auto& step = steps.emplace_back();
    step.wall_time = round.value("ended", 0.0);
    step.step = round["round"].get<std::int64_t>();
    each_figure(round, "", '/', [&](const std::string& name, const json& value) {
      if (value.is_number() && name != "round") step.figures.emplace_back(name, value.get<float>());
    });
  }
  return steps;
}

std::string split_csv(const prepared_run& run) {
  const auto& clients = *run.data.clients;
  const example_writer examples(run);
  std::string out = fmt::format("client,group,part,{},label\n", examples.title());
  const auto write = [&](std::span<const std::uint32_t> group, const char* name) {
    models::examples scratch;
    for (const auto client : group)
      for (const auto which : {part::train, part::validation, part::test}) {
        const auto view = clients.load(client, which, scratch);
        const auto* word = which == part::train ? "train" : which == part::test ? "test" : "validation";
        for (std::size_t i = 0; i < view.size(); ++i)
          out += fmt::format("{},{},{},{},{}\n", client, name, word,
                             examples.features(view, i, examples.first(client, which)), examples.label(view, i));
        scratch.clear();
      }
  };
  write(clients.training(), "train");
  write(clients.unseen_validation(), "validation");
  write(clients.unseen_test(), "test");
  return out;
}

result<std::string> predictions_csv(const trained_run& run) try {
  if (const auto& model = run.prepared.scenario.model; model.has("protocol") && model.text("protocol") == "fedatt-2018")
    return fail(error::kind::usage, "--predictions",
                "the run's model.protocol is \"fedatt-2018\", by which texts are scored together, not one by one",
                "use a run with model.protocol = \"language-model\"");
  if (auto complete = check_private_values(run); !complete) return tl::unexpected(complete.error());
  return predict_scored(run);
} catch (const models::model_failure& failed) {
  return tl::unexpected(failed.why);
}

result<std::string> vocabulary_csv(const prepared_run& opened) {
  const auto facts = opened.data.clients->facts();
  if (facts.words == 0) return fail(error::kind::usage, "--vocabulary", "the run's data are not texts", "leave it out");
  std::string out = "token,text\n";
  for (std::uint32_t token = 0; token < facts.features; ++token)
    out += fmt::format("{},{}\n", token, csv_text(opened.data.clients->feature_name(token)));
  return out;
}

result<std::string> classes_csv(const prepared_run& opened) {
  if (opened.data.classes.empty())
    return fail(error::kind::usage, "--classes", "the labels of the run's data are no named classes", "leave it out");
  std::string out = "class,name\n";
  for (std::size_t number = 0; number < opened.data.classes.size(); ++number)
    out += fmt::format("{},{}\n", number, csv_text(opened.data.classes[number]));
  return out;
}

}  // namespace furlong::tools
