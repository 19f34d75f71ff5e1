// furlong privacy
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <iostream>

#include "federated/settings/aggregation.hpp"
#include "federated/settings/settings.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/messages.hpp"
#include "tools/runs/privacy_json.hpp"
#include "tools/runs/trained_run.hpp"

namespace furlong::tools {

namespace {

using federated::privacy::sampling;

struct privacy_options {
  std::filesystem::path run;  ///< empty: a mechanism by its parameters, which follow
  std::optional<double> delta;
  std::optional<double> noise;
  std::optional<double> epsilon;  ///< find the noise for it
  std::optional<double> rate;     ///< Poisson sampling
  std::optional<std::uint64_t> rounds;
  std::optional<std::uint64_t> clients;
  std::optional<std::uint64_t> cap;             ///< Poisson sampling, truncated
  std::optional<std::uint64_t> cohort;          ///< of fixed size
  std::optional<std::uint64_t> participations;  ///< of one client, without amplification
  output_format format = output_format::text;
};

/// A mechanism as the command line describes it.
struct described_mechanism {
  federated::privacy::mechanism mechanism;
  std::uint64_t releases = 0;
};

result<described_mechanism> read_mechanism(const privacy_options& options) {
  const auto wrong = [](const char* option, const char* why, const char* fix) {
    return fail(error::kind::usage, option, why, fix);
  };
  if (options.noise.has_value() == options.epsilon.has_value())
    return wrong("privacy", "needs one of --noise and --epsilon", "--noise Z computes epsilon, --epsilon E the noise");
  if (!options.delta) return wrong("--delta", "is missing", "add one that is far below 1 / clients");
  const int ways = static_cast<int>(options.rate.has_value()) + static_cast<int>(options.cohort.has_value()) +
                   static_cast<int>(options.participations.has_value());
  if (ways != 1)
    return wrong("--rate", "or --cohort or --participations is needed, and only one of them",
                 "--rate: Poisson sampling; --cohort: of fixed size; --participations: no amplification");
  described_mechanism made;
  made.mechanism.noise = options.noise.value_or(1.0);
  if (options.participations) {
    if (options.rounds || options.clients || options.cap)
      return wrong("--participations", "counts a client's own rounds", "leave out --rounds, --clients and --cap");
    made.releases = *options.participations;
    return made;
  }
  if (!options.rounds) return wrong("--rounds", "is missing", "add the number of rounds");
  made.releases = *options.rounds;
  if (options.cohort) {
    if (!options.clients || *options.cohort > *options.clients || options.cap)
      return wrong("--cohort", "is drawn from --clients, which are at least as many, and has no --cap",
                   "add --clients N");
    made.mechanism.how = sampling::fixed_size;
    made.mechanism.rate = static_cast<double>(*options.cohort) / static_cast<double>(*options.clients);
    return made;
  }
  if (options.cap.has_value() != options.clients.has_value())
    return wrong("--cap", "and --clients belong together: the cap binds more often with more clients", "add the other");
  made.mechanism.how = options.cap ? sampling::truncated_poisson : sampling::poisson;
  made.mechanism.rate = *options.rate;
  made.mechanism.cap = options.cap.value_or(0);
  made.mechanism.clients = options.clients.value_or(0);
  return made;
}

/// The lines of metrics.jsonl: rounds that were made, also those after the last checkpoint.
std::uint64_t count_lines(const std::filesystem::path& file) {
  std::ifstream input(file, std::ios::binary);
  std::uint64_t lines = 0;
  for (std::string line; std::getline(input, line);) ++lines;
  return lines;
}

/// Also for a run whose clients' data are on nodes.
result<prepared_run> open_scenario_of(const run_directory& folder) {
  auto scenario = read_scenario(folder);
  if (!scenario) return tl::unexpected(scenario.error());
  auto opened = open_prepared_run(*scenario);
  if (opened || scenarios::find_dataset(scenario->data_source)->outline == nullptr) return opened;
  return open_prepared_run(std::move(*scenario), clients_are::on_nodes);
}

result<json> account_of(const run_directory& folder, double delta) {
  auto opened = open_scenario_of(folder);
  if (!opened) return tl::unexpected(opened.error());
  if (opened->experiment.settings.privacy->noise <= 0)
    return fail(error::kind::usage, folder.root().string(), "has no privacy.noise: nothing is guaranteed",
                "set privacy.clip and privacy.noise in the scenario");
  auto state = read_state(*opened, folder);
  if (!state) return tl::unexpected(state.error());
  const auto made = count_lines(folder.metrics());
  const auto later = made > state->version ? made - state->version : 0;
  return privacy_json(opened->experiment, *state, delta, later);
}

int account_for_run(const privacy_options& options) {
  if (options.noise || options.epsilon || options.rate || options.rounds || options.clients || options.cap ||
      options.cohort || options.participations)
    return report_failure({error::kind::usage, options.run.string(), "is a run, which has its own parameters",
                           "add only --delta and --format, or leave out the run"});
  const auto found = account_of(run_directory(options.run), options.delta.value_or(0.0));
  if (!found) return report_failure(found.error());
  if (options.format == output_format::json)
    std::cout << json_text(*found) << '\n';
  else
    std::cout << privacy_text(*found);
  return done;
}

int account_for_mechanism(const privacy_options& options) {
  auto read = read_mechanism(options);
  if (!read) return report_failure(read.error());
  if (options.epsilon) {
    read->mechanism.noise =
        federated::privacy::noise_for(read->mechanism, read->releases, *options.epsilon, *options.delta);
    if (!std::isfinite(read->mechanism.noise))
      return report_failure({error::kind::usage, "--epsilon", "cannot be reached with a noise below a million",
                             "raise it, or lower the rate or the rounds"});
  }
  const auto found = mechanism_json(read->mechanism, read->releases, *options.delta);
  if (options.format == output_format::json)
    std::cout << json_text(found) << '\n';
  else
    std::cout << privacy_text(found);
  return done;
}

/// A number strictly between 0 and `most`, or at most it.
CLI::Validator positive(double most, bool and_most) {
  return {[most, and_most](std::string& text) -> std::string {
            char* end = nullptr;
            const double value = std::strtod(text.c_str(), &end);
            if (!text.empty() && *end == '\0' && value > 0 && (and_most ? value <= most : value < most)) return {};
            return "\"" + text + "\" is not a number above 0 and " + (and_most ? "up to " : "below ") +
                   fmt::format("{}", most);
          },
          ""};
}

int privacy_command(const privacy_options& options) {
  return options.run.empty() ? account_for_mechanism(options) : account_for_run(options);
}

}  // namespace

void add_privacy(CLI::App& app, command& chosen) {
  const auto added =
      add_command(app, chosen, "privacy", "state epsilon of a run, or of noise, sampling and rounds", privacy_command);
  auto* const sub = added.first;
  const auto& options = added.second;
  const auto number = [&](const char* name, std::optional<double>& target, const char* doc, double most, bool and_most,
                          const char* word) {
    sub->add_option(name, target, doc)->check(positive(most, and_most))->option_text(word);
  };
  const auto count = [&](const char* name, std::optional<std::uint64_t>& target, const char* doc, std::uint64_t most) {
    sub->add_option(name, target, doc)->transform(whole_number(1, most))->option_text("N");
  };
  constexpr std::uint64_t most_rounds = 100'000'000;
  sub->add_option("run", options->run, "run directory; without it, the options describe the releases")
      ->option_text("RUN");
  number("--delta", options->delta, "of (epsilon, delta); default of a run: its privacy.delta", 1.0, false, "D");
  number("--noise", options->noise, "noise multiplier: standard deviation over the clipping bound", 1e6, true, "Z");
  number("--epsilon", options->epsilon, "find the least noise for it", 1e6, true, "E");
  number("--rate", options->rate, "Poisson sampling: probability that a client takes part in a round", 1.0, true, "Q");
  count("--cap", options->cap, "with --rate: most clients of a round, drawn among those that would take part",
        UINT32_MAX);
  count("--cohort", options->cohort, "instead of --rate: clients in each round, drawn from --clients", UINT32_MAX);
  count("--participations", options->participations,
        "instead of --rate: rounds that one client takes part in, known to all", most_rounds);
  count("--clients", options->clients, "with --cap or --cohort: all clients", UINT32_MAX);
  count("--rounds", options->rounds, "how often a sum is released", most_rounds);
  add_format(sub, options->format);
}

}  // namespace furlong::tools
