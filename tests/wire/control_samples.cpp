#include "tests/wire/control_samples.hpp"

#include <bit>

#include "federated/experiment/validation.hpp"
#include "tests/wire/compare.hpp"
#include "tests/wire/samples.hpp"

namespace furlong::wire::samples {

namespace {

using namespace federated::protocol;
using federated::member;
using federated::outcome;
using federated::rejection;
using federated::task_id;

std::uint64_t any_number(random_stream& random) { return std::uint64_t{random()} << 32U | random(); }

// In a task's loss.
double any_double(random_stream& random) { return std::bit_cast<double>(any_number(random)); }

federated::client_range any_range(random_stream& random) {
  const std::uint32_t a = random();
  const std::uint32_t b = random();
  return {std::min(a, b), std::max(a, b)};
}

task_id any_task(random_stream& random) { return {any_number(random), any_number(random), random(), random()}; }

std::vector<task_id> any_tasks(random_stream& random) {
  std::vector<task_id> tasks(random.below(20));
  for (auto& task : tasks) task = any_task(random);
  return tasks;
}

// Printable text in one, two, three and four bytes a character.
std::string any_text(random_stream& random, std::size_t longest) {
  constexpr std::string_view letters[] = {"a", " ", "~", "\u00e9", "\u20ac", "\U0001f682"};
  std::string text;
  for (std::uint32_t i = random.below(40); i > 0; --i) {
    const auto next = letters[random.below(6)];
    if (text.size() + next.size() <= longest) text += next;
  }
  return text;
}

verdict any_verdict(random_stream& random) {
  verdict one{any_task(random), static_cast<verdict_kind>(random.below(4)), {}};
  if (one.what == verdict_kind::rejected) one.why = static_cast<rejection>(random.below(federated::rejection_count));
  return one;
}

federated::settlement any_settlement(random_stream& random) {
  federated::settlement one{any_task(random), static_cast<outcome>(random.below(6)), {}, {}, 0, 0, 0.0};
  if (one.what == outcome::rejected) one.why = static_cast<rejection>(random.below(federated::rejection_count));
  if (one.what == outcome::dropped) one.stage = static_cast<federated::drop_stage>(random.below(3));
  one.examples = any_number(random);
  one.bytes = any_number(random);
  one.loss = any_double(random);
  for (std::uint32_t i = random.below(3); i > 0; --i) one.distances.push_back(random.normal());
  const auto level = [&] { return static_cast<federated::size_level>(random.below(256)); };
  one.size = {.norm = level(), .row = level(), .weight = level()};
  return one;
}

federated::scored_client any_score(random_stream& random) {
  federated::scored_client one{static_cast<federated::group>(random.below(3)), random(), {}};
  one.score.examples = 4 + any_number(random) % federated::most_examples;
  one.score.squared_error = static_cast<double>(one.score.examples) * static_cast<double>(random.uniform(0.0F, 9.0F));
  one.score.loss = static_cast<double>(one.score.examples) * static_cast<double>(random.uniform(0.0F, 3e38F));
  one.score.correct = one.score.examples / 3;
  one.score.words = one.score.examples / 2;
  one.score.words_correct = one.score.words / 5;
  one.score.inside = one.score.examples / 4 * 3;
  one.score.inside_correct = one.score.inside / 7;
  one.score.metrics = {{static_cast<double>(random.normal()), 3.0}, {0.5, 0.0}};
  for (std::uint32_t i = random.below(4); i > 0; --i)
    one.score.odds.emplace_back(random.normal(), random.below(2) == 1);
  one.score.spread = static_cast<double>(random.below(9)) / 4;
  return one;
}

template <class T, class Make>
std::vector<T> several(random_stream& random, Make make) {
  std::vector<T> items(random.below(20));
  for (auto& item : items) item = make(random);
  return items;
}

std::vector<client_sizes> any_sizes(random_stream& random) {
  return several<client_sizes>(random, [](random_stream& from) {
    return client_sizes{from(), from(), from(), from()};
  });
}

federated::store_claim any_claim(random_stream& random) {
  return {any_number(random), any_number(random), any_number(random), random.below(2) == 1};
}

control make(std::type_identity<hello> /*kind*/, random_stream& random) {
  return hello{any_text(random, longest_name),
               any_range(random),
               any_number(random),
               any_tasks(random),
               any_text(random, longest_name),
               any_number(random),
               any_text(random, longest_name),
               any_claim(random),
               any_text(random, longest_name)};
}
control make(std::type_identity<branch_hello> /*kind*/, random_stream& random) {
  return branch_hello{any_text(random, longest_name), any_text(random, longest_name), any_text(random, longest_name),
                      any_text(random, longest_name), any_text(random, longest_name), any_text(random, longest_name)};
}
control make(std::type_identity<welcome> /*kind*/, random_stream& random) {
  welcome message;
  message.run = any_number(random);
  message.scenario = any_text(random, longest_scenario) + "\n\tseed = 1\r\n";
  message.history.resumed_at = several<std::uint64_t>(random, any_number);
  for (std::size_t life = 0; life < message.history.resumed_at.size(); ++life)
    message.history.ids.push_back(any_number(random));
  message.covered = any_number(random);
  message.facts = {random(), random(), static_cast<models::objective>(random.below(4)), random.below(1U << 24U), 0};
  message.facts.words = message.facts.features / 2;
  message.aggregator = random();
  message.start_id = any_number(random);
  message.kernel_level = any_text(random, longest_name);
  message.parts = any_text(random, longest_parts - 1) + "\n";
  return message;
}
control make(std::type_identity<redirect> /*kind*/, random_stream& random) {
  return redirect{"x" + any_text(random, longest_name - 1)};
}
control make(std::type_identity<assignment> /*kind*/, random_stream& random) {
  return assignment{any_number(random), any_number(random), random.below(2) == 1,
                    several<member>(random, [](random_stream& r) {
                      return member{r(), r()};
                    })};
}
control make(std::type_identity<task_failures> /*kind*/, random_stream& random) {
  return task_failures{any_tasks(random)};
}
control make(std::type_identity<verdicts> /*kind*/, random_stream& random) {
  return verdicts{several<verdict>(random, any_verdict), any_number(random)};
}
control make(std::type_identity<checkpointed> /*kind*/, random_stream& random) {
  return checkpointed{any_number(random)};
}
control make(std::type_identity<evaluation_request> /*kind*/, random_stream& random) {
  using one = std::pair<federated::group, std::uint32_t>;
  return evaluation_request{any_number(random), several<one>(random, [](random_stream& r) {
                              return one{static_cast<federated::group>(r.below(3)), r()};
                            })};
}
control make(std::type_identity<evaluation_scores> /*kind*/, random_stream& random) {
  return evaluation_scores{any_number(random), several<federated::scored_client>(random, any_score),
                           random.below(2) == 0};
}
control make(std::type_identity<attached> /*kind*/, random_stream& random) {
  return attached{any_range(random),
                  any_tasks(random),
                  any_text(random, longest_name),
                  any_number(random),
                  any_text(random, longest_name),
                  any_claim(random),
                  any_sizes(random)};
}
control make(std::type_identity<detached> /*kind*/, random_stream& random) {
  return detached{any_range(random), random.below(2) == 0, any_text(random, longest_why)};
}
control make(std::type_identity<close_request> /*kind*/, random_stream& random) {
  return close_request{any_number(random), random.below(2) == 1};
}
control make(std::type_identity<withdrawal> /*kind*/, random_stream& random) { return withdrawal{any_tasks(random)}; }
control make(std::type_identity<withdrawn> /*kind*/, random_stream& random) { return withdrawn{any_tasks(random)}; }
control make(std::type_identity<settled> /*kind*/, random_stream& random) {
  return settled{several<federated::settlement>(random, any_settlement)};
}
control make(std::type_identity<tasks_lost> /*kind*/, random_stream& random) {
  return tasks_lost{any_tasks(random), any_tasks(random)};
}
control make(std::type_identity<ready> /*kind*/, random_stream& random) {
  return ready{any_number(random), any_claim(random), any_sizes(random)};
}
control make(std::type_identity<displaced> /*kind*/, random_stream& random) {
  return displaced{any_number(random), any_text(random, longest_why), any_text(random, longest_why)};
}
federated::privacy::secure_letter any_letter(random_stream& random) {
  federated::privacy::secure_letter made{any_task(random), federated::privacy::secure_step(random.below(9)), {}};
  made.content.resize(random.below(40));
  for (auto& byte : made.content) byte = static_cast<std::uint8_t>(random());
  return made;
}
control make(std::type_identity<letters> /*kind*/, random_stream& random) {
  return letters{several<federated::privacy::secure_letter>(random, any_letter)};
}
control make(std::type_identity<close_notice> /*kind*/, random_stream& random) {
  return close_notice{any_text(random, longest_why), random.below(2) == 1, random.below(2) == 1,
                      any_text(random, longest_why), random.below(2) == 1};
}

template <std::size_t... Kinds>
control make_kind(std::size_t kind, random_stream& random, std::index_sequence<Kinds...> /*all*/) {
  control made;
  ((Kinds == kind ? void(made = make(std::type_identity<std::variant_alternative_t<Kinds, control>>{}, random))
                  : void()),
   ...);
  return made;
}

// Everything a message says, in an order of this file's own: two messages are the same when their traces are.
class trace {
 public:
  trace& add(const std::string& text) {
    bytes_ += std::to_string(text.size()) + ":" + text;
    return *this;
  }
  template <class T>
  requires(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>) trace& add(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  template <class T>
  requires std::has_unique_object_representations_v<T> trace& add(const std::vector<T>& values) {
    add(values.size());
    for (const auto& value : values) add(value);
    return *this;
  }
  friend bool operator==(const trace&, const trace&) = default;

 private:
  std::string bytes_;
};

void tell(trace& to, const federated::store_claim& m) {
  to.add(m.store).add(m.openings).add(m.served).add(m.accepts_loss);
}
void tell(trace& to, const std::vector<client_sizes>& sizes) {
  for (const auto& each : sizes) to.add(each.train).add(each.validation).add(each.seen).add(each.unseen);
}
void tell(trace& to, const hello& m) {
  to.add(m.software).add(m.clients.first).add(m.clients.last).add(m.run).add(m.holding).add(m.avoid).add(m.instance);
  to.add(m.kernel_level).add(m.kernel_levels);
  tell(to, m.claim);
}
void tell(trace& to, const branch_hello& m) {
  to.add(m.software).add(m.name).add(m.gateway).add(m.operators).add(m.kernel_level).add(m.kernel_levels);
}
void tell(trace& to, const welcome& m) {
  to.add(m.run).add(m.scenario).add(m.history.resumed_at).add(m.history.ids).add(m.covered);
  to.add(m.facts.features).add(m.facts.clients).add(m.facts.labels).add(m.aggregator).add(m.start_id);
  to.add(m.facts.classes).add(m.facts.words).add(m.kernel_level).add(m.parts);
}
void tell(trace& to, const redirect& m) { to.add(m.address); }
void tell(trace& to, const assignment& m) { to.add(m.run).add(m.version).add(m.begins).add(m.tasks); }
void tell(trace& to, const task_failures& m) { to.add(m.tasks); }
void tell(trace& to, const verdicts& m) {
  for (const auto& each : m.each) to.add(each.task).add(each.what).add(each.why);
  to.add(m.version);
}
void tell(trace& to, const checkpointed& m) { to.add(m.version); }
void tell(trace& to, const evaluation_request& m) {
  to.add(m.version);
  for (const auto& [in, client] : m.clients) to.add(in).add(client);
}
void tell(trace& to, const evaluation_scores& m) {
  to.add(m.version).add(m.unscored);
  for (const auto& each : m.each) {
    to.add(each.in).add(each.client).add(each.score.squared_error).add(each.score.loss);
    to.add(each.score.correct).add(each.score.examples).add(each.score.odds.size());
    to.add(each.score.words).add(each.score.words_correct);
    to.add(each.score.inside).add(each.score.inside_correct).add(each.score.spread);
    for (const auto& [prediction, is_true] : each.score.odds) to.add(prediction).add(is_true);
  }
}
void tell(trace& to, const attached& m) {
  to.add(m.clients.first).add(m.clients.last).add(m.holding).add(m.node).add(m.instance).add(m.kernel_level);
  tell(to, m.claim);
  tell(to, m.sizes);
}
void tell(trace& to, const detached& m) { to.add(m.clients.first).add(m.clients.last).add(m.strayed).add(m.failure); }
void tell(trace& to, const close_request& m) { to.add(m.version).add(m.enough); }
void tell(trace& to, const withdrawal& m) { to.add(m.tasks); }
void tell(trace& to, const withdrawn& m) { to.add(m.tasks); }
void tell(trace& to, const tasks_lost& m) { to.add(m.folded).add(m.open); }
void tell(trace& to, const ready& m) {
  to.add(m.run);
  tell(to, m.claim);
  tell(to, m.sizes);
}
void tell(trace& to, const displaced& m) { to.add(m.instance).add(m.why).add(m.remedy); }
void tell(trace& to, const letters& m) {
  for (const auto& each : m.each) to.add(each.task).add(each.step).add(each.content);
}
void tell(trace& to, const settled& m) {
  for (const auto& each : m.each) {
    to.add(each.id).add(each.what).add(each.why).add(each.stage);
    to.add(each.examples).add(each.bytes).add(each.loss).add(each.distances.size());
    for (const auto distance : each.distances) to.add(distance);
    to.add(each.size.norm).add(each.size.row).add(each.size.weight);
  }
}
void tell(trace& to, const close_notice& m) { to.add(m.why).add(m.final).add(m.unwanted).add(m.remedy).add(m.failed); }

trace trace_of(const control& message) {
  trace told;
  told.add(message.index());
  std::visit([&](const auto& one) { tell(told, one); }, message);
  return told;
}

}  // namespace

std::vector<std::pair<std::string_view, control>> small_controls() {
  const task_id task = small_task();
  const task_id other{task.run, 9, 6, 0};
  const federated::client_range range{5, 6};
  return {
      {"hello", hello{"furlong 0.1.0",
                      range,
                      task.run,
                      {task, other},
                      "b.example:4711",
                      0,
                      "x86-64-v3",
                      {815, 3, 10, false},
                      "portable,x86-64-v3"}},
      {"branch-hello", branch_hello{"furlong 0.1.0", "west", "west.example:4711", "west.example:4712", "x86-64-v3",
                                    "portable,x86-64-v3"}},
      {"welcome", welcome{task.run,
                          "[scenario]\nseed = 1\n",
                          {{3, 7}, {815, 4711}},
                          8,
                          {1682, 943, models::objective::next_token, 0, 1600},
                          2,
                          4711,
                          "x86-64-v3"}},
      {"redirect", redirect{"west.example:4711"}},
      {"assignment", assignment{task.run, 9, true, {{5, 1}, {6, 0}, {9, 0}}}},
      {"task-failures", task_failures{{task}}},
      {"verdicts", verdicts{{{task, verdict_kind::durable, {}},
                             {other, verdict_kind::rejected, rejection::norm_bound},
                             {task, verdict_kind::unwanted, {}},
                             {other, verdict_kind::taken, {}}},
                            9}},
      {"checkpointed", checkpointed{9}},
      {"evaluation-request", evaluation_request{9, {{federated::group::seen, 5}, {federated::group::unseen, 940}}}},
      {"evaluation-scores",
       evaluation_scores{
           9,
           {{federated::group::seen, 5, {1.5, 0.75, 1, 2, {{0.25F, false}, {0.75F, true}}, 2, 1, 0, 0, {}, 0.5}},
            {federated::group::unseen, 940, {}}}}},
      {"attached",
       attached{range, {task}, "west", 4711, "x86-64-v3", {815, 4, 10, true}, {{12, 1, 2, 0}, {0, 0, 0, 7}}}},
      {"detached", detached{range, true, "no room"}},
      {"close-request", close_request{9, true}},
      {"withdrawal", withdrawal{{task, other}}},
      {"withdrawn", withdrawn{{other}}},
      {"settled", settled{{{task, outcome::folded, {}, {}, 12, 232, 0.5, {0.25F, 1.5F}, {120, 110, 141}},
                           {other, outcome::rejected, rejection::not_finite, {}, 7, 232, 2.5},
                           {other, outcome::dropped, {}, federated::drop_stage::upload, 0, 0, 0.0}}}},
      {"close-notice", close_notice{"the run is over", true, false, "begin another"}},
      {"tasks-lost", tasks_lost{{task}, {other, task}}},
      {"ready", ready{task.run, {815, 4, 10, false}, {{12, 1, 2, 0}, {0, 0, 0, 7}}}},
      {"displaced", displaced{4711, "its private store is older than the model", "put it back"}},
      {"letters", letters{{{task, federated::privacy::secure_step::keys, {1, 2, 3}},
                           {other, federated::privacy::secure_step::abandon, {}}}}},
  };
}

control random_control(std::size_t kind, random_stream& random) {
  return make_kind(kind, random, std::make_index_sequence<std::variant_size_v<control>>{});
}

bool same(const control& a, const control& b) { return trace_of(a) == trace_of(b); }

}  // namespace furlong::wire::samples
