#include "wire/detail/control_rules.hpp"

#include "federated/validation.hpp"
#include "wire/detail/message_checker.hpp"

namespace furlong::wire::detail {

namespace {

using namespace federated::protocol;

constexpr std::size_t group_count = 3;
constexpr std::size_t outcome_count = 6;
constexpr std::size_t verdict_kind_count = 4;
constexpr std::size_t objective_count = 5;
constexpr std::size_t most_classes = std::size_t{1} << 24U;

template <class Enum>
std::size_t number(Enum value) {
  return static_cast<std::size_t>(value);
}

void inspect(message_checker& of, const hello& message) {
  of.line("software", message.software, longest_name);
  of.range(message.clients);
  of.count("holding", message.holding.size());
  of.line("avoid", message.avoid, longest_name);
  of.line("kernelLevel", message.kernel_level, longest_name);
}

void inspect(message_checker& of, const branch_hello& message) {
  of.line("software", message.software, longest_name);
  of.line("name", message.name, longest_name);
  of.line("gateway", message.gateway, longest_name);
  of.line("operators", message.operators, longest_name);
  of.line("kernelLevel", message.kernel_level, longest_name);
}

void inspect(message_checker& of, const models::data_facts& facts) {
  // Labels are float32: beyond 2^24 they would not distinguish classes.
  of.below("classes", facts.classes, most_classes + 1);
  if (facts.words > facts.features)
    of.report("words", std::to_string(facts.words), "at most the " + std::to_string(facts.features) + " features");
}

void inspect(message_checker& of, const welcome& message) {
  of.document("scenario", message.scenario, longest_scenario);
  of.count("resumedAt", message.history.resumed_at.size());
  if (const auto ids = message.history.ids.size(); ids != message.history.resumed_at.size())
    of.report("lives", std::to_string(ids) + " of them", std::to_string(message.history.resumed_at.size()));
  of.below("labels", number(message.facts.labels), objective_count);
  inspect(of, message.facts);
  of.line("kernelLevel", message.kernel_level, longest_name);
}

void inspect(message_checker& of, const redirect& message) {
  if (message.address.empty()) of.report("address", "nothing", "an address");
  of.line("address", message.address, longest_name);
}

void inspect(message_checker& of, const assignment& message) { of.count("tasks", message.tasks.size()); }
void inspect(message_checker& of, const task_failures& message) { of.count("tasks", message.tasks.size()); }
void inspect(message_checker& of, const withdrawal& message) { of.count("tasks", message.tasks.size()); }
void inspect(message_checker& of, const withdrawn& message) { of.count("tasks", message.tasks.size()); }
void inspect(message_checker& /*of*/, const checkpointed& /*message*/) {}
void inspect(message_checker& of, const ready& message) { of.count("sizes", message.sizes.size()); }
void inspect(message_checker& of, const displaced& message) {
  of.line("why", message.why, longest_why);
  of.line("remedy", message.remedy, longest_why);
}
void inspect(message_checker& /*of*/, const close_request& /*message*/) {}
void inspect(message_checker& of, const detached& message) { of.range(message.clients); }

void inspect(message_checker& of, const verdicts& message) {
  of.count("tasks", message.each.size());
  for (const auto& each : message.each) {
    of.below("kinds", number(each.what), verdict_kind_count);
    of.below("reasons", number(each.why), federated::rejection_count);
  }
}

void inspect(message_checker& of, const evaluation_request& message) {
  of.count("clients", message.clients.size());
  for (const auto& [in, client] : message.clients) of.below("groups", number(in), group_count);
}

void inspect(message_checker& of, const federated::client_score& score) {
  if (score.correct > score.examples)
    of.report("correct", std::to_string(score.correct), "at most the " + std::to_string(score.examples) + " examples");
  if (score.words > score.examples)
    of.report("words", std::to_string(score.words), "at most the " + std::to_string(score.examples) + " examples");
  if (score.words_correct > score.words)
    of.report("wordsCorrect", std::to_string(score.words_correct),
              "at most the " + std::to_string(score.words) + " words");
  if (score.inside > score.examples)
    of.report("inside", std::to_string(score.inside), "at most the " + std::to_string(score.examples) + " examples");
  if (score.inside_correct > score.inside)
    of.report("insideCorrect", std::to_string(score.inside_correct),
              "at most the " + std::to_string(score.inside) + " inside");
  for (const auto& [sum, count] : score.metrics)
    if (!(count >= 0.0 && std::isfinite(count))) of.report("metrics", std::to_string(count), "a count of 0 or more");
  if (const auto why = federated::implausible(score)) of.report("examples", *why, "a score that can be");
}

void inspect(message_checker& of, const evaluation_scores& message) {
  of.count("clients", message.each.size());
  std::size_t odds = 0;
  for (const auto& each : message.each) {
    of.below("groups", number(each.in), group_count);
    inspect(of, each.score);
    odds += each.score.odds.size();
  }
  of.count("predictions", odds);
}

void inspect(message_checker& of, const attached& message) {
  of.range(message.clients);
  of.count("holding", message.holding.size());
  of.count("sizes", message.sizes.size());
  of.line("node", message.node, longest_name);
  of.line("kernelLevel", message.kernel_level, longest_name);
}

void inspect(message_checker& of, const settled& message) {
  of.count("tasks", message.each.size());
  std::size_t distances = 0;
  for (const auto& each : message.each) {
    of.below("outcomes", number(each.what), outcome_count);
    of.below("reasons", number(each.why), federated::rejection_count);
    of.below("stages", number(each.stage), federated::drop_stage_count);
    for (const auto distance : each.distances) of.finite("distances", static_cast<double>(distance));
    distances += each.distances.size();
  }
  of.count("distances", distances);
}

void inspect(message_checker& of, const close_notice& message) {
  of.line("why", message.why, longest_why);
  of.line("remedy", message.remedy, longest_why);
}

void inspect(message_checker& of, const tasks_lost& message) {
  of.count("folded", message.folded.size());
  of.count("open", message.open.size());
}

void inspect(message_checker& of, const letters& message) {
  of.count("tasks", message.each.size());
  std::size_t bytes = 0;
  for (const auto& each : message.each) {
    of.below("steps", number(each.step), federated::privacy::secure_step_count);
    bytes += each.content.size();
  }
  of.below("contents", bytes, std::size_t{1} << 29U);
}

}  // namespace

result<void> check(const control& message) {
  return std::visit(
      []<class Message>(const Message& one) {
        message_checker of(name_of<Message>);
        inspect(of, one);
        return of.status();
      },
      message);
}

}  // namespace furlong::wire::detail
