#include "tools/runs/privacy_json.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "federated/privacy/clipping.hpp"
#include "federated/privacy/run_account.hpp"
#include "federated/privacy/server_noise.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::tools {

namespace privacy = federated::privacy;

namespace {

/// Rounds of a run that only scenario.until ends.
constexpr std::uint64_t open_ended = UINT32_MAX;

json finite(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

std::string epsilon_text(double epsilon) {
  return std::isfinite(epsilon) ? fmt::format("epsilon {:.4g}", epsilon) : "no epsilon";
}

/// The sampling in words: "fixed-size sampling at rate 0.02".
std::string sampling_text(const json& object) {
  const auto method = object["sampling"].get<std::string>();
  if (method == "none")
    return object.contains("tree") ? fmt::format("trees of {} rounds", object["tree"]["rounds"].dump()) : "no sampling";
  auto text = fmt::format("{} sampling at rate {:.4g}", method, object["rate"].get<double>());
  if (object.contains("cap"))
    text += fmt::format(", cap {} of {} clients", object["cap"].dump(), object["clients"].dump());
  return text;
}

}  // namespace

json mechanism_json(const privacy::mechanism& mechanism, std::uint64_t releases, double delta) {
  const auto found = privacy::privacy_accountant(mechanism).bound(releases, delta);
  json out = {{"epsilon", finite(found.epsilon)},
              {"delta", delta},
              {"unit", "client"},
              {"relation", privacy::relation_of(mechanism.how)},
              {"noise", mechanism.noise},
              {"sampling", privacy::to_string(mechanism.how)}};
  if (mechanism.how != privacy::sampling::none) out["rate"] = mechanism.rate;
  if (mechanism.how == privacy::sampling::truncated_poisson) {
    out["clients"] = mechanism.clients;
    out["cap"] = mechanism.cap;
  }
  if (mechanism.tree > 0) out["tree"] = {{"rounds", mechanism.tree}, {"min_separation", mechanism.apart}};
  out[mechanism.how == privacy::sampling::none ? "participations" : "rounds"] = releases;
  out["accountant"] = found.accountant;
  out["rdp"] = {{"epsilon", finite(found.renyi_epsilon)}, {"order", found.renyi_order}};
  return out;
}

json privacy_json(const federated::experiment& experiment, const federated::server_state& state, double delta,
                  std::uint64_t later) {
  const auto& settings = experiment.settings;
  const privacy::run_population population{experiment.participants->training().size(), state.start_id != 0,
                                           state.version};
  const auto release = privacy::mechanism_of(settings, population);
  if (delta <= 0) delta = privacy::delta_of(*settings.privacy, population.clients);
  auto out = mechanism_json(release.of, privacy::count_releases(release.by_client(), state) + later, delta);
  out["assumes"] = privacy::assumptions_of(release);
  const bool simulated = privacy::is_simulated(*settings.privacy, population.on_nodes);
  // The server of a federation knows the scenario's seed.
  if (release.shares > 0 && !(population.on_nodes && simulated)) {
    const auto for_server = privacy::mechanism_for_server(settings, population.clients);
    out["server"] = mechanism_json(for_server, privacy::count_releases(true, state) + later, delta);
    out["server"]["colluding"] = privacy::colluding_clients;
    out["server"]["shares"] = release.shares;
  }
  if (settings.privacy->clip_quantile > 0)
    out["clip"] = {{"quantile", settings.privacy->clip_quantile},
                   {"bound", federated::clip_bound_of(experiment, state.added)}};
  if (settings.privacy->target_epsilon > 0) {
    out["target_epsilon"] = settings.privacy->target_epsilon;
    out["spent"] = privacy::is_spent(*settings.privacy, state);
  }
  out["simulated"] = simulated;
  out["not_covered"] = privacy::not_covered(settings, population.on_nodes);
  return out;
}

std::string privacy_text(const json& object) {
  std::string text;
  const auto add = [&](const std::string& line) { text += line + "\n"; };
  if (object["epsilon"].is_null())
    add(fmt::format("no epsilon for delta {:.4g}: nothing is guaranteed", object["delta"].get<double>()));
  else
    add(fmt::format("epsilon {:.4f} for delta {:.4g}", object["epsilon"].get<double>(), object["delta"].get<double>()));
  if (object.contains("relation")) {
    add(fmt::format("unit: client; neighbours: {}", object["relation"].get<std::string>()));
    const bool by_client = object.contains("participations");
    add(fmt::format("noise {:.6g}, {}, {}", object["noise"].get<double>(), sampling_text(object),
                    by_client ? fmt::format("{} participations of one client", object["participations"].dump())
                              : object["rounds"].dump() + " rounds"));
    const auto& rdp = object["rdp"]["epsilon"];
    add(fmt::format(
        "accountant: {}; by Rényi differential privacy {}", object["accountant"].get<std::string>(),
        rdp.is_null() ? "none"
                      : fmt::format("{:.4f} (order {:.4g})", rdp.get<double>(), object["rdp"]["order"].get<double>())));
  }
  if (object.contains("server")) {
    const auto& server = object["server"];
    add(fmt::format(
        "for the server with {:.0f} % of the clients: {} ({}, noise {:.6g}, {} participations of one client)",
        100 * server["colluding"].get<double>(),
        server["epsilon"].is_null() ? "no epsilon" : epsilon_text(server["epsilon"].get<double>()),
        server["relation"].get<std::string>(), server["noise"].get<double>(), server["participations"].dump()));
  }
  if (object.contains("simulated") && object["simulated"].get<bool>())
    add("simulated privacy: the noise comes from the scenario's seed");
  if (object.contains("target_epsilon"))
    add(fmt::format("target: epsilon {:.4g}{}", object["target_epsilon"].get<double>(),
                    object["spent"].get<bool>() ? ", which another round could exceed" : ""));
  for (const auto& [key, title] : {std::pair("assumes", "assumes:"), std::pair("not_covered", "not covered:")}) {
    if (!object.contains(key)) continue;
    add(title);
    for (const auto& line : object[key]) add("  - " + line.get<std::string>());
  }
  return text;
}

std::string privacy_line(const json& object) {
  auto text = object["epsilon"].is_null() ? std::string("privacy: no epsilon")
                                          : fmt::format("privacy: epsilon {:.4g} for delta {:.4g}",
                                                        object["epsilon"].get<double>(), object["delta"].get<double>());
  if (object.contains("relation"))
    text += fmt::format(" ({}, {})", object["unit"].get<std::string>(), object["relation"].get<std::string>());
  return text + (object.value("simulated", false) ? ", simulated privacy" : "");
}

result<std::string> privacy_note(const federated::run_settings& settings, std::uint64_t clients) {
  if (settings.privacy->noise <= 0) return std::string();
  const privacy::run_population population{clients, false};
  if (const auto fits = federated::check_split(*settings.privacy, federated::public_divisor(settings, clients)); !fits)
    return tl::unexpected(fits.error());
  if (const auto budget = privacy::budget_of(settings, population); !budget) return tl::unexpected(budget.error());
  const auto release = privacy::mechanism_of(settings, population);
  if (settings.rounds >= open_ended)
    return std::string("privacy: epsilon depends on the number of rounds, which only the run will show");
  const privacy::privacy_accountant account(release.of);
  const double delta = privacy::delta_of(*settings.privacy, clients);
  const auto epsilon_after = [&](std::uint64_t releases) {
    return epsilon_text(account.bound(releases, delta).epsilon);
  };
  const std::string simulated = settings.privacy->noise_key == federated::noise_keying::secret ? ""
                                : privacy::is_simulated(*settings.privacy, true)
                                    ? "; noise from the scenario's seed: simulated privacy"
                                    : "; simulations take the noise from the scenario's seed: simulated privacy";
  const auto even = privacy::even_participations(settings, clients, settings.rounds);
  std::string for_server;
  if (release.shares > 0 && settings.privacy->noise_key != federated::noise_keying::seed)
    for_server = fmt::format(
        "; for the server with {:.0f} % of the clients {} if no client takes part in more than {} rounds",
        100 * privacy::colluding_clients,
        epsilon_text(
            privacy::privacy_accountant(privacy::mechanism_for_server(settings, clients)).bound(even, delta).epsilon),
        even);
  if (!release.by_client())
    return fmt::format("privacy: {} for delta {:.4g} after {} rounds ({}, {} sampling){}{}",
                       epsilon_after(settings.rounds), delta, settings.rounds, privacy::relation_of(release.of.how),
                       privacy::to_string(release.of.how), for_server, simulated);
  return fmt::format(
      "privacy: {} for delta {:.4g} if no client takes part in more than {} of {} rounds, as when all are "
      "selected with equal probability ({}, not amplified by sampling: {}){}{}",
      epsilon_after(even), delta, even, settings.rounds, privacy::relation_of(release.of.how), release.unsampled,
      for_server, simulated);
}

}  // namespace furlong::tools
