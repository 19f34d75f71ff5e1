// furlong export
#include <algorithm>
#include <fmt/format.h>
#include <iostream>

#include "scenarios/parameters/array_file.hpp"
#include "scenarios/python/problem.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/cli/export_tables.hpp"
#include "tools/cli/top_lists.hpp"
#include "tools/runs/client_table.hpp"
#include "tools/runs/cohorts.hpp"
#include "tools/runs/failure.hpp"

namespace furlong::tools {

namespace {

struct export_options {
  std::filesystem::path run;
  std::filesystem::path model;          ///< .npz or .safetensors
  std::filesystem::path groups;         ///< the same
  std::optional<std::uint32_t> client;  ///< its private parameters too
  std::filesystem::path curves;
  std::filesystem::path predictions;
  std::filesystem::path recommendations;
  std::size_t top = 10;  ///< of them
  std::filesystem::path split;
  std::filesystem::path clients;
  std::filesystem::path cohorts;
  std::filesystem::path vocabulary;
  std::filesystem::path classes;
  std::filesystem::path tensorboard;  ///< a folder
};

/// A file to write.
struct exported_file {
  std::filesystem::path path;
  std::string content;
};

/// Adds what a module's state has besides the tensors that are there: their other names, and values that are not
/// trained, so that load_state_dict() takes the file. Returns the bytes that the arrays point to.
std::vector<std::string> add_other_state(const scenarios::trainer_problem* problem,
                                         std::vector<scenarios::array_view>& arrays) {
  if (problem == nullptr) return {};
  for (const auto& [alias, name] : problem->aliases())
    if (const auto named = std::ranges::find(arrays, name, &scenarios::array_view::name); named != arrays.end()) {
      auto copy = *named;
      copy.name = alias;
      arrays.push_back(std::move(copy));
    }
  if (problem->constants().empty()) return {};
  auto values = problem->constant_values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& [name, type, shape] = problem->constants()[i];
    arrays.push_back({name, shape, values[i], type});
  }
  return values;
}

/// Adds the values of an algorithm's group, which begin with the tensor `first` of a layout.
void add_group(const trained_run& run, const federated::placed_group& group, const models::layout& layout,
               std::size_t first, const auto& values, std::vector<scenarios::array_view>& arrays) {
  for (std::size_t i = 0; i < group.count(); ++i) {
    const auto& spec = layout[first + i];
    auto shape = group.copies_of.empty()
                     ? std::vector{spec.rows, spec.cols}
                     : scenarios::shape_of(run.prepared.data, *run.prepared.experiment.parts.model, group.copies_of[i]);
    if (group.clients > 0 && !group.copies_of.empty()) shape.insert(shape.begin(), group.clients);
    arrays.push_back({spec.name, std::move(shape), scenarios::bytes_of(values.tensor(first + i))});
  }
}

/// The values of the model's tensors, and from `own` those of private and kept ones; null: shared ones only.
result<std::string> model_file(const std::filesystem::path& path, const trained_run& run,
                               const models::private_parameters* own) {
  const auto& parts = run.prepared.experiment.parts;
  std::vector<scenarios::array_view> arrays;
  for (std::size_t t = 0; t < parts.slots.size(); ++t) {
    const auto& [is_private, tensor] = parts.slots[t];
    if (is_private && own == nullptr) continue;
    arrays.push_back({(*parts.model)[t].name, scenarios::shape_of(run.prepared.data, *parts.model, t),
                      scenarios::bytes_of(is_private ? own->tensor(tensor) : run.kept.tensor(tensor))});
  }
  const auto constants = add_other_state(run.prepared.data.problem.get(), arrays);
  for (const auto& group : run.prepared.experiment.groups)
    if (own != nullptr && group.where == federated::place::kept)
      add_group(run, group, *parts.private_, group.in_private, *own, arrays);
  return scenarios::array_file(path, arrays);
}

/// The values that the server has of the algorithm's groups.
result<std::string> groups_file(const std::filesystem::path& path, const trained_run& run) {
  std::vector<scenarios::array_view> arrays;
  for (const auto& group : run.prepared.experiment.groups)
    if (group.in_server != federated::placed_group::nowhere)
      add_group(run, group, *run.prepared.experiment.parts.server, group.in_server, run.added, arrays);
  if (arrays.empty())
    return fail(error::kind::usage, "--groups", "the server has no values of the algorithm besides the model",
                "leave it out");
  return scenarios::array_file(path, arrays);
}

result<models::private_parameters> private_values(const trained_run& run, std::uint32_t client) {
  const auto& parts = run.prepared.experiment.parts;
  const auto place = "client " + std::to_string(client);
  if (auto complete = check_private_values(run, client); !complete) return tl::unexpected(complete.error());
  if (run.store == nullptr)
    return fail(error::kind::usage, "--client", "the run keeps no private parameters",
                "leave it out; only algorithms that keep private state have them");
  models::private_parameters own(parts.private_);
  auto found = run.store->load(client, own);
  if (!found) return tl::unexpected(found.error());
  if (!*found)
    return fail(error::kind::data, place, "has no private values here", "furlong store ls shows the clients that have");
  return own;
}

result<void> check_places(const export_options& options) {
  if (!options.model.empty())
    if (auto known = scenarios::check_array_file_name(options.model, "--model"); !known) return known;
  if (!options.groups.empty())
    if (auto known = scenarios::check_array_file_name(options.groups, "--groups"); !known) return known;
  bool any = !options.tensorboard.empty();
  for (const auto* file :
       {&options.model, &options.groups, &options.curves, &options.predictions, &options.split, &options.clients,
        &options.cohorts, &options.vocabulary, &options.classes, &options.recommendations}) {
    any = any || !file->empty();
    if (!file->empty() && std::filesystem::exists(*file) && !std::filesystem::is_regular_file(*file))
      return fail(error::kind::usage, file->string(), "is no file", "name another");
  }
  if (any) return {};
  return fail(
      error::kind::usage, "export", "has nothing to write",
      "add --model, --groups, --curves, --predictions, --recommendations, --split, --clients, --cohorts, --vocabulary, "
      "--classes or --tensorboard");
}

result<void> add_model_files(const export_options& options, std::vector<exported_file>& files) {
  const auto run = open_trained_run(run_directory(options.run));
  if (!run) return tl::unexpected(run.error());
  if (!options.model.empty()) {
    std::optional<models::private_parameters> own;
    if (options.client) {
      auto values = private_values(*run, *options.client);
      if (!values) return tl::unexpected(values.error());
      own = std::move(*values);
    }
    auto content = model_file(options.model, *run, own ? &*own : nullptr);
    if (!content) return tl::unexpected(content.error());
    files.push_back({options.model, std::move(*content)});
  }
  if (!options.groups.empty()) {
    auto content = groups_file(options.groups, *run);
    if (!content) return tl::unexpected(content.error());
    files.push_back({options.groups, std::move(*content)});
  }
  const auto add = [&](const std::filesystem::path& file, result<std::string> content) -> result<void> {
    if (!content) return tl::unexpected(content.error());
    files.push_back({file, std::move(*content)});
    return {};
  };
  if (!options.recommendations.empty())
    if (auto added = add(options.recommendations, top_lists_csv(*run, options.top)); !added) return added;
  return options.predictions.empty() ? result<void>() : add(options.predictions, predictions_csv(*run));
}

/// Written row by row: there may be many.
result<void> write_clients(const export_options& options) try {
  const auto run = open_trained_run(run_directory(options.run));
  if (!run) return tl::unexpected(run.error());
  return write_client_table(*run, options.clients);
} catch (const models::model_failure& failed) {
  return tl::unexpected(failed.why);
}

/// The tables that need the data alone.
result<void> add_data_tables(const export_options& options, std::vector<exported_file>& files) {
  auto scenario = read_scenario(run_directory(options.run));
  if (!scenario) return tl::unexpected(scenario.error());
  const auto ready = open_prepared_run(std::move(*scenario));
  if (!ready) return tl::unexpected(ready.error());
  const auto add = [&](const std::filesystem::path& file, result<std::string> content) -> result<void> {
    if (!content) return tl::unexpected(content.error());
    files.push_back({file, std::move(*content)});
    return {};
  };
  if (!options.split.empty()) files.push_back({options.split, split_csv(*ready)});
  if (!options.vocabulary.empty())
    if (auto added = add(options.vocabulary, vocabulary_csv(*ready)); !added) return added;
  return options.classes.empty() ? result<void>() : add(options.classes, classes_csv(*ready));
}

result<void> add_curves(const export_options& options, std::vector<exported_file>& files) {
  const auto rounds = read_rounds(run_directory(options.run));
  if (!rounds) return tl::unexpected(rounds.error());
  if (!options.curves.empty()) files.push_back({options.curves, curves_csv(*rounds)});
  if (options.tensorboard.empty()) return {};
  std::error_code why;
  std::filesystem::create_directories(options.tensorboard, why);
  if (why) return fail(error::kind::runtime, options.tensorboard.string(), "cannot be created: " + why.message());
  files.push_back({options.tensorboard / "events.out.tfevents.furlong", event_file(curve_steps(*rounds))});
  return {};
}

result<std::vector<exported_file>> contents(const export_options& options) {
  if (auto good = check_places(options); !good) return tl::unexpected(good.error());
  std::vector<exported_file> files;
  if (!options.model.empty() || !options.groups.empty() || !options.predictions.empty() ||
      !options.recommendations.empty())
    if (auto added = add_model_files(options, files); !added) return tl::unexpected(added.error());
  if (!options.split.empty() || !options.vocabulary.empty() || !options.classes.empty())
    if (auto added = add_data_tables(options, files); !added) return tl::unexpected(added.error());
  if (!options.curves.empty() || !options.tensorboard.empty())
    if (auto added = add_curves(options, files); !added) return tl::unexpected(added.error());
  if (options.cohorts.empty()) return files;
  auto cohorts = cohorts_csv(run_directory(options.run));
  if (!cohorts) return tl::unexpected(cohorts.error());
  files.push_back({options.cohorts, std::move(*cohorts)});
  return files;
}

int export_command(const export_options& options) {
  const auto files = contents(options);
  if (!files) return report_failure(files.error());
  for (const auto& file : *files) {
    if (auto written = write_bytes_atomically(file.path, file.content); !written)
      return report_failure(written.error());
    fmt::print("{}: {} bytes\n", file.path.string(), file.content.size());
  }
  if (!options.clients.empty()) {
    if (auto written = write_clients(options); !written) return report_failure(written.error());
    fmt::print("{}: {} bytes\n", options.clients.string(), std::filesystem::file_size(options.clients));
  }
  if (options.client)
    std::cerr << fmt::format("warning: {} has private values of client {}: do not share it\n", options.model.string(),
                             *options.client);
  return done;
}

}  // namespace

