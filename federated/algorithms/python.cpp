// What is known of an algorithm that a Python class describes, without the class: its groups of tensors and its traits.
// Servers and aggregators need no more of it; who trains has the class's own (scenarios/python/algorithm.cpp).
//
// groups: "NAME PLACE [CLIENTS] [FIRST] [RULE MAX_NORM [exact]] = TENSORS", CLIENTS of addressed groups (broadcast,
// with values for each of so many clients), FIRST of all but report groups (a number, received or initial), RULE and
// MAX_NORM of report and shared ones. TENSORS are model, with its buffers, shared or private, without, a shape
// ROWSxCOLUMNS, or after "of" in the place of "=" the names of tensors of the model. traits: "private
// ignored|allowed|required", "groups only" (updates have no change of the model), "exact state", "plain steps", "sees
// updates", "rule NAME" for each aggregation rule that it works with, "metric NAME" for each figure of a round, whose
// sum and count are a row of the report group metrics; those without a value only where they hold.
#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "base/parse_number.hpp"
#include "federated/aggregation/server_view.hpp"
#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/single_updates.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::federated {

namespace {

constexpr const char* kind = "python";
constexpr const char* plain_steps = "plain steps";
constexpr const char* addressed = "addressed";  // broadcast, with values for each client
constexpr const char* sees_updates = "sees updates";
constexpr const char* metric_trait = "metric";
constexpr const char* metrics_group = "metrics";

/// A group before the model is known.
struct described_group {
  tensor_group group;
  enum class source : std::uint8_t { all, shared, private_ones, named, shape } from = source::all;
  std::vector<std::string> names = {};
};

struct description {
  std::vector<described_group> groups;
  algorithm_traits traits;
  bool sends_model = true;
  std::vector<std::string> metrics = {};  ///< names, by row of the group of the metrics
};

tl::unexpected<error> wrong(const std::string& option, const std::string& text, const std::string& why) {
  return fail(error::kind::usage, "algorithm.python." + option, "has \"" + text + "\", " + why,
              "remove the key: furlong writes it");
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::optional<place> place_of(const std::string& word) {
  if (word == "kept") return place::kept;
  if (word == "broadcast" || word == addressed) return place::broadcast;
  if (word == "report") return place::report;
  if (word == "shared") return place::shared;
  if (word == "server") return place::server;
  return std::nullopt;
}

/// What the tensors of a group are: the words from "=" or "of" on.
bool read_tensors(std::span<const std::string> words, described_group& to) {
  if (words.size() < 2) return false;
  using source = described_group::source;
  if (words[0] == "of") {
    to.from = source::named;
    to.names.assign(words.begin() + 1, words.end());
    return true;
  }
  const auto& text = words[1];
  to.from = text == "model" ? source::all : text == "shared" ? source::shared : source::private_ones;
  if (words.size() > 2 || text == "model" || text == "shared" || text == "private") return words.size() == 2;
  const auto by = std::min(text.find('x'), text.size() - 1);
  const auto rows = parse_number<std::uint32_t>(std::string_view(text).substr(0, by));
  const auto columns = parse_number<std::uint32_t>(std::string_view(text).substr(by + 1));
  to.from = source::shape;
  if (!rows || !columns || *rows == 0 || *columns == 0) return false;
  to.group.specs = {{"values", *rows, *columns}};
  return true;
}

/// FIRST: takes the word.
bool read_first(std::span<const std::string>& words, tensor_group& to) {
  if (words.empty()) return false;
  const auto word = words.front();
  words = words.subspan(1);
  if (word == "received" || word == "initial") {
    to.first = word == "received" ? first_value::received : first_value::initial;
    return true;
  }
  const auto value = parse_number<float>(word);
  to.first = value == 0.0F ? first_value::zero : first_value::constant;
  to.constant = value.value_or(0.0F);
  return value.has_value();
}

/// CLIENTS of an addressed group: takes the word.
bool read_clients(std::span<const std::string>& words, tensor_group& group) {
  const auto count = words.empty() ? std::nullopt : parse_number<std::uint32_t>(words.front());
  if (!count || *count == 0) return false;
  group.clients = *count;
  words = words.subspan(1);
  return true;
}

/// RULE MAX_NORM [exact]: takes all words.
bool read_rule(std::span<const std::string>& words, tensor_group& to) {
  if (words.size() < 2 || words.size() > 3) return false;
  const auto norm = parse_number<double>(words[1]);
  if (!norm || (words.size() == 3 && words[2] != "exact")) return false;
  to.max_norm = *norm;
  to.exact = words.size() == 3;
  to.rule = words[0] == "sum" ? sum_rule::sum : words[0] == "mean" ? sum_rule::mean : sum_rule::uniform_mean;
  const bool known = words[0] == "sum" || words[0] == "mean" || words[0] == "uniform-mean";
  words = {};
  return known;
}

result<described_group> read_group(const std::string& text) {
  const auto words = words_of(text);
  const auto tensors = std::ranges::find_if(words, [](const auto& word) { return word == "=" || word == "of"; });
  std::span<const std::string> rest(words.begin(), tensors);
  described_group made;
  const auto where = rest.size() < 2 ? std::nullopt : place_of(rest[1]);
  if (!where || !read_tensors({tensors, words.end()}, made))
    return wrong("groups", text, "which does not read \"NAME PLACE ... = TENSORS\"");
  auto& group = made.group;
  group.name = rest[0];
  group.where = *where;
  const bool rest_is_addressed = rest[1] == addressed;
  rest = rest.subspan(2);
  if (rest_is_addressed && !read_clients(rest, group))
    return wrong("groups", text, "which does not say how many clients it has values for");
  if (*where != place::report && !read_first(rest, group))
    return wrong("groups", text, "which does not say what it begins with");
  if (*where == place::report || *where == place::shared)
    if (!read_rule(rest, group)) return wrong("groups", text, "which does not say how it is aggregated");
  if (!rest.empty()) return wrong("groups", text, "of which \"" + rest.front() + "\" is not understood");
  return made;
}

bool read_trait(const std::string& text, description& to) {
  auto& traits = to.traits;
  const auto words = words_of(text);
  if (words.size() != 2) return false;
  if (text == "groups only") return !(to.sends_model = false);
  if (text == "exact state") return traits.exact_state = true;
  if (text == sees_updates) return traits.sees_updates = true;
  if (text == plain_steps) {
    traits.own_loop = own_loop_use::plain;
    return true;
  }
  if (words[0] == metric_trait) {
    to.metrics.push_back(words[1]);
    return true;
  }
  if (words[0] == "rule") {
    traits.rules.push_back(words[1]);
    return true;
  }
  traits.private_tensors = words[1] == "ignored"    ? private_use::ignored
                           : words[1] == "required" ? private_use::required
                                                    : private_use::allowed;
  return words[0] == "private" && (words[1] == "ignored" || words[1] == "allowed" || words[1] == "required");
}

/// The number of the group with a row of sum and count for each metric.
std::optional<std::size_t> find_metrics(const description& algorithm) {
  const auto& groups = algorithm.groups;
  const auto found = std::ranges::find_if(groups, [&](const described_group& described) {
    const auto& group = described.group;
    return group.name == metrics_group && group.where == place::report && group.rule == sum_rule::sum &&
           described.from == described_group::source::shape && group.specs[0].rows == algorithm.metrics.size() &&
           group.specs[0].cols == 2;
  });
  if (found == groups.end()) return std::nullopt;
  return static_cast<std::size_t>(found - groups.begin());
}

result<description> read(const option_values& options) {
  description made;
  for (const auto& text : options.list("groups")) {
    auto group = read_group(text);
    if (!group) return tl::unexpected(group.error());
    made.groups.push_back(std::move(*group));
  }
  for (const auto& text : options.list("traits"))
    if (!read_trait(text, made)) return wrong("traits", text, "which is no trait");
  if (!made.metrics.empty() && !find_metrics(made))
    return wrong("traits", metric_trait + (" " + made.metrics.front()), "and no group reports it");
  auto& traits = made.traits;
  traits.keeps_state = std::ranges::any_of(made.groups, [](const auto& one) { return one.group.where == place::kept; });
  if (!traits.rules.empty()) traits.defaults.emplace_back("algorithm.aggregation.rule", traits.rules.front());
  if (traits.exact_state) {
    traits.mixes = false;
    traits.defaults.emplace_back("private.commit", std::string("after-ack"));
    traits.erase_note =
        "the algorithm's values on the server still have what the erased client reported, for the rest of the run; a "
        "client that trains again starts from the first values of what it keeps";
  }
  return made;
}

/// Whose noise, or whose limit, would be that of the model's change.
void check_metrics(scenario_view& scenario) {
  for (const std::string key : {"privacy.clip", "privacy.noise"})
    if (scenario.is_good(key) && scenario.given().number(key) > 0)
      scenario.report(key,
                      "is above 0, and the class of the algorithm has metrics, which clients report without a limit",
                      "remove it, or metrics from the class");
}

class described_algorithm final : public algorithm {
 public:
  explicit described_algorithm(description of) : of_(std::move(of)) {}

  [[nodiscard]] std::vector<tensor_group> tensors(const models::model&, const models::partition& parts) const override {
    std::vector<tensor_group> made;
    for (const auto& [group, from, names] : of_.groups) {
      auto& one = made.emplace_back(group);
      switch (from) {
        case described_group::source::all:
          one.copies_of.resize(parts.model->count());
          std::iota(one.copies_of.begin(), one.copies_of.end(), std::size_t{0});
          break;
        case described_group::source::shared: one.copies_of = parts.shared_tensors; break;
        case described_group::source::private_ones: one.copies_of = parts.private_tensors; break;
        case described_group::source::named:
          for (const auto& name : names)
            one.copies_of.push_back(parts.model->find(name).value_or(parts.model->count()));
          std::ranges::sort(one.copies_of);
          break;
        case described_group::source::shape: break;
      }
    }
    return made;
  }
  [[nodiscard]] bool sends_model() const override { return of_.sends_model; }
  [[nodiscard]] std::vector<round_figure> figures(const server_view& server, const aggregate& round) const override {
    std::vector<round_figure> made;
    const auto group = of_.metrics.empty() ? std::nullopt : find_metrics(of_);
    if (!group) return made;
    const auto sums = server.reported(round, *group);
    for (std::size_t i = 0; i < of_.metrics.size(); ++i)
      if (const double count = sums[2 * i + 1]; count > 0.0) made.push_back({of_.metrics[i], sums[2 * i] / count});
    return made;
  }
  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, client_loop(settings));
  }
  void train(local_task&) const override {
    throw std::logic_error("an algorithm without its Python class was to train");
  }

