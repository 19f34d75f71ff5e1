// What a head gives to its workers, and what it takes from them. Whole runs under faults:
// tests/explore/cluster_world.cpp.
#include "federated/simulation/cluster/remote_pool.hpp"

#include "federated/settings/evaluation.hpp"
#include "federated/simulation/cluster/worker_engine.hpp"
#include "federated/state/broadcasts.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(remote_pools)

using namespace furlong;
using namespace furlong::federated;
using namespace furlong::federated::cluster;

namespace {

/// A head with two workers, whose messages a test carries.
struct two_workers {
  experiment e;
  storage::memory_store store;
  remote_pool pool;
  std::vector<member_number> members;
  std::map<member_number, worker_engine> engines;
  broadcast_ptr from;
  workspace use;

  explicit two_workers(const run_settings& settings = tests::plain_settings())
      : e(tests::simulated(settings)), store(e.parts.private_), pool(e, store) {
    const auto start = initial_state(e);
    from = std::make_shared<const broadcast>(make_broadcast(e, start));
    for (const auto* name : {"a", "b"}) {
      members.push_back(pool.on_joined(name, 1));
      engines.try_emplace(members.back(), e, std::size_t{1});
    }
  }
  [[nodiscard]] task_id id_of(std::uint32_t client, std::uint64_t version = 0) const {
    return {e.run, version, client, 0};
  }
  void train(std::uint32_t client, update_use use_of_update) {
    std::vector<training_job> jobs(1);
    jobs.front().id = id_of(client, from->version);
    jobs.front().from = from;
    jobs.front().use = use_of_update;
    pool.train(jobs);
  }
  /// Carries what was sent, and returns it.
  std::vector<outgoing_message> deliver() {
    auto sent = pool.take_outgoing();
    for (const auto& message : sent) {
      auto copy = message.content;
      BOOST_REQUIRE(engines.at(message.receiver).on_message(std::move(copy)));
    }
    return sent;
  }
  /// What a worker answers once it has done everything.
  std::vector<from_worker> work(member_number member) {
    auto& engine = engines.at(member);
    while (auto item = engine.next(0)) {
      engine.run(0, *item, use);
      engine.done(0, std::move(*item));
    }
    return engine.take_outgoing();
  }
  result<void> answer(member_number member) {
    for (auto& message : work(member))
      if (auto taken = pool.on_message(member, std::move(message)); !taken) return taken;
    return {};
  }
};

/// Of all messages: who got jobs, and which.
std::vector<std::pair<member_number, job_request>> jobs_in(const std::vector<outgoing_message>& sent) {
  std::vector<std::pair<member_number, job_request>> found;
  for (const auto& [receiver, content] : sent)
    if (const auto* block = std::get_if<jobs_down>(&content))
      for (const auto& job : block->jobs) found.emplace_back(receiver, job);
  return found;
}

std::size_t models_in(const std::vector<outgoing_message>& sent) {
  return static_cast<std::size_t>(std::ranges::count_if(
      sent, [](const auto& message) { return std::holds_alternative<model_down>(message.content); }));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_lost_job_is_given_again_with_the_values_before_it) {
  two_workers head;
  models::private_parameters before(head.e.parts.private_);
  before.values()[0] = 1.0F;
  BOOST_REQUIRE(head.store.commit(3, 0, before));
  head.train(3, update_use::added);
  const auto first = jobs_in(head.deliver());
  BOOST_REQUIRE(first.size() == 1U);
  BOOST_TEST(first[0].second.own.unpacked().values()[0] == 1.0F);
  BOOST_REQUIRE(head.answer(first[0].first));
  auto after = before;  // as the run does when the task ends
  after.values()[0] = 2.0F;
  BOOST_REQUIRE(head.store.commit(3, 1, after));
  head.pool.on_lost(first[0].first);
  const auto again = jobs_in(head.deliver());
  BOOST_REQUIRE(again.size() == 1U);
  BOOST_TEST(again[0].first != first[0].first);
  BOOST_TEST(again[0].second.own.unpacked().values()[0] == 1.0F);
  BOOST_TEST(head.pool.repeated() == 1U);
}

BOOST_AUTO_TEST_CASE(workers_that_do_not_agree_end_the_run) {
  for (const bool agree : {true, false}) {
    two_workers head;
    head.train(3, update_use::added);
    const auto first = jobs_in(head.deliver()).at(0).first;
    BOOST_REQUIRE(head.answer(first));
    head.pool.on_lost(first);
    const auto second = jobs_in(head.deliver()).at(0).first;
    auto answers = head.work(second);
    BOOST_REQUIRE(answers.size() == 1U);
    auto& report = std::get<reports_up>(answers[0]).reports.at(0);
    BOOST_TEST(report.held);
    if (!agree) report.report.loss = std::nextafter(report.report.loss, 1e9);
    const auto taken = head.pool.on_message(second, std::move(answers[0]));
    BOOST_TEST(taken.has_value() == agree);
    if (agree) continue;
    BOOST_TEST(taken.error().text().find("worker b: trained client 3 on version 0 with another result than worker a") ==
               0U);
  }
}

BOOST_AUTO_TEST_CASE(a_failure_of_one_worker_is_tried_at_another_once) {
  two_workers head;
  head.train(3, update_use::kept);
  const auto first = jobs_in(head.deliver()).at(0);
  job_report failed{.number = first.second.number,
                    .failure = std::make_shared<const error>(error{error::kind::runtime, "worker", "no memory", ""}),
                    .store_failed = true};
  BOOST_REQUIRE(head.pool.on_message(first.first, reports_up{{failed}}));
  const auto second = jobs_in(head.deliver());
  BOOST_REQUIRE(second.size() == 1U);
  BOOST_TEST(second[0].first != first.first);
  failed.number = second[0].second.number;
  BOOST_REQUIRE(head.pool.on_message(second[0].first, reports_up{{failed}}));
  BOOST_TEST(jobs_in(head.deliver()).empty());
}

BOOST_AUTO_TEST_CASE(a_worker_gets_a_model_once_and_again_when_it_has_forgotten_it) {
  two_workers head;
  head.pool.on_lost(head.members[1]);
  const auto train_on = [&](std::uint64_t version, std::uint32_t client) {
    auto next = *head.from;
    next.version = version;
    head.from = std::make_shared<const broadcast>(std::move(next));
    head.train(client, update_use::kept);
    const auto models = models_in(head.deliver());
    BOOST_REQUIRE(head.answer(head.members[0]));
    return models;
  };
  BOOST_TEST(train_on(0, 1) == 1U);
  BOOST_TEST(train_on(0, 2) == 0U);
  for (std::uint64_t version = 1; version < models_kept; ++version) BOOST_TEST(train_on(version, 3) == 1U);
  BOOST_TEST(train_on(0, 4) == 0U);
  BOOST_TEST(train_on(models_kept, 5) == 1U);
  BOOST_TEST(train_on(0, 6) == 1U);
}

BOOST_AUTO_TEST_CASE(what_no_worker_was_asked_for_is_refused) {
  two_workers head;
  const auto refused = [&](from_worker&& message) {
    const auto taken = head.pool.on_message(head.members[0], std::move(message));
    return taken ? std::string() : taken.error().text();
  };
  BOOST_TEST(refused(reports_up{{job_report{.number = 7}}}).find("worker a: reports a job") == 0U);
  BOOST_TEST(refused(sum_up{.sum = 7, .content = {}}).find("worker a: sends a sum") == 0U);
  BOOST_TEST(refused(scores_up{.evaluation = 1, .block = 7, .scores = {}}).find("worker a: sends scores") == 0U);
  // A sum without one of its updates.
  head.train(3, update_use::added);
  const auto member = jobs_in(head.deliver()).at(0).first;
  BOOST_REQUIRE(head.answer(member));
  head.pool.collect(0, {0});
  head.deliver();
  auto answers = head.work(member);
  BOOST_REQUIRE(answers.size() == 1U);
  std::get<sum_up>(answers[0]).content.tasks.clear();
  const auto taken = head.pool.on_message(member, std::move(answers[0]));
  BOOST_REQUIRE(!taken);
  BOOST_TEST(taken.error().reason == "sends a sum of other updates than it was to have");
}

BOOST_AUTO_TEST_CASE(a_worker_refuses_what_it_cannot_know) {
  two_workers head;
  auto& engine = head.engines.at(head.members[0]);
  BOOST_TEST(!engine.on_message(jobs_down{.version = 9, .reference = {}, .limits = {}, .jobs = {}}));
  BOOST_TEST(!engine.on_message(scoring_down{.version = 9, .clients = {}}));
  BOOST_TEST(!engine.on_message(orders_down{{{.task = head.id_of(3), .counts = true}}}));
}

BOOST_AUTO_TEST_SUITE_END()