void add_export(CLI::App& app, command& chosen) {
  const auto [sub, options] = add_command(
      app, chosen, "export", "write a run's model, figures, predictions or split for other programs", export_command);
  sub->add_option("run", options->run, "run directory")->required()->option_text("RUN");
  auto* model = sub->add_option("--model", options->model, "shared parameters by name: .npz or .safetensors");
  model->option_text("FILE");
  sub->add_option("--client", options->client, "with --model: the private parameters of this client too")
      ->transform(client_number())
      ->option_text("ID")
      ->needs(model);
  sub->add_option("--groups", options->groups,
                  "values that the server has of the algorithm's groups, by name: .npz or .safetensors")
      ->option_text("FILE");
  sub->add_option("--curves", options->curves, "figures of all rounds, as CSV")->option_text("FILE");
  sub->add_option("--predictions", options->predictions,
                  "test examples of the clients seen and unseen in training, with prediction and label, of texts the "
                  "log-likelihood or the probabilities of classes, as CSV")
      ->option_text("FILE");
  auto* recommendations =
      sub->add_option("--recommendations", options->recommendations,
                      "the best items of each client without its own ones, with rank and prediction, as CSV");
  recommendations->option_text("FILE");
  sub->add_option("--top", options->top, "with --recommendations: items of each client: 1 to 1000 (default 10)")
      ->transform(whole_number(1, 1000))
      ->option_text("N")
      ->needs(recommendations);
  sub->add_option("--split", options->split, "all examples with client, group, part and label, as CSV")
      ->option_text("FILE");
  sub->add_option("--clients", options->clients,
                  "participation, last round, loss, quality and simulated device of each client, as CSV")
      ->option_text("FILE");
  sub->add_option("--cohorts", options->cohorts,
                  "the clients selected in each round, and the round whose model has the update of each, as CSV")
      ->option_text("FILE");
  sub->add_option("--vocabulary", options->vocabulary, "number and text of each token, as CSV")->option_text("FILE");
  sub->add_option("--classes", options->classes, "number and name of each class, as CSV")->option_text("FILE");
  sub->add_option("--tensorboard", options->tensorboard, "figures of all rounds, as an event file in this folder")
      ->option_text("DIR");
}

}  // namespace furlong::tools
