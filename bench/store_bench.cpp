// bench_store: the private store with 1,000 and 10,000 clients of 50 + 1 floats against one RocksDB family with key
// prefixes; 100 kills of a writing process; and, by --case 100k (bench/store_100k.py), both layouts with 100,000
// clients. Each store is measured in its own process, so that resident memory is its own. System caches stay warm:
// "cold" means that no part of the store is open.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <malloc.h>
#include <map>
#include <random>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.hpp"
#include "bench/common.hpp"
#include "bench/store_baseline.hpp"
#include "bench/store_scale.hpp"
#include "storage/key_file.hpp"
#include "storage/rocks_store.hpp"
#include "tests/storage/kill_trial.hpp"

namespace {

using namespace furlong;
namespace fs = std::filesystem;
using bench::wall_seconds;
using measures = std::map<std::string, double>;

constexpr std::uint64_t commits_per_client = 100;
constexpr int synced_commits = 200;
constexpr int cold_reads = 15;
constexpr std::uint32_t erased = 15;

models::layout_ptr layout() {
  return std::make_shared<const models::layout>(std::vector<models::tensor_spec>{{"user", 1, 50}, {"user_bias", 1, 1}});
}

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "bench_store: %s\n", why.c_str());
  std::exit(4);
}
template <class T>
T must(result<T> r) {
  if (!r) give_up(r.error().text());
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

double resident_bytes() {
  ::malloc_trim(0);
  std::ifstream status("/proc/self/statm");
  double total = 0;
  double resident = 0;
  status >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

/// The private store behind the baseline's interface.
class furlong_store {
 public:
  furlong_store(const fs::path& folder, std::uint32_t clients) {
    const storage::store_options options{
        .run = 1, .history = {{1'000'000}}, .expected_clients = clients, .open_shards = 256};
    store_ = fs::exists(folder / "store.furlong") ? must(storage::rocks_store::open(folder, layout(), options))
                                                  : must(storage::rocks_store::create(folder, layout(), options));
  }
  void commit(std::uint32_t client, std::uint64_t version, const models::private_parameters& value) {
    must(store_->commit(client, version, value));
  }
  void sync() { must(store_->sync()); }
  bool load(std::uint32_t client, models::private_parameters& out) { return must(store_->load(client, out)); }
  std::size_t visit() {
    std::size_t count = 0;
    must(store_->visit([&](std::uint32_t, std::uint64_t, const models::private_parameters&) { ++count; }));
    return count;
  }
  void erase(std::uint32_t client) { must(store_->erase(client)); }
  void covered(std::uint64_t version) { store_->covered(version); }

 private:
  std::unique_ptr<storage::rocks_store> store_;
};

class baseline_store {
 public:
  baseline_store(const fs::path& folder, std::uint32_t) : store_(folder) {}
  void commit(std::uint32_t client, std::uint64_t version, const models::private_parameters& value) {
    store_.commit(client, version, value.values());
  }
  void sync() { store_.sync(); }
  bool load(std::uint32_t client, models::private_parameters& out) { return store_.load(client, out.values()); }
  std::size_t visit() { return store_.visit(); }
  void erase(std::uint32_t client) { store_.erase(client); }
  void covered(std::uint64_t) {}

 private:
  bench::single_family store_;
};

/// Mean microseconds of `count` calls.
double micros(std::size_t count, const std::function<void(std::size_t)>& call) {
  const auto begin = wall_seconds();
  for (std::size_t i = 0; i < count; ++i) call(i);
  return (wall_seconds() - begin) / static_cast<double>(count) * 1e6;
}

void measure_disk(const fs::path& folder, measures& out) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    out["files"] += 1.0;
    out["disk"] += static_cast<double>(entry.file_size());
  }
}

template <class Store>
void measure_writing(const fs::path& folder, std::uint32_t clients, measures& out) {
  models::private_parameters value(layout());
  random_stream draws(1, purpose::test);
  for (auto& x : value.values()) x = draws.normal();
  const auto before = resident_bytes();
  Store store(folder, clients);
  out["first_commit"] = micros(clients, [&](std::size_t i) { store.commit(static_cast<std::uint32_t>(i), 0, value); });
  store.sync();
  out["later_commit"] = micros(clients * (commits_per_client - 1), [&](std::size_t i) {
    value.values()[i % 51] += 1.0F;
    if (i % (10 * std::size_t{clients}) == 0) store.covered(i / clients);
    store.commit(draws.below(clients), 1 + i / clients, value);
  });
  out["later_commit_synced"] = micros(synced_commits, [&](std::size_t) {
    store.commit(draws.below(clients), commits_per_client, value);
    store.sync();
  });
  out["read"] = micros(100'000, [&](std::size_t) { store.load(draws.below(clients), value); });
  out["resident"] = resident_bytes() - before;
  measure_disk(folder, out);
}

template <class Store>
void measure_reopening(const fs::path& folder, std::uint32_t clients, measures& out) {
  models::private_parameters value(layout());
  random_stream draws(2, purpose::test);
  auto begin = wall_seconds();
  {
    Store store(folder, clients);
    if (store.visit() < clients) give_up("a client is missing after reopening");
    out["full_reopen"] = wall_seconds() - begin;
  }
  std::vector<double> cold;
  for (int i = 0; i < cold_reads; ++i) {
    begin = wall_seconds();
    Store store(folder, clients);
    if (!store.load(draws.below(clients), value)) give_up("a client is missing after reopening");
    cold.push_back((wall_seconds() - begin) * 1e3);
  }
  out["cold_read"] = bench::median(std::move(cold));
  Store store(folder, clients);
  store.visit();
  out["erase"] =
      micros(erased, [&](std::size_t i) { store.erase(static_cast<std::uint32_t>(i * clients / erased)); }) / 1e3;
}

template <class Store>
measures measure(const fs::path& folder, std::uint32_t clients) {
  measures out;
  measure_writing<Store>(folder, clients, out);
  measure_reopening<Store>(folder, clients, out);
  return out;
}

/// Runs `work` in a child process. No RocksDB thread may exist here yet.
measures apart(const std::function<measures()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) give_up("no pipe");
  const auto child = ::fork();
  if (child == 0) {
    std::ostringstream text;
    text.precision(17);
    for (const auto& [name, value] : work()) text << name << ' ' << value << '\n';
    const auto bytes = text.str();
    const bool sent = ::write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    ::_exit(sent ? 0 : 4);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) give_up("a measuring process failed");
  measures out;
  std::istringstream lines(text);
  std::string name;
  for (double value = 0; lines >> name >> value;) out[name] = value;
  return out;
}

