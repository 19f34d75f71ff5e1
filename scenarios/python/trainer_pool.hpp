// The trainers of one problem: which of them are free, how they are started and asked, and what is done when one ends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.hpp"
#include "base/large_memory.hpp"
#include "base/result.hpp"
#include "models/model.hpp"
#include "models/work_scope.hpp"
#include "scenarios/python/description.hpp"
#include "scenarios/python/problem.hpp"
#include "scenarios/python/step_request.hpp"
#include "scenarios/python/trainer_process.hpp"

namespace furlong::scenarios {

/// A trainer with what a call needs; one call at a time.
struct worker {
  worker(std::uint32_t its_number, const trainer_command& command) : number(its_number), process(number, command) {}
  std::uint32_t number;
  trainer_process process;
  request_buffer request;
  large_floats copies;                ///< of values that are not in the memory file
  bool has_constants = false;         ///< those of all trainers
  std::uint32_t client = UINT32_MAX;  ///< whose work its lines belong to, if any
  models::work work;
  std::uint64_t reported_memory = std::uint64_t{512} << 20U;
  std::chrono::steady_clock::time_point looked;
};

/// Thread-safe: each call takes a worker that is free, starts one, or waits.
class trainer_pool {
 public:
  /// @param memory descriptor of the memory file
  trainer_pool(problem_settings settings, int memory);

  /// A worker for one call.
  class borrowed {
   public:
    explicit borrowed(trainer_pool& pool) : pool_(pool), worker_(pool.take()) {}
    borrowed(const borrowed&) = delete;
    borrowed& operator=(const borrowed&) = delete;
    ~borrowed() { pool_.give_back(worker_); }
    worker& operator*() const { return worker_; }

   private:
    trainer_pool& pool_;
    worker& worker_;
  };

  /// Starts the first trainer and reads what it says of the problem; to be called once, before all else.
  [[nodiscard]] result<void> describe();
  [[nodiscard]] const problem_settings& settings() const { return settings_; }
  [[nodiscard]] const problem_description& description() const { return is_; }
  /// The first example of each part of each client, then the number of all.
  [[nodiscard]] std::span<const std::uint32_t> starts() const { return starts_; }

  /// Opens idle trainers side by side until so many calls can be made at once, or as many as python.workers allows.
  [[nodiscard]] result<void> prepare(std::size_t calls);
  /// Ends trainers that do nothing.
  void rest();
  /// Makes a trainer that may not run ready for requests: it runs, and has the constants of all trainers. The first one
  /// writes them.
  [[nodiscard]] result<void> wake(worker& trainer) const;
  /// Them, as constant_starts() says; there once a trainer is ready.
  [[nodiscard]] const char* constants() const { return reinterpret_cast<const char*>(constants_.data()); }
  /// The answer to one request of a trainer that runs; a failure that it reports, or that it does not answer.
  [[nodiscard]] std::optional<error> ask(worker& trainer, message_kind kind) const;
  static constexpr std::uint32_t no_client = UINT32_MAX;
  /// Asks, and repeats the request on a new process where the trainer ends. Throws models::model_failure.
  /// @param client whose work it is; no_client: the server's
  /// @param write  writes the request into worker::request
  std::span<const std::byte> call(worker& trainer, message_kind kind, std::uint32_t client,
                                  function_ref<void(worker&)> write) const;
  /// A failure of the client alone, or of the run: as python.on_error says.
  [[nodiscard]] models::model_failure failed(error why) const;

 private:
  worker& take();
  worker& add();
  void give_back(worker& trainer);
  [[nodiscard]] result<void> describe(worker& trainer);
  [[nodiscard]] result<void> start(worker& trainer) const;
  [[nodiscard]] std::optional<error> place_constants(worker& trainer) const;
  std::string begin_work(worker& trainer, std::uint32_t client) const;
  void look_at_memory(worker& trainer) const;
  [[nodiscard]] std::chrono::milliseconds limit_of(message_kind kind) const;
  [[nodiscard]] std::string open_request(const worker& trainer, bool first) const;

  problem_settings settings_;
  int memory_;
  problem_description is_;
  std::vector<std::uint32_t> starts_{0};

  mutable std::mutex constants_lock_;
  mutable large_floats constants_;

  std::mutex lock_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<worker>> workers_;
  std::vector<worker*> idle_;  ///< the one returned last is the last
};

}  // namespace furlong::scenarios
