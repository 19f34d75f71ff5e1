#include "actors/tls/credentials.hpp"

#include "actors/tls/deny_list.hpp"
#include "actors/tls/pem_files.hpp"

namespace furlong::actors::tls {

namespace fs = std::filesystem;

namespace {

/// The exact uses of a certificate.
struct tier_use {
  bool as_client = false;
  bool as_server = false;
  const char* fix = "";
};
constexpr tier_use of_node{true, false, "name a folder made by furlong certs issue --role node"};
constexpr tier_use of_operator{true, true, "name a folder made by furlong certs issue --role server or aggregator"};
constexpr tier_use of_gateway{false, true, "name a folder made by furlong certs issue --role server or aggregator"};

/// A tier and its trusted authorities.
struct loaded_tier {
  tier_credentials tier;
  std::vector<x509_ptr> authorities;
};

std::string usage_text(bool as_client, bool as_server) {
  if (as_client && as_server) return "clientAuth and serverAuth";
  if (as_client) return "clientAuth alone";
  return as_server ? "serverAuth alone" : "neither clientAuth nor serverAuth";
}

result<void> check_use(const tier_credentials& tier, const tier_use& use) {
  const auto& facts = tier.facts;
  if (facts.as_client == use.as_client && facts.as_server == use.as_server) return {};
  return fail(error::kind::data, tier.certificate.string(),
              "is issued for " + usage_text(facts.as_client, facts.as_server) + ", and " +
                  usage_text(use.as_client, use.as_server) + " is required",
              use.fix);
}

result<void> check_key(const tier_credentials& tier, const X509& certificate) {
  const auto key = read_private_key(tier.key);
  if (!key) return tl::unexpected(key.error());
  const bool fits = X509_check_private_key(&certificate, key->get()) == 1;
  ERR_clear_error();
  if (fits) return {};
  return fail(error::kind::data, tier.key.string(), "is not the key of " + tier.certificate.string(),
              "take key and certificate from one folder of furlong certs issue");
}

void note_expiry(const fs::path& file, instant until, instant now, std::vector<std::string>& notes) {
  if (until - now > expiry_notice) return;
  notes.push_back(file.string() + ": expires at " + to_string(until) + ", in " +
                  std::to_string(std::chrono::floor<std::chrono::days>(until - now).count()) +
                  " days; issue a new certificate with furlong certs issue");
}

/// The checks of a folder with certificate, key and authority.
result<loaded_tier> load_tier(const fs::path& folder, const tier_use& use, instant now,
                              std::vector<std::string>& notes) {
  loaded_tier loaded{{folder / "certificate.pem", folder / "key.pem", folder / "authority.pem", {}, {}}, {}};
  auto& tier = loaded.tier;
  auto facts = read_facts(tier.certificate);
  if (!facts) return tl::unexpected(facts.error());
  tier.facts = std::move(*facts);
  const auto certificate = read_certificates(tier.certificate);
  if (!certificate) return tl::unexpected(certificate.error());
  auto& own = *certificate->front();
  if (auto checked = check_key(tier, own); !checked) return tl::unexpected(checked.error());
  if (auto checked = check_use(tier, use); !checked) return tl::unexpected(checked.error());
  auto authorities = read_authorities(tier.authority);
  if (!authorities) return tl::unexpected(authorities.error());
  loaded.authorities = std::move(*authorities);
  for (const auto side : {tls_side::client, tls_side::server}) {
    if (!(side == tls_side::client ? use.as_client : use.as_server)) continue;
    const auto until = check_chain(own, tier.certificate, loaded.authorities, tier.authority, side, now);
    if (!until) return tl::unexpected(until.error());
    tier.until = *until;
    if (side == (use.as_client ? tls_side::client : tls_side::server))
      note_expiry(tier.certificate, *until, now, notes);
  }
  return loaded;
}

bool share_a_key(const std::vector<x509_ptr>& these, const std::vector<x509_ptr>& those) {
  for (const auto& one : these)
    for (const auto& other : those)
      if (EVP_PKEY_eq(X509_get0_pubkey(one.get()), X509_get0_pubkey(other.get())) == 1) return true;
  return false;
}

/// `has` identifies a folder of the right kind, `other` one of the other kind.
result<void> check_folder(const fs::path& folder, const char* has, const char* other, const tier_use& use) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return fail(error::kind::data, folder.string(), "is not a folder", use.fix);
  if (!fs::exists(folder / has, ignored) && fs::exists(folder / other, ignored))
    return fail(error::kind::data, folder.string(), "is the folder of another role", use.fix);
  return {};
}

}  // namespace

result<node_credentials> load_node_credentials(const fs::path& folder, instant now) {
  if (auto checked = check_folder(folder, "certificate.pem", "operator", of_node); !checked)
    return tl::unexpected(checked.error());
  node_credentials loaded;
  auto tier = load_tier(folder, of_node, now, loaded.notes);
  if (!tier) return tl::unexpected(tier.error());
  loaded.tier = std::move(tier->tier);
  auto identity = parse_common_name(loaded.tier.facts.common_name);
  if (!identity) {
    identity.error().place = loaded.tier.certificate.string() + ": " + identity.error().place;
    return tl::unexpected(identity.error());
  }
  loaded.identity = std::move(*identity);
  return loaded;
}

result<operator_credentials> load_operator_credentials(const fs::path& folder, instant now) {
  if (auto checked = check_folder(folder, "operator", "certificate.pem", of_operator); !checked)
    return tl::unexpected(checked.error());
  operator_credentials loaded;
  auto above = load_tier(folder / "operator", of_operator, now, loaded.notes);
  if (!above) return tl::unexpected(above.error());
  auto below = load_tier(folder / "gateway", of_gateway, now, loaded.notes);
  if (!below) return tl::unexpected(below.error());
  if (share_a_key(above->authorities, below->authorities))
    return fail(error::kind::data, above->tier.authority.string(),
                "trusts the authority of the nodes: each of them could open the operator's port", of_operator.fix);
  loaded.operator_tier = std::move(above->tier);
  loaded.gateway = std::move(below->tier);
  if (loaded.gateway.facts.hosts.empty())
    return fail(error::kind::data, loaded.gateway.certificate.string(), "names no host, so no node would accept it",
                "issue a new one with --host");
  loaded.deny = folder / "deny.txt";
  if (const auto denied = deny_list::load(loaded.deny); !denied) return tl::unexpected(denied.error());
  return loaded;
}

}  // namespace furlong::actors::tls