void compare(bench::figures& figures, const fs::path& folder, const std::string& name, std::uint32_t clients) {
  const auto single = apart([&] { return measure<baseline_store>(folder / "single", clients); });
  const auto ours = apart([&] { return measure<furlong_store>(folder / "store", clients); });
  fs::remove_all(folder);
  const std::map<std::string, std::string> units{
      {"first_commit", "us"}, {"later_commit", "us"}, {"later_commit_synced", "us"},
      {"read", "us"},         {"full_reopen", "s"},   {"cold_read", "ms"},
      {"erase", "ms"},        {"resident", "bytes"},  {"files", "files"},
      {"disk", "bytes"}};
  for (const auto& [metric, unit] : units) {
    figures.add({name + "-single-family", metric, single.at(metric), unit});
    figures.add({name, metric, ours.at(metric), unit, "single-family", single.at(metric) / ours.at(metric)});
  }
  if (clients < 10'000) return;
  for (const auto& [metric, bar] : {std::pair{"full_reopen", 3.0}, {"cold_read", 100.0}})
    figures.add({name, std::string(metric) + "_against_bar", ours.at(metric), units.at(metric), "bar",
                 bar / ours.at(metric), 1.0});
}

void scale(bench::figures& figures, const fs::path& folder, const std::string& name, const bench::store_scale& of) {
  auto all = apart([&] { return bench::measure_creation(folder, of); });
  all.merge(apart([&] { return bench::measure_quarter_open(folder, of); }));
  fs::remove_all(folder);
  const std::map<std::string, std::string> units{{"prepare", "s"},
                                                 {"close", "s"},
                                                 {"open", "s"},
                                                 {"open_and_first_read", "s"},
                                                 {"visit_all", "s"},
                                                 {"cohort_all_open", "ms"},
                                                 {"cohort_quarter_open", "ms"},
                                                 {"cohort_quarter_open_sorted", "ms"},
                                                 {"resident_all_open", "bytes"},
                                                 {"resident_quarter_open", "bytes"},
                                                 {"files", "files"},
                                                 {"disk", "bytes"},
                                                 {"shards", "shards"}};
  constexpr double bar = 60.0;
  figures.add({name, "create", all.at("create"), "s", "bar", bar / all.at("create"), 1.0});
  for (const auto& [metric, unit] : units) figures.add({name, metric, all.at(metric), unit});
}

/// Both layouts; the bucketed one also encrypted.
void scale_all(bench::figures& figures, const fs::path& folder, const std::string& name, std::uint32_t clients) {
  using storage::store_layout;
  fs::create_directories(folder);
  const auto key = folder / "key";
  must(storage::create_key_file(key));
  scale(figures, folder / "store", name + "-per-client", {clients, store_layout::per_client, {}});
  scale(figures, folder / "store", name + "-bucketed", {clients, store_layout::bucketed, {}});
  scale(figures, folder / "store", name + "-bucketed-encrypted", {clients, store_layout::bucketed, key});
}

void kill_often(bench::figures& figures, const fs::path& folder, unsigned kills) {
  tests::kill_trials trials(folder / "store", {"/proc/self/exe", "--kill-writer"});
  std::mt19937 draws(std::random_device{}());
  double wrong = 0;
  for (unsigned i = 0; i < kills; ++i) {
    const auto what = trials.run(static_cast<unsigned>(draws() % 40));
    if (what.empty()) continue;
    wrong += 1.0;
    std::fprintf(stderr, "kill %u: %s\n", i, what.c_str());
  }
  fs::remove_all(folder);
  figures.add({"kill", "kills", static_cast<double>(kills), "kills"});
  figures.add({"kill", "synced_commits", static_cast<double>(trials.synced()), "commits"});
  figures.add({"kill", "kills_with_lost_or_torn_commits", wrong, "kills"});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 7 && std::strcmp(argv[1], "--kill-writer") == 0)
    return tests::write_until_killed({argv + 2, argv + argc});
  const auto only = bench::text_argument(argc, argv, "--case", "");
  const auto kills = static_cast<unsigned>(bench::count_argument(argc, argv, "--kills", 100));
  const fs::path parent = bench::text_argument(argc, argv, "--dir", fs::temp_directory_path().string());
  const auto folder = parent / ("furlong-bench-store-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  {
    bench::figures figures("store");
    for (const auto& [name, clients] : {std::pair<std::string, std::uint32_t>{"1k", 1'000}, {"10k", 10'000}})
      if (only.empty() || only == name) {
        fs::create_directories(folder / name);
        compare(figures, folder / name, name, clients);
      }
    // Not by default: it needs 4 GB of memory.
    if (only == "100k") scale_all(figures, folder / only, only, 100'000);
    if (only.empty() || only == "kill") kill_often(figures, folder, kills);
  }
  fs::remove_all(folder);
  return 0;
}
