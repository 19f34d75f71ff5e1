#include "wire/detail/read_control.hpp"

#include <utility>

#include "wire/detail/control_rules.hpp"
#include "wire/detail/message_checker.hpp"

namespace furlong::wire::detail {

namespace {

using namespace federated::protocol;
using federated::drop_stage;
using federated::group;
using federated::member;
using federated::outcome;
using federated::rejection;
using federated::task_id;

template <class T>
void assign(std::vector<T>& to, std::span<const T> values) {
  to.assign(values.begin(), values.end());
}

std::string text_of(capnp::Text::Reader text) { return {text.cStr(), text.size()}; }

// Each read_into() copies a message out, and calls every getter that yields a text or Data once, because each call
// counts against the traversal limit. A message whose columns differ in length stays empty. No column is longer than
// the frame, so no message is much larger than its frame.

store_claim claim_of(schema::StoreClaim::Reader from) {
  return {from.getStore(), from.getOpenings(), from.getServed(), from.getAcceptsLoss()};
}

void read_into(hello& into, message_checker& of, schema::Hello::Reader from) {
  into.software = text_of(from.getSoftware());
  into.clients = {from.getFirst(), from.getLast()};
  into.run = from.getRun();
  assign(into.holding, of.column<task_id>("holding", from.getHolding()));
  into.avoid = text_of(from.getAvoid());
  into.instance = from.getInstance();
  into.kernel_level = text_of(from.getKernelLevel());
  into.claim = claim_of(from.getClaim());
}

void read_into(branch_hello& into, message_checker& /*of*/, schema::BranchHello::Reader from) {
  into = {text_of(from.getSoftware()), text_of(from.getName()), text_of(from.getGateway()),
          text_of(from.getOperators()), text_of(from.getKernelLevel())};
}

void read_into(welcome& into, message_checker& of, schema::Welcome::Reader from) {
  into.run = from.getRun();
  into.scenario = text_of(from.getScenario());
  assign(into.history.resumed_at, of.column<std::uint64_t>("resumedAt", from.getResumedAt()));
  assign(into.history.ids, of.column<std::uint64_t>("lives", from.getLives(), into.history.resumed_at.size()));
  into.covered = from.getCovered();
  // A number that is no objective is found by control_rules.
  into.facts = {from.getFeatures(), from.getClients(), static_cast<models::objective>(from.getLabels()),
                from.getClasses(), from.getWords()};
  into.aggregator = from.getAggregator();
  into.start_id = from.getStartId();
  into.kernel_level = text_of(from.getKernelLevel());
}

void read_into(redirect& into, message_checker& /*of*/, schema::Redirect::Reader from) {
  into.address = text_of(from.getAddress());
}

void read_into(assignment& into, message_checker& of, schema::Assignment::Reader from) {
  into.run = from.getRun();
  into.version = from.getVersion();
  into.begins = from.getBegins();
  assign(into.tasks, of.column<member>("tasks", from.getTasks()));
}

// task_failures, withdrawal and withdrawn.
template <class Message>
void read_into(Message& into, message_checker& of, schema::TaskList::Reader from) {
  assign(into.tasks, of.column<task_id>("tasks", from.getTasks()));
}

void read_into(tasks_lost& into, message_checker& of, schema::TasksLost::Reader from) {
  assign(into.folded, of.column<task_id>("folded", from.getFolded()));
  assign(into.open, of.column<task_id>("open", from.getOpen()));
}

void read_into(verdicts& into, message_checker& of, schema::Verdicts::Reader from) {
  const auto tasks = of.column<task_id>("tasks", from.getTasks());
  const auto kinds = of.column<verdict_kind>("kinds", from.getKinds(), tasks.size());
  const auto reasons = of.column<rejection>("reasons", from.getReasons(), tasks.size());
  if (!of.sound()) return;
  into.each.reserve(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) into.each.push_back({tasks[i], kinds[i], reasons[i]});
  into.version = from.getVersion();
}

void read_into(checkpointed& into, message_checker& /*of*/, schema::Checkpointed::Reader from) {
  into.version = from.getVersion();
}

void read_into(ready& into, message_checker& of, schema::Ready::Reader from) {
  into.run = from.getRun();
  into.claim = claim_of(from.getClaim());
  assign(into.sizes, of.column<client_sizes>("sizes", from.getSizes()));
}

void read_into(displaced& into, message_checker& /*of*/, schema::Displaced::Reader from) {
  into = {from.getInstance(), text_of(from.getWhy()), text_of(from.getRemedy())};
}

void read_into(evaluation_request& into, message_checker& of, schema::EvaluationRequest::Reader from) {
  into.version = from.getVersion();
  const auto clients = of.column<std::uint32_t>("clients", from.getClients());
  const auto groups = of.column<group>("groups", from.getGroups(), clients.size());
  if (!of.sound()) return;
  into.clients.reserve(clients.size());
  for (std::size_t i = 0; i < clients.size(); ++i) into.clients.emplace_back(groups[i], clients[i]);
}

// Deals the odds of all clients out to them.
void read_odds(evaluation_scores& into, message_checker& of, schema::EvaluationScores::Reader from) {
  const auto counts = of.column<std::uint32_t>("oddsCounts", from.getOddsCounts(), into.each.size());
  const auto predictions = of.column<float>("predictions", from.getPredictions());
  const auto classes = of.column<std::uint8_t>("classes", from.getClasses(), predictions.size());
  if (!of.sound()) return;
  std::uint64_t total = 0;
  for (const auto count : counts) total += count;
  if (total != predictions.size())
    return of.report("oddsCounts", std::to_string(total) + " in all", std::to_string(predictions.size()));
  std::size_t at = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    auto& odds = into.each[i].score.odds;
    odds.reserve(counts[i]);
    for (const std::size_t end = at + counts[i]; at < end; ++at) {
      of.below("classes", classes[at], 2);
      odds.emplace_back(predictions[at], classes[at] != 0);
    }
  }
}

void read_metrics(evaluation_scores& into, message_checker& of, schema::EvaluationScores::Reader from) {
  const std::size_t count = from.getMetricCount();
  if (count > models::most_metrics)
    return of.report("metricCount", std::to_string(count), "at most " + std::to_string(models::most_metrics));
  const auto sums = of.column<models::metric_sum>("metrics", from.getMetrics(), into.each.size() * count);
  if (!of.sound() || count == 0) return;
  for (std::size_t i = 0; i < into.each.size(); ++i)
    if (into.each[i].score.examples > 0)
      into.each[i].score.metrics.assign(sums.begin() + i * count, sums.begin() + (i + 1) * count);
}

void read_into(evaluation_scores& into, message_checker& of, schema::EvaluationScores::Reader from) {
  into.version = from.getVersion();
  into.unscored = from.getUnscored();
  const auto clients = of.column<std::uint32_t>("clients", from.getClients());
  const std::size_t n = clients.size();
  const auto groups = of.column<group>("groups", from.getGroups(), n);
  const auto squared_errors = of.column<double>("squaredErrors", from.getSquaredErrors(), n);
  const auto losses = of.column<double>("losses", from.getLosses(), n);
  const auto correct = of.column<std::uint64_t>("correct", from.getCorrect(), n);
  const auto examples = of.column<std::uint64_t>("examples", from.getExamples(), n);
  const auto words = of.column_or_zeros<std::uint64_t>("words", from.getWords(), n);
  const auto words_correct = of.column_or_zeros<std::uint64_t>("wordsCorrect", from.getWordsCorrect(), n);
  const auto inside = of.column_or_zeros<std::uint64_t>("inside", from.getInside(), n);
  const auto inside_correct = of.column_or_zeros<std::uint64_t>("insideCorrect", from.getInsideCorrect(), n);
  if (!of.sound()) return;
  into.each.reserve(n);
  for (std::size_t i = 0; i < n; ++i)
    into.each.push_back({groups[i],
                         clients[i],
                         {.squared_error = squared_errors[i],
                          .loss = losses[i],
                          .correct = correct[i],
                          .examples = examples[i],
                          .odds = {},
                          .words = words[i],
                          .words_correct = words_correct[i],
                          .inside = inside[i],
                          .inside_correct = inside_correct[i],
                          .metrics = {}}});
  read_odds(into, of, from);
  read_metrics(into, of, from);
}

void read_into(attached& into, message_checker& of, schema::Attached::Reader from) {
  into.clients = {from.getFirst(), from.getLast()};
  assign(into.holding, of.column<task_id>("holding", from.getHolding()));
  into.node = text_of(from.getNode());
  into.instance = from.getInstance();
  into.kernel_level = text_of(from.getKernelLevel());
  into.claim = claim_of(from.getClaim());
  assign(into.sizes, of.column<client_sizes>("sizes", from.getSizes()));
}

void read_into(detached& into, message_checker& /*of*/, schema::Detached::Reader from) {
  into.clients = {from.getFirst(), from.getLast()};
  into.strayed = from.getStrayed();
}

void read_into(close_request& into, message_checker& /*of*/, schema::CloseRequest::Reader from) {
  into = {from.getVersion(), from.getEnough()};
}

// Deals the distances of all tasks out to them.
void read_distances(settled& into, message_checker& of, schema::Settled::Reader from) {
  const auto counts = of.column_or_zeros<std::uint32_t>("distanceCounts", from.getDistanceCounts(), into.each.size());
  const auto distances = of.column<float>("distances", from.getDistances());
  if (!of.sound()) return;
  std::uint64_t total = 0;
  for (const auto count : counts) total += count;
  if (total != distances.size())
    return of.report("distanceCounts", std::to_string(total) + " in all", std::to_string(distances.size()));
  auto at = distances.begin();
  for (std::size_t i = 0; i < counts.size(); at += counts[i++])
    into.each[i].distances.assign(at, at + static_cast<std::ptrdiff_t>(counts[i]));
}

void read_into(settled& into, message_checker& of, schema::Settled::Reader from) {
  const auto tasks = of.column<task_id>("tasks", from.getTasks());
  const std::size_t n = tasks.size();
  const auto outcomes = of.column<outcome>("outcomes", from.getOutcomes(), n);
  const auto reasons = of.column<rejection>("reasons", from.getReasons(), n);
  const auto stages = of.column<drop_stage>("stages", from.getStages(), n);
  const auto examples = of.column<std::uint64_t>("examples", from.getExamples(), n);
  const auto bytes = of.column<std::uint64_t>("bytes", from.getBytes(), n);
  const auto losses = of.column<double>("losses", from.getLosses(), n);
  const auto norms = of.column_or_zeros<federated::size_level>("normLevels", from.getNormLevels(), n);
  const auto rows = of.column_or_zeros<federated::size_level>("rowLevels", from.getRowLevels(), n);
  const auto weights = of.column_or_zeros<federated::size_level>("weightLevels", from.getWeightLevels(), n);
  if (!of.sound()) return;
  into.each.reserve(n);
  for (std::size_t i = 0; i < n; ++i)
    into.each.push_back({tasks[i],
                         outcomes[i],
                         reasons[i],
                         stages[i],
                         examples[i],
                         bytes[i],
                         losses[i],
                         {},
                         {norms[i], rows[i], weights[i]}});
  read_distances(into, of, from);
}

void read_into(letters& into, message_checker& of, schema::Letters::Reader from) {
  const auto tasks = of.column<task_id>("tasks", from.getTasks());
  const auto steps = of.column<federated::privacy::secure_step>("steps", from.getSteps(), tasks.size());
  const auto sizes = of.column<std::uint32_t>("sizes", from.getSizes(), tasks.size());
  const auto contents = from.getContents();
  if (!of.sound()) return;
  std::uint64_t bytes = 0;
  for (const auto size : sizes) bytes += size;
  if (bytes != contents.size())
    return of.report("contents", std::to_string(contents.size()) + " bytes", std::to_string(bytes));
  into.each.reserve(tasks.size());
  const auto* at = contents.begin();
  for (std::size_t i = 0; i < tasks.size(); ++i, at += sizes[i - 1])
    into.each.push_back({tasks[i], steps[i], {at, at + sizes[i]}});
}

void read_into(close_notice& into, message_checker& /*of*/, schema::CloseNotice::Reader from) {
  into = {text_of(from.getWhy()), from.getFinal(), from.getUnwanted(), text_of(from.getRemedy())};
}

// @param there whether the message has any content: to Cap'n Proto, one that has none is one of zeros
// @param content gets the reader of the content; called once
template <class Message, class Content>
result<control> read(bool there, Content content) {
  const std::string name = name_of<Message>;
  if (!there) return unexpected_content(name, "nothing", "its content");
  Message found;
  message_checker of(name);
  read_into(found, of, content());
  if (!of.sound()) return tl::unexpected(of.status().error());
  control whole(std::move(found));
  if (auto fits = check(whole); !fits) return tl::unexpected(fits.error());
  return whole;
}

}  // namespace

