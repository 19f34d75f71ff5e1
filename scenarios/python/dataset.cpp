// The clients and examples of a Python class (docs/python.md). Furlong knows their numbers only: what an example is,
// the class alone knows.
#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "base/random.hpp"
#include "scenarios/data/entries.hpp"
#include "scenarios/python/problem.hpp"
#include "scenarios/python/trainer_setup.hpp"

namespace furlong::scenarios {

namespace {

/// The class's own options, and those of the algorithm's class.
constexpr std::string_view own_options = "options.";
constexpr std::string_view algorithm_options = "algorithm.";

problem_settings read_settings(const option_values& options) {
  problem_settings settings;
  settings.problem = options.text("problem");
  settings.interpreter = options.has("interpreter") ? options.text("interpreter") : "";
  settings.workers = static_cast<std::uint32_t>(options.integer("workers"));
  settings.threads = static_cast<std::uint32_t>(options.integer("threads"));
  settings.timeout = options.number("timeout");
  settings.drops_client = options.text("on_error") == "drop";
  settings.seed = static_cast<std::uint64_t>(options.integer("seed"));
  settings.profile = options.has("profile") ? options.text("profile") : "";
  settings.algorithm = options.has("algorithm") ? options.text("algorithm") : "";
  settings.devices = options.list("devices");
  for (const auto& [name, value] : options.all()) {
    if (name.starts_with(own_options)) settings.options[name.substr(own_options.size())] = value;
    if (name.starts_with(algorithm_options)) settings.algorithm_options[name.substr(algorithm_options.size())] = value;
  }
  return settings;
}

/// Whether trainers compute phases of training although the class has no fit() of its own: a copy of the values for
/// each batch would take longer than the batch.
bool loops_in_trainers(const option_values& options) {
  return (options.has("loop") && options.text("loop") == "trainer") ||
         (options.has("devices") && !options.list("devices").empty());
}

/// True if all values are there: those with problems of their own are not.
bool is_complete(const option_values& options) {
  constexpr std::array names = {"problem", "workers", "threads", "timeout", "on_error", "seed", "devices"};
  return std::ranges::all_of(names, [&](const char* name) { return options.has(name); });
}

class python_population final : public federated::population {
 public:
  /// @param order_seed of the order that train parts are given in; none: that of the class
  python_population(std::shared_ptr<const trainer_problem> problem, std::optional<std::uint64_t> order_seed)
      : problem_(std::move(problem)), order_seed_(order_seed) {
    const auto& clients = problem_->clients();
    std::size_t longest = 0;
    for (std::uint32_t client = 0; client < clients.size(); ++client) {
      groups_[static_cast<std::size_t>(clients[client].group)].push_back(client);
      longest = std::max<std::size_t>(longest, *std::ranges::max_element(clients[client].sizes));
    }
    labels_.resize(longest);
  }

  models::data_facts facts() const override {
    return {.features = std::max(problem_->examples(), 1U),
            .clients = static_cast<std::uint32_t>(problem_->clients().size()),
            .labels = models::objective::custom};
  }
  std::span<const std::uint32_t> training() const override { return groups_[0]; }
  std::span<const std::uint32_t> unseen_validation() const override { return groups_[1]; }
  std::span<const std::uint32_t> unseen_test() const override { return groups_[2]; }
  models::examples_view load(std::uint32_t client, federated::part which, models::examples& scratch) const override {
    scratch.features.resize(count(client, which));
    std::iota(scratch.features.begin(), scratch.features.end(),
              problem_->first_example(client, static_cast<std::uint32_t>(which)));
    // Data sets are often sorted by class: batches in that order, and every other one of them as the support, would
    // each have one class.
    if (order_seed_ && which == federated::part::train)
      random_stream(*order_seed_, purpose::split_examples, 0, client).shuffle(std::span(scratch.features));
    return {.features = scratch.features,
            .values = {},
            .offsets = {},
            .labels = std::span(labels_).first(scratch.features.size()),
            .owners = {}};
  }
  std::uint32_t count(std::uint32_t client, federated::part which) const override {
    return problem_->clients()[client].sizes[static_cast<std::size_t>(which)];
  }
  std::string client_name(std::uint32_t client) const override { return problem_->clients()[client].name; }
  std::string feature_name(std::uint32_t feature) const override { return "example " + std::to_string(feature); }

