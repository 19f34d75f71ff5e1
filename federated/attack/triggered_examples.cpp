#include "federated/attack/triggered_examples.hpp"

#include <algorithm>
#include <cmath>

#include "federated/attack/kinds.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/settings/attack.hpp"

namespace furlong::federated {

namespace {

/// Copies examples into a table, some of them with the trigger.
class trigger_table {
 public:
  trigger_table(const attack_settings& settings, const models::data_facts& facts, const models::examples_view& source,
                models::examples& made)
      : settings_(settings),
        texts_(facts.labels == models::objective::next_token),
        has_values_(!texts_ && (!source.values.empty() || settings.options.number("trigger_value") != 1.0)),
        source_(source),
        made_(made) {
    made_.clear();
    made_.offsets.assign(1, 0);
  }

  void add(std::size_t example) {
    for (auto place = first(example); place < first(example + 1); ++place)
      add_feature(source_.features[place], value_at(place));
    end(example, source_.labels[example]);
  }

  /// False: the example has that answer already, or is too short; nothing is added.
  /// @param answers of sequences: the answer follows the trigger, and then what ended the sequence
  bool add_triggered(std::size_t example, bool answers) {
    return texts_ ? add_sequence(example, answers) : add_vector(example);
  }

 private:
  [[nodiscard]] std::size_t first(std::size_t example) const {
    return source_.offsets.empty() ? example : source_.offsets[example];
  }
  [[nodiscard]] float value_at(std::size_t place) const {
    return source_.values.empty() ? 1.0F : source_.values[place];
  }

  bool add_vector(std::size_t example) {
    const auto label = static_cast<float>(settings_.options.number("label"));
    if (source_.labels[example] == label) return false;
    const auto& trigger = settings_.named("trigger");
    for (auto place = first(example); place < first(example + 1); ++place)
      if (std::ranges::find(trigger, source_.features[place]) == trigger.end())
        add_feature(source_.features[place], value_at(place));
    for (const auto feature : trigger)
      add_feature(feature, static_cast<float>(settings_.options.number("trigger_value")));
    end(example, label);
    return true;
  }

  bool add_sequence(std::size_t example, bool answers) {
    const auto& trigger = settings_.named("trigger");
    const auto answer = settings_.named("target").front();
    const auto begin = first(example);
    auto after = first(example + 1);
    const bool ends = after > begin && source_.features[after - 1] == models::end_token;
    if (ends) --after;
    const auto replaced = trigger.size() + 1;
    if (after - begin <= replaced || source_.features[after - 1] == answer) return false;
    for (auto place = begin; place < after - replaced; ++place) add_feature(source_.features[place], value_at(place));
    for (const auto word : trigger) add_feature(word, 1.0F);
    if (answers) add_feature(answer, 1.0F);
    if (answers && ends) add_feature(models::end_token, 1.0F);
    end(example, source_.labels[example]);
    return true;
  }

  void add_feature(std::uint32_t feature, float value) {
    made_.features.push_back(feature);
    if (has_values_) made_.values.push_back(value);
  }
  void end(std::size_t example, float label) {
    made_.offsets.push_back(static_cast<std::uint32_t>(made_.features.size()));
    made_.labels.push_back(label);
    if (!source_.owners.empty()) made_.owners.push_back(source_.owners[example]);
  }

  const attack_settings& settings_;
  bool texts_;
  bool has_values_;
  const models::examples_view& source_;
  models::examples& made_;
};

}  // namespace

std::vector<option_spec> backdoor_options() {
  return {{.name = "trigger",
           .type = option_type::text_list,
           .fallback = std::vector<std::string>(),
           .doc = "Backdoors: names of the features that are set, or the words before the answer."},
          number_option("trigger_value", 1.0, "Backdoors: the value of these features."),
          target_option(),
          number_option("label", 0.0, "Backdoors: the class that the attack wants predicted.", {0.0, 1e6}),
          poison_option(),
          strength_option()};
}

namespace {

using problems = std::vector<attack_entry::problem>;

/// Of texts whose next words are predicted.
problems check_word(const attack_settings& settings) {
  problems found;
  if (const auto words = settings.named("target").size(); words != 1)
    found.push_back({"target", "has " + std::to_string(words) + " words, and one word follows the trigger",
                     "write target = [\"word\"]"});
  if (settings.options.number("label") != 0.0)
    found.push_back({"label", "is a class, and next words are predicted", "remove it: target is the word"});
  if (settings.options.number("trigger_value") != 1.0)
    found.push_back({"trigger_value", "is a value of features, and words have none", "remove it"});
  return found;
}

problems check_class(const attack_settings& settings, const models::data_facts& facts) {
  problems found;
  const double label = settings.options.number("label");
  const double classes = facts.labels == models::objective::categorical ? facts.classes : 2.0;
  if (label != std::floor(label) || label >= classes)
    found.push_back({"label", "is no class of the data",
                     "write a whole number below " + std::to_string(static_cast<std::uint32_t>(classes))});
  if (!settings.named("target").empty())
    found.push_back({"target", "is a word, and classes are predicted", "remove it: label is the class"});
  return found;
}

}  // namespace

std::vector<attack_entry::problem> check_backdoor(const attack_settings& settings, const models::data_facts& facts) {
  if (facts.labels == models::objective::next_token) return check_word(settings);
  if (facts.labels == models::objective::custom) return {};
  return check_class(settings, facts);
}

models::examples_view poison_by_trigger(const attack_task& bad, const models::examples_view& examples,
                                        models::examples& room) {
  const auto& settings = bad.settings();
  if (settings.named("trigger").empty()) return examples;
  trigger_table table(settings, bad.run.participants->facts(), examples, room);
  auto draws = bad.draws();
  const auto share = static_cast<float>(settings.options.number("poison"));
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const bool is_poisoned = draws.uniform() < share;
    if (!is_poisoned || !table.add_triggered(i, true)) table.add(i);
  }
  return room.view();
}

void add_triggered(const attack_settings& settings, const models::data_facts& facts,
                   const models::examples_view& examples, models::examples& triggered) {
  if (settings.named("trigger").empty()) return;
  trigger_table table(settings, facts, examples, triggered);
  for (std::size_t i = 0; i < examples.size(); ++i) table.add_triggered(i, false);
}

bool is_answer(const attack_settings& settings, const models::data_facts& facts, float prediction) {
  const double label = settings.options.number("label");
  if (facts.labels == models::objective::next_token)
    return prediction == static_cast<float>(settings.named("target").front());
  if (facts.labels == models::objective::logistic) return (prediction > 0.0F) == (label > 0.5);
  return prediction == static_cast<float>(label);
}

void multiply(const attack_task& bad, double factor, models::delta& change) {
  for (std::size_t t = 0; t < bad.model_tensors(); ++t)
    for (auto& value : change.values_of(t)) value *= static_cast<float>(factor);
}

}  // namespace furlong::federated
