// bench_pfedrec: tasks of PFedRec's clients (federated/algorithms/pfedrec.cpp, published settings) against a bare loop
// that does the same work on the same data: draws negatives, shuffles, copies the rows that the task names, steps on
// the score function and on the rows of each batch, and subtracts the rows again. Neither aggregates nor stores.
//
//   bench_pfedrec [--passes N] [--repetitions N]
//   bench_pfedrec --dump FILE     the items of each client, for the yardstick in another language
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bench/common.hpp"
#include "bench/mf_experiment.hpp"
#include "bench/run_timing.hpp"
#include "federated/client/client_work.hpp"
#include "federated/rounds/tensor_layouts.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/training.hpp"

namespace {

using namespace furlong;

constexpr std::uint32_t rank = 32;
constexpr std::uint32_t batch_size = 256;
constexpr std::uint32_t negatives = 4;

/// Ratings as interactions.
class interactions final : public federated::population {
 public:
  explicit interactions(std::shared_ptr<const federated::population> ratings) : ratings_(std::move(ratings)) {
    models::examples scratch;
    std::size_t most = 0;
    for (const auto client : ratings_->training())
      most = std::max(most, ratings_->load(client, federated::part::train, scratch).size());
    ones_.assign(most, 1.0F);
  }

  models::data_facts facts() const override {
    auto facts = ratings_->facts();
    facts.labels = models::objective::ranking;
    return facts;
  }
  std::span<const std::uint32_t> training() const override { return ratings_->training(); }
  std::span<const std::uint32_t> unseen_validation() const override { return {}; }
  std::span<const std::uint32_t> unseen_test() const override { return {}; }
  models::examples_view load(std::uint32_t client, federated::part which, models::examples& scratch) const override {
    if (which != federated::part::train) return {};
    auto view = ratings_->load(client, which, scratch);
    view.labels = std::span(ones_).first(view.size());
    return view;
  }
  std::string client_name(std::uint32_t client) const override { return ratings_->client_name(client); }
  std::string feature_name(std::uint32_t feature) const override { return ratings_->feature_name(feature); }

 private:
  std::shared_ptr<const federated::population> ratings_;
  std::vector<float> ones_;
};

federated::experiment published_pfedrec(std::shared_ptr<const federated::population> clients) {
  federated::experiment e;
  const auto facts = clients->facts();
  option_values options;
  options.set("item_lr", 0.1 * facts.features * 80);
  *e.settings.algorithm = federated::chosen_algorithm("pfedrec", options);
  *e.settings.client = {.lr = 0.1F, .batch_size = batch_size, .shuffle = true, .negatives = negatives};
  const auto* entry = models::find_model("score-function");
  e.model = bench::expect(entry->build(defaults(entry->options), facts));
  const std::vector<std::string> own = {"score", "score_bias"};
  if (const auto placed = federated::lay_out(e, own); !placed) bench::give_up(placed.error());
  e.clients = e.participants = std::move(clients);
  return e;
}

/// The bare loop's memory for a task; its own random numbers are those of xorshift (Marsaglia 2003).
struct bare_task {
  std::vector<std::uint32_t> items;  ///< of the examples, then their rows
  std::vector<float> labels;
  std::vector<std::uint32_t> taken;  ///< by item: the task that has an interaction with it
  std::vector<std::uint32_t> seen;   ///< by item: the task that has a row of it
  std::vector<std::uint32_t> slot;
  std::vector<std::uint32_t> named;  ///< items by row
  std::vector<float> rows;
  std::vector<float> change;
  std::vector<float> slopes;
  std::vector<std::uint32_t> slope_of;  ///< by row: the batch that wrote its slope
  std::uint32_t state = 2463534242U;
  std::uint32_t task = 0;
  std::uint32_t batch = 0;

  std::uint32_t next() {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
  }
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>((std::uint64_t{next()} * bound) >> 32); }
};

