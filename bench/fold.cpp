// bench_fold: the order-independent sums against the machine's memory bandwidth.
//
// Yardstick: STREAM's triad (McCalpin 1995), a = b + s c in double. Bytes are counted as STREAM does, those that the
// program reads and writes: triad 8 + 8 + 8 an element; a fold 4 (value) + 8 + 8 (sum, in place); a wide fold 4 + 4
// x 8. Lines that the processor reads only because it writes them (triad's a) are not counted: the convention of
// STREAM. All arrays are at least four times the last-level cache. Each thread works on arrays of its own, first
// touched by it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <span>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

#include "bench/common.hpp"
#include "federated/aggregation/accumulator.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/settings/aggregation.hpp"
#include "models/kernels/kernels.hpp"

namespace {

using namespace furlong;

/// Anonymous memory with huge pages requested.
template <class T>
class array {
 public:
  explicit array(std::size_t count) : count_(count) {
    void* got = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) {
      std::perror("bench_fold: mmap");
      std::exit(4);
    }
    madvise(got, bytes(), MADV_HUGEPAGE);
    data_ = static_cast<T*>(got);
  }
  ~array() { munmap(data_, bytes()); }
  array(const array&) = delete;
  array& operator=(const array&) = delete;

  [[nodiscard]] T* data() const { return data_; }
  void fill(T value) const { std::fill_n(data_, count_, value); }

 private:
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(T); }

  std::size_t count_;
  T* data_ = nullptr;
};

/// One memory benchmark: its bytes per element, and the work on one thread's share.
class contestant {
 public:
  contestant() = default;
  virtual ~contestant() = default;
  contestant(const contestant&) = delete;
  contestant& operator=(const contestant&) = delete;

  [[nodiscard]] virtual double bytes_per_element() const = 0;
  virtual void run() = 0;
};

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
// The processor's best instructions, like the kernels.
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
void add_scaled(double* __restrict a, const double* __restrict b, const double* __restrict c, double s, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + s * c[i];
}

class triad final : public contestant {
 public:
  explicit triad(std::size_t n) : n_(n), a_(n), b_(n), c_(n) {
    a_.fill(0.0);
    b_.fill(1.0);
    c_.fill(2.0);
  }
  double bytes_per_element() const override { return 24.0; }
  void run() override { add_scaled(a_.data(), b_.data(), c_.data(), 3.0, n_); }

 private:
  std::size_t n_;
  array<double> a_, b_, c_;
};

class kernel_fold final : public contestant {
 public:
  explicit kernel_fold(std::size_t n) : n_(n), sums_(n), values_(n) {
    sums_.fill(0);
    values_.fill(0.01F);
  }
  double bytes_per_element() const override { return 20.0; }
  void run() override { models::kernels().fold_fixed(sums_.data(), values_.data(), n_, 0x1p20 * 5); }

 private:
  std::size_t n_;
  array<std::int64_t> sums_;
  array<float> values_;
};

/// Through the public interface, with the memory of a run's accumulators and updates.
class rule_fold final : public contestant {
 public:
  rule_fold(std::size_t n, std::string_view rule, double bytes) : bytes_(bytes) {
    const auto columns = static_cast<std::uint32_t>(1024);
    const auto rows = static_cast<std::uint32_t>(n / columns);
    const auto shape = std::make_shared<models::layout>(
        std::vector<models::tensor_spec>{{"weights", rows, columns, models::row_index::none}});
    federated::aggregation_settings settings;
    settings.rule = federated::chosen_rule(rule);
    sums_ = make_accumulator(settings, shape, first_reference(settings, shape));
    update_.weight = 165;
    update_.change = {shape, {{}}, {}, std::vector<float>(shape->size(), 1e-4F)};
  }
  double bytes_per_element() const override { return bytes_; }
  void run() override {
    if (sums_->fold(update_)) {
      std::fprintf(stderr, "bench_fold: the update was refused\n");
      std::exit(4);
    }
  }

 private:
  double bytes_;
  std::unique_ptr<federated::accumulator> sums_;
  federated::client_update update_;
};

using maker = std::function<std::unique_ptr<contestant>(std::size_t)>;

constexpr std::size_t mebi = std::size_t{1} << 20;
/// Bytes per element of all contestants together.
constexpr std::size_t bytes_per_element = 24 + 12 + 12 + 20 + 12 + 16 + 84;

