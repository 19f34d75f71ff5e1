#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iostream>
#include <numeric>

#include "actors/actor_engine.hpp"
#include "federated/audit/canaries.hpp"
#include "federated/evaluation/client_scorer.hpp"
#include "federated/privacy/run_account.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/settings.hpp"
#include "federated/state/broadcasts.hpp"
#include "storage/memory_store.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/runs/child_runs.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/json.hpp"
#include "tools/runs/messages.hpp"
#include "tools/runs/prepared_run.hpp"
#include "tools/runs/privacy_json.hpp"
#include "tools/runs/stop_signal.hpp"

namespace furlong::tools {

namespace {

namespace privacy = federated::privacy;

struct audit_options {
  std::filesystem::path scenario;
  std::vector<scenarios::setting_override> overrides;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> canaries;  ///< nothing: half of the clients that train
  double confidence = 0.95;               ///< of the lower bound
  std::optional<double> claim;            ///< an epsilon; nothing: the accounted one
  std::optional<double> delta;            ///< nothing: that of the scenario
  std::size_t threads = 0;                ///< 0: one per core
  output_format format = output_format::text;
};

/// Negative losses per prediction, of clients that are scored as strangers (client/scored_examples.hpp), whether they
/// trained or not. A member of the run is expected to have higher ones.
result<std::vector<double>> fits_of(const federated::client_scorer& scorer, std::span<const std::uint32_t> clients) {
  std::vector<double> fits;
  federated::workspace use;
  for (const auto client : clients) {
    const auto score = scorer.score(federated::group::unseen, client, use);
    if (!score) return tl::unexpected(score.error());
    if (score->examples > 0 && std::isfinite(score->loss))
      fits.push_back(-score->loss / static_cast<double>(score->examples));
  }
  return fits;
}

/// Clients whose updates are in the model, but for canaries, against those held out from training. Null if there are
/// none of either.
result<json> membership_json(const federated::experiment& experiment, const federated::server_state& state,
                             std::span<const std::uint32_t> canaries) {
  std::vector<std::uint32_t> members;
  for (const auto client : experiment.participants->training())
    if (!std::ranges::binary_search(canaries, client) && (*state.ledger)[client].folded > 0) members.push_back(client);
  std::vector<std::uint32_t> strangers;
  for (const auto held_out : {experiment.clients->unseen_validation(), experiment.clients->unseen_test()})
    strangers.insert(strangers.end(), held_out.begin(), held_out.end());
  const auto model = federated::sent_model(experiment, state.last());
  const federated::client_scorer scorer(experiment, model, state.version, nullptr);
  const auto inside = fits_of(scorer, members);
  if (!inside) return tl::unexpected(inside.error());
  const auto outside = fits_of(scorer, strangers);
  if (!outside) return tl::unexpected(outside.error());
  if (inside->empty() || outside->empty()) return json(nullptr);
  const auto found = privacy::tell_members(*inside, *outside);
  return json{
      {"auc", found.auc}, {"half_width", found.half_width}, {"members", inside->size()}, {"others", outside->size()}};
}

result<json> audit(prepared_run& run, const audit_options& options) {
  auto& experiment = run.experiment;
  const privacy::run_population population{experiment.participants->training().size(), false};
  if (experiment.settings.privacy->noise <= 0)
    return fail(error::kind::usage, "privacy.noise", "is 0: nothing is claimed that could be audited",
                "set privacy.clip and privacy.noise");
  const auto claim = privacy::mechanism_of(experiment.settings, population);
  auto planted = privacy::plant_canaries(experiment, claim.of, options.canaries.value_or(0));
  if (!planted) return tl::unexpected(planted.error());
  const auto& canaries = **planted;

  watch_for_stop(stops_after_round);
  storage::memory_store store(experiment.parts.private_);
  const auto ended = actors::run_actors(experiment, federated::initial_state(experiment), store, {}, stop_requested(),
                                        {.threads = or_one_per_core(options.threads)});
  if (!ended) return tl::unexpected(ended.error());
  if (ended->interrupted) return json(nullptr);
  const auto& state = ended->state;

  auto account = privacy_json(experiment, state, options.delta.value_or(0.0));
  const double delta = account["delta"];
  const double accounted = account["epsilon"].is_null() ? INFINITY : account["epsilon"].get<double>();
  const double claimed = options.claim.value_or(accounted);
  const auto found = privacy::bound_by_canaries(canaries.judged(), claimed, delta, options.confidence);
  auto membership = membership_json(experiment, state, canaries.clients());
  if (!membership) return tl::unexpected(membership.error());
  const auto refused = std::accumulate(state.counts.rejected.begin(), state.counts.rejected.end(), std::uint64_t{0});
  const auto included = std::ranges::count_if(canaries.judged(), [](const auto& canary) { return canary.in; });
  return json{{"scenario", run.scenario.name},
              {"seed", experiment.settings.seed},
              {"lower_bound", found.epsilon},
              {"confidence", options.confidence},
              {"claimed", std::isfinite(claimed) ? json(claimed) : json(nullptr)},
              {"delta", delta},
              {"p_value", found.p_value},
              {"contradicted", found.epsilon > claimed},
              {"canaries", found.best.canaries},
              {"in", included},
              {"guesses", found.best.made},
              {"right", found.best.right},
              {"tried", found.tried},
              {"refused", refused},
              {"rounds", state.version},
              {"membership", std::move(*membership)},
              {"account", std::move(account)}};
}

std::string audit_text(const json& object) {
  std::string text = fmt::format("epsilon is at least {:.4f} with confidence {:.4g}, for delta {:.4g}\n",
                                 object["lower_bound"].get<double>(), object["confidence"].get<double>(),
                                 object["delta"].get<double>());
  const auto& claimed = object["claimed"];
  if (claimed.is_null())
    text += "claimed: nothing, no epsilon is accounted\n";
  else
    text += fmt::format("claimed: epsilon {:.4f}, {} (p-value {:.3g})\n", claimed.get<double>(),
                        object["contradicted"].get<bool>() ? "CONTRADICTED" : "not contradicted",
                        object["p_value"].get<double>());
  text += fmt::format("canaries: {}, of which {} were in; {} of {} guesses right, after {} rounds\n",
                      object["canaries"].dump(), object["in"].dump(), object["right"].dump(), object["guesses"].dump(),
                      object["rounds"].dump());
  const auto& membership = object["membership"];
  if (membership.is_null())
    text += "membership inference: none, it needs clients that are no canaries and unseen ones\n";
  else
    text += fmt::format(
        "membership inference by the loss of the shared model: AUC {:.4f} +- {:.4f}, {} members and {} "
        "others\n",
        membership["auc"].get<double>(), membership["half_width"].get<double>(), membership["members"].dump(),
        membership["others"].dump());
  return text;
}

int audit_command(const audit_options& options) {
  auto overrides = options.overrides;
  if (options.seed) overrides.push_back(seed_override(*options.seed));
  auto scenario = scenarios::parse_scenario(options.scenario, overrides);
  if (!scenario) return report_problems(scenario.error());
  auto ready = open_prepared_run(std::move(*scenario));
  if (!ready) return report_failure(ready.error());
  for (const auto& note : ready->scenario.notes) fmt::print(stderr, "note: {}\n", for_people(note));
  const auto found = audit(*ready, options);
  if (!found) return report_failure(found.error());
  if (found->is_null()) {
    std::cerr << "furlong: stopped; an audit starts from the beginning\n";
    return interrupted;
  }
  if (const auto refused = (*found)["refused"].get<std::uint64_t>(); refused > 0)
    fmt::print(stderr, "note: {} updates were refused, which hides canaries: raise algorithm.aggregation.max_norm\n",
               refused);
  if (options.format == output_format::json)
    std::cout << json_text(*found) << '\n';
  else
    std::cout << audit_text(*found);
  return (*found)["contradicted"].get<bool>() ? expectation_failed : done;
}

}  // namespace

void add_audit(CLI::App& app, command& chosen) {
  const auto [sub, options] =
      add_command(app, chosen, "audit", "attack a run with canaries: a lower bound of its epsilon", audit_command);
  sub->add_option("scenario", options->scenario, "scenario file")->required()->option_text("SCENARIO");
  add_overrides(sub, options->overrides);
  add_seed(sub, options->seed, "replaces scenario.seed");
  sub->add_option(
         "--canaries", options->canaries,
         "training clients that become canaries, at least 8 (default: half of them, and no more than the model "
         "has shared values)")
      ->transform(whole_number(8, UINT32_MAX))
      ->option_text("N");
  sub->add_option("--confidence", options->confidence, "of the lower bound (default 0.95)")
      ->check(number_between(0.5, 0.999999))
      ->option_text("P");
  sub->add_option("--delta", options->delta, "of (epsilon, delta); default: that of the scenario")
      ->check(number_between(1e-300, 0.5))
      ->option_text("D");
  sub->add_option("--claim", options->claim, "the epsilon to be contradicted (default: that which is accounted)")
      ->check(number_between(0.0, 1e6))
      ->option_text("E");
  add_threads(sub, options->threads, "scheduler threads (default: one per core)");
  add_format(sub, options->format);
}

}  // namespace furlong::tools