 private:
  std::shared_ptr<const trainer_problem> problem_;
  std::optional<std::uint64_t> order_seed_;
  std::array<std::vector<std::uint32_t>, 3> groups_;  ///< clients that train; unseen ones for validation, for test
  std::vector<float> labels_;                         ///< they mean nothing: one for each example of a part
};

/// In the place of a file: the class is in the calling process alone (python/furlong/runs.py).
constexpr std::string_view notebook = "notebook";

/// The file of "FILE.py:CLASS".
std::string file_of(const std::string& named) { return named.substr(0, named.rfind(':')); }

/// Why an option names no class: "problem" or "algorithm".
std::optional<option_problem> wrong_name(const std::string& option, const std::string& named) {
  const auto file = file_of(named);
  if (std::filesystem::path(file).filename() == notebook && file.size() + 1 < named.size()) {
    if (has_calling_trainer()) return std::nullopt;
    const auto name = named.substr(file.size() + 1);
    return option_problem{option,
                          "is the class " + name +
                              " of a notebook or prompt, and opened with it alone: furlong.open(RUN, " + option + "=" +
                              name + ")",
                          "move the class to a file"};
  }
  if (file.empty() || file.size() + 1 >= named.size() || !file.ends_with(".py"))
    return option_problem{option, "is " + named + ", which does not name a file and a class",
                          "write \"FILE.py:CLASS\""};
  if (std::error_code failed; !std::filesystem::exists(file, failed))
    return option_problem{option, "names " + file + ", and there is no such file",
                          "name a file that exists; a relative path starts at the scenario's folder"};
  return std::nullopt;
}

/// "cuda:0", "mps" or "cpu:copy".
bool is_device(std::string_view name) {
  constexpr std::string_view gpu = "cuda:";
  if (!name.starts_with(gpu)) return name == "mps" || name == "cpu:copy";
  name.remove_prefix(gpu.size());
  return !name.empty() && name.size() <= 3 && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<option_problem> check(const option_values& options) {
  std::vector<option_problem> problems;
  if (options.has("devices"))
    for (const auto& name : options.list("devices"))
      if (!is_device(name))
        problems.push_back(
            {"devices", "has " + name + ", which is no device", R"(write "cuda:0", "cuda:1", "mps" or "cpu:copy")"});
  if (!options.has("problem") && options.has("algorithm"))
    problems.push_back({"algorithm", "is set, and python.problem is not", "name the class of the problem too"});
  if (!options.has("problem")) return problems;  // a node names its own
  for (const std::string option : {"problem", "algorithm"})
    if (options.has(option))
      if (auto wrong = wrong_name(option, options.text(option))) problems.push_back(std::move(*wrong));
  if (!problems.empty() || !is_complete(options)) return problems;
  const auto settings = read_settings(options);
  if (auto opened = trainer_problem::outline(settings); !opened) {
    const auto& why = opened.error();
    const std::string key = "python.";
    const bool at_key = why.place.starts_with(key);
    const bool of_algorithm = !settings.algorithm.empty() && why.place.starts_with(file_of(settings.algorithm));
    return {{at_key         ? why.place.substr(key.size())
             : of_algorithm ? "algorithm"
                            : "problem",
             at_key ? why.reason : why.place + ": " + why.reason, why.fix}};
  }
  return {};
}

/// What the algorithm's class says of itself.
std::optional<option_values> describe_algorithm(const option_values& options) {
  for (const std::string option : {"problem", "algorithm"})
    if (!options.has(option) || wrong_name(option, options.text(option))) return std::nullopt;
  if (!is_complete(options)) return std::nullopt;
  const auto opened = trainer_problem::outline(read_settings(options));
  if (!opened || (*opened)->algorithm() == nullptr) return std::nullopt;
  option_values said;
  said.set("groups", (*opened)->algorithm()->groups);
  said.set("traits", (*opened)->algorithm()->traits);
  return said;
}

models::data_facts facts(const option_values&) { return {.labels = models::objective::custom}; }

option_values settle(const option_values& options) {
  option_values settled;
  if (!is_complete(options)) return settled;
  const auto opened = trainer_problem::outline(read_settings(options));
  if (!opened) return settled;
  for (const auto& [name, value] : (*opened)->options().all()) settled.set(std::string(own_options) + name, value);
  if (const auto* algorithm = (*opened)->algorithm())
    for (const auto& [name, value] : algorithm->options.all())
      settled.set(std::string(algorithm_options) + name, value);
  return settled;
}

std::shared_ptr<const models::model> model(const option_values& options) {
  if (!options.has("problem")) return nullptr;
  auto opened = trainer_problem::outline(read_settings(options));
  return opened ? model_of(std::move(*opened), loops_in_trainers(options)) : nullptr;
}

source_code code(const option_values& options) {
  const auto opened = trainer_problem::outline(read_settings(options));
  auto code = opened ? (*opened)->code() : source_code();
  code.erase(fixed_values);  // they depend on the seed
  return code;
}

result<dataset> build(const option_values& options, const std::filesystem::path&) {
  if (!options.has("problem"))
    return fail(error::kind::usage, "python.problem", "is missing", "name the class: problem = \"FILE.py:CLASS\"");
  auto opened = trainer_problem::open(read_settings(options));
  if (!opened) return tl::unexpected(opened.error());
  dataset data;
  const bool shuffled = options.text("order") == "shuffled";
  const auto seed = static_cast<std::uint64_t>(options.integer("seed"));
  data.clients = std::make_shared<const python_population>(*opened, shuffled ? std::optional(seed) : std::nullopt);
  data.model = model_of(*opened, loops_in_trainers(options));
  data.code = (*opened)->code();
  data.arithmetic = (*opened)->arithmetic();
  data.problem = std::move(*opened);
  return data;
}

}  // namespace

std::vector<std::uint32_t> shape_of(const dataset& data, const models::layout& tensors, std::size_t tensor) {
  if (data.problem != nullptr) return data.problem->parameters()[tensor].shape;
  return {tensors[tensor].rows, tensors[tensor].cols};
}

dataset_entry python_data_entry() {
  dataset_entry entry;
  entry.kind = "python";
  entry.doc =
      "The clients of a Python class, which has their examples (docs/python.md); for model.kind = \"python\". Its keys "
      "are the table `[python]`.";
  entry.table = "python";
  entry.options = {
      {.name = "problem",
       .type = option_type::text,
       .doc = "The class: \"FILE.py:CLASS\". A relative path starts at the scenario's folder.",
       .beside_file = true},
      {.name = "algorithm",
       .type = option_type::text,
       .doc =
           "The class of `algorithm.kind` = `\"python\"`: \"FILE.py:CLASS\". A relative path starts at the scenario's "
           "folder. Its options are keys of `[algorithm.python]`.",
       .beside_file = true},
      text_option(
          "interpreter", std::nullopt,
          "The Python interpreter, such as that of a virtual environment; else the one that called `furlong.run`, "
          "else python3."),
      integer_option("workers", 0, "Most trainer processes at once; 0: one for each thread.", {0, 1024}),
      integer_option("threads", 1, "Threads that one trainer computes with. Above 1, results may depend on it.",
                     {1, 1024}),
      number_option(
          "timeout", 600.0,
          "Seconds that one step may take; then its trainer is ended. Opening the class may take at least a minute.",
          {0.01, 1e6}),
      choice_option("on_error", "stop",
                    "What an exception in the class does: end the run with exit code 4, or count the client as failed.",
                    {"stop", "drop"}),
      choice_option("loop", "auto",
                    "Who trains a client: `trainer`: the trainer, by `fit()` of the class or of the package, one call "
                    "for each phase of training; `auto`: a class that has a `fit()` of its own by that, others by "
                    "furlong, with a call of `gradient()` for each batch.",
                    {"auto", "trainer"}),
      {.name = "devices",
       .type = option_type::text_list,
       .fallback = std::vector<std::string>{},
       .doc = "Devices that modules of PyTorch are on, such as [\"cuda:0\", \"cuda:1\"]: trainers have them by turns. "
              "Values are copied once for each task, and trainers take the steps (`loop`). \"cpu:copy\" is the same on "
              "the processor. A node has its own: `furlong join --devices`."},
      {.name = "profile",
       .type = option_type::text,
       .doc = "Folder that each trainer writes a profile of its Python code to when it ends, for `pstats` of Python. A "
              "relative path starts at the scenario's folder.",
       .beside_file = true},
      choice_option("order", "shuffled",
                    "Order of each client's training examples (all examples of unseen clients), which batches, support "
                    "and query are cut from: shuffled once and fixed, or as the class numbers them. "
                    "`algorithm.client.shuffle` shuffles them again in every epoch.",
                    {"shuffled", "numbered"}),
      seed_option("seed", "Seed that the class makes its initial parameters from, and of `order`."),
  };
  entry.defaults = {{"algorithm.client.shuffle", true}};
  entry.check = check;
  entry.open_table = "options";
  entry.algorithm = "python";
  entry.describe_algorithm = describe_algorithm;
  entry.settle = settle;
  entry.facts = facts;
  entry.code = code;
  entry.model = model;
  entry.has_own_parts = true;
  entry.build = build;
  return entry;
}

}  // namespace furlong::scenarios
