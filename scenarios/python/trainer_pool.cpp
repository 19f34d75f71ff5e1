#include "scenarios/python/trainer_pool.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>
#include <utility>

#include "base/shared_memory.hpp"
#include "scenarios/python/trainer_output.hpp"
#include "scenarios/python/trainer_setup.hpp"

namespace furlong::scenarios {

namespace {

constexpr int most_attempts = 5;
/// At least: an interpreter starts, libraries and data are loaded.
constexpr std::chrono::minutes time_to_open{1};

/// Whoever debugs a class takes time.
constexpr std::chrono::hours unlimited{24 * 365};

using class_options = std::map<std::string, option_value, std::less<>>;

nlohmann::json json_of(const class_options& options) {
  auto made = nlohmann::json::object();
  for (const auto& [name, value] : options) std::visit([&, at = name](const auto& given) { made[at] = given; }, value);
  return made;
}

/// " (alpha = 0.1, depth = 2)", or nothing without options.
std::string text_of(const class_options& options) {
  std::string text;
  for (const auto& [name, value] : options) {
    const auto written = std::visit([](const auto& given) { return nlohmann::json(given).dump(); }, value);
    text += (text.empty() ? " (" : ", ") + name + " = " + written;
  }
  return text.empty() ? text : text + ")";
}

/// The worker that this thread had last, so that the two stay on one processor.
thread_local const worker* had_last = nullptr;

}  // namespace

trainer_pool::trainer_pool(problem_settings settings, int memory) : settings_(std::move(settings)), memory_(memory) {
  if (has_calling_trainer()) settings_.workers = 1;
}

models::model_failure trainer_pool::failed(error why) const {
  why.what = settings_.drops_client ? error::kind::data : error::kind::runtime;
  return models::model_failure(std::move(why));
}

std::chrono::milliseconds trainer_pool::limit_of(message_kind kind) const {
  if (has_calling_trainer()) return unlimited;
  const std::chrono::milliseconds given(static_cast<std::int64_t>(settings_.timeout * 1000.0));
  return kind == message_kind::open ? std::max<std::chrono::milliseconds>(given, time_to_open) : given;
}

std::string trainer_pool::open_request(const worker& trainer, bool first) const {
  nlohmann::json request{{"protocol", trainer_protocol},
                         {"problem", settings_.problem},
                         {"file", settings_.problem.substr(0, settings_.problem.rfind(':'))},
                         {"seed", settings_.seed},
                         {"threads", settings_.threads},
                         {"deterministic", true},
                         {"first", first},
                         {"device", device_of(settings_, trainer.number)},
                         {"options", json_of(settings_.options)}};
  if (!settings_.profile.empty()) request["profile"] = settings_.profile + "/trainer-" + std::to_string(trainer.number);
  if (!settings_.algorithm.empty()) {
    request["algorithm"] = settings_.algorithm;
    request["algorithm_options"] = json_of(settings_.algorithm_options);
  }
  return request.dump();
}

// ---- workers -------------------------------------------------------------------------------------------------------

worker& trainer_pool::add() {
  const auto number = static_cast<std::uint32_t>(workers_.size());
  return *workers_.emplace_back(std::make_unique<worker>(number, command_for(settings_, memory_, number)));
}

worker& trainer_pool::take() {
  std::unique_lock guard(lock_);
  if (idle_.empty() && (settings_.workers == 0 || workers_.size() < settings_.workers)) idle_.push_back(&add());
  returned_.wait(guard, [&] { return !idle_.empty(); });
  auto chosen = std::ranges::find(idle_, had_last);
  if (chosen == idle_.end()) chosen = idle_.end() - 1;
  worker& trainer = **chosen;
  idle_.erase(chosen);
  had_last = &trainer;
  return trainer;
}

void trainer_pool::give_back(worker& trainer) {
  {
    const std::lock_guard guard(lock_);
    idle_.push_back(&trainer);
  }
  returned_.notify_one();
}

result<void> trainer_pool::prepare(std::size_t calls) {
  if (settings_.workers != 0) calls = std::min<std::size_t>(calls, settings_.workers);
  std::vector<worker*> closed;
  {
    const std::lock_guard guard(lock_);
    while (workers_.size() < calls) idle_.push_back(&add());
    const auto first =
        std::stable_partition(idle_.begin(), idle_.end(), [](const worker* one) { return one->process.running(); });
    closed.assign(first, idle_.end());
    idle_.erase(first, idle_.end());
  }
  if (closed.empty()) return {};
  const slow_notice notice(closed.front()->number,
                           "opening " + settings_.problem + " in " + std::to_string(closed.size()) + " more trainers");
  std::vector<result<void>> opened(closed.size());
  std::vector<std::thread> at_once;
  for (std::size_t i = 0; i < closed.size(); ++i) at_once.emplace_back([&, i] { opened[i] = start(*closed[i]); });
  for (auto& thread : at_once) thread.join();
  for (auto* trainer : closed) give_back(*trainer);
  // One that somebody ended is started again by the call that needs it.
  for (const auto& trainer : opened)
    if (!trainer && !trainer.error().place.empty()) return trainer;
  return {};
}

void trainer_pool::rest() {
  const std::lock_guard guard(lock_);
  for (auto* trainer : idle_) trainer->process.end();
  if (idle_.size() < workers_.size()) return;
  const std::lock_guard of_constants(constants_lock_);
  constants_ = {};
}

// ---- requests ------------------------------------------------------------------------------------------------------

std::optional<error> trainer_pool::ask(worker& trainer, message_kind kind) const {
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
result<void> trainer_pool::start(worker& trainer) const {
  if (auto started = trainer.process.start(); !started) return started;
  trainer.client = no_client;
  trainer.work = {};
  trainer.has_constants = false;
  trainer.request.clear();
  trainer.request.put(std::span<const char>(open_request(trainer, false)));
  if (const auto why = ask(trainer, message_kind::open)) {
    trainer.process.end();
    return tl::unexpected(*why);
  }
  const auto later = read_description(trainer.process.answer());
  auto same = later ? check_same(is_, *later, settings_.problem) : result<void>(tl::unexpected(later.error()));
  if (!same) trainer.process.end();
  return same;
}

std::optional<error> trainer_pool::place_constants(worker& trainer) const {
  const auto bytes = constant_starts(is_.constants).back();
  if (bytes > 0) {
    const std::lock_guard guard(constants_lock_);
    const bool written = !constants_.empty();
    if (!written) constants_.resize(bytes / sizeof(float));
    trainer.request.clear();
    trainer.request.put(shared_offset(constants_.data()).value());
    trainer.request.put(std::uint32_t{written});
    if (auto why = ask(trainer, message_kind::constants)) {
      if (!written) constants_ = {};
      return why;
    }
  }
  trainer.has_constants = true;
  return std::nullopt;
}

result<void> trainer_pool::wake(worker& trainer) const {
  if (!trainer.process.running())
    if (auto started = start(trainer); !started) return started;
  if (!trainer.has_constants)
    if (const auto why = place_constants(trainer)) return tl::unexpected(*why);
  return {};
}

/// Tells the trainer's log whose work it does.
std::string trainer_pool::begin_work(worker& trainer, std::uint32_t client) const {
  const auto now = models::work_scope::current();
  std::string text = client == no_client ? "the server's step" : "client " + is_.clients[client].name;
  const bool makes_round = now.kind == models::work_kind::training || now.kind == models::work_kind::server_step;
  if (makes_round) text += ", round " + std::to_string(now.version + 1);
  if (now.kind == models::work_kind::evaluation) text += ", evaluation of round " + std::to_string(now.version);
  trainer.process.set_work(text);
  trainer.client = client;
  trainer.work = now;
  return text;
}

std::span<const std::byte> trainer_pool::call(worker& trainer, message_kind kind, std::uint32_t client,
                                              function_ref<void(worker&)> write) const {
  write(trainer);
  std::string end;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    if (!trainer.process.running() || !trainer.has_constants) {
      if (auto ready = wake(trainer); !ready) {
        end = ready.error().reason;
        if (ready.error().place.empty()) continue;  // it was ended while it started
        throw models::model_failure(ready.error());
      }
      write(trainer);  // in the place of the request that opened it
    }
    if (trainer.client != client || trainer.work != models::work_scope::current()) begin_work(trainer, client);
    if (kind == message_kind::fit || kind == message_kind::train || kind == message_kind::personalize ||
        kind == message_kind::step)
      trainer.process.leave_processor();
    else if (settings_.threads == 1)
      trainer.process.share_processor();
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
  const auto& place = trainer.process.last_place();
  const auto& line = trainer.process.last_line();
  throw failed({error::kind::runtime, place.empty() ? settings_.problem : place,
                "the trainer ended " + std::to_string(most_attempts) + " times at the same work (" +
                    begin_work(trainer, client) + "), last with " + end,
                "look at its last lines in the log: it may run out of memory or call exit" +
                    (line.empty() || !place.empty() ? "" : "; the last one is: " + line)});
}

/// Says when a trainer takes much memory, and again each time it has doubled.
void trainer_pool::look_at_memory(worker& trainer) const {
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

result<void> trainer_pool::describe() {
  const borrowed first(*this);
  return describe(*first);
}

result<void> trainer_pool::describe(worker& with) {
  auto work = "opening " + settings_.problem + text_of(settings_.options);
  if (!settings_.algorithm.empty()) work += " and " + settings_.algorithm + text_of(settings_.algorithm_options);
  const slow_notice notice(with.number, std::move(work));
  if (!settings_.profile.empty()) note_trainer(with.number, "profiles of trainers will be in " + settings_.profile);
  if (auto started = with.process.start(); !started) return started;
  with.request.clear();
  with.request.put(std::span<const char>(open_request(with, true)));
  auto why = ask(with, message_kind::open);
  if (why && why->reason.starts_with("signal")) {  // somebody ended it: once more
    if (auto started = with.process.start(); !started) return started;
    why = ask(with, message_kind::open);
  }
  if (why) {
    with.process.end();
    if (const auto& place = with.process.last_place(); why->place.empty() && !place.empty())
      return fail(error::kind::data, place, "the trainer ended at its start with " + why->reason, "look at this line");
    if (why->place.empty())
      return tl::unexpected(ended_at_start(command_for(settings_, memory_, with.number), settings_, why->reason,
                                           with.process.last_line()));
    why->what = error::kind::data;
    return tl::unexpected(*why);
  }
  auto read = read_description(with.process.answer());
  if (!read) return tl::unexpected(read.error());
  if (!settings_.algorithm.empty() && !read->algorithm)
    return tl::unexpected(not_understood("it does not describe " + settings_.algorithm));
  is_ = std::move(*read);
  auto starts = example_starts(is_.clients);
  if (!starts) return tl::unexpected(starts.error());
  starts_ = std::move(*starts);
  return {};
}

}  // namespace furlong::scenarios
