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
std::string sampling_text(const json& from) {
  const auto how = from["sampling"].get<std::string>();
  if (how == "none")
    return from.contains("tree") ? fmt::format("trees of {} rounds", from["tree"]["rounds"].dump()) : "no sampling";
  auto text = fmt::format("{} sampling at rate {:.4g}", how, from["rate"].get<double>());
  if (from.contains("cap")) text += fmt::format(", cap {} of {} clients", from["cap"].dump(), from["clients"].dump());
  return text;
}

}  // namespace

json mechanism_json(const privacy::mechanism& of, std::uint64_t releases, double delta) {
  const auto found = privacy::privacy_accountant(of).bound(releases, delta);
  json out = {
      {"epsilon", finite(found.epsilon)},         {"delta", delta},    {"unit", "client"},
      {"relation", privacy::relation_of(of.how)}, {"noise", of.noise}, {"sampling", privacy::to_string(of.how)}};
  if (of.how != privacy::sampling::none) out["rate"] = of.rate;
  if (of.how == privacy::sampling::truncated_poisson) {
    out["clients"] = of.clients;
    out["cap"] = of.cap;
  }
  if (of.tree > 0) out["tree"] = {{"rounds", of.tree}, {"min_separation", of.apart}};
  out[of.how == privacy::sampling::none ? "participations" : "rounds"] = releases;
  out["accountant"] = found.accountant;
  out["rdp"] = {{"epsilon", finite(found.renyi_epsilon)}, {"order", found.renyi_order}};
  return out;
}

json privacy_json(const federated::experiment& e, const federated::server_state& state, double delta,
                  std::uint64_t later) {
  const auto& settings = e.settings;
  const privacy::run_population population{e.participants->training().size(), state.start_id != 0, state.version};
  const auto how = privacy::mechanism_of(settings, population);
  if (delta <= 0) delta = privacy::delta_of(*settings.privacy, population.clients);
  auto out = mechanism_json(how.of, privacy::count_releases(how.by_client(), state) + later, delta);
  out["assumes"] = privacy::assumptions_of(how);
  const bool simulated = privacy::is_simulated(*settings.privacy, population.on_nodes);
  // The server of a federation knows the scenario's seed.
  if (how.shares > 0 && !(population.on_nodes && simulated)) {
    const auto for_server = privacy::mechanism_for_server(settings, population.clients);
    out["server"] = mechanism_json(for_server, privacy::count_releases(true, state) + later, delta);
    out["server"]["colluding"] = privacy::colluding_clients;
    out["server"]["shares"] = how.shares;
  }
  if (settings.privacy->clip_quantile > 0)
    out["clip"] = {{"quantile", settings.privacy->clip_quantile}, {"bound", federated::clip_bound_of(e, state.added)}};
  if (settings.privacy->target_epsilon > 0) {
    out["target_epsilon"] = settings.privacy->target_epsilon;
    out["spent"] = privacy::is_spent(*settings.privacy, state);
  }
  out["simulated"] = simulated;
  out["not_covered"] = privacy::not_covered(settings, population.on_nodes);
  return out;
}