void draw_examples(bare_task& work, std::span<const std::uint32_t> own, std::uint32_t all_items) {
  work.items.clear();
  work.labels.clear();
  for (const auto item : own) work.taken[item] = work.task;
  for (const auto item : own) {
    work.items.push_back(item);
    work.labels.push_back(1.0F);
    for (std::uint32_t k = 0; k < negatives; ++k) {
      std::uint32_t other = work.below(all_items);
      while (work.taken[other] == work.task) other = work.below(all_items);
      work.items.push_back(other);
      work.labels.push_back(0.0F);
    }
  }
  for (std::size_t i = work.items.size(); i > 1; --i) {
    const auto place = work.below(static_cast<std::uint32_t>(i));
    std::swap(work.items[i - 1], work.items[place]);
    std::swap(work.labels[i - 1], work.labels[place]);
  }
}

using vector = float __attribute__((vector_size(32)));
constexpr std::uint32_t vectors = rank * sizeof(float) / sizeof(vector);

/// Trains on the drawn examples: moves the score function and the rows.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
void train(bare_task& work, float* score, float* bias, float rate, float item_rate) {
  const std::size_t count = work.items.size();
  for (std::size_t first = 0; first < count; first += batch_size) {
    const std::size_t last = std::min(count, first + batch_size);
    const float share = 1.0F / static_cast<float>(last - first);
    ++work.batch;
    for (const bool on_rows : {false, true}) {
      vector w[vectors];
      std::memcpy(w, score, sizeof w);
      vector d_w[vectors] = {};
      float d_bias = 0.0F;
      for (std::size_t i = first; i < last; ++i) {
        const std::size_t row = work.items[i];
        vector y[vectors];
        std::memcpy(y, work.rows.data() + row * rank, sizeof y);
        vector sum = {};
        for (std::uint32_t k = 0; k < vectors; ++k) sum += w[k] * y[k];
        const float odds = *bias + ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
        const float error = (1.0F / (1.0F + std::exp(-odds)) - work.labels[i]) * share;
        if (!on_rows) {
          for (std::uint32_t k = 0; k < vectors; ++k) d_w[k] += error * y[k];
          d_bias += error;
          continue;
        }
        float* to = work.slopes.data() + row * rank;
        vector slope[vectors] = {};
        if (work.slope_of[row] == work.batch) std::memcpy(slope, to, sizeof slope);
        work.slope_of[row] = work.batch;
        for (std::uint32_t k = 0; k < vectors; ++k) slope[k] += error * w[k];
        std::memcpy(to, slope, sizeof slope);
      }
      if (!on_rows) {
        for (std::uint32_t k = 0; k < vectors; ++k) w[k] -= rate * d_w[k];
        std::memcpy(score, w, sizeof w);
        *bias -= rate * d_bias;
        continue;
      }
      for (std::size_t row = 0; row < work.named.size(); ++row) {
        if (work.slope_of[row] != work.batch) continue;
        for (std::uint32_t k = 0; k < rank; ++k) work.rows[row * rank + k] -= item_rate * work.slopes[row * rank + k];
      }
    }
  }
}

/// One task of the bare loop, from these items and this score function.
void train_bare(bare_task& work, std::span<const std::uint32_t> own, std::span<const float> table, float* score,
                float* bias, float item_rate) {
  const auto all_items = static_cast<std::uint32_t>(table.size() / rank);
  ++work.task;
  draw_examples(work, own, all_items);
  work.named.clear();
  for (auto& item : work.items) {
    if (std::exchange(work.seen[item], work.task) != work.task) {
      work.slot[item] = static_cast<std::uint32_t>(work.named.size());
      work.named.push_back(item);
    }
    item = work.slot[item];
  }
  for (std::size_t row = 0; row < work.named.size(); ++row)
    std::memcpy(work.rows.data() + row * rank, table.data() + std::size_t{work.named[row]} * rank,
                rank * sizeof(float));
  train(work, score, bias, 0.1F, item_rate);
  for (std::size_t row = 0; row < work.named.size(); ++row)
    for (std::uint32_t k = 0; k < rank; ++k)
      work.change[row * rank + k] = work.rows[row * rank + k] - table[std::size_t{work.named[row]} * rank + k];
}

