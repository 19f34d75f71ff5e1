// Plays random scenarios under random faults on simulated federations, and checks what must hold in each.
//
// usage: explore SECONDS [--seed N] [--worlds N] [--plan] [--digest FILE]
//
// Worlds have the seeds N, N + 1, ... (1). Of the first in which something is wrong it prints the seed, what is wrong,
// and the shortest list of faults with which anything is wrong, and exits 1; `explore 0 --seed N --worlds 1` plays that
// world again, `--plan` prints what happens in it. --worlds: ends after so many, whatever the time.
//
// --digest writes a line for each world: its seed, a SHA-256 of everything that was seen in it, and for a world that is
// promised to end as if undisturbed also its model. A change of the code that moves no message and no time keeps all
// lines; one that does keeps the models.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iostream>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/digest.hpp"
#include "federated/settings/events.hpp"
#include "tests/explore/run_plan.hpp"
#include "tests/support/network.hpp"

namespace {

using namespace furlong::tests::net;

struct options {
  double seconds = 0.0;
  std::uint64_t seed = 1;
  std::uint64_t worlds = 0;
  bool shows_plan = false;
  std::string digests;  ///< file; empty: none
};

template <class Number>
bool read(std::string_view text, Number& to) {
  const auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), to);
  return why == std::errc{} && end == text.data() + text.size();
}

std::optional<options> parse(int count, char** words) {
  options made;
  bool good = count > 1 && read(words[1], made.seconds) && made.seconds >= 0.0;
  for (int i = 2; good && i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--plan")
      made.shows_plan = true;
    else if (word == "--digest")
      good = ++i < count && !(made.digests = words[i]).empty();
    else
      good = ++i < count &&
             ((word == "--seed" && read(words[i], made.seed)) || (word == "--worlds" && read(words[i], made.worlds)));
  }
  if (!good || (made.seconds == 0.0 && made.worlds == 0)) return std::nullopt;
  return made;
}

/// What is wrong with an end of the run of which the documents promise that of the undisturbed one.
void compare(const ending& undisturbed, ending& seen) {
  const auto differs = [&](bool is, const std::string& what) {
    if (is) seen.failures.push_back("differs from the undisturbed run: " + what);
  };
  differs(seen.model != undisturbed.model, "the model");
  differs(seen.version != undisturbed.version, "the number of versions");
  differs(seen.counts.folded != undisturbed.counts.folded, std::to_string(seen.counts.folded) + " updates aggregated");
  differs(seen.counts.rejected != undisturbed.counts.rejected, "rejections");
  differs(seen.counts.dropped != undisturbed.counts.dropped, "dropped tasks");
  differs(seen.counts.abandoned != undisturbed.counts.abandoned, "abandoned rounds");
  // A server that was killed evaluates again.
  if (seen.history.life() == 0) differs(seen.evaluations != undisturbed.evaluations, "evaluations");
}

/// A round without clients that can be asked is given up after a week; devices may be away for so long.
constexpr furlong::federated::virtual_time patience_with_devices = 90 * 86400 * 1'000'000LL;

ending play(const plan& what) {
  auto seen = what.devices ? run_world(what, patience_with_devices) : run_world(what);
  if (what.promised && !what.faults.empty()) {
    auto quiet = what;
    quiet.faults.clear();
    compare(run_world(quiet), seen);
  }
  return seen;
}

/// What goes wrong in a plan, one after the other.
auto& faults_of(plan& of) { return of.faults; }
auto& faults_of(furlong::tests::run_plan& of) { return *of.settings.events; }

template <class Plan>
bool fails(const Plan& what) {
  return !play(what).failures.empty();
}

/// The shortest list of faults with which anything is wrong, by delta debugging: leaves out ever smaller parts.
template <class Plan>
Plan shortest(Plan what) {
  for (auto part = faults_of(what).size(); part > 0;) {
    bool shorter = false;
    for (std::size_t begin = 0; begin < faults_of(what).size();) {
      auto without = what;
      auto& faults = faults_of(without);
      const auto end = std::min(begin + part, faults.size());
      faults.erase(faults.begin() + static_cast<std::ptrdiff_t>(begin),
                   faults.begin() + static_cast<std::ptrdiff_t>(end));
      if (fails(without)) {
        what = std::move(without);
        shorter = true;
      } else {
        begin += part;
      }
    }
    if (part > 1)
      part = (part + 1) / 2;
    else if (!shorter)
      break;
  }
  return what;
}

/// Everything else that may be left out.
void simplify(plan& what) {
  for (auto* rate : {&what.failing, &what.spoiled, &what.repeated})
    if (auto without = std::exchange(*rate, 0.0); without > 0.0 && !fails(what)) *rate = without;
  if (const auto waves = std::exchange(what.work, {}); waves.workers > 0 && !fails(what)) what.work = waves;
}
void simplify(furlong::tests::run_plan& what) {
  while (what.losses > 0) {
    --what.losses;
    if (fails(what)) continue;
    ++what.losses;
    return;
  }
}

