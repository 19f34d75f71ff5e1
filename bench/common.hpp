// Shared by the benchmarks: measuring on a machine with other load, and printing figures.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace furlong::bench {

/// One measured figure.
struct figure {
  std::string name;  ///< the case: "actors-1-thread"
  std::string metric;
  double value = 0.0;
  std::string unit;
  std::string baseline = {};                ///< of `ratio`; empty: none
  std::optional<double> ratio = {};         ///< how many times better than the baseline
  std::optional<double> bar_at_least = {};  ///< required ratio, for the table
};

/// Prints figures: each immediately as a JSON line on stdout, all as a table on stderr at the end.
class figures {
 public:
  explicit figures(std::string bench) : bench_(std::move(bench)) {}
  ~figures();
  figures(const figures&) = delete;
  figures& operator=(const figures&) = delete;

  void add(figure one);

 private:
  std::string bench_;
  std::vector<figure> all_;
};

/// The median; of an even number the mean of the two middle values. At least one value.
[[nodiscard]] double median(std::vector<double> values);
/// The median of values[i] / others[i]: other load affects both runs of a neighbouring pair.
[[nodiscard]] double median_ratio(const std::vector<double>& values, const std::vector<double>& others);

/// "-1-thread", "-2-threads": the suffix of a case's name.
[[nodiscard]] std::string on_threads(std::size_t threads);

/// Seconds of a monotonic clock.
[[nodiscard]] double wall_seconds();
/// Seconds of processor time that the calling thread has used.
[[nodiscard]] double thread_cpu_seconds();

/// Calls work(0), ..., work(threads - 1) in parallel, each on its own thread, and returns the wall seconds from when
/// all threads are ready until the last is done.
double run_at_once(std::size_t threads, const std::function<void(std::size_t)>& work);

/// The value of "--name VALUE" on the command line. Ends the program with status 2 if VALUE is not a positive number.
[[nodiscard]] std::size_t count_argument(int argc, char** argv, const std::string& name, std::size_t fallback);
/// Likewise a text.
[[nodiscard]] std::string text_argument(int argc, char** argv, const std::string& name, const std::string& fallback);

}  // namespace furlong::bench
