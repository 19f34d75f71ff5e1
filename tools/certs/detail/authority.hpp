// One tier's authority at work, and what goes into the folders.
#pragma once

#include <chrono>

#include "tools/certs/pki.hpp"

namespace furlong::tools::certs::detail {

/// Certificates begin this much before now: the clocks of other machines may be behind.
inline constexpr std::chrono::hours clock_slack{1};

[[nodiscard]] result<void> check_days(int days);

/// Writes files that did not exist.
[[nodiscard]] result<void> write_key(const std::filesystem::path& file, const EVP_PKEY& key);
[[nodiscard]] result<void> write_certificate(const std::filesystem::path& file, const X509& certificate);

/// Makes the certificates of one tier. Only under the folder's lock.
class authority {
 public:
  /// Reads and checks certificate, key, counter and index.
  [[nodiscard]] static result<authority> load(const tier_folder& tier, instant now);

  /// Of the next certificate.
  [[nodiscard]] std::uint64_t next_serial() const { return next_serial_; }
  [[nodiscard]] const std::vector<issued>& index() const { return index_; }
  [[nodiscard]] const actors::tls::certificate_facts& facts() const { return facts_; }

  /// Makes a key and a certificate for it and writes them, and the authority's own certificate, into an existing
  /// folder: key.pem, certificate.pem, authority.pem. `spec` has next_serial().
  [[nodiscard]] result<void> make(const certificate_spec& spec, const std::filesystem::path& folder) const;
  /// Notes down that the next serial was issued. Comes before the certificate is given to anybody.
  [[nodiscard]] result<void> record(const issued& certificate);

 private:
  explicit authority(tier_folder tier) : tier_(std::move(tier)) {}
  [[nodiscard]] result<void> load_keys(instant now);
  [[nodiscard]] result<void> load_counter();

  tier_folder tier_;
  x509_ptr certificate_;
  key_ptr key_;
  actors::tls::certificate_facts facts_;
  std::vector<issued> index_;
  std::uint64_t next_serial_ = 0;
};

}  // namespace furlong::tools::certs::detail
