#include "tests/storage/kill_trial.hpp"

#include <algorithm>
#include <iostream>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.hpp"
#include "storage/rocks_store.hpp"

extern char** environ;  // NOLINT: POSIX

namespace furlong::tests {

namespace {

using storage::rocks_store;

constexpr std::uint32_t clients = 60;
constexpr std::uint32_t stride = 14;  // spreads them over three shards
constexpr std::uint64_t run_id = 11;

models::layout_ptr layout() {
  static const auto shape =
      std::make_shared<const models::layout>(std::vector<models::tensor_spec>{{"user", 1, 50}, {"user_bias", 1, 1}});
  return shape;
}

std::uint32_t client_of(std::uint64_t commit) { return random_stream(commit, purpose::test).below(clients) * stride; }

models::private_parameters value_of(std::uint64_t commit) {
  models::private_parameters value(layout());
  random_stream draws(commit, purpose::test, 1);
  for (auto& x : value.values()) x = draws.uniform();
  return value;
}

storage::store_options options(const kill_target& target, std::uint64_t from) {
  // Kills before the next report resume at the same commit: the same history twice.
  return {.run = run_id,
          .history = {{from}},
          .expected_clients = clients * stride,
          .open_shards = 3,
          .layout = target.layout,
          .bucket_clients = 300,
          .key_file = target.key_file};
}

/// The last commit of each client below `end`, by client; ~0 for none.
std::vector<std::uint64_t> last_commits(std::uint64_t end) {
  std::vector<std::uint64_t> last(clients * stride, ~std::uint64_t{0});
  for (std::uint64_t i = 0; i < end; ++i) last[client_of(i)] = i;
  return last;
}

std::string complain(std::uint32_t client, const std::string& what) {
  return "client " + std::to_string(client) + ": " + what;
}

}  // namespace

int write_until_killed(const std::vector<std::string>& words) {
  if (words.size() != 5) return 2;
  const auto kind = words[3] == name_of(storage::store_layout::bucketed) ? storage::store_layout::bucketed
                                                                         : storage::store_layout::per_client;
  const auto from = std::stoull(words[1]);
  const int pipe = std::stoi(words[2]);
  auto store = rocks_store::open(words[0], layout(), options({kind, words[4]}, from));
  const auto give_up = [](const error& why) {
    std::cerr << why.text() << '\n';
    return 4;
  };
  if (!store) return give_up(store.error());
  random_stream draws(from, purpose::test, 2);
  for (auto next = from;;) {
    const auto until = next + 1 + draws.below(40);
    for (; next < until; ++next)
      if (auto done = (*store)->commit(client_of(next), next, value_of(next)); !done) return give_up(done.error());
    if (auto synced = (*store)->sync(); !synced) return give_up(synced.error());
    if (::write(pipe, &next, sizeof next) != sizeof next) return 0;
    (*store)->covered(next);
  }
}

std::string kill_trials::run(unsigned reports) {
  if (next_ == 0 && !std::filesystem::exists(folder_ / "store.furlong"))
    if (auto made = rocks_store::create(folder_, layout(), options(target_, 0)); !made) return made.error().text();
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  auto words = writer_;
  for (const auto& word : {folder_.string(), std::to_string(next_), std::to_string(ends[1]),
                           std::string(storage::name_of(target_.layout)), target_.key_file.string()})
    words.push_back(word);
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  pid_t writer = 0;
  const int failed = ::posix_spawn(&writer, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failed != 0) return "cannot start " + words[0];
  std::uint64_t report = 0;
  const auto take = [&] { return ::read(ends[0], &report, sizeof report) == sizeof report; };
  for (unsigned i = 0; i < reports && take(); ++i) next_ = report;
  ::kill(writer, SIGKILL);
  while (take()) next_ = report;  // what it still managed to report
  int status = 0;
  ::waitpid(writer, &status, 0);
  ::close(ends[0]);
  if (!WIFSIGNALED(status)) return "the writer ended by itself, with status " + std::to_string(status);
  return judge();
}

std::string kill_trials::judge() {
  const auto last = last_commits(next_);
  models::private_parameters found(layout());
  {
    // As it was left: what was synced or something newer, and nothing torn.
    const auto store = rocks_store::inspect(folder_, storage::store_access::read, target_.key_file);
    if (!store) return store.error().text();
    if (const auto problems = (*store)->verify(); !problems.empty()) return problems.front().text();
    const auto listed = (*store)->list();
    if (!listed) return listed.error().text();
    for (const auto& [client, version, life, bytes] : *listed) {
      if (const auto loaded = (*store)->load(client, found); !loaded || !*loaded) return complain(client, "not loaded");
      if (client_of(version) != client) return complain(client, "the value is of another client");
      if (!std::ranges::equal(found.values(), value_of(version).values())) return complain(client, "the value is torn");
      if (last[client] != ~std::uint64_t{0} && version < last[client]) return complain(client, "a commit is lost");
    }
  }
  // As the next life finds it: exactly what was reported.
  const auto store = rocks_store::open(folder_, layout(), options(target_, next_));
  if (!store) return store.error().text();
  for (std::uint32_t client = 0; client < last.size(); ++client) {
    const auto loaded = (*store)->load(client, found);
    if (!loaded) return loaded.error().text();
    if (*loaded != (last[client] != ~std::uint64_t{0})) return complain(client, "a synced commit is lost or invented");
    if (*loaded && !std::ranges::equal(found.values(), value_of(last[client]).values()))
      return complain(client, "not the value of the last report");
  }
  return {};
}

}  // namespace furlong::tests