std::string privacy_text(const json& from) {
  std::string text;
  const auto add = [&](const std::string& line) { text += line + "\n"; };
  if (from["epsilon"].is_null())
    add(fmt::format("no epsilon for delta {:.4g}: nothing is guaranteed", from["delta"].get<double>()));
  else
    add(fmt::format("epsilon {:.4f} for delta {:.4g}", from["epsilon"].get<double>(), from["delta"].get<double>()));
  if (from.contains("relation")) {
    add(fmt::format("unit: client; neighbours: {}", from["relation"].get<std::string>()));
    const bool by_client = from.contains("participations");
    add(fmt::format("noise {:.6g}, {}, {}", from["noise"].get<double>(), sampling_text(from),
                    by_client ? fmt::format("{} participations of one client", from["participations"].dump())
                              : from["rounds"].dump() + " rounds"));
    const auto& rdp = from["rdp"]["epsilon"];
    add(fmt::format("accountant: {}; by Rényi differential privacy {}", from["accountant"].get<std::string>(),
                    rdp.is_null()
                        ? "none"
                        : fmt::format("{:.4f} (order {:.4g})", rdp.get<double>(), from["rdp"]["order"].get<double>())));
  }
  if (from.contains("server")) {
    const auto& of = from["server"];
    add(fmt::format(
        "for the server with {:.0f} % of the clients: {} ({}, noise {:.6g}, {} participations of one client)",
        100 * of["colluding"].get<double>(),
        of["epsilon"].is_null() ? "no epsilon" : epsilon_text(of["epsilon"].get<double>()),
        of["relation"].get<std::string>(), of["noise"].get<double>(), of["participations"].dump()));
  }
  if (from.contains("simulated") && from["simulated"].get<bool>())
    add("simulated privacy: the noise comes from the scenario's seed");
  if (from.contains("target_epsilon"))
    add(fmt::format("target: epsilon {:.4g}{}", from["target_epsilon"].get<double>(),
                    from["spent"].get<bool>() ? ", which another round could exceed" : ""));
  for (const auto& [key, title] : {std::pair("assumes", "assumes:"), std::pair("not_covered", "not covered:")}) {
    if (!from.contains(key)) continue;
    add(title);
    for (const auto& line : from[key]) add("  - " + line.get<std::string>());
  }
  return text;
}

std::string privacy_line(const json& from) {
  auto text = from["epsilon"].is_null() ? std::string("privacy: no epsilon")
                                        : fmt::format("privacy: epsilon {:.4g} for delta {:.4g}",
                                                      from["epsilon"].get<double>(), from["delta"].get<double>());
  if (from.contains("relation"))
    text += fmt::format(" ({}, {})", from["unit"].get<std::string>(), from["relation"].get<std::string>());
  return text + (from.value("simulated", false) ? ", simulated privacy" : "");
}

result<std::string> privacy_note(const federated::run_settings& settings, std::uint64_t clients) {
  if (settings.privacy->noise <= 0) return std::string();
  const privacy::run_population population{clients, false};
  if (const auto fits = federated::check_split(*settings.privacy, federated::public_divisor(settings, clients)); !fits)
    return tl::unexpected(fits.error());
  if (const auto budget = privacy::budget_of(settings, population); !budget) return tl::unexpected(budget.error());
  const auto how = privacy::mechanism_of(settings, population);
  if (settings.rounds >= open_ended)
    return std::string("privacy: epsilon depends on the number of rounds, which only the run will show");
  const privacy::privacy_accountant account(how.of);
  const double delta = privacy::delta_of(*settings.privacy, clients);
  const auto at = [&](std::uint64_t releases) { return epsilon_text(account.bound(releases, delta).epsilon); };
  const std::string simulated = settings.privacy->noise_key == federated::noise_keying::secret ? ""
                                : privacy::is_simulated(*settings.privacy, true)
                                    ? "; noise from the scenario's seed: simulated privacy"
                                    : "; simulations take the noise from the scenario's seed: simulated privacy";
  const auto even = privacy::even_participations(settings, clients, settings.rounds);
  std::string for_server;
  if (how.shares > 0 && settings.privacy->noise_key != federated::noise_keying::seed)
    for_server = fmt::format(
        "; for the server with {:.0f} % of the clients {} if no client takes part in more than {} rounds",
        100 * privacy::colluding_clients,
        epsilon_text(
            privacy::privacy_accountant(privacy::mechanism_for_server(settings, clients)).bound(even, delta).epsilon),
        even);
  if (!how.by_client())
    return fmt::format("privacy: {} for delta {:.4g} after {} rounds ({}, {} sampling){}{}", at(settings.rounds), delta,
                       settings.rounds, privacy::relation_of(how.of.how), privacy::to_string(how.of.how), for_server,
                       simulated);
  return fmt::format(
      "privacy: {} for delta {:.4g} if no client takes part in more than {} of {} rounds, as when all are "
      "selected with equal probability ({}, not amplified by sampling: {}){}{}",
      at(even), delta, even, settings.rounds, privacy::relation_of(how.of.how), how.unsampled, for_server, simulated);
}

}  // namespace furlong::tools
