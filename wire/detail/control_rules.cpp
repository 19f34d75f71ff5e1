#include "wire/detail/control_rules.hpp"

#include "federated/experiment/validation.hpp"
#include "wire/detail/control_fields.hpp"
#include "wire/detail/message_checker.hpp"

namespace furlong::wire::detail {

namespace {

using namespace federated::protocol;

constexpr std::size_t objective_count = 6;
constexpr std::size_t most_classes = std::size_t{1} << 24U;

template <class Enum>
std::size_t as_number(Enum value) {
  return static_cast<std::size_t>(value);
}

// Checks the parts of a message.
struct checking {
  message_checker& check;

  void number(const auto& /*value*/, const auto& /*field*/) {}
  void text(const std::string& text, const auto& field, std::size_t limit, text_lines lines) {
    if (lines == one_line)
      check.line(field.name(), text, limit);
    else
      check.document(field.name(), text, limit);
  }
  void claim(const federated::store_claim& /*claim*/, const auto& /*field*/) {}
  void column(const auto& list, const auto& field) { check.count(field.name(), list.size()); }
  template <class Entry, class Of>
  void each(const std::vector<Entry>& list, const auto& field, Of part, column_rule rule = {}) {
    if (rule.is_key) check.count(field.name(), list.size());
    const auto value_in = [&](const Entry& entry) {
      if constexpr (requires { part.member; })
        return entry.*part.member;  // also where it has no meaning
      else
        return std::invoke(part, entry);
    };
    if constexpr (std::is_enum_v<part_of_entry<Of, const Entry>>)
      for (const auto& entry : list) check.below(field.name(), as_number(value_in(entry)), rule.below);
  }
};

void inspect(message_checker& checker, const models::data_facts& facts) {
  // Labels are float32: beyond 2^24 they would not distinguish classes.
  checker.below("classes", facts.classes, most_classes + 1);
  if (facts.words > facts.features)
    checker.report("words", std::to_string(facts.words), "at most the " + std::to_string(facts.features) + " features");
}

void inspect(message_checker& checker, const federated::client_score& score) {
  if (score.correct > score.examples)
    checker.report("correct", std::to_string(score.correct),
                   "at most the " + std::to_string(score.examples) + " examples");
  if (score.words > score.examples)
    checker.report("words", std::to_string(score.words), "at most the " + std::to_string(score.examples) + " examples");
  if (score.words_correct > score.words)
    checker.report("wordsCorrect", std::to_string(score.words_correct),
                   "at most the " + std::to_string(score.words) + " words");
  if (score.inside > score.examples)
    checker.report("inside", std::to_string(score.inside),
                   "at most the " + std::to_string(score.examples) + " examples");
  if (score.inside_correct > score.inside)
    checker.report("insideCorrect", std::to_string(score.inside_correct),
                   "at most the " + std::to_string(score.inside) + " inside");
  for (const auto& [sum, count] : score.metrics)
    if (!(count >= 0.0 && std::isfinite(count)))
      checker.report("metrics", std::to_string(count), "a count of 0 or more");
  if (const auto why = federated::implausible(score)) checker.report("examples", *why, "a score that can be");
}

void odds(checking& visitor, const evaluation_scores& message) {
  std::size_t total = 0;
  for (const auto& each : message.each) {
    inspect(visitor.check, each.score);
    total += each.score.odds.size();
  }
  visitor.check.count("predictions", total);
}

void metrics(checking& /*at*/, const evaluation_scores& /*message*/) {}

void distances(checking& visitor, const settled& message) {
  std::size_t total = 0;
  for (const auto& each : message.each) {
    for (const auto distance : each.distances) visitor.check.finite("distances", static_cast<double>(distance));
    total += each.distances.size();
  }
  visitor.check.count("distances", total);
}

void contents(checking& visitor, const letters& message) {
  std::size_t bytes = 0;
  for (const auto& each : message.each) bytes += each.content.size();
  visitor.check.below("contents", bytes, std::size_t{1} << 29U);
}

// What holds of a message beside its fields.
void inspect(message_checker& /*of*/, const auto& /*message*/) {}

void inspect(message_checker& checker, const welcome& message) {
  if (const auto ids = message.history.ids.size(); ids != message.history.resumed_at.size())
    checker.report("lives", std::to_string(ids) + " of them", std::to_string(message.history.resumed_at.size()));
  checker.below("labels", as_number(message.facts.labels), objective_count);
  inspect(checker, message.facts);
}

void inspect(message_checker& checker, const hello& message) { checker.range(message.clients); }
void inspect(message_checker& checker, const attached& message) { checker.range(message.clients); }
void inspect(message_checker& checker, const detached& message) { checker.range(message.clients); }

void inspect(message_checker& checker, const redirect& message) {
  if (message.address.empty()) checker.report("address", "nothing", "an address");
}

}  // namespace

result<void> check(const control& message) {
  return std::visit(
      []<class Message>(const Message& content) {
        message_checker checker(content_of<Message>::name);
        inspect(checker, content);
        checking visitor{checker};
        fields(visitor, content);
        return checker.status();
      },
      message);
}

}  // namespace furlong::wire::detail
