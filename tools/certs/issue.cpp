// pki::issue
#include <algorithm>

#include "actors/tls/deny_list.hpp"
#include "tools/certs/detail/authority.hpp"
#include "tools/certs/files.hpp"

namespace furlong::tools::certs {

namespace tls = actors::tls;

namespace {

result<void> check_request(const issue_request& request) {
  const auto refuse = [](std::string place, std::string why, std::string fix) {
    return fail(error::kind::usage, std::move(place), std::move(why), std::move(fix));
  };
  if (!tls::is_name(request.name))
    return refuse("--name " + request.name, "is not a name",
                  "1 to 40 letters, digits and - _ . that begin with a letter or digit");
  if (request.as == role::node && !request.clients)
    return refuse("--clients", "is missing", "name the clients that the node hosts: --clients FIRST-LAST");
  if (request.as != role::node && request.clients) return refuse("--clients", "is for nodes only", "leave it out");
  if (request.as == role::node && !request.hosts.empty())
    return refuse("--host", "is for servers and aggregators only: nothing connects to a node", "leave it out");
  return detail::check_days(request.days);
}

result<instant> end_of(const issue_request& request, const detail::authority& issuer, instant now) {
  const auto until = now + std::chrono::days(request.days);
  if (until <= issuer.facts().not_after) return until;
  const auto left = std::chrono::floor<std::chrono::days>(issuer.facts().not_after - now).count();
  return fail(error::kind::usage, "--days " + std::to_string(request.days),
              "the certificate would outlive its authority, which ends at " + tls::to_string(issuer.facts().not_after),
              "name at most " + std::to_string(left) + " days, or make new authorities");
}

result<std::vector<host_name>> hosts_of(const issue_request& request) {
  const std::vector<std::string> local = {"localhost", "127.0.0.1"};
  std::vector<host_name> hosts;
  for (const auto& text : request.hosts.empty() ? local : request.hosts) {
    auto host = parse_host(text);
    if (!host) return tl::unexpected(host.error());
    if (std::find(hosts.begin(), hosts.end(), *host) == hosts.end()) hosts.push_back(std::move(*host));
  }
  return hosts;
}

/// Two nodes must not speak for one client. An expired or denied certificate speaks for nobody.
result<void> check_clients(const tls::node_identity& fresh, const std::vector<issued>& index,
                           const tls::deny_list& denied, const pki& authorities) {
  for (const auto& certificate : index) {
    if (!certificate.clients || !certificate.clients->overlaps(fresh.clients) ||
        certificate.not_after <= authorities.now())
      continue;
    if (denied.contains(certificate.common_name())) continue;
    if (certificate.name == fresh.name && *certificate.clients == fresh.clients) continue;  // a renewal
    return fail(error::kind::usage, "--clients " + tls::to_string(fresh.clients),
                "overlaps the clients of \"" + certificate.name + "\", which has the certificate " +
                    certificate.common_name() + " until " + tls::to_string(certificate.not_after),
                "name other clients, or deny that node: furlong certs deny --pki " + authorities.root().string() + ' ' +
                    certificate.name);
  }
  return {};
}

result<issue_outcome> issue_node(const pki& authorities, const issue_request& request) {
  auto issuer = detail::authority::load(authorities.clients(), authorities.now());
  if (!issuer) return tl::unexpected(issuer.error());
  const auto until = end_of(request, *issuer, authorities.now());
  if (!until) return tl::unexpected(until.error());
  const auto denied = tls::deny_list::load(authorities.clients().deny());
  if (!denied) return tl::unexpected(denied.error());
  const tls::node_identity identity{request.name, *request.clients, issuer->next_serial()};
  const auto common_name = to_common_name(identity);
  if (common_name.size() > tls::longest_common_name)
    return fail(error::kind::usage, common_name, "is longer than the 64 characters of a common name",
                "choose a shorter --name");
  if ((*denied)->contains(common_name))
    return fail(error::kind::usage, request.name, "is denied for good in " + authorities.clients().deny().string(),
                "choose another --name, or take that line out");
  if (auto fine = check_clients(identity, issuer->index(), **denied, authorities); !fine)
    return tl::unexpected(fine.error());

  auto stage = staged_folder::begin(request.out);
  if (!stage) return tl::unexpected(stage.error());
  const certificate_spec spec{common_name,
                              to_string(request.as),
                              identity.serial,
                              authorities.now() - detail::clock_slack,
                              *until,
                              purpose::client,
                              {}};
  auto made = issuer->make(spec, stage->path());
  if (made) made = issuer->record({identity.serial, request.name, to_string(request.as), identity.clients, *until});
  if (made) made = stage->commit();
  if (!made) return tl::unexpected(made.error());
  return issue_outcome{{common_name}, {}, *until};
}

/// One certificate of a server or aggregator, into a folder of its own.
result<void> add_tier(const pki& authorities, const issue_request& request, detail::authority& issuer, purpose use,
                      std::vector<host_name> hosts, instant until, const std::filesystem::path& folder) {
  if (auto made = create_folder(folder); !made) return made;
  const certificate_spec spec{
      request.name, to_string(request.as), issuer.next_serial(), authorities.now() - detail::clock_slack, until,
      use,          std::move(hosts)};
  if (auto made = issuer.make(spec, folder); !made) return made;
  return issuer.record({spec.serial, request.name, to_string(request.as), std::nullopt, until});
}

result<issue_outcome> issue_operator(const pki& authorities, const issue_request& request) {
  const auto hosts = hosts_of(request);
  if (!hosts) return tl::unexpected(hosts.error());
  auto above = detail::authority::load(authorities.operators(), authorities.now());
  if (!above) return tl::unexpected(above.error());
  auto below = detail::authority::load(authorities.clients(), authorities.now());
  if (!below) return tl::unexpected(below.error());
  for (const auto* issuer : {&*above, &*below})
    if (auto fine = end_of(request, *issuer, authorities.now()); !fine) return tl::unexpected(fine.error());
  const auto until = authorities.now() + std::chrono::days(request.days);

  auto stage = staged_folder::begin(request.out);
  if (!stage) return tl::unexpected(stage.error());
  auto made = add_tier(authorities, request, *above, purpose::both, *hosts, until, stage->path() / "operator");
  if (made) made = add_tier(authorities, request, *below, purpose::server, *hosts, until, stage->path() / "gateway");
  if (made) made = authorities.copy_deny_list(stage->path());
  if (made) made = stage->commit();
  if (!made) return tl::unexpected(made.error());
  issue_outcome outcome{{request.name}, {}, until};
  for (const auto& host : *hosts) outcome.hosts.push_back(host.text);
  return outcome;
}

}  // namespace

result<issue_outcome> pki::issue(const issue_request& request) const {
  if (auto fine = check_request(request); !fine) return tl::unexpected(fine.error());
  const auto lock = folder_lock::take(root_);
  if (!lock) return tl::unexpected(lock.error());
  return request.as == role::node ? issue_node(*this, request) : issue_operator(*this, request);
}

}  // namespace furlong::tools::certs
