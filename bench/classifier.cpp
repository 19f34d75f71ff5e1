// bench_classifier: training speed of the document classifier on texts of different lengths.
//
//   bench_classifier [--units N] [--batch TEXTS] [--threads N] [--passes N]   texts a second; each thread trains a
//                                                                             model of its own
//   bench_classifier --dump FILE [--units N] [--batch TEXTS]                  the work, for the yardstick in another
//                                                                             language
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/common.hpp"
#include "bench/trainee.hpp"
#include "models/kernels/kernels.hpp"

namespace {

using namespace furlong;

constexpr std::uint32_t characters = 100;
constexpr std::uint32_t classes = 49;
constexpr std::uint32_t shortest = 100;
constexpr std::uint32_t longest = 200;
constexpr std::size_t texts = 128;
constexpr float rate = 0.1F;

models::examples draw_texts() {
  random_stream stream(1, purpose::test);
  models::examples data;
  data.offsets.push_back(0);
  for (std::size_t i = 0; i < texts; ++i) {
    const auto length = shortest + stream.below(longest - shortest + 1);
    for (std::uint32_t at = 0; at < length; ++at) data.features.push_back(stream.below(characters));
    data.offsets.push_back(static_cast<std::uint32_t>(data.features.size()));
    data.labels.push_back(static_cast<float>(stream.below(classes)));
  }
  return data;
}

std::shared_ptr<const models::model> build_model(std::size_t units) {
  const auto* entry = models::find_model("doc-classifier");
  auto options = defaults(entry->options);
  options.set("hidden", static_cast<std::int64_t>(units));
  return entry->build(options, {characters, 1, models::objective::categorical, classes, characters}).value();
}

std::unique_ptr<bench::trainee> make_trainee(std::size_t units, const models::examples& data) {
  return std::make_unique<bench::trainee>(build_model(units), data, models::sgd_options{.rate = rate});
}

/// All texts once; the mean loss of each batch.
std::vector<double> pass(bench::trainee& one, std::size_t batch) {
  std::vector<double> losses;
  for (std::size_t first = 0; first < texts; first += batch)
    losses.push_back(one.step(first, std::min(first + batch, texts)));
  return losses;
}

/// Writes texts, initial values, and the losses of the first pass as JSON.
int dump(const std::string& file, std::size_t units, std::size_t batch) {
  const auto data = draw_texts();
  const auto one = make_trainee(units, data);
  nlohmann::json work{{"characters", characters}, {"classes", classes},   {"units", units},
                      {"batch", batch},           {"rate", rate},         {"features", data.features},
                      {"offsets", data.offsets},  {"labels", data.labels}};
  const auto& shape = *one->start().shape();
  for (std::size_t t = 0; t < shape.count(); ++t)
    work["tensors"][shape[t].name] = {
        {"rows", shape[t].rows}, {"cols", shape[t].cols}, {"values", one->start().tensor(t)}};
  work["losses"] = pass(*one, batch);
  std::ofstream out(file);
  out << work << '\n';
  return out.flush() ? 0 : 4;
}

void time_training(std::size_t units, std::size_t batch, std::size_t threads, std::size_t passes) {
  const auto data = draw_texts();
  std::vector<std::unique_ptr<bench::trainee>> all;
  for (std::size_t i = 0; i < threads; ++i) all.push_back(make_trainee(units, data));
  bench::run_at_once(threads, [&](std::size_t i) { pass(*all[i], batch); });  // the first pass touches the memory
  std::vector<double> cpu(threads);
  const double seconds = bench::run_at_once(threads, [&](std::size_t i) {
    cpu[i] = -bench::thread_cpu_seconds();
    for (std::size_t p = 0; p < passes; ++p) pass(*all[i], batch);
    cpu[i] += bench::thread_cpu_seconds();
  });
  double cpu_seconds = 0.0;
  for (const double one : cpu) cpu_seconds += one;
  const auto trained = static_cast<double>(texts * passes * threads);
  bench::figures out("classifier");
  const auto name = "units-" + std::to_string(units) + "-batch-" + std::to_string(batch) + bench::on_threads(threads);
  out.add({name, "texts_per_second", trained / seconds, "texts/s"});
  out.add({name, "texts_per_cpu_second", trained / cpu_seconds, "texts/s"});
}

}  // namespace

int main(int argc, char** argv) {
  const auto units = bench::count_argument(argc, argv, "--units", 128);
  const auto batch = bench::count_argument(argc, argv, "--batch", 16);
  const auto file = bench::text_argument(argc, argv, "--dump", "");
  if (!file.empty()) return dump(file, units, batch);
  std::fprintf(stderr, "bench_classifier: kernels of %s\n", models::kernels().level);
  time_training(units, batch, bench::count_argument(argc, argv, "--threads", 1),
                bench::count_argument(argc, argv, "--passes", 4));
  return 0;
}
