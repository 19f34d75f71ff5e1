// Laws of selection policies: what they select over drawn rounds, when they are built in the middle of a run, and with
// other losses.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>

#include "federated/participation/checked_policy.hpp"
#include "federated/settings/participation.hpp"
#include "tools/conformance/laws.hpp"

namespace furlong::tools::conformance {

namespace {

using federated::checked_policy;
using federated::experiment;
using federated::participation_ledger;
using federated::selection;
using cohort = std::vector<std::uint32_t>;

constexpr std::uint64_t drawn_rounds = 60;
constexpr std::uint64_t drawn_cohorts = 400;
/// A client's number of selections is this many standard deviations from its mean once in 10^9 times.
constexpr double most_deviations = 6.0;

/// Rounds of a run without training: who can be asked is drawn, and so is what becomes of the tasks.
class drawn_run {
 public:
  /// @param opposed clients with the largest losses have the smallest ones
  drawn_run(const experiment& setup, bool opposed)
      : setup_(setup),
        clients_(setup.participants->training()),
        opposed_(opposed),
        ledger_(clients_.empty() ? 0 : std::size_t{clients_.back()} + 1),
        eligible_(ledger_.size()),
        calls_(ledger_.size()) {}

  /// The next selection; of an earlier one until conclude().
  [[nodiscard]] selection request() {
    std::ranges::fill(calls_, 0U);
    return {.count = count(), .round = round_, .ordinal = ordinal_, .eligible = [this](std::uint32_t client) {
              if (client >= eligible_.size()) return false;
              ++calls_[client];
              return bool{eligible_[client]};
            }};
  }
  void begin_round() {
    constexpr float shares[] = {1.0F, 0.6F, 0.9F, 0.2F, 0.0F};
    const float share = shares[round_ % std::size(shares)];
    for (const auto client : clients_) eligible_[client] = draws_.uniform() < share;
  }
  /// These were selected.
  void conclude(const cohort& chosen) {
    for (const auto client : chosen) ledger_.select(client, round_, ++ordinal_);
    for (const auto client : chosen) {
      const float loss = draws_.uniform(0.1F, 2.0F);
      if (draws_.below(4) == 0) continue;  // it dropped out
      auto& record = ledger_.touch(client);
      ++record.folded;
      record.reported_version = record.folded_version = static_cast<std::uint32_t>(round_ + 1);
      record.loss = opposed_ ? 2.1F - loss : loss;
    }
    ++round_;
  }

  /// A client that was asked for more than once in the selection, if there is one.
  [[nodiscard]] std::optional<std::uint32_t> asked_twice() const {
    const auto found = std::ranges::find_if(calls_, [](std::uint32_t calls) { return calls > 1; });
    if (found == calls_.end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - calls_.begin());
  }
  [[nodiscard]] const participation_ledger& ledger() const { return ledger_; }
  [[nodiscard]] std::uint64_t round() const { return round_; }

 private:
  [[nodiscard]] std::uint32_t count() const {
    const auto& settings = *setup_.settings.participation;
    const auto usual = settings.mode == federated::participation_mode::async
                           ? 1U
                           : static_cast<std::uint32_t>(federated::asked_per_round(settings));
    if (settings.policy.traits.draws_cohort) return usual;
    const std::uint32_t counts[] = {usual, 1U, static_cast<std::uint32_t>(clients_.size())};
    return std::min(counts[(round_ / 2) % std::size(counts)], static_cast<std::uint32_t>(clients_.size()));
  }