/// Tasks per second of processor time of all clients, `passes` times.
double bare_speed(const federated::experiment& e, std::size_t passes) {
  const auto items = e.clients->facts().features;
  const auto model = federated::initial_model(e);
  bare_task work;
  for (auto* each : {&work.taken, &work.seen, &work.slot, &work.slope_of}) each->assign(items, 0);
  for (auto* each : {&work.rows, &work.change, &work.slopes}) each->assign(std::size_t{items} * rank, 0.0F);
  models::private_parameters first(e.parts.private_);
  federated::initial_private(e, 0, 0, first);
  const auto clients = e.participants->training();
  std::vector<float> own(clients.size() * (rank + 1));
  for (std::size_t i = 0; i < clients.size(); ++i)
    std::copy_n(first.values().begin(), rank + 1, own.begin() + static_cast<std::ptrdiff_t>(i * (rank + 1)));
  models::examples scratch;
  const double start = bench::thread_cpu_seconds();
  for (std::size_t pass = 0; pass < passes; ++pass)
    for (std::size_t i = 0; i < clients.size(); ++i) {
      const auto data = e.participants->load(clients[i], federated::part::train, scratch);
      float* score = own.data() + i * (rank + 1);
      train_bare(work, data.features, model.tensor(0), score, score + rank, 0.1F * 80.0F * static_cast<float>(items));
    }
  return static_cast<double>(passes * clients.size()) / (bench::thread_cpu_seconds() - start);
}

double task_speed(const federated::experiment& e, std::size_t passes) {
  const auto clients = e.participants->training();
  std::vector<models::private_parameters> own(clients.size());
  federated::workspace use;
  federated::client_update update;
  const double start = bench::thread_cpu_seconds();
  for (std::size_t pass = 0; pass < passes; ++pass) {
    const federated::broadcast from{e.run, pass, federated::initial_model(e), {}};
    for (std::size_t i = 0; i < clients.size(); ++i) {
      const bool has_own = own[i].shape() != nullptr;
      if (has_own) use.own = own[i];
      static_cast<void>(client_work(e, from, {e.run, pass, clients[i], 0}, has_own, use, update));
      own[i] = use.own;
    }
  }
  return static_cast<double>(passes * clients.size()) / (bench::thread_cpu_seconds() - start);
}

/// Writes the number of items and those of each client as JSON.
int dump(const federated::experiment& e, const std::string& file) {
  nlohmann::json work{{"items", e.clients->facts().features}, {"clients", nlohmann::json::array()}};
  models::examples scratch;
  for (const auto client : e.participants->training()) {
    const auto own = e.participants->load(client, federated::part::train, scratch).features;
    work["clients"].push_back(std::vector<std::uint32_t>(own.begin(), own.end()));
  }
  std::ofstream out(file);
  out << work << '\n';
  return out.flush() ? 0 : 4;
}

}  // namespace

int main(int argc, char** argv) {
  const auto data = bench::expect(bench::load_ratings());
  const auto passes = bench::count_argument(argc, argv, "--passes", 3);
  const auto repetitions = bench::count_argument(argc, argv, "--repetitions", 5);
  const auto e = published_pfedrec(std::make_shared<interactions>(data.clients));
  const auto file = bench::text_argument(argc, argv, "--dump", "");
  if (!file.empty()) return dump(e, file);
  std::fprintf(stderr, "bench_pfedrec: %s, %zu tasks of each client, medians of %zu alternating runs\n",
               data.source.c_str(), passes, repetitions);
  std::vector<double> bare;
  std::vector<double> tasks;
  for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
    bare.push_back(bare_speed(e, passes));
    tasks.push_back(task_speed(e, passes));
  }
  bench::figures out("pfedrec");
  out.add({"bare-loop", "tasks_per_cpu_second", bench::median(bare), "tasks/s"});
  out.add({"client_work", "tasks_per_cpu_second", bench::median(tasks), "tasks/s", "bare-loop",
           bench::median_ratio(tasks, bare), 0.8});
  return 0;
}