/// Bytes of this processor's last-level cache; sysconf() may report the whole package's.
std::size_t cache_bytes() {
  std::size_t kibi = 0;
  std::ifstream("/sys/devices/system/cpu/cpu0/cache/index3/size") >> kibi;  // "32768K"
  return kibi * 1024;
}

/// Elements of one array, shared by all threads.
std::size_t element_count(int argc, char** argv) {
  const auto wanted = bench::count_argument(argc, argv, "--mebi-elements", 64) * mebi;
  const auto elements = std::max(wanted, 4 * cache_bytes() / sizeof(float) / mebi * mebi);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto memory = static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * page;
  if (elements * bytes_per_element < memory) return elements;
  std::fprintf(stderr, "bench_fold: needs %zu MiB of free memory\n", elements / mebi * bytes_per_element);
  std::exit(4);
}

struct lane {
  const char* name;
  maker make;
  std::vector<std::unique_ptr<contestant>> shares = {};  ///< one per thread
  std::vector<double> bandwidth = {};                    ///< GB/s of each repetition
};

void measure(std::vector<lane>& lanes, std::size_t threads, std::size_t elements, std::size_t repetitions) {
  const auto share = elements / threads;
  for (auto& one : lanes) {
    one.shares.resize(threads);
    bench::run_at_once(threads, [&](std::size_t i) {
      one.shares[i] = one.make(share);
      one.shares[i]->run();  // touches every page of the sums
    });
  }
  for (std::size_t repetition = 0; repetition < repetitions; ++repetition)
    for (auto& one : lanes) {
      const double seconds = bench::run_at_once(threads, [&](std::size_t i) { one.shares[i]->run(); });
      const double bytes = one.shares[0]->bytes_per_element() * static_cast<double>(share * threads);
      one.bandwidth.push_back(bytes / seconds * 1e-9);
    }
}

}  // namespace

int main(int argc, char** argv) {
  const auto elements = element_count(argc, argv);
  const auto repetitions = bench::count_argument(argc, argv, "--repetitions", 11);
  std::fprintf(stderr, "bench_fold: %zu Mi elements an array, kernels of %s, medians of %zu alternating runs\n",
               elements / mebi, models::kernels().level, repetitions);
  bench::figures out("fold");
  for (std::size_t threads = 1; threads <= std::min(2U, std::max(1U, std::thread::hardware_concurrency())); ++threads) {
    std::vector<lane> lanes;
    lanes.push_back({"triad", [](auto n) { return std::make_unique<triad>(n); }});
    lanes.push_back({"mean-kernel", [](auto n) { return std::make_unique<kernel_fold>(n); }});
    lanes.push_back({"mean-accumulator", [](auto n) { return std::make_unique<rule_fold>(n, "mean", 20.0); }});
    lanes.push_back({"fedatt-accumulator", [](auto n) {
                       // 4 more bytes: the distance is computed first.
                       return std::make_unique<rule_fold>(n, "fedatt", 40.0);
                     }});
    // As if they read what the mean reads: their ratio to it is one of times.
    const std::size_t first_robust = lanes.size();
    lanes.push_back(
        {"uniform-mean-accumulator", [](auto n) { return std::make_unique<rule_fold>(n, "uniform-mean", 20.0); }});
    lanes.push_back({"centred-clipping-accumulator",
                     [](auto n) { return std::make_unique<rule_fold>(n, "centred-clipping", 20.0); }});
    lanes.push_back({"buckets-accumulator", [](auto n) { return std::make_unique<rule_fold>(n, "buckets", 20.0); }});
    measure(lanes, threads, elements, repetitions);
    const auto& yardstick = lanes.front().bandwidth;
    const auto suffix = bench::on_threads(threads);
    out.add({"triad" + suffix, "bandwidth", bench::median(yardstick), "GB/s"});
    for (std::size_t i = first_robust + 1; i < lanes.size(); ++i)
      out.add({lanes[i].name + suffix, "time", bench::median(lanes[i].bandwidth), "GB/s", "uniform-mean",
               bench::median_ratio(lanes[i].bandwidth, lanes[first_robust].bandwidth), 1.0 / 1.3});
    for (std::size_t i = 1; i < first_robust; ++i)
      out.add({lanes[i].name + suffix, "bandwidth", bench::median(lanes[i].bandwidth), "GB/s", "triad",
               bench::median_ratio(lanes[i].bandwidth, yardstick), i < 3 ? std::optional<double>(0.90) : std::nullopt});
  }
  return 0;
}
