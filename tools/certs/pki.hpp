// The folder with which an operator makes certificates: one authority for its own processes, one for nodes and the
// gateways that they meet. Keep it on a machine of its own: who has it can make any certificate.
//
//   PKI/operator/, PKI/clients/, each:
//     authority.pem      what others trust
//     authority-key.pem  mode 0600
//     serial             of the next certificate
//     index.jsonl        what was issued (listing.hpp)
//     deny.txt           certificates that gateways refuse (actors/tls/deny_list.hpp); only nodes are denied
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "actors/tls/identity.hpp"
#include "tools/certs/listing.hpp"
#include "tools/certs/make_certificate.hpp"

namespace furlong::tools::certs {

inline constexpr int authority_days = 3650;
inline constexpr int certificate_days = 365;
inline constexpr int most_days = 36500;

enum class role : std::uint8_t { server, aggregator, node };
[[nodiscard]] const char* to_string(role value);

struct issue_request {
  role as = role::node;
  std::string name;
  std::optional<federated::client_range> clients;  ///< a node must have them, the others must not
  std::vector<std::string> hosts;                  ///< of server or aggregator; empty: localhost and 127.0.0.1
  int days = certificate_days;
  std::filesystem::path out;  ///< absent, or an empty folder
};

struct issue_outcome {
  std::vector<std::string> common_names;
  std::vector<std::string> hosts;  ///< of the gateway
  instant not_after;
};

struct deny_outcome {
  std::vector<std::string> added;  ///< common names, in the order of their serials
  std::size_t before = 0;          ///< certificates of the node that were denied already
};

/// The files of one tier.
struct tier_folder {
  std::filesystem::path root;
  [[nodiscard]] std::filesystem::path authority() const { return root / "authority.pem"; }
  [[nodiscard]] std::filesystem::path key() const { return root / "authority-key.pem"; }
  [[nodiscard]] std::filesystem::path serial() const { return root / "serial"; }
  [[nodiscard]] std::filesystem::path index() const { return root / "index.jsonl"; }
  [[nodiscard]] std::filesystem::path deny() const { return root / "deny.txt"; }
};

/// Processes may use one folder at the same time: they wait for each other. What fails leaves no folder behind; it
/// may use up a serial number, or leave a line in the index whose certificate was never delivered.
class pki {
 public:
  /// Makes two authorities. Fails (kind usage) when something other than an empty folder stands there. `now`, here and
  /// below, is when the certificates are made.
  [[nodiscard]] static result<void> create(const std::filesystem::path& root, int days = authority_days,
                                           instant now = actors::tls::wall_clock());
  /// Fails (kind data) when the folder is not one that create() made.
  [[nodiscard]] static result<pki> open(std::filesystem::path root, instant now = actors::tls::wall_clock());

  /// Makes the folder that --tls names. Errors of kind usage: a name, host or number of days that cannot be; a
  /// certificate that would outlive its authority; a folder that is not empty; clients of another node whose
  /// certificate is valid and not denied. The same name with the same clients is a renewal.
  [[nodiscard]] result<issue_outcome> issue(const issue_request& request) const;

  /// Denies every certificate that was issued to a node. Fails (kind usage) when there is none.
  [[nodiscard]] result<deny_outcome> deny(const std::string& name) const;
  /// Replaces the deny list in the folder of a server or aggregator by this one.
  [[nodiscard]] result<void> copy_deny_list(const std::filesystem::path& folder) const;

  [[nodiscard]] tier_folder operators() const { return {root_ / "operator"}; }
  [[nodiscard]] tier_folder clients() const { return {root_ / "clients"}; }
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  [[nodiscard]] instant now() const { return now_; }

 private:
  pki(std::filesystem::path root, instant now) : root_(std::move(root)), now_(now) {}
  std::filesystem::path root_;
  instant now_;
};

}  // namespace furlong::tools::certs