bool is_control(schema::Message::Which kind) {
  return kind >= schema::Message::HELLO && kind <= schema::Message::LETTERS;
}

result<control> read_control(schema::Message::Reader from) {
  using kind = schema::Message;
  switch (from.which()) {
    case kind::HELLO: return read<hello>(from.hasHello(), [&] { return from.getHello(); });
    case kind::BRANCH_HELLO: return read<branch_hello>(from.hasBranchHello(), [&] { return from.getBranchHello(); });
    case kind::WELCOME: return read<welcome>(from.hasWelcome(), [&] { return from.getWelcome(); });
    case kind::REDIRECT: return read<redirect>(from.hasRedirect(), [&] { return from.getRedirect(); });
    case kind::ASSIGNMENT: return read<assignment>(from.hasAssignment(), [&] { return from.getAssignment(); });
    case kind::TASK_FAILURES:
      return read<task_failures>(from.hasTaskFailures(), [&] { return from.getTaskFailures(); });
    case kind::VERDICTS: return read<verdicts>(from.hasVerdicts(), [&] { return from.getVerdicts(); });
    case kind::CHECKPOINTED: return read<checkpointed>(from.hasCheckpointed(), [&] { return from.getCheckpointed(); });
    case kind::EVALUATION_REQUEST:
      return read<evaluation_request>(from.hasEvaluationRequest(), [&] { return from.getEvaluationRequest(); });
    case kind::EVALUATION_SCORES:
      return read<evaluation_scores>(from.hasEvaluationScores(), [&] { return from.getEvaluationScores(); });
    case kind::ATTACHED: return read<attached>(from.hasAttached(), [&] { return from.getAttached(); });
    case kind::DETACHED: return read<detached>(from.hasDetached(), [&] { return from.getDetached(); });
    case kind::CLOSE_REQUEST:
      return read<close_request>(from.hasCloseRequest(), [&] { return from.getCloseRequest(); });
    case kind::WITHDRAWAL: return read<withdrawal>(from.hasWithdrawal(), [&] { return from.getWithdrawal(); });
    case kind::WITHDRAWN: return read<withdrawn>(from.hasWithdrawn(), [&] { return from.getWithdrawn(); });
    case kind::SETTLED: return read<settled>(from.hasSettled(), [&] { return from.getSettled(); });
    case kind::CLOSE_NOTICE: return read<close_notice>(from.hasCloseNotice(), [&] { return from.getCloseNotice(); });
    case kind::TASKS_LOST: return read<tasks_lost>(from.hasTasksLost(), [&] { return from.getTasksLost(); });
    case kind::READY: return read<ready>(from.hasReady(), [&] { return from.getReady(); });
    case kind::DISPLACED: return read<displaced>(from.hasDisplaced(), [&] { return from.getDisplaced(); });
    case kind::LETTERS: return read<letters>(from.hasLetters(), [&] { return from.getLetters(); });
    default: break;
  }
  return unexpected_content("message", "kind " + std::to_string(static_cast<unsigned>(from.which())),
                            "a control message");
}

}  // namespace furlong::wire::detail
