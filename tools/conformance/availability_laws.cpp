// Laws of models of availability: what they answer about drawn clients, moments and rounds.
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <thread>

#include "base/random.hpp"
#include "federated/settings/settings.hpp"
#include "federated/world/world.hpp"
#include "tools/conformance/laws.hpp"

namespace furlong::tools::conformance {

namespace {

using federated::availability;
using federated::never;
using federated::virtual_time;

constexpr std::size_t drawn_moments = 600;
constexpr virtual_time longest = 14LL * 86'400 * federated::microseconds_per_second;

struct moment {
  std::uint32_t client = 0;
  virtual_time now = 0;
  std::uint64_t round = 0;
};

struct answer {
  bool available = false;
  virtual_time change = 0;
  friend bool operator==(const answer&, const answer&) = default;
};

std::string text_of_moment(const moment& drawn) {
  return fmt::format("client {} at {} us in round {}", drawn.client, drawn.now, drawn.round + 1);
}

std::string text_of_answer(const answer& given) {
  return fmt::format("{}, until {}", given.available ? "available" : "not available",
                     given.change == never ? "ever" : fmt::format("{} us", given.change));
}

std::vector<moment> drawn(std::span<const std::uint32_t> clients) {
  random_stream draws(7, purpose::test);
  std::vector<moment> moments(drawn_moments);
  for (auto& next : moments)
    next = {clients[draws.below(static_cast<std::uint32_t>(clients.size()))],
            static_cast<virtual_time>(static_cast<double>(longest) * draws.uniform()), draws.below(200)};
  return moments;
}

std::vector<answer> answers_of(const availability& model, const std::vector<moment>& moments) {
  std::vector<answer> answers;
  for (const auto& [client, now, round] : moments)
    answers.push_back({model.available(client, now, round), model.changes(client, now, round)});
  return answers;
}

std::string difference(const std::vector<moment>& moments, const std::vector<answer>& expected,
                       const std::vector<answer>& answers) {
  for (std::size_t i = 0; i < moments.size(); ++i)
    if (answers[i] != expected[i])
      return fmt::format("{} is {}, and then {}", text_of_moment(moments[i]), text_of_answer(expected[i]),
                         text_of_answer(answers[i]));
  return {};
}

/// Asked in the opposite order, and by two threads at once.
std::string fault_of_repetition(const availability& model, const std::vector<moment>& moments,
                                const std::vector<answer>& expected) {
  std::vector<moment> turned(moments.rbegin(), moments.rend());
  std::vector<answer> answers[2];
  std::thread second([&] { answers[1] = answers_of(model, turned); });
  answers[0] = answers_of(model, turned);
  second.join();
  const std::vector<answer> opposite(expected.rbegin(), expected.rend());
  for (const auto& given : answers)
    if (auto fault = difference(turned, opposite, given); !fault.empty()) return fault;
  return {};
}

/// At a change the answer is another one, and until then the same. That it is ahead is checked in every run.
std::string fault_of_changes(const availability& model, const std::vector<moment>& moments,
                             const std::vector<answer>& answers) {
  random_stream draws(8, purpose::test);
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const auto& [client, now, round] = moments[i];
    const auto& [state, change] = answers[i];
    if (change != never && model.available(client, change, round) == state)
      return fmt::format("{} is {}, and the same at that time", text_of_moment(moments[i]), text_of_answer(answers[i]));
    const auto end = change == never ? now + longest : change;
    const auto between = now + static_cast<virtual_time>(static_cast<double>(end - now) * draws.uniform());
    if (between < end && model.available(client, between, round) != state)
      return fmt::format("{} is {}, and another at {} us", text_of_moment(moments[i]), text_of_answer(answers[i]),
                         between);
  }
  return {};
}

std::string fault_of_rounds(const availability& model, const std::vector<moment>& moments,
                            const std::vector<answer>& answers) {
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const auto& [client, now, round] = moments[i];
    const bool state = answers[i].available;
    if (model.by_round() ? model.available(client, now / 2, round) != state
                         : model.available(client, now, round + 1) != state)
      return fmt::format("{} is {}, and another {}", text_of_moment(moments[i]), text_of_answer(answers[i]),
                         model.by_round() ? "at half of that time" : "in the next round");
  }
  return {};
}

}  // namespace

findings check_availability(const federated::experiment& setup, const federated::experiment& rebuilt) {
  const auto clients = setup.participants->training();
  findings made;
  std::vector<moment> moments;
  std::optional<std::vector<answer>> answers;
  const auto* model = setup.around == nullptr ? nullptr : setup.around->presence.get();
  made.examine({"answers", "it answers for any client, time and round", "correct available() and changes()"}, [&] {
    if (clients.empty()) return skipped("no client trains");
    if (model == nullptr) throw std::runtime_error("the scenario has the real clock");
    moments = drawn(clients);
    answers = answers_of(*model, moments);
    return verdict();
  });
  const auto examine = [&](law subject, const std::function<std::string()>& question) {
    made.examine(std::move(subject),
                 [&] { return answers ? kept_unless(question()) : skipped("there are no answers"); });
  };
  examine({"repetition", "it answers the same in any order and from any thread",
           "compute answers from seed, client, time and round alone, and remember nothing"},
          [&] { return fault_of_repetition(*model, moments, *answers); });
  examine({"rebuilding", "the model of a resumed run answers as the one before", "draw from the seed alone"},
          [&] { return difference(moments, *answers, answers_of(*rebuilt.around->presence, moments)); });
  examine({"changes", "changes() is the first later instant with another answer",
           "answer the end of the current state, or `never`"},
          [&] { return fault_of_changes(*model, moments, *answers); });
  examine({"rounds", "it depends on the round alone if it says by_round(), and else not on the round",
           "correct by_round(): whether the server waits within a round follows from it"},
          [&] { return fault_of_rounds(*model, moments, *answers); });
  return made;
}

}  // namespace furlong::tools::conformance
