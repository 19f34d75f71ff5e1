#include "bench/store_scale.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <malloc.h>
#include <numeric>
#include <unistd.h>

#include "base/random.hpp"
#include "bench/common.hpp"

namespace furlong::bench {

namespace fs = std::filesystem;

namespace {

using figures_by_name = std::map<std::string, double>;
using models::private_parameters;
using storage::rocks_store;

constexpr std::size_t cohort_size = 100;
constexpr std::uint64_t checkpoint_every = 10;  // cohorts

[[noreturn]] void give_up(const error& why) {
  std::fprintf(stderr, "bench_store: %s\n", why.text().c_str());
  std::exit(4);
}
template <class T>
T must(result<T> r) {
  if (!r) give_up(r.error());
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

models::layout_ptr layout() {
  return std::make_shared<const models::layout>(std::vector<models::tensor_spec>{{"user", 1, 50}, {"user_bias", 1, 1}});
}

storage::store_options options(const store_scale& scale, std::uint32_t open_shards) {
  return {.run = 1,
          .history = {{1'000'000}},
          .expected_clients = scale.clients,
          .open_shards = open_shards,
          .layout = scale.layout,
          .key_file = scale.key_file};
}

double resident_bytes() {
  ::malloc_trim(0);
  std::ifstream status("/proc/self/statm");
  double total = 0;
  double resident = 0;
  status >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

void measure_disk(const fs::path& folder, figures_by_name& out) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    out["files"] += 1.0;
    out["disk"] += static_cast<double>(entry.file_size());
  }
}

/// Rounds like those of a run: the cohort's values are loaded and later committed, with regular checkpoints.
class rounds {
 public:
  rounds(rocks_store& store, std::uint32_t clients, std::uint64_t version)
      : store_(store), clients_(clients), version_(version), value_(layout()) {}

  /// Milliseconds per cohort.
  double run(std::size_t cohorts, bool in_order) {
    const auto begin = wall_seconds();
    for (std::size_t i = 0; i < cohorts; ++i) one(in_order);
    return (wall_seconds() - begin) / static_cast<double>(cohorts) * 1e3;
  }

 private:
  void one(bool in_order) {
    std::vector<std::uint32_t> cohort(cohort_size);
    for (auto& client : cohort) client = draws_.below(clients_);
    if (in_order) std::ranges::sort(cohort);
    for (const auto client : cohort) {
      if (!must(store_.load(client, value_)))
        give_up({error::kind::data, "client " + std::to_string(client), "has no value", ""});
      value_.values()[version_ % value_.values().size()] += 1.0F;
      must(store_.commit(client, version_, value_));
    }
    must(store_.sync());
    if (++version_ % checkpoint_every == 0) store_.covered(version_);
  }

  rocks_store& store_;
  std::uint32_t clients_;
  std::uint64_t version_;
  private_parameters value_;
  random_stream draws_{3, purpose::test};
};

}  // namespace

figures_by_name measure_creation(const fs::path& folder, const store_scale& scale) {
  figures_by_name out;
  const auto before = resident_bytes();
  auto store = must(rocks_store::create(folder, layout(), options(scale, 256)));
  std::vector<std::uint32_t> clients(scale.clients);
  std::iota(clients.begin(), clients.end(), 0U);
  private_parameters value(layout());
  auto begin = wall_seconds();
  must(store->prepare(clients));
  out["prepare"] = wall_seconds() - begin;
  for (const auto client : clients) must(store->commit(client, 0, value));
  must(store->sync());
  out["create"] = wall_seconds() - begin;
  out["resident_all_open"] = resident_bytes() - before;
  rounds all(*store, scale.clients, 1);
  all.run(50, false);  // the first rounds read each client's values
  out["cohort_all_open"] = all.run(300, false);
  begin = wall_seconds();
  store.reset();
  out["close"] = wall_seconds() - begin;
  measure_disk(folder, out);
  return out;
}

figures_by_name measure_quarter_open(const fs::path& folder, const store_scale& scale) {
  figures_by_name out;
  const auto shards = must(rocks_store::inspect(folder, storage::store_access::read, scale.key_file))->shards();
  const auto before = resident_bytes();
  auto begin = wall_seconds();
  auto store = must(rocks_store::open(folder, layout(), options(scale, std::max(1U, shards / 4))));
  out["open"] = wall_seconds() - begin;
  private_parameters value(layout());
  must(store->load(scale.clients / 2, value));
  out["open_and_first_read"] = wall_seconds() - begin;
  begin = wall_seconds();
  std::size_t count = 0;
  must(store->visit([&](std::uint32_t, std::uint64_t, const private_parameters&) { ++count; }));
  out["visit_all"] = wall_seconds() - begin;
  if (count != scale.clients) give_up({error::kind::data, folder.string(), "clients are missing", ""});
  rounds some(*store, scale.clients, 1'000'000);
  out["cohort_quarter_open_sorted"] = some.run(5, true);
  out["cohort_quarter_open"] = some.run(2, false);
  out["resident_quarter_open"] = resident_bytes() - before;
  out["shards"] = static_cast<double>(shards);
  return out;
}

}  // namespace furlong::bench
