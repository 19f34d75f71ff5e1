// Data in the format of LEAF (Caldas et al. 2018, "LEAF: a benchmark for federated settings").
#include "scenarios/data/entries.hpp"
#include "scenarios/data/labelled_file.hpp"
#include "scenarios/data/leaf_file.hpp"
#include "scenarios/data/text_options.hpp"
#include "scenarios/data/text_population.hpp"

namespace furlong::scenarios {

namespace {

using models::objective;

leaf_task task_of(const option_values& options) {
  const auto& word = options.text("task");
  return word == "classes" ? leaf_task::classes : word == "vectors" ? leaf_task::vectors : leaf_task::next_character;
}

leaf_settings read_settings(const option_values& options) {
  const auto task = task_of(options);
  const auto kind = task == leaf_task::classes ? read_token_kind(options) : token_kind::characters;
  return {task, read_token_settings(options, kind), static_cast<std::size_t>(options.integer("text_field"))};
}

/// The population of vectors.
result<dataset> settle_vectors(leaf_data& leaf, const option_values& options, const std::string& place) {
  auto& table = leaf.table;
  auto chosen = choose_users(table, options, place);
  if (!chosen) return tl::unexpected(chosen.error());
  dataset data;
  data.notes = std::move(*chosen);
  const auto settings = read_split(options);
  auto split = divide_texts(table, settings);
  note_own_parts(table, settings, data.notes);
  note_untrained_labels(table, split, data.notes);
  data.clients =
      make_text_population(table, std::move(split), {}, {leaf.dimension, table.clients.size(), objective::logistic});
  return data;
}

result<dataset> settle(leaf_data& data, const option_values& options, const leaf_settings& settings,
                       const std::string& place) {
  switch (settings.task) {
    case leaf_task::vectors: return settle_vectors(data, options, place);
    case leaf_task::classes:
      return settle_classes(data.table, data.labels, data.label_of, options, settings.tokens, place);
    case leaf_task::next_character: break;
  }
  return settle_sequences(data.table, options, settings.tokens, place);
}

result<dataset> build(const option_values& options, const std::filesystem::path& root) {
  const auto path = root / options.text("path");
  const auto files = find_leaf_files(path);
  if (!files) return tl::unexpected(files.error());
  const auto settings = read_settings(options);
  leaf_data read;
  for (const auto& file : files->train)
    if (auto done = read_leaf(file, settings, false, read); !done) return tl::unexpected(done.error());
  for (const auto& file : files->test)
    if (auto done = read_leaf(file, settings, true, read); !done) return tl::unexpected(done.error());
  auto data = settle(read, options, settings, path.string());
  if (!data) return data;
  data->files = files->train;
  data->files.insert(data->files.end(), files->test.begin(), files->test.end());
  return data;
}

models::data_facts facts(const option_values& options) {
  switch (options.has("task") ? task_of(options) : leaf_task::next_character) {
    case leaf_task::next_character: return token_facts(options, objective::next_token);
    case leaf_task::classes: return class_facts(options);
    case leaf_task::vectors: break;
  }
  models::data_facts vectors;
  vectors.labels = objective::logistic;
  return vectors;
}

std::vector<option_problem> check(const option_values& options) {
  auto problems = check_texts(options);
  check_named(options, {"positive"}, problems);
  if (!options.has("task") || task_of(options) == leaf_task::classes) return problems;
  const auto task = "task = \"" + options.text("task") + "\"";
  if (options.has("positive"))
    problems.push_back({"positive", "is about classes, and " + task + " has none", "remove it"});
  if (options.has("tokens") && options.text("tokens") == "words")
    problems.push_back({"tokens", "is words, and " + task + " has none", "remove it, or set task = \"classes\""});
  if (options.has("text_field") && options.integer("text_field") != 0)
    problems.push_back({"text_field", "is about lists with a text, and " + task + " has none", "remove it"});
  if (task_of(options) != leaf_task::vectors) return problems;
  const auto refuse = [&](const char* name) {
    problems.push_back({name, "is about texts, and " + task + " has none", "remove it"});
  };
  for (const char* name : {"max_tokens", "vocabulary", "buckets"})
    if (options.has(name) && options.integer(name) != 0) refuse(name);
  if (options.has("lower_case") && options.flag("lower_case")) refuse("lower_case");
  return problems;
}

}  // namespace

dataset_entry leaf_entry() {
  dataset_entry entry;
  entry.kind = "leaf";
  entry.doc =
      "Data in the JSON layout of the LEAF benchmark: a file, a folder of them, or a folder with `train` and `test`. "
      "Samples in `test` are their users' test part; users who are only there never train and are the unseen users for "
      "the test. Supported are texts to go on with (`x` and `y` texts, as in shakespeare: one sequence of characters, "
      "of which every one is predicted), labelled texts (`x` a text or a list with one, as in sent140) and vectors of "
      "numbers with labels 0 and 1, for logistic-regression. Images, and vectors of several classes, are not.";
  entry.options = {
      text_option("path", "leaf", "File or folder, under the data root."),
      choice_option("task", "next-character", "What samples are.", {"next-character", "classes", "vectors"}),
      integer_option("text_field", 0, "Classes: place of the text where x is a list, from 0; 4 in sent140.", {0, 1000}),
      positive_option(),
      token_kind_option("characters"),
  };
  add_options(entry.options, token_options(0));
  add_options(entry.options, user_options());
  add_options(entry.options, split_options("samples"));
  entry.check = check;
  entry.facts = facts;
  entry.has_own_parts = true;
  entry.build = build;
  return entry;
}

}  // namespace furlong::scenarios
