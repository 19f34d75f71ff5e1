#include "scenarios/python/problem.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/large_memory.hpp"
#include "base/shared_memory.hpp"
#include "models/work_scope.hpp"
#include "scenarios/python/description.hpp"
#include "scenarios/python/step_request.hpp"
#include "scenarios/python/trainer_output.hpp"
#include "scenarios/python/trainer_process.hpp"
#include "scenarios/python/trainer_setup.hpp"

namespace furlong::scenarios {

namespace {

constexpr int most_attempts = 5;
/// At least: an interpreter starts, libraries and data are loaded.
constexpr std::chrono::minutes time_to_open{1};
constexpr std::uint64_t worth_a_warning = std::uint64_t{512} << 20U;

/// " (alpha = 0.1, depth = 2)", or nothing without options.
std::string text_of(const std::map<std::string, option_value, std::less<>>& options) {
  std::string text;
  for (const auto& [name, value] : options) {
    const auto written = std::visit([](const auto& given) { return nlohmann::json(given).dump(); }, value);
    text += (text.empty() ? " (" : ", ") + name + " = " + written;
  }
  return text.empty() ? text : text + ")";
}

/// The round of a step (step_request::round).
std::uint32_t current_round() {
  const auto now = models::work_scope::current();
  const auto done = static_cast<std::uint32_t>(now.version);
  if (now.kind == models::work_kind::other) return 0;
  return now.kind == models::work_kind::training ? done + 1 : done;
}

/// A trainer with what a call needs; one call at a time.
struct worker {
  worker(std::uint32_t its_number, const trainer_command& how) : number(its_number), process(number, how) {}
  std::uint32_t number;
  trainer_process process;
  request_buffer request;
  large_floats copies;                ///< of values that are not in the memory file
  std::uint32_t client = UINT32_MAX;  ///< whose work its lines belong to
  models::work work;
  std::uint64_t reported_memory = worth_a_warning;
  std::chrono::steady_clock::time_point looked;
};

class problem final : public trainer_problem {
 public:
  explicit problem(problem_settings settings, int memory)
      : settings_(std::move(settings)), command_(command_for(settings_, memory)) {}

  [[nodiscard]] result<void> describe() {
    worker& first = take();
    auto done = describe(first);
    give_back(first);
    return done;
  }

  const std::vector<problem_parameter>& parameters() const override { return is_.parameters; }
  const std::vector<problem_client>& clients() const override { return is_.clients; }
  const std::vector<models::model_metric>& metrics() const override { return is_.metrics; }
  const option_values& options() const override { return is_.options; }
  const source_code& code() const override { return is_.code; }
  const std::vector<problem_constant>& constants() const override { return is_.constants; }
  const std::vector<std::pair<std::string, std::string>>& aliases() const override { return is_.aliases; }
  std::vector<std::string> constant_values() const override;
  void rest() const override;
  std::uint32_t examples() const override { return starts_.back(); }
  std::uint32_t first_example(std::uint32_t client, std::uint32_t part) const override {
    return starts_[std::size_t{client} * 3 + part];
  }
  std::span<const float> initial() const override { return initial_; }
  result<void> read_initial() const override;

  double gradient(tensors weights, numbers examples, std::uint64_t seed, std::span<float* const> out) const override {
    const borrowed trainer(*this);
    const step_request step{weights, examples, seed, current_round(), &out};
    const auto answer = call(*trainer, message_kind::gradient, step);
    if (answer.size() != sizeof(double)) throw failed(not_understood("a gradient has no loss"));
    step.read_copies((*trainer).copies);
    double loss = 0.0;
    std::memcpy(&loss, answer.data(), sizeof loss);
    return loss;
  }

  void score(tensors weights, numbers examples, models::class_scores& to) const override {
    const borrowed trainer(*this);
    const auto answer = call(*trainer, message_kind::evaluate, {weights, examples, 0, current_round()});
    std::vector<double> figures(answer.size() / sizeof(double));
    std::memcpy(figures.data(), answer.data(), figures.size() * sizeof(double));
    if (figures.size() != 2 + 2 * is_.metrics.size() || figures[1] != static_cast<double>(examples.size()))
      throw failed(not_understood("an evaluation has other figures than the problem's metrics"));
    to.loss += figures[0];
    to.predictions += examples.size();
    to.metrics.resize(is_.metrics.size());
    for (std::size_t i = 0; i < is_.metrics.size(); ++i) {
      to.metrics[i].sum += figures[2 + 2 * i];
      to.metrics[i].count += figures[3 + 2 * i];
    }
  }

