#include "tools/certs/listing.hpp"

#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>

#include "actors/tls/credentials.hpp"
#include "actors/tls/deny_list.hpp"
#include "actors/tls/pem_files.hpp"
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

/// Adds a certificate where it can be read; the problem is reported by what loads the folder.
void add_file(listing& list, const fs::path& file, const char* tier, const char* role, tls::instant now) {
  if (const auto facts = tls::read_facts(file)) list.rows.push_back(row_of(*facts, tier, role, now));
}

result<void> add_tier(listing& list, const tier_folder& tier, const char* name, tls::instant now) {
  const auto own = tls::read_facts(tier.authority());
  if (!own) return tl::unexpected(own.error());
  list.rows.push_back(row_of(*own, name, "authority", now));
  const auto index = read_index(tier.index());
  if (!index) return tl::unexpected(index.error());
  const auto denied = tls::deny_list::load(tier.deny());
  if (!denied) return tl::unexpected(denied.error());
  for (const auto& certificate : *index) {
    const bool refused = certificate.clients && (*denied)->contains(certificate.common_name());
    list.rows.push_back({name,
                         certificate.role,
                         certificate.name,
                         certificate.clients ? tls::to_string(*certificate.clients) : "",
                         certificate.serial,
                         certificate.not_after,
                         refused ? "denied" : state_of(certificate.not_after, now),
                         {}});
  }
  return {};
}

result<listing> list_authorities(const fs::path& place, tls::instant now) {
  const auto authorities = pki::open(place, now);
  if (!authorities) return tl::unexpected(authorities.error());
  listing found;
  if (auto added = add_tier(found, authorities->operators(), "operator", now); !added)
    return tl::unexpected(added.error());
  if (auto added = add_tier(found, authorities->clients(), "clients", now); !added)
    return tl::unexpected(added.error());
  return found;
}

/// What loading a folder found, in addition to the credentials.
template <class Credentials>
void note(listing& list, const result<Credentials>& loaded) {
  if (loaded)
    list.notes = loaded->notes;
  else
    list.problem = loaded.error();
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

namespace tls = actors::tls;
using json = nlohmann::ordered_json;

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 30U;

std::optional<tls::instant> parse_instant(const std::string& text) {
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return tls::instant(std::chrono::seconds(::timegm(&parts)));
}

std::optional<issued> parse_line(const std::string& line) {
  const auto object = json::parse(line, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  const auto text = [&](const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto serial = object.find("serial");
  const auto until = parse_instant(text("not_after"));
  if (serial == object.end() || !serial->is_number_unsigned() || !until) return std::nullopt;
  issued certificate{serial->get<std::uint64_t>(), text("name"), text("role"), std::nullopt, *until};
  if (const auto clients = tls::parse_client_range(text("clients"))) certificate.clients = *clients;
  if (!tls::is_name(certificate.name) || certificate.role.empty() ||
      certificate.clients.has_value() != (certificate.role == "node"))
    return std::nullopt;
  return certificate;
}

}  // namespace

std::string issued::common_name() const { return clients ? tls::to_common_name({name, *clients, serial}) : name; }

std::string to_line(const issued& certificate) {
  json line = {{"serial", certificate.serial}, {"name", certificate.name}, {"role", certificate.role}};
  line["clients"] = certificate.clients ? json(tls::to_string(*certificate.clients)) : json(nullptr);
  line["not_after"] = tls::to_string(certificate.not_after);
  return line.dump() + '\n';
}

result<std::vector<issued>> read_index(const std::filesystem::path& file) {
  const auto text = tls::read_text_file(file, most_bytes);
  if (!text) return tl::unexpected(text.error());
  std::vector<issued> certificates;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const auto certificate = parse_line(line);
    if (!certificate)
      return fail(error::kind::data, file.string() + ", line " + std::to_string(certificates.size() + 1),
                  "is not a line of an index of certificates", "restore the file from a copy");
    certificates.push_back(*certificate);
  }
  return certificates;
}

}  // namespace furlong::tools::certs
