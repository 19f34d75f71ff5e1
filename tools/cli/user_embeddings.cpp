#include "tools/cli/user_embeddings.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string>

#include "federated/participation/uniform.hpp"
#include "tools/compare/run_figures.hpp"
#include "tools/runs/trained_run.hpp"

namespace furlong::tools {

namespace {

constexpr std::uint32_t most_clients = 2000;
constexpr std::uint32_t draw_of_picture = 3;  // in addition to the draws of the evaluation groups

/// The values of all clients of a run, by client.
struct run_embeddings {
  std::string tensors;
  std::map<std::uint32_t, std::vector<float>> rows;
  option_values data = {};
};

/// Tensors with values per client: whole private ones, or its row of a table over clients. Not those with a row per
/// feature: they describe features.
std::vector<std::string> names_of(const federated::experiment& experiment, bool is_private) {
  std::vector<std::string> names;
  for (std::size_t t = 0; t < experiment.parts.model->count(); ++t) {
    const auto index = (*experiment.parts.model)[t].index;
    const auto wanted = is_private ? models::row_index::none : models::row_index::by_client;
    if (experiment.parts.slots[t].is_private == is_private && index == wanted)
      names.push_back((*experiment.parts.model)[t].name);
  }
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : " and ") + name;
  return out;
}

result<run_embeddings> read_private(const trained_run& run, const std::vector<std::string>& names) {
  run_embeddings made{listed(names), {}};
  auto visited =
      run.store->visit([&](std::uint32_t client, std::uint64_t /*version*/, const models::private_parameters& value) {
        auto& row = made.rows[client];
        for (const auto& name : names)
          if (const auto tensor = value.shape()->find(name)) {
            const auto values = value.tensor(*tensor);
            row.insert(row.end(), values.begin(), values.end());
          }
      });
  if (!visited) return tl::unexpected(visited.error());
  return made;
}

run_embeddings read_tables(const trained_run& run, const std::vector<std::string>& names) {
  run_embeddings made{listed(names), {}};
  for (const auto& name : names) {
    const auto tensor = run.model.shape()->find(name).value();
    const std::size_t cols = (*run.model.shape())[tensor].cols;
    for (const auto client : run.prepared.experiment.clients->training()) {
      const auto row = run.model.tensor(tensor).subspan(client * cols, cols);
      auto& values = made.rows[client];
      values.insert(values.end(), row.begin(), row.end());
    }
  }
  return made;
}

result<run_embeddings> read_embeddings(const trained_run& run, const std::filesystem::path& folder) {
  if (auto complete = check_private_values(run); !complete) return tl::unexpected(complete.error());
  const auto own = names_of(run.prepared.experiment, true);
  if (run.store != nullptr && !own.empty()) return read_private(run, own);
  const auto tables = names_of(run.prepared.experiment, false);
  if (!tables.empty()) return read_tables(run, tables);
  return fail(error::kind::usage, folder.string(),
              "has no user embeddings: nothing private is stored, and the model has no table over clients",
              "omit --embeddings");
}

/// The most frequent class, the lowest on ties; or the mean.
float main_label(std::span<const float> labels, bool classes) {
  if (labels.empty()) return 0.0F;
  double sum = 0.0;
  std::map<float, std::size_t> counts;
  for (const float label : labels) {
    sum += static_cast<double>(label);
    ++counts[label];
  }
  if (!classes) return static_cast<float>(sum / static_cast<double>(labels.size()));
  return std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })->first;
}

/// Identifies the data of a run.
option_values data_of(const trained_run& run) {
  auto data = run.prepared.scenario.data;
  data.set("source", run.prepared.scenario.data_source);
  data.set("the number of clients", std::int64_t{run.prepared.experiment.clients->facts().clients});
  return data;
}

/// The clients that all runs have.
std::vector<std::uint32_t> common_clients(const std::vector<const run_embeddings*>& runs) {
  std::vector<std::uint32_t> common;
  for (const auto& entry : runs.front()->rows)
    if (std::ranges::all_of(runs, [&](const run_embeddings* run) { return run->rows.contains(entry.first); }))
      common.push_back(entry.first);
  return common;
}

embedding_figures figures_of(const trained_run& run, const run_embeddings& embeddings,
                             const std::vector<std::uint32_t>& clients) {
  embedding_figures made;
  made.data = embeddings.data;
  made.tensors = embeddings.tensors;
  made.classes = run.prepared.experiment.model->objective() == models::objective::categorical;
  made.clients = clients;
  made.class_names = run.prepared.data.classes;
  const bool labelled = run.prepared.experiment.model->objective() != models::objective::next_token;
  models::examples scratch;
  for (const auto client : clients) {
    const auto& row = embeddings.rows.at(client);
    made.width = row.size();
    made.values.insert(made.values.end(), row.begin(), row.end());
    if (!labelled) continue;
    const auto data = run.prepared.experiment.clients->load(client, federated::part::train, scratch);
    made.labels.push_back(main_label(data.labels, made.classes));
  }
  return made;
}

}  // namespace

result<void> add_embeddings(std::vector<run_record>& runs) {
  std::vector<trained_run> opened;
  std::vector<run_embeddings> collected;
  for (const auto& entry : runs) {
    auto run = open_trained_run(run_directory(entry.directory));
    if (!run) return tl::unexpected(run.error());
    auto found = read_embeddings(*run, entry.directory);
    if (!found) return tl::unexpected(found.error());
    found->data = data_of(*run);
    opened.push_back(std::move(*run));
    collected.push_back(std::move(*found));
  }
  const random_stream stream(opened.front().prepared.experiment.settings.seed, purpose::scored_clients, 0,
                             draw_of_picture);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<const run_embeddings*> alike;
    for (std::size_t j = 0; j < runs.size(); ++j)
      if (data_difference(collected[i].data, collected[j].data).empty()) alike.push_back(&collected[j]);
    runs[i].embeddings =
        figures_of(opened[i], collected[i], federated::draw_uniformly(common_clients(alike), most_clients, stream));
  }
  return {};
}

}  // namespace furlong::tools