  bool predicts() const override { return is_.predicts; }
  bool has_labels() const override { return is_.has_labels; }
  std::string predict(tensors weights, numbers examples) const override {
    return text_answer(message_kind::predict, {weights, examples});
  }
  std::string labels(tensors weights, numbers examples) const override {
    return text_answer(message_kind::labels, {weights, examples});
  }

 private:
  /// A worker for one call.
  class borrowed {
   public:
    explicit borrowed(const problem& from) : from_(from), one_(from.take()) {}
    borrowed(const borrowed&) = delete;
    borrowed& operator=(const borrowed&) = delete;
    ~borrowed() { from_.give_back(one_); }
    worker& operator*() const { return one_; }

   private:
    const problem& from_;
    worker& one_;
  };

  worker& take() const;
  void give_back(worker& trainer) const;
  [[nodiscard]] result<void> describe(worker& trainer);
  [[nodiscard]] result<void> start(worker& trainer) const;
  /// The answer to one request of a trainer that runs; a failure that it reports, or that it does not answer.
  [[nodiscard]] std::optional<error> ask(worker& trainer, message_kind kind) const;
  std::span<const std::byte> call(worker& trainer, message_kind kind, const step_request& step) const;
  [[nodiscard]] std::string text_answer(message_kind kind, const step_request& step) const {
    const borrowed trainer(*this);
    const auto answer = call(*trainer, kind, step);
    return {reinterpret_cast<const char*>(answer.data()), answer.size()};
  }
  /// A failure of the client alone, or of the run: as python.on_error says.
  [[nodiscard]] models::model_failure failed(error why) const {
    why.what = settings_.drops_client ? error::kind::data : error::kind::runtime;
    return models::model_failure(std::move(why));
  }
  std::string begin_work(worker& trainer, std::uint32_t client) const;
  void look_at_memory(worker& trainer) const;
  [[nodiscard]] std::chrono::milliseconds limit_of(message_kind kind) const {
    const std::chrono::milliseconds given(static_cast<std::int64_t>(settings_.timeout * 1000.0));
    return kind == message_kind::open ? std::max<std::chrono::milliseconds>(given, time_to_open) : given;
  }
  [[nodiscard]] std::string open_request(bool first) const {
    nlohmann::json options = nlohmann::json::object();
    for (const auto& [name, value] : settings_.options)
      std::visit([&, at = name](const auto& given) { options[at] = given; }, value);
    return nlohmann::json{{"protocol", trainer_protocol},
                          {"problem", settings_.problem},
                          {"file", settings_.problem.substr(0, settings_.problem.rfind(':'))},
                          {"seed", settings_.seed},
                          {"threads", settings_.threads},
                          {"deterministic", true},
                          {"first", first},
                          {"options", std::move(options)}}
        .dump();
  }

  problem_settings settings_;
  trainer_command command_;
  problem_description is_;
  std::vector<std::uint32_t> starts_{0};  ///< first example of each part of each client; then the number of all
  mutable std::vector<float> initial_;    ///< written before the problem is shared

