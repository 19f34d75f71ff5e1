#include "bench/common.hpp"

#include <algorithm>
#include <barrier>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>

namespace furlong::bench {

namespace {

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 1000.0 ? "%.0f" : "%.3g", value);
  return text;
}

}  // namespace

void figures::add(figure one) {
  nlohmann::ordered_json line;
  line["bench"] = bench_;
  line["case"] = one.name;
  line["metric"] = one.metric;
  line["value"] = one.value;
  line["unit"] = one.unit;
  line["baseline"] = one.baseline.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(one.baseline);
  line["ratio"] = one.ratio ? nlohmann::ordered_json(*one.ratio) : nlohmann::ordered_json();
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
  all_.push_back(std::move(one));
}

figures::~figures() {
  for (const auto& one : all_) {
    std::fprintf(stderr, "%-8s %-32s %-26s %12s %-14s", bench_.c_str(), one.name.c_str(), one.metric.c_str(),
                 short_number(one.value).c_str(), one.unit.c_str());
    if (one.ratio) std::fprintf(stderr, "%9s x %s", short_number(*one.ratio).c_str(), one.baseline.c_str());
    if (one.ratio && one.bar_at_least)
      std::fprintf(stderr, " (bar %s: %s)", short_number(*one.bar_at_least).c_str(),
                   *one.ratio >= *one.bar_at_least ? "held" : "MISSED");
    std::fprintf(stderr, "\n");
  }
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const auto n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2.0;
}

double median_ratio(const std::vector<double>& values, const std::vector<double>& others) {
  std::vector<double> ratios(values.size());
  std::ranges::transform(values, others, ratios.begin(), [](double a, double b) { return a / b; });
  return median(std::move(ratios));
}

std::string on_threads(std::size_t threads) {
  std::string text = "-";
  text += std::to_string(threads);
  return text += threads == 1 ? "-thread" : "-threads";
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double run_at_once(std::size_t threads, const std::function<void(std::size_t)>& work) {
  double begun = 0.0;
  std::barrier ready(static_cast<std::ptrdiff_t>(threads), [&]() noexcept { begun = wall_seconds(); });
  {
    std::vector<std::jthread> all;
    for (std::size_t i = 0; i < threads; ++i)
      all.emplace_back([&, i] {
        ready.arrive_and_wait();
        work(i);
      });
  }
  return wall_seconds() - begun;
}

std::string text_argument(int argc, char** argv, const std::string& name, const std::string& fallback) {
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == name) return argv[i + 1];
  return fallback;
}

std::size_t count_argument(int argc, char** argv, const std::string& name, std::size_t fallback) {
  const auto text = text_argument(argc, argv, name, "");
  if (text.empty()) return fallback;
  std::size_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc() && end == text.data() + text.size() && value > 0) return value;
  std::fprintf(stderr, "%s: '%s' is no positive number\n", name.c_str(), text.c_str());
  std::exit(2);
}

}  // namespace furlong::bench