 private:
  description of_;
};

}  // namespace

algorithm_entry python_entry() {
  return {.kind = kind,
          .doc =
              "The algorithm of a Python class (docs/python.md): `python.algorithm` names it. Further keys are the "
              "options of the class, by their own names.",
          .options = {{.name = "groups",
                       .type = option_type::text_list,
                       .fallback = std::vector<std::string>(),
                       .doc = "The class's groups of tensors, a text each. Written by furlong; the class must fit it."},
                      {.name = "traits",
                       .type = option_type::text_list,
                       .fallback = std::vector<std::string>(),
                       .doc = "What else a run must know of the class. Written by furlong; the class must fit it."}},
          .traits = {.private_tensors = private_use::allowed, .keeps_state = true},
          .traits_of = [](const option_values& options) -> result<algorithm_traits> {
            auto made = read(options);
            if (!made) return tl::unexpected(made.error());
            return std::move(made->traits);
          },
          .has_open_keys = true,
          .check =
              [](scenario_view& of) {
                const std::string traits = "algorithm.python.traits";
                const auto has = [&](std::string_view trait) {
                  return of.is_good(traits) && std::ranges::any_of(of.given().list(traits), [&](const auto& text) {
                           return text == trait || text.starts_with(std::string(trait) + " ");
                         });
                };
                if (has(plain_steps)) check_plain_steps(of, "the class of the algorithm");
                if (has(sees_updates))
                  check_single_updates(
                      of, "and the class of the algorithm has cohort(), which sees the updates of single clients");
                if (has(metric_trait)) check_metrics(of);
              },
          .build = [](const option_values& options) -> result<std::shared_ptr<const algorithm>> {
            auto made = read(options);
            if (!made) return tl::unexpected(made.error());
            return std::make_shared<const described_algorithm>(std::move(*made));
          }};
}

}  // namespace furlong::federated
