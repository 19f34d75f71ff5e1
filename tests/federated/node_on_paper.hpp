// A node's role between a gateway, workers and a store that a test plays: no threads, and its clock is a number.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "federated/processes/node_role.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "federated/state/broadcasts.hpp"
#include "storage/memory_store.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

namespace furlong::tests::roles {

using namespace federated::processes;
namespace protocol = federated::protocol;
using federated::commit_kind;
using federated::task_id;
using federated::virtual_time;

inline constexpr std::size_t workers = 2;
inline constexpr std::size_t tasks_of_wave = 8;
inline constexpr virtual_time second = federated::microseconds_per_second;

[[nodiscard]] inline federated::experiment node_experiment(std::string_view kind, commit_kind commit) {
  federated::run_settings settings;
  settings.rounds = 5;
  *settings.algorithm = federated::chosen_algorithm(kind);
  *settings.client = {.lr = 0.1F, .epochs = 1, .batch_size = 4};
  *settings.reconstruction = {.lr = 0.1F, .epochs = 1, .max_steps = 3};
  settings.own->commit = commit;
  return tests::make_experiment(settings, tests::make_ratings(12), {}, {"user"});
}

/// Remembers which values a later reader of the store has.
class recorded_store final : public storage::memory_store {
 public:
  using memory_store::memory_store;
  result<void> commit(std::uint32_t client, std::uint64_t version, const models::private_parameters& value) override {
    if (refused) return fail(*refused, "store", "cannot be written");
    kept[client] = version;
    return memory_store::commit(client, version, value);
  }
  result<federated::store_save> save(std::uint64_t) override {
    on_record = kept;
    return federated::store_save{};
  }
  std::size_t pending() {
    std::size_t count = 0;
    BOOST_REQUIRE(visit_pending([&](const auto&, const auto&) { ++count; }));
    return count;
  }

  std::map<std::uint32_t, std::uint64_t> kept;       ///< versions by client
  std::map<std::uint32_t, std::uint64_t> on_record;  ///< of these, those that are durable
  std::optional<error::kind> refused;
};

struct finished_update final : outgoing_update {
  explicit finished_update(task_id trained) : id(trained) {}
  task_id id;
};

/// Hosts all 24 clients.
class node_on_paper final : public node_surroundings {
 public:
  federated::experiment e;
  recorded_store store;
  virtual_time clock = 0;
  session_number session = 0;
  bool is_closed = false;                         ///< by the node
  std::vector<protocol::control> sent;            ///< in all sessions
  std::vector<std::pair<task_id, bool>> updates;  ///< sent, and whether the client's values were on record
  std::vector<work_item> work;                    ///< with workers
  std::vector<std::string> violations;
  std::optional<node_end> end;
  std::uint64_t served = 0;
  node_role role;

  explicit node_on_paper(std::string_view kind = "furl", commit_kind commit = commit_kind::after_ack,
                         virtual_time give_up = 0)
      : e(node_experiment(kind, commit)),
        store(e.parts.private_),
        role(*this, {"server:1", "test", {0, 23}, 7, {}, give_up}, backoff([](virtual_time) { return 0; })) {
    role.start();
    open_session();
  }

  /// The session that the node asks for is open.
  void open_session() {
    wake();
    is_closed = false;
    role.on_opened(session);
    go_on();
  }
  void wake() {
    role.on_wake();
    go_on();
  }
  void drop_session() {
    role.on_closed(session, {"cut off"});
    go_on();
    open_session();
  }

  /// What the gateway says.
  void say(protocol::control content, std::size_t bytes = 100) {
    role.on_message(session, std::move(content), bytes);
    go_on();
  }
  void say_model(std::uint64_t version) {
    auto state = federated::initial_state(e);
    state.version = version;
    role.on_model(session, std::make_shared<const federated::broadcast>(federated::make_broadcast(e, state)));
    go_on();
  }
  void welcome(const std::vector<std::uint64_t>& lives = {}) {
    protocol::welcome content;
    content.run = e.run;
    content.scenario = "name = \"test\"\n";
    for (const auto version : lives) content.history.resume(version, 1);
    say(std::move(content));
  }
  void assign(std::uint64_t version, std::vector<federated::member> tasks) {
    say(protocol::assignment{e.run, version, false, std::move(tasks)});
  }
  void judge(std::uint64_t version, std::uint32_t client, protocol::verdict_kind what) {
    say(protocol::verdicts{{{{e.run, version, client, 0}, what, {}}}, version});
  }
  /// Client 3 gets its first task and reports it.
  void train_first() {
    welcome();
    say_model(0);
    assign(0, {{3, 0}});
    train(3);
    BOOST_REQUIRE(updates.size() == 1U);
  }
  /// A worker trains this client.
  void train(std::uint32_t client) {
    const auto found = std::ranges::find_if(work, [&](const work_item& item) {
      const auto* job = std::get_if<federated::training_job>(&item);
      return job != nullptr && job->id.client == client;
    });
    BOOST_REQUIRE((found != work.end()));
    trained_task done{std::move(std::get<federated::training_job>(*found)), {}, {}, clock};
    work.erase(found);
    done.job.stores = policy().workers_store;
    federated::workspace use;
    federated::perform(e, store, done.job, use);
    done.update = std::make_shared<const finished_update>(done.job.id);
    role.on_done(std::move(done));
    go_on();
  }
  template <class Message>
  [[nodiscard]] std::size_t heard() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(sent, [](const auto& content) { return std::holds_alternative<Message>(content); }));
  }
  [[nodiscard]] work_policy policy() const {
    return {workers, tasks_of_wave, e.settings.own->commit == commit_kind::after_training};
  }

 private:
  [[nodiscard]] virtual_time now() const override { return clock; }
  void wake(virtual_time) override {}
  void connect(session_number opened, const std::string&) override { session = opened; }
  void send(session_number, protocol::control content) override { sent.push_back(std::move(content)); }
  bool send(session_number, const federated::broadcast_ptr&) override { return false; }
  void send(session_number, const outgoing_update_ptr& update) override {
    const auto& id = static_cast<const finished_update&>(*update).id;
    updates.emplace_back(id, store.on_record.contains(id.client));
  }
  void send(session_number, const partial_ptr&) override {}
  void send_dropped(session_number, const task_id&, federated::drop_stage) override {}
  void close(session_number) override { is_closed = true; }
  void admitted(session_number) override {}
  void log(log_level, const std::string&) override {}
  void prepare(const protocol::welcome&) override {
    BOOST_TEST(run_of_role_.expired(), "the store of the run before is closed");
    to_prepare_ = true;
  }
  result<outgoing_update_ptr> encode(const node_run&, federated::client_update&& update) override {
    return std::make_shared<const finished_update>(update.id);
  }
  void violated(const std::string& why) override { violations.push_back(why); }
  void heard(const protocol::verdicts&) override {}
  void stored(const task_id&, virtual_time) override {}
  void ended(const node_end& why) override { end = why; }

  void go_on() {
    if (std::exchange(to_prepare_, false)) {
      const std::shared_ptr<void> nobody;
      auto run = std::make_shared<node_run>();
      run->e = {nobody, &e};
      run->store = {nobody, &store};
      run->work = policy();
      run->note_served = [this](std::uint64_t version) {
        served = version;
        return result<void>();
      };
      run_of_role_ = run;
      role.on_prepared(std::move(run));
    }
    for (work_item item; role.next(item);) work.push_back(std::move(item));
  }

  std::weak_ptr<const node_run> run_of_role_;
  bool to_prepare_ = false;
};

}  // namespace furlong::tests::roles