  const experiment& setup_;
  std::span<const std::uint32_t> clients_;
  bool opposed_;
  participation_ledger ledger_;
  std::vector<bool> eligible_;
  std::vector<std::uint32_t> calls_;  ///< of eligible() in the selection, by client
  random_stream draws_{11, purpose::test};
  std::uint64_t round_ = 0;
  std::uint64_t ordinal_ = 0;
};

cohort selected(checked_policy& policy, drawn_run& run) {
  auto wanted = run.request();
  auto chosen = policy.choose(wanted, run.ledger());
  if (!chosen) throw std::runtime_error(chosen.error().reason + ": " + chosen.error().fix);
  return std::move(*chosen);
}

std::string text_of_cohort(const cohort& listed) { return fmt::format("[{}]", fmt::join(listed, ", ")); }

/// Goes through the drawn rounds with one instance. `look` is called with each answer before it is concluded.
template <class Look>
void go_through(const experiment& setup, drawn_run& run, const Look& look) {
  checked_policy policy(setup, run.ledger());
  while (run.round() < drawn_rounds) {
    run.begin_round();
    const auto chosen = selected(policy, run);
    look(chosen);
    run.conclude(chosen);
    policy.asked(chosen);
  }
}

std::vector<cohort> answers_of(const experiment& setup, bool opposed) {
  std::vector<cohort> answers;
  drawn_run run(setup, opposed);
  go_through(setup, run, [&](const cohort& chosen) { answers.push_back(chosen); });
  return answers;
}

/// The first round in which two runs select others.
std::string difference_of_runs(const std::vector<cohort>& first, const std::vector<cohort>& second) {
  for (std::size_t round = 0; round < std::min(first.size(), second.size()); ++round)
    if (first[round] != second[round])
      return fmt::format("selected for round {} are {}, and then {}", round + 1, text_of_cohort(first[round]),
                         text_of_cohort(second[round]));
  return {};
}

std::string fault_of_calls(const experiment& setup) {
  std::string fault;
  drawn_run run(setup, false);
  go_through(setup, run, [&](const cohort&) {
    if (const auto client = run.asked_twice(); client && fault.empty())
      fault = fmt::format("eligible() was called twice for client {} in round {}", *client, run.round() + 1);
  });
  return fault;
}

std::string fault_of_restoration(const experiment& setup) {
  std::string fault;
  drawn_run run(setup, false);
  go_through(setup, run, [&](const cohort& chosen) {
    checked_policy restored(setup, run.ledger());
    if (const auto resumed = selected(restored, run); resumed != chosen && fault.empty())
      fault = fmt::format("selected for round {} are {}, and {} if the run is resumed before it", run.round() + 1,
                          text_of_cohort(chosen), text_of_cohort(resumed));
  });
  return fault;
}

/// The selections of each client among cohorts that are drawn from one ledger.
std::string fault_of_draws(const experiment& setup) {
  drawn_run run(setup, false);
  go_through(setup, run, [](const cohort&) {});
  checked_policy policy(setup, run.ledger());
  const auto clients = setup.participants->training();
  const auto usual = static_cast<std::uint32_t>(federated::asked_per_round(*setup.settings.participation));
  const auto half = static_cast<std::uint32_t>(std::max<std::size_t>(clients.size() / 2, 1));
  std::vector<std::uint64_t> counts(run.ledger().size(), 0);
  std::uint64_t total = 0;
  for (std::uint64_t drawn = 0; drawn < drawn_cohorts; ++drawn) {
    selection wanted{
        .count = std::min(usual, half), .round = drawn_rounds + drawn, .ordinal = drawn, .eligible = [](std::uint32_t) {
          return true;
        }};
    const auto chosen = policy.choose(wanted, run.ledger());
    if (!chosen) throw std::runtime_error(chosen.error().reason + ": " + chosen.error().fix);
    for (const auto client : *chosen) ++counts[client];
    total += chosen->size();
  }
  const double mean = static_cast<double>(total) / static_cast<double>(clients.size());
  const double probability = mean / static_cast<double>(drawn_cohorts);
  const double deviation = std::sqrt(mean * (1 - probability));
  for (const auto client : clients)
    if (std::abs(static_cast<double>(counts[client]) - mean) > most_deviations * deviation)
      return fmt::format("client {} is in {} of {} cohorts, and all clients in {:.1f} on average", client,
                         counts[client], drawn_cohorts, mean);
  return {};
}

}  // namespace

findings check_policy(const experiment& setup) {
  const auto& traits = setup.settings.participation->policy.traits;
  findings made;
  std::optional<std::vector<cohort>> expected;
  made.examine({"answers", "of any clients that can be asked, it selects as many as are wanted, each once, ascending",
                "correct choose()"},
               [&] {
                 if (setup.participants->training().empty()) return skipped("no client trains");
                 expected = answers_of(setup, false);
                 return verdict();
               });
  const auto examine = [&](law subject, const std::function<verdict()>& question) {
    made.examine(std::move(subject), [&] { return expected ? question() : skipped("there are no answers"); });
  };
  examine({"calls", "it asks at most once whether a client can be asked now",
           "remember in choose() who was asked about: the question may cost a message to a node"},
          [&] { return kept_unless(fault_of_calls(setup)); });
  examine(
      {"repetition", "another run with the same seed selects the same clients", "draw from selection_stream() alone"},
      [&] { return kept_unless(difference_of_runs(*expected, answers_of(setup, false))); });
  examine({"restoration", "a policy that is built from the ledger in the middle of a run goes on as the one before",
           "compute all that it remembers from the ledger"},
          [&] { return kept_unless(fault_of_restoration(setup)); });
  examine({"losses", "selections do not depend on losses, unless the traits say sees_losses",
           "set sees_losses in the traits, or do not use them"},
          [&] {
            if (traits.sees_losses) return skipped("its traits say that it selects by losses");
            return kept_unless(difference_of_runs(*expected, answers_of(setup, true)));
          });
  examine({"draws", "all clients are selected equally often, if the traits say draws_alike",
           "draw every client with the same probability, or do not state draws_alike: the accounting of privacy "
           "relies on it"},
          [&] {
            if (!traits.draws_alike) return skipped("its traits do not say draws_alike");
            return kept_unless(fault_of_draws(setup));
          });
  return made;
}

}  // namespace furlong::tools::conformance
