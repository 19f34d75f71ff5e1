// bench_lm: training speed of the recurrent language model, against matrix products alone, and the time of FedAtt's
// aggregation of ten such models.
//
//   bench_lm [--batch SENTENCES] [--threads N] [--steps N]   training; each thread trains a model of its own
//   bench_lm --part products|aggregation                     the other figures
//   bench_lm --dump FOLDER                                   the work, for the yardstick in another language
#include <cstdio>
#include <cstdlib>

#include "bench/common.hpp"
#include "bench/lm_work.hpp"
#include "federated/aggregation/accumulator.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/settings/aggregation.hpp"
#include "models/kernels/kernels.hpp"

namespace {

using namespace furlong;

constexpr std::size_t warm_up = 3;
constexpr std::size_t models_folded = 10;

/// Predictions in batches `first` to `last` - 1.
double tokens_of(const bench::text& from, std::size_t size, std::size_t first, std::size_t last) {
  const auto& offsets = from.sentences.offsets;
  return static_cast<double>(offsets[last * size] - offsets[first * size] - (last - first) * size);
}

void time_training(const bench::text& from, std::size_t size, std::size_t threads, std::size_t steps,
                   bench::figures& out) {
  std::vector<std::unique_ptr<bench::trainee>> all;
  for (std::size_t i = 0; i < threads; ++i) {
    all.push_back(bench::make_trainee(from));
    for (std::size_t s = 0; s < warm_up; ++s) all.back()->step(s * size, (s + 1) * size);
  }
  std::vector<double> cpu(threads);
  const double seconds = bench::run_at_once(threads, [&](std::size_t i) {
    for (std::size_t s = 0; s < warm_up; ++s) all[i]->step(s * size, (s + 1) * size);  // this thread's memory
    cpu[i] = -bench::thread_cpu_seconds();
    for (std::size_t s = warm_up; s < warm_up + steps; ++s) all[i]->step(s * size, (s + 1) * size);
    cpu[i] += bench::thread_cpu_seconds();
  });
  double cpu_seconds = 0.0;
  for (const double one : cpu) cpu_seconds += one;
  const double tokens = tokens_of(from, size, warm_up, warm_up + steps) * static_cast<double>(threads);
  const double warming = tokens_of(from, size, 0, warm_up) * static_cast<double>(threads);
  const auto name = "batch-" + std::to_string(size) + bench::on_threads(threads);
  out.add({name, "tokens_per_second", (tokens + warming) / seconds, "tokens/s"});
  out.add({name, "tokens_per_cpu_second", tokens / cpu_seconds, "tokens/s"});
  out.add({name, "products_per_cpu_second",
           tokens / cpu_seconds * bench::operations_per_token(*all[0]->start().shape()) * 1e-9, "GFLOP/s"});
}

struct product_shape {
  const char* name;
  std::size_t m, n, k;
  bool a_transposed, b_transposed;
};

/// GFLOP per second of processor time: the best of many, because other load only slows it down.
double time_product(const product_shape& s) {
  const std::vector<float> a(s.m * s.k, 0.5F);
  const std::vector<float> b(s.k * s.n, 0.25F);
  std::vector<float> c(s.m * s.n);
  double best = 1e9;
  for (int repetition = 0; repetition < 15; ++repetition) {
    const double begun = bench::thread_cpu_seconds();
    models::kernels().multiply({a.data(), s.a_transposed ? s.m : s.k, s.a_transposed, b.data(),
                                s.b_transposed ? s.k : s.n, s.b_transposed, c.data(), s.n, s.m, s.n, s.k, false});
    best = std::min(best, bench::thread_cpu_seconds() - begun);
  }
  return 2e-9 * static_cast<double>(s.m * s.n * s.k) / best;
}

void time_products(std::uint32_t words, bench::figures& out) {
  const product_shape shapes[] = {{"large", 1024, 1024, 1024, false, false},
                                  {"logits", 100, words, 300, false, true},
                                  {"states-of-logits", 100, 300, words, false, false},
                                  {"weights-of-logits", words, 300, 100, true, false},
                                  {"gates", 220, 900, 300, false, true},
                                  {"weights-of-gates", 900, 300, 220, true, false}};
  for (const auto& shape : shapes)
    out.add({std::string("product-") + shape.name, "speed", time_product(shape), "GFLOP/s"});
}

/// Ten updates of the model, dense like a client's.
std::vector<federated::client_update> make_updates(const models::layout_ptr& shape) {
  std::vector<federated::client_update> updates(models_folded);
  for (std::size_t i = 0; i < updates.size(); ++i) {
    updates[i].weight = 100;
    auto& change = updates[i].change;
    change.shape = shape;
    change.values.resize(shape->size());
    for (std::size_t t = 0; t < shape->count(); ++t) change.pieces.push_back({false, 0, 0, shape->offset(t)});
    random_stream stream(2, purpose::test, 0, static_cast<std::uint32_t>(i));
    for (auto& value : change.values) value = stream.uniform(-1e-3F, 1e-3F);
  }
  return updates;
}

/// Accumulation and report of the updates on one thread: median of milliseconds.
double time_aggregation(const models::layout_ptr& shape, const std::vector<federated::client_update>& updates,
                        const std::string& norm, std::size_t repetitions) {
  federated::aggregation_settings settings;
  settings.rule = federated::chosen_rule("fedatt");
  settings.rule.options.set("norm", norm);
  const auto sums = make_accumulator(settings, shape, first_reference(settings, shape));
  std::vector<double> seconds;
  bool refused = false;
  for (std::size_t repetition = 0; repetition <= repetitions; ++repetition) {
    const double begun = bench::thread_cpu_seconds();
    for (const auto& update : updates) refused = refused || sums->fold(update).has_value();
    refused = !sums->report().usable || refused;
    if (repetition > 0) seconds.push_back(bench::thread_cpu_seconds() - begun);  // the first touches the memory
  }
  if (refused) {
    std::fprintf(stderr, "bench_lm: an update was refused\n");
    std::exit(4);
  }
  return bench::median(seconds) * 1e3;
}

void time_aggregations(const bench::text& from, std::size_t repetitions, bench::figures& out) {
  const auto shape = bench::make_trainee(from)->start().shape();
  const auto updates = make_updates(shape);
  const auto time = [&](const std::string& norm) { return time_aggregation(shape, updates, norm, repetitions); };
  out.add({"fedatt-10-models", "cpu_time", time("frobenius"), "ms"});
  out.add({"fedatt-10-models-spectral", "cpu_time", time("spectral"), "ms"});
}

}  // namespace

int main(int argc, char** argv) {
  const auto text = bench::load_text();
  const auto folder = bench::text_argument(argc, argv, "--dump", "");
  if (!folder.empty()) {
    bench::dump_work(text, {10, 20}, folder);
    return 0;
  }
  std::fprintf(stderr, "bench_lm: %s, %u words, kernels of %s\n", text.source.c_str(), text.words,
               models::kernels().level);
  bench::figures out("lm");
  const auto part = bench::text_argument(argc, argv, "--part", "training");
  if (part == "products") {
    time_products(text.words, out);
  } else if (part == "aggregation") {
    time_aggregations(text, bench::count_argument(argc, argv, "--repetitions", 11), out);
  } else {
    time_training(text, bench::count_argument(argc, argv, "--batch", 10),
                  bench::count_argument(argc, argv, "--threads", 1), bench::count_argument(argc, argv, "--steps", 60),
                  out);
  }
  return 0;
}