  mutable std::mutex lock_;
  mutable std::condition_variable returned_;
  mutable std::vector<std::unique_ptr<worker>> workers_;
  mutable std::vector<worker*> idle_;  ///< the one returned last is the last
};

// ---- workers -------------------------------------------------------------------------------------------------------

/// The worker that this thread had last, so that the two stay on one processor.
thread_local const worker* had_last = nullptr;

worker& problem::take() const {
  std::unique_lock guard(lock_);
  if (idle_.empty() && (settings_.workers == 0 || workers_.size() < settings_.workers)) {
    workers_.push_back(std::make_unique<worker>(static_cast<std::uint32_t>(workers_.size()), command_));
    idle_.push_back(workers_.back().get());
  }
  returned_.wait(guard, [&] { return !idle_.empty(); });
  auto chosen = std::ranges::find(idle_, had_last);
  if (chosen == idle_.end()) chosen = idle_.end() - 1;
  worker& trainer = **chosen;
  idle_.erase(chosen);
  had_last = &trainer;
  return trainer;
}

void problem::give_back(worker& trainer) const {
  {
    const std::lock_guard guard(lock_);
    idle_.push_back(&trainer);
  }
  returned_.notify_one();
}

// ---- requests ------------------------------------------------------------------------------------------------------

std::optional<error> problem::ask(worker& trainer, message_kind kind) const {
  const auto limit = limit_of(kind);
  switch (trainer.process.exchange(kind, trainer.request.bytes(), limit)) {
    case trainer_process::outcome::answered: break;
    case trainer_process::outcome::timed_out:
      return error{error::kind::runtime, "python.timeout",
                   "the trainer did not answer within " +
                       nlohmann::json(static_cast<double>(limit.count()) / 1000.0).dump() + " seconds, and was ended",
                   "correct " + settings_.problem + ", or raise python.timeout"};
    case trainer_process::outcome::died: return error{error::kind::runtime, "", trainer.process.last_end(), ""};
  }
  if (trainer.process.answer_kind() == message_kind::failure) return failure_of(trainer.process.answer());
  if (trainer.process.answer_kind() != kind) {
    trainer.process.end();
    return not_understood("the trainer answers another question");
  }
  return std::nullopt;
}

/// Makes a trainer ready for calls: what it says of itself is known already.
result<void> problem::start(worker& trainer) const {
  if (auto started = trainer.process.start(); !started) return started;
  trainer.client = UINT32_MAX;
  trainer.request.clear();
  trainer.request.put(std::span<const char>(open_request(false)));
  if (const auto why = ask(trainer, message_kind::open)) {
    trainer.process.end();
    return tl::unexpected(*why);
  }
  const auto later = read_description(trainer.process.answer());
  auto same = later ? check_same(is_, *later, settings_.problem) : result<void>(tl::unexpected(later.error()));
  if (!same) trainer.process.end();
  return same;
}

void problem::rest() const {
  const std::lock_guard guard(lock_);
  for (auto* trainer : idle_) trainer->process.end();
}

/// Tells the trainer's log whose work it does.
std::string problem::begin_work(worker& trainer, std::uint32_t client) const {
  const auto now = models::work_scope::current();
  std::string text = "client " + is_.clients[client].name;
  if (now.kind == models::work_kind::training) text += ", round " + std::to_string(now.version + 1);
  if (now.kind == models::work_kind::evaluation) text += ", evaluation of round " + std::to_string(now.version);
  trainer.process.set_work(text);
  trainer.client = client;
  trainer.work = now;
  return text;
}

std::span<const std::byte> problem::call(worker& trainer, message_kind kind, const step_request& step) const {
  const auto client = static_cast<std::uint32_t>(part_of(starts_, step.examples.front()) / 3);
  step.write(starts_, trainer.request, trainer.copies);
  std::string end;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    if (!trainer.process.running()) {
      if (auto started = start(trainer); !started) {
        end = started.error().reason;
        if (started.error().place.empty()) continue;  // it was ended while it started
        throw models::model_failure(started.error());
      }
      step.write(starts_, trainer.request, trainer.copies);  // in the place of the request that opened it
    }
    if (trainer.client != client || trainer.work != models::work_scope::current()) begin_work(trainer, client);
    if (settings_.threads == 1) trainer.process.share_processor();
    const auto why = ask(trainer, kind);
    if (!why) {
      look_at_memory(trainer);
      return trainer.process.answer();
    }
    if (!why->place.empty()) {
      auto said = *why;
      said.reason += " (" + begin_work(trainer, client) + ")";
      note_trainer(trainer.number, said.text());
      throw failed(std::move(said));
    }
    end = why->reason;
  }
  throw failed({error::kind::runtime, settings_.problem,
                "the trainer ended " + std::to_string(most_attempts) + " times at the same work (" +
                    begin_work(trainer, client) + "), last with " + end,
                "look at its last lines in the log: it may run out of memory or call exit" +
                    (trainer.process.last_line().empty() ? "" : "; the last one is: " + trainer.process.last_line())});
}

/// Says when a trainer takes much memory, and again each time it has doubled.
void problem::look_at_memory(worker& trainer) const {
  const auto now = std::chrono::steady_clock::now();
  if (now - trainer.looked < std::chrono::seconds(1)) return;
  trainer.looked = now;
  const auto bytes = trainer.process.memory_bytes();
  if (bytes < trainer.reported_memory) return;
  note_trainer(trainer.number, settings_.problem + ": takes " + std::to_string(bytes >> 20U) +
                                   " MiB of memory of its own; keep less data in it, or lower python.workers");
  trainer.reported_memory = 2 * bytes;
}

// ---- opening -------------------------------------------------------------------------------------------------------

result<void> problem::describe(worker& with) {
  const slow_notice notice(with.number, "opening " + settings_.problem + text_of(settings_.options));
  if (auto started = with.process.start(); !started) return started;
  with.request.clear();
  with.request.put(std::span<const char>(open_request(true)));
  auto why = ask(with, message_kind::open);
  if (why && why->reason.starts_with("signal")) {  // somebody ended it: once more
    if (auto started = with.process.start(); !started) return started;
    why = ask(with, message_kind::open);
  }
  if (why) {
    with.process.end();
    if (why->place.empty())
      return tl::unexpected(ended_at_start(command_, settings_, why->reason, with.process.last_line()));
    why->what = error::kind::data;
    return tl::unexpected(*why);
  }
  auto read = read_description(with.process.answer());
  if (!read) return tl::unexpected(read.error());
  is_ = std::move(*read);
  auto starts = example_starts(is_.clients);
  if (!starts) return tl::unexpected(starts.error());
  starts_ = std::move(*starts);
  return {};
}

result<void> problem::read_initial() const {
  if (!initial_.empty()) return {};
  const borrowed with(*this);
  auto& trainer = *with;
  if (!trainer.process.running())
    if (auto started = start(trainer); !started) return started;
  std::size_t size = 0;
  for (const auto& parameter : is_.parameters) {
    std::size_t count = 1;
    for (const auto extent : parameter.shape) count *= extent;
    size += count;
  }
  large_floats values(size);
  const auto offset = shared_offset(values.data());
  if (size == 0 || !offset) return tl::unexpected(not_understood("the problem has no parameters"));
  trainer.request.clear();
  trainer.request.put(*offset);
  if (auto why = ask(trainer, message_kind::initial)) return tl::unexpected(*why);
  initial_.assign(values.begin(), values.end());
  return {};
}

std::vector<std::string> problem::constant_values() const {
  std::vector<std::size_t> sizes;
  std::size_t total = 0;  // each begins at a multiple of 8 bytes
  for (const auto& constant : is_.constants) {
    sizes.push_back(static_cast<std::size_t>(count_of(constant.shape)) * constant.type->bytes);
    total += (sizes.back() + 7) / 8 * 8;
  }
  if (total == 0) return std::vector<std::string>(sizes.size());
  large_floats room(total / sizeof(float));
  const borrowed with(*this);
  auto& trainer = *with;
  if (!trainer.process.running())
    if (auto started = start(trainer); !started) throw models::model_failure(started.error());
  trainer.request.clear();
  trainer.request.put(shared_offset(room.data()).value());
  if (const auto why = ask(trainer, message_kind::constants)) throw failed(*why);
  const auto* bytes = reinterpret_cast<const char*>(room.data());
  std::vector<std::string> values;
  for (const auto size : sizes) {
    values.emplace_back(bytes, size);
    bytes += (size + 7) / 8 * 8;
  }
  return values;
}

}  // namespace

result<std::shared_ptr<const trainer_problem>> trainer_problem::describe(const problem_settings& settings) {
  const int memory = share_large_memory();
  if (memory < 0)
    return fail(error::kind::runtime, "python.problem", "no memory can be shared with trainers",
                "raise the limits of address space and of file size (ulimit -v, -f)");
  auto made = std::make_shared<problem>(settings, memory);
  if (auto described = made->describe(); !described) return tl::unexpected(described.error());
  return made;
}

}  // namespace furlong::scenarios