std::string others_of(const plan& what) {
  return std::string(what.failing > 0.0 ? ", and clients that fail" : "") +
         (what.spoiled > 0.0 ? ", and updates that are not finite" : "") +
         (what.repeated > 0.0 ? ", and updates that are sent twice" : "");
}
std::string others_of(const furlong::tests::run_plan& what) {
  return what.losses > 0 ? ", and " + std::to_string(what.losses) + " losses of power" : "";
}

void add_lines(furlong::sha256_stream& digest, const std::vector<std::string>& lines) {
  digest.add(std::uint64_t{lines.size()});
  for (const auto& line : lines) digest.add(std::uint64_t{line.size()}).add(line);
}

/// Of trace, model, versions, counts and evaluations.
std::string digest_of(const ending& seen) {
  using furlong::federated::accounting;
  static_assert(std::has_unique_object_representations_v<accounting>, "its bytes are its values");
  furlong::sha256_stream digest;
  add_lines(digest, seen.trace);
  add_lines(digest, seen.evaluations);
  digest.add(seen.model).add(seen.version).add(std::as_bytes(std::span(&seen.counts, 1)));
  return furlong::hex(digest.finish());
}
/// Its trace ends with model and private values, and the reports of its rounds have the counts.
std::string digest_of(const furlong::tests::run_findings& seen) {
  furlong::sha256_stream digest;
  add_lines(digest, seen.trace);
  add_lines(digest, seen.evaluations);
  return furlong::hex(digest.finish());
}

const std::string& model_of(const ending& seen) { return seen.model; }
const std::string& model_of(const furlong::tests::run_findings& seen) { return seen.model; }

/// What is printed of worlds, and what was seen in all of them.
struct exploration {
  bool shows_plan = false;
  std::ofstream digests;  ///< not open: none are wanted
  std::uint64_t tasks = 0;
};

/// Plays a plan, and reports what is wrong. Whether all is well.
template <class Plan>
bool explore(Plan what, exploration& all) {
  using furlong::tests::text_of;
  const auto seen = play(what);
  all.tasks += seen.trainings;
  if (all.digests.is_open())
    all.digests << what.seed << " " << digest_of(seen) << (what.promised ? " " + model_of(seen) : "") << "\n";
  if (all.shows_plan) {
    std::cout << text_of(what) << "\n";
    for (const auto& line : seen.trace) std::cout << line << "\n";
  }
  if (seen.failures.empty()) return true;
  std::cout << text_of(what) << "\n";
  for (const auto& one : seen.failures) std::cout << "WRONG " << one << "\n";
  const auto fault_count = faults_of(what).size();
  auto least = shortest(std::move(what));
  simplify(least);
  std::cout << "the shortest list of faults that still fails: " << faults_of(least).size() << " of " << fault_count
            << others_of(least) << "\n";
  for (const auto& one : faults_of(least)) std::cout << "  " << text_of(one) << "\n";
  for (const auto& one : play(least).failures) std::cout << "  WRONG " << one << "\n";
  std::cout << "to play it again: ./dev explore 0 --seed " << least.seed << " --worlds 1 --plan" << std::endl;
  return false;
}

/// One world of four is a run as `furlong run` carries it out, with the scenario's own events.
bool explore_seed(std::uint64_t seed, exploration& all) {
  return seed % 4 == 0 ? explore(furlong::tests::random_run(seed), all) : explore(exploring_plan(seed), all);
}

}  // namespace

int main(int count, char** words) {
  const auto given = parse(count, words);
  if (!given) {
    std::cerr << "usage: explore SECONDS [--seed N] [--worlds N] [--plan] [--digest FILE]\n";
    return 2;
  }
  exploration all;
  all.shows_plan = given->shows_plan;
  if (!given->digests.empty()) all.digests.open(given->digests);
  if (!all.digests) {
    std::cerr << given->digests << ": cannot be written\n";
    return 2;
  }
  using clock = std::chrono::steady_clock;
  const auto began = clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(clock::now() - began).count(); };
  std::uint64_t worlds = 0;
  const auto goes_on = [&] {
    return (given->worlds == 0 || worlds < given->worlds) && (given->seconds == 0.0 || elapsed() < given->seconds);
  };
  for (; goes_on(); ++worlds)
    if (!explore_seed(given->seed + worlds, all)) return 1;
  if (!all.digests.flush()) {
    std::cerr << given->digests << ": the digests are not written\n";
    return 1;
  }
  std::cout << worlds << " worlds from seed " << given->seed << ", " << all.tasks << " tasks, nothing wrong; "
            << static_cast<std::uint64_t>(static_cast<double>(all.tasks) / elapsed()) << " tasks a second" << std::endl;
  return 0;
}
