#include <algorithm>
#include <concepts>
#include <functional>
#include <string_view>

#include "wire/control.hpp"
#include "wire/detail/control_rules.hpp"
#include "wire/detail/frame.hpp"
#include "wire/encode.hpp"

namespace furlong::wire {

namespace {

using namespace federated::protocol;
using detail::data_words;
using detail::text_words;
using detail::words_of;
using federated::member;
using federated::outcome;
using federated::rejection;
using federated::task_id;

// These lie in Data as they lie in memory.
static_assert(sizeof(task_id) == 24 && std::has_unique_object_representations_v<task_id>);
static_assert(sizeof(client_sizes) == 16 && std::has_unique_object_representations_v<client_sizes>);
static_assert(sizeof(member) == 8 && std::has_unique_object_representations_v<member>);

// Words of a column with a T for each of so many entries.
template <class T>
constexpr std::size_t column(std::size_t entries) {
  return data_words(entries * sizeof(T));
}

template <class T>
constexpr std::size_t column(const std::vector<T>& entries) {
  return column<T>(entries.size());
}

template <class T>
constexpr unsigned bytes_for(std::size_t entries) {
  return static_cast<unsigned>(entries * sizeof(T));
}

// Makes a column of the entries, or of what `of`, a member or a function, makes of each.
template <class Builder, class Entries, class Of = std::identity>
void fill_column(Builder to, capnp::Data::Builder (Builder::*init)(unsigned), const Entries& entries, Of of = {}) {
  using value_type = std::remove_cvref_t<std::invoke_result_t<Of, decltype(*entries.begin())>>;
  auto* at = (to.*init)(bytes_for<value_type>(entries.size())).begin();
  for (const auto& entry : entries) {
    const value_type value = std::invoke(of, entry);
    std::memcpy(at, &value, sizeof value);
    at += sizeof value;
  }
}

// Sum of what `of` makes of each entry.
template <class Entries, class Of>
std::size_t total(const Entries& entries, Of of) {
  std::size_t sum = 0;
  for (const auto& entry : entries) sum += of(entry);
  return sum;
}

capnp::Text::Reader as_text(const std::string& text) { return {text.c_str(), text.size()}; }

std::size_t odds_of(const evaluation_scores& message) {
  return total(message.each, [](const auto& one) { return one.score.odds.size(); });
}

std::size_t metrics_of(const evaluation_scores& message) {
  std::size_t most = 0;
  for (const auto& each : message.each) most = std::max(most, each.score.metrics.size());
  return most;
}

void fill_claim(schema::StoreClaim::Builder to, const store_claim& claim) {
  to.setStore(claim.store);
  to.setOpenings(claim.openings);
  to.setServed(claim.served);
  to.setAcceptsLoss(claim.accepts_loss);
}

// For each kind, the words in addition to the envelope, and how they are filled.

std::size_t words(const hello& message) {
  return words_of<schema::Hello> + text_words(message.software) + column(message.holding) + text_words(message.avoid) +
         text_words(message.kernel_level) + words_of<schema::StoreClaim>;
}
void fill(schema::Message::Builder root, const hello& message) {
  auto to = root.initHello();
  to.setSoftware(as_text(message.software));
  to.setFirst(message.clients.first);
  to.setLast(message.clients.last);
  to.setRun(message.run);
  fill_column(to, &decltype(to)::initHolding, message.holding);
  to.setAvoid(as_text(message.avoid));
  to.setInstance(message.instance);
  to.setKernelLevel(as_text(message.kernel_level));
  fill_claim(to.initClaim(), message.claim);
}

std::size_t words(const branch_hello& message) {
  return words_of<schema::BranchHello> + text_words(message.software) + text_words(message.name) +
         text_words(message.gateway) + text_words(message.operators) + text_words(message.kernel_level);
}
void fill(schema::Message::Builder root, const branch_hello& message) {
  auto to = root.initBranchHello();
  to.setSoftware(as_text(message.software));
  to.setName(as_text(message.name));
  to.setGateway(as_text(message.gateway));
  to.setOperators(as_text(message.operators));
  to.setKernelLevel(as_text(message.kernel_level));
}

std::size_t words(const welcome& message) {
  return words_of<schema::Welcome> + text_words(message.scenario) + column(message.history.resumed_at) +
         column(message.history.ids) + text_words(message.kernel_level);
}
void fill(schema::Message::Builder root, const welcome& message) {
  auto to = root.initWelcome();
  to.setRun(message.run);
  to.setScenario(as_text(message.scenario));
  fill_column(to, &decltype(to)::initResumedAt, message.history.resumed_at);
  fill_column(to, &decltype(to)::initLives, message.history.ids);
  to.setCovered(message.covered);
  to.setFeatures(message.facts.features);
  to.setClients(message.facts.clients);
  to.setLabels(static_cast<schema::Objective>(message.facts.labels));
  to.setAggregator(message.aggregator);
  to.setStartId(message.start_id);
  to.setClasses(message.facts.classes);
  to.setWords(message.facts.words);
  to.setKernelLevel(as_text(message.kernel_level));
}

std::size_t words(const redirect& message) { return words_of<schema::Redirect> + text_words(message.address); }
void fill(schema::Message::Builder root, const redirect& message) {
  root.initRedirect().setAddress(as_text(message.address));
}

std::size_t words(const assignment& message) { return words_of<schema::Assignment> + column(message.tasks); }
void fill(schema::Message::Builder root, const assignment& message) {
  auto to = root.initAssignment();
  to.setRun(message.run);
  to.setVersion(message.version);
  to.setBegins(message.begins);
  fill_column(to, &decltype(to)::initTasks, message.tasks);
}

template <class T>
concept task_list = std::same_as<T, task_failures> || std::same_as<T, withdrawal> || std::same_as<T, withdrawn>;
std::size_t words(const task_list auto& message) { return words_of<schema::TaskList> + column(message.tasks); }
void fill(schema::Message::Builder root, const task_failures& message) {
  fill_column(root.initTaskFailures(), &schema::TaskList::Builder::initTasks, message.tasks);
}
void fill(schema::Message::Builder root, const withdrawal& message) {
  fill_column(root.initWithdrawal(), &schema::TaskList::Builder::initTasks, message.tasks);
}
void fill(schema::Message::Builder root, const withdrawn& message) {
  fill_column(root.initWithdrawn(), &schema::TaskList::Builder::initTasks, message.tasks);
}

std::size_t words(const verdicts& message) {
  const std::size_t n = message.each.size();
  return words_of<schema::Verdicts> + column<task_id>(n) + column<verdict_kind>(n) + column<rejection>(n);
}
void fill(schema::Message::Builder root, const verdicts& message) {
  auto to = root.initVerdicts();
  to.setVersion(message.version);
  fill_column(to, &decltype(to)::initTasks, message.each, &verdict::task);
  fill_column(to, &decltype(to)::initKinds, message.each, &verdict::what);
  fill_column(to, &decltype(to)::initReasons, message.each,
              [](const verdict& one) { return one.what == verdict_kind::rejected ? one.why : rejection{}; });
}

std::size_t words(const checkpointed& /*message*/) { return words_of<schema::Checkpointed>; }
void fill(schema::Message::Builder root, const checkpointed& message) {
  root.initCheckpointed().setVersion(message.version);
}

std::size_t words(const ready& message) {
  return words_of<schema::Ready> + words_of<schema::StoreClaim> + column(message.sizes);
}
void fill(schema::Message::Builder root, const ready& message) {
  auto to = root.initReady();
  to.setRun(message.run);
  fill_claim(to.initClaim(), message.claim);
  fill_column(to, &decltype(to)::initSizes, message.sizes);
}

std::size_t words(const displaced& message) {
  return words_of<schema::Displaced> + text_words(message.why) + text_words(message.remedy);
}
void fill(schema::Message::Builder root, const displaced& message) {
  auto to = root.initDisplaced();
  to.setInstance(message.instance);
  to.setWhy(as_text(message.why));
  to.setRemedy(as_text(message.remedy));
}

std::size_t words(const evaluation_request& message) {
  const std::size_t n = message.clients.size();
  return words_of<schema::EvaluationRequest> + column<federated::group>(n) + column<std::uint32_t>(n);
}
void fill(schema::Message::Builder root, const evaluation_request& message) {
  auto to = root.initEvaluationRequest();
  to.setVersion(message.version);
  fill_column(to, &decltype(to)::initGroups, message.clients, [](const auto& one) { return one.first; });
  fill_column(to, &decltype(to)::initClients, message.clients, [](const auto& one) { return one.second; });
}

std::size_t words(const evaluation_scores& message) {
  const std::size_t n = message.each.size();
  const std::size_t odds = odds_of(message);
  return words_of<schema::EvaluationScores> + column<federated::group>(n) + 2 * column<std::uint32_t>(n) +
         2 * column<double>(n) + 6 * column<std::uint64_t>(n) + column<float>(odds) + column<std::uint8_t>(odds) +
         column<models::metric_sum>(n * metrics_of(message));
}
void fill_metrics(schema::EvaluationScores::Builder to, const evaluation_scores& message) {
  const std::size_t count = metrics_of(message);
  if (count == 0) return;
  to.setMetricCount(static_cast<std::uint32_t>(count));
  auto sums = to.initMetrics(bytes_for<models::metric_sum>(message.each.size() * count));
  auto* at = sums.begin();
  for (const auto& each : message.each) {
    const auto bytes = each.score.metrics.size() * sizeof(models::metric_sum);
    if (bytes > 0) std::memcpy(at, each.score.metrics.data(), bytes);  // clients without examples have none
    at += count * sizeof(models::metric_sum);
  }
}
void fill_odds(schema::EvaluationScores::Builder to, const evaluation_scores& message) {
  const std::size_t odds = odds_of(message);
  auto predictions = to.initPredictions(bytes_for<float>(odds));
  auto classes = to.initClasses(bytes_for<std::uint8_t>(odds));
  std::size_t at = 0;
  for (const auto& each : message.each)
    for (const auto& [prediction, is_true] : each.score.odds) {
      std::memcpy(predictions.begin() + at * sizeof(float), &prediction, sizeof(float));
      classes[at++] = is_true ? 1 : 0;
    }
}
void fill(schema::Message::Builder root, const evaluation_scores& message) {
  auto to = root.initEvaluationScores();
  to.setVersion(message.version);
  const auto& all = message.each;
  using one = const federated::scored_client&;
  fill_column(to, &decltype(to)::initGroups, all, &federated::scored_client::in);
  fill_column(to, &decltype(to)::initClients, all, &federated::scored_client::client);
  fill_column(to, &decltype(to)::initSquaredErrors, all, [](one of) { return of.score.squared_error; });
  fill_column(to, &decltype(to)::initLosses, all, [](one of) { return of.score.loss; });
  fill_column(to, &decltype(to)::initCorrect, all, [](one of) { return of.score.correct; });
  fill_column(to, &decltype(to)::initExamples, all, [](one of) { return of.score.examples; });
  fill_column(to, &decltype(to)::initOddsCounts, all,
              [](one of) { return static_cast<std::uint32_t>(of.score.odds.size()); });
  fill_odds(to, message);
  fill_metrics(to, message);
  fill_column(to, &decltype(to)::initWords, all, [](one of) { return of.score.words; });
  fill_column(to, &decltype(to)::initWordsCorrect, all, [](one of) { return of.score.words_correct; });
  fill_column(to, &decltype(to)::initInside, all, [](one of) { return of.score.inside; });
  fill_column(to, &decltype(to)::initInsideCorrect, all, [](one of) { return of.score.inside_correct; });
  to.setUnscored(message.unscored);
}

std::size_t words(const attached& message) {
  return words_of<schema::Attached> + column(message.holding) + text_words(message.node) +
         text_words(message.kernel_level) + words_of<schema::StoreClaim> + column(message.sizes);
}
void fill(schema::Message::Builder root, const attached& message) {
  auto to = root.initAttached();
  to.setFirst(message.clients.first);
  to.setLast(message.clients.last);
  fill_column(to, &decltype(to)::initHolding, message.holding);
  to.setNode(as_text(message.node));
  to.setInstance(message.instance);
  to.setKernelLevel(as_text(message.kernel_level));
  fill_claim(to.initClaim(), message.claim);
  fill_column(to, &decltype(to)::initSizes, message.sizes);
}

std::size_t words(const detached& /*message*/) { return words_of<schema::Detached>; }
void fill(schema::Message::Builder root, const detached& message) {
  auto to = root.initDetached();
  to.setFirst(message.clients.first);
  to.setLast(message.clients.last);
  to.setStrayed(message.strayed);
}

std::size_t words(const close_request& /*message*/) { return words_of<schema::CloseRequest>; }
void fill(schema::Message::Builder root, const close_request& message) {
  auto to = root.initCloseRequest();
  to.setVersion(message.version);
  to.setEnough(message.enough);
}

std::size_t distances_of(const settled& message) {
  return total(message.each, [](const auto& one) { return one.distances.size(); });
}
// Most runs report none: then both columns are absent.
std::size_t distance_words(const settled& message) {
  const auto distances = distances_of(message);
  return distances == 0 ? 0 : column<std::uint32_t>(message.each.size()) + column<float>(distances);
}
void fill_distances(schema::Settled::Builder to, const settled& message) {
  const auto distances = distances_of(message);
  if (distances == 0) return;
  fill_column(to, &decltype(to)::initDistanceCounts, message.each,
              [](const auto& of) { return static_cast<std::uint32_t>(of.distances.size()); });
  auto* at = to.initDistances(bytes_for<float>(distances)).begin();
  for (const auto& each : message.each) {
    const auto bytes = std::as_bytes(std::span(each.distances));
    at = std::copy_n(reinterpret_cast<const capnp::byte*>(bytes.data()), bytes.size(), at);
  }
}

std::size_t words(const settled& message) {
  const std::size_t n = message.each.size();
  return words_of<schema::Settled> + column<task_id>(n) + column<outcome>(n) + column<rejection>(n) +
         column<federated::drop_stage>(n) + 2 * column<std::uint64_t>(n) + column<double>(n) + distance_words(message) +
         3 * column<federated::size_level>(n);
}
void fill(schema::Message::Builder root, const settled& message) {
  auto to = root.initSettled();
  const auto& all = message.each;
  using one = const federated::settlement&;
  fill_column(to, &decltype(to)::initTasks, all, &federated::settlement::id);
  fill_column(to, &decltype(to)::initOutcomes, all, &federated::settlement::what);
  fill_column(to, &decltype(to)::initReasons, all,
              [](one of) { return of.what == outcome::rejected ? of.why : rejection{}; });
  fill_column(to, &decltype(to)::initStages, all,
              [](one of) { return of.what == outcome::dropped ? of.stage : federated::drop_stage{}; });
  fill_column(to, &decltype(to)::initExamples, all, &federated::settlement::examples);
  fill_column(to, &decltype(to)::initBytes, all, &federated::settlement::bytes);
  fill_column(to, &decltype(to)::initLosses, all, &federated::settlement::loss);
  fill_distances(to, message);
  fill_column(to, &decltype(to)::initNormLevels, all, [](one of) { return of.size.norm; });
  fill_column(to, &decltype(to)::initRowLevels, all, [](one of) { return of.size.row; });
  fill_column(to, &decltype(to)::initWeightLevels, all, [](one of) { return of.size.weight; });
}

std::size_t words(const close_notice& message) {
  return words_of<schema::CloseNotice> + text_words(message.why) + text_words(message.remedy);
}
void fill(schema::Message::Builder root, const close_notice& message) {
  auto to = root.initCloseNotice();
  to.setWhy(as_text(message.why));
  to.setFinal(message.final);
  to.setUnwanted(message.unwanted);
  to.setRemedy(as_text(message.remedy));
}

std::size_t words(const tasks_lost& message) {
  return words_of<schema::TasksLost> + column(message.folded) + column(message.open);
}
void fill(schema::Message::Builder root, const tasks_lost& message) {
  auto to = root.initTasksLost();
  fill_column(to, &decltype(to)::initFolded, message.folded);
  fill_column(to, &decltype(to)::initOpen, message.open);
}

std::size_t content_bytes(const letters& message) {
  return total(message.each, [](const auto& one) { return one.content.size(); });
}
std::size_t words(const letters& message) {
  const std::size_t n = message.each.size();
  return words_of<schema::Letters> + column<task_id>(n) + column<std::uint8_t>(n) + column<std::uint32_t>(n) +
         data_words(content_bytes(message));
}
void fill(schema::Message::Builder root, const letters& message) {
  auto to = root.initLetters();
  using one = const federated::privacy::secure_letter&;
  fill_column(to, &decltype(to)::initTasks, message.each, &federated::privacy::secure_letter::task);
  fill_column(to, &decltype(to)::initSteps, message.each, &federated::privacy::secure_letter::step);
  fill_column(to, &decltype(to)::initSizes, message.each,
              [](one of) { return static_cast<std::uint32_t>(of.content.size()); });
  auto* at = to.initContents(static_cast<unsigned>(content_bytes(message))).begin();
  for (const auto& of : message.each) at = std::copy(of.content.begin(), of.content.end(), at);
}

}  // namespace

std::size_t encoded_size(const control& message) {
  const auto content = std::visit([](const auto& one) { return words(one); }, message);
  return (detail::envelope_words + content) * detail::word_bytes;
}

result<encoded> encoder::encode(const control& message) {
  if (auto fits = detail::check(message); !fits) return tl::unexpected(fits.error());
  detail::frame out(encoded_size(message));
  std::visit([&](const auto& one) { fill(out.message(), one); }, message);
  auto [words, count] = out.finish();
  return encoded(std::move(words), count);
}

}  // namespace furlong::wire
