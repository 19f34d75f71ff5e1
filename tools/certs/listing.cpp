#include "tools/certs/listing.hpp"

#include "actors/tls/credentials.hpp"
#include "actors/tls/deny_list.hpp"
#include "tools/certs/pki.hpp"

namespace furlong::tools::certs {

namespace tls = actors::tls;
namespace fs = std::filesystem;

namespace {

const char* state_of(tls::instant not_after, tls::instant now) {
  if (not_after <= now) return "expired";
  return not_after - now <= tls::expiry_notice ? "expires soon" : "valid";
}

/// A certificate that was read from a file.
listed row_of(const tls::certificate_facts& facts, const char* tier, const char* role, tls::instant now) {
  listed row{tier,
             facts.role.empty() ? role : facts.role,
             facts.common_name,
             "",
             facts.serial,
             facts.not_after,
             state_of(facts.not_after, now),
             facts.hosts};
  if (const auto identity = tls::parse_common_name(facts.common_name)) {
    row.name = identity->name;
    row.clients = tls::to_string(identity->clients);
  }
  return row;
}

/// Adds a certificate where it can be read; the problem is told by what loads the folder.
void add_file(listing& to, const fs::path& file, const char* tier, const char* role, tls::instant now) {
  if (const auto facts = tls::read_facts(file)) to.rows.push_back(row_of(*facts, tier, role, now));
}

result<void> add_tier(listing& to, const tier_folder& tier, const char* name, tls::instant now) {
  const auto own = tls::read_facts(tier.authority());
  if (!own) return tl::unexpected(own.error());
  to.rows.push_back(row_of(*own, name, "authority", now));
  const auto index = read_index(tier.index());
  if (!index) return tl::unexpected(index.error());
  const auto denied = tls::deny_list::load(tier.deny());
  if (!denied) return tl::unexpected(denied.error());
  for (const auto& one : *index) {
    const bool refused = one.clients && (*denied)->contains(one.common_name());
    to.rows.push_back({name,
                       one.role,
                       one.name,
                       one.clients ? tls::to_string(*one.clients) : "",
                       one.serial,
                       one.not_after,
                       refused ? "denied" : state_of(one.not_after, now),
                       {}});
  }
  return {};
}

result<listing> list_authorities(const fs::path& place, tls::instant now) {
  const auto of = pki::open(place, now);
  if (!of) return tl::unexpected(of.error());
  listing found;
  if (auto added = add_tier(found, of->operators(), "operator", now); !added) return tl::unexpected(added.error());
  if (auto added = add_tier(found, of->clients(), "clients", now); !added) return tl::unexpected(added.error());
  return found;
}

/// What loading a folder found, beside the credentials.
template <class Credentials>
void note(listing& to, const result<Credentials>& loaded) {
  if (loaded)
    to.notes = loaded->notes;
  else
    to.problem = loaded.error();
}

}  // namespace

result<listing> list_certificates(const fs::path& place, tls::instant now) {
  std::error_code gone;
  listing found;
  if (fs::exists(place / "clients", gone)) return list_authorities(place, now);
  if (fs::exists(place / "operator", gone)) {
    add_file(found, place / "operator" / "certificate.pem", "operator", "", now);
    add_file(found, place / "operator" / "authority.pem", "operator", "authority", now);
    add_file(found, place / "gateway" / "certificate.pem", "clients", "", now);
    add_file(found, place / "gateway" / "authority.pem", "clients", "authority", now);
    note(found, tls::load_operator_credentials(place, now));
    return found;
  }
  if (fs::exists(place / "certificate.pem", gone)) {
    add_file(found, place / "certificate.pem", "clients", "", now);
    add_file(found, place / "authority.pem", "clients", "authority", now);
    note(found, tls::load_node_credentials(place, now));
    return found;
  }
  return fail(error::kind::data, place.string(), "holds no certificates",
              "name a folder made by furlong certs init or furlong certs issue");
}

}  // namespace furlong::tools::certs
