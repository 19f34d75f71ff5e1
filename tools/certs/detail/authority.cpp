#include "tools/certs/detail/authority.hpp"

#include <algorithm>
#include <charconv>
#include <openssl/crypto.h>

#include "actors/tls/pem_files.hpp"
#include "tools/certs/files.hpp"

namespace furlong::tools::certs::detail {

namespace tls = actors::tls;
namespace fs = std::filesystem;

result<void> check_days(int days) {
  if (days >= 1 && days <= most_days) return {};
  return fail(error::kind::usage, "--days " + std::to_string(days), "is not a time to be valid",
              "name 1 to " + std::to_string(most_days) + " days");
}

result<void> write_key(const fs::path& file, const EVP_PKEY& key) {
  auto pem = to_pem(key);
  if (!pem) return tl::unexpected(pem.error());
  auto written = create_file(file, *pem, access::owner);
  OPENSSL_cleanse(pem->data(), pem->size());
  return written;
}

result<void> write_certificate(const fs::path& file, const X509& certificate) {
  const auto pem = to_pem(certificate);
  return pem ? create_file(file, *pem, access::all) : tl::unexpected(pem.error());
}

result<authority> authority::load(const tier_folder& tier, instant now) {
  authority loaded(tier);
  if (auto fine = loaded.load_keys(now); !fine) return tl::unexpected(fine.error());
  auto index = read_index(tier.index());
  if (!index) return tl::unexpected(index.error());
  loaded.index_ = std::move(*index);
  if (auto fine = loaded.load_counter(); !fine) return tl::unexpected(fine.error());
  return loaded;
}

result<void> authority::load_keys(instant now) {
  auto read = tls::read_authorities(tier_.authority());
  if (!read) return tl::unexpected(read.error());
  if (read->size() != 1)
    return fail(error::kind::data, tier_.authority().string(), "holds more than one certificate",
                "restore the file from a copy");
  certificate_ = std::move(read->front());
  auto facts = tls::facts_of(*certificate_, tier_.authority().string());
  if (!facts) return tl::unexpected(facts.error());
  facts_ = std::move(*facts);
  if (now >= facts_.not_after)
    return fail(error::kind::data, tier_.authority().string(), "expired at " + tls::to_string(facts_.not_after),
                "make new authorities with furlong certs init, and issue new certificates");
  auto key = tls::read_private_key(tier_.key());
  if (!key) return tl::unexpected(key.error());
  key_ = std::move(*key);
  const bool fits = X509_check_private_key(certificate_.get(), key_.get()) == 1;
  ERR_clear_error();
  if (!fits)
    return fail(error::kind::data, tier_.key().string(), "is not the key of " + tier_.authority().string(),
                "restore both from one copy");
  return {};
}

result<void> authority::load_counter() {
  constexpr std::size_t most_digits = 32;
  const auto text = tls::read_text_file(tier_.serial(), most_digits);
  if (!text) return tl::unexpected(text.error());
  const auto* end = text->data() + text->size();
  const auto [parsed_end, why] = std::from_chars(text->data(), end, next_serial_);
  if (why != std::errc() || next_serial_ == 0 ||
      std::string_view(parsed_end, static_cast<std::size_t>(end - parsed_end)) != "\n")
    return fail(error::kind::data, tier_.serial().string(), "is not a number",
                "write there a number above all serials in " + tier_.index().string());
  // No serial twice, even where one of the two files was restored from an older copy.
  for (const auto& certificate : index_) next_serial_ = std::max(next_serial_, certificate.serial + 1);
  return {};
}

result<void> authority::make(const certificate_spec& spec, const fs::path& folder) const {
  const auto key = make_key();
  if (!key) return tl::unexpected(key.error());
  const auto certificate = make_certificate(spec, **key, certificate_.get(), *key_);
  if (!certificate) return tl::unexpected(certificate.error());
  if (auto written = write_key(folder / "key.pem", **key); !written) return written;
  if (auto written = write_certificate(folder / "certificate.pem", **certificate); !written) return written;
  return write_certificate(folder / "authority.pem", *certificate_);
}

result<void> authority::record(const issued& certificate) {
  auto counted = replace_file(tier_.serial(), std::to_string(next_serial_ + 1) + '\n', access::owner);
  if (!counted) return counted;
  index_.push_back(certificate);
  std::string text;
  for (const auto& each : index_) text += to_line(each);
  return replace_file(tier_.index(), text, access::owner);
}

}  // namespace furlong::tools::certs::detail
