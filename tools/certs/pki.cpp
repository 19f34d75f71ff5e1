#include "tools/certs/pki.hpp"

#include <algorithm>
#include <array>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "actors/tls/deny_list.hpp"
#include "actors/tls/pem_files.hpp"
#include "tools/certs/detail/authority.hpp"
#include "tools/certs/files.hpp"

namespace furlong::tools::certs {

namespace tls = actors::tls;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_deny_bytes = std::size_t{64} << 20U;

/// Tells the authorities of one folder from those of another in messages and certificates.
result<std::string> draw_mark() {
  std::array<unsigned char, 4> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    return fail(error::kind::runtime, "OpenSSL", "has no random numbers: " + tls::openssl_reason());
  constexpr std::string_view digits = "0123456789abcdef";
  std::string mark;
  for (const auto byte : bytes) {
    mark += digits[byte >> 4U];
    mark += digits[byte & 15U];
  }
  return mark;
}

result<void> create_tier(const tier_folder& tier, const std::string& common_name, int days, instant now) {
  auto key = make_key();
  if (!key) return tl::unexpected(key.error());
  const certificate_spec spec{common_name,        "", 1, now - detail::clock_slack, now + std::chrono::days(days),
                              purpose::authority, {}};
  const auto certificate = make_certificate(spec, **key, nullptr, **key);
  if (!certificate) return tl::unexpected(certificate.error());
  if (auto made = create_folder(tier.root); !made) return made;
  if (auto written = detail::write_key(tier.key(), **key); !written) return written;
  if (auto written = detail::write_certificate(tier.authority(), **certificate); !written) return written;
  for (const auto& [file, text] : {std::pair{tier.serial(), "2\n"}, {tier.index(), ""}})
    if (auto written = create_file(file, text, access::owner); !written) return written;
  return create_file(tier.deny(), "# One common name a line: NAME/FIRST-LAST/SERIAL.\n", access::all);
}

}  // namespace

const char* to_string(role value) {
  switch (value) {
    case role::server: return "server";
    case role::aggregator: return "aggregator";
    case role::node: return "node";
  }
  return "?";
}

result<void> pki::create(const fs::path& root, int days, instant now) {
  if (auto fine = detail::check_days(days); !fine) return fine;
  auto stage = staged_folder::begin(root);
  if (!stage) return tl::unexpected(stage.error());
  const auto mark = draw_mark();
  if (!mark) return tl::unexpected(mark.error());
  const pki made(stage->path(), now);
  if (auto tier = create_tier(made.operators(), "furlong operator authority " + *mark, days, now); !tier) return tier;
  if (auto tier = create_tier(made.clients(), "furlong clients authority " + *mark, days, now); !tier) return tier;
  return stage->commit();
}

result<pki> pki::open(fs::path root, instant now) {
  pki opened(std::move(root), now);
  for (const auto& tier : {opened.operators(), opened.clients()})
    for (const auto& file : {tier.authority(), tier.key(), tier.serial(), tier.index(), tier.deny()})
      if (std::error_code gone; !fs::exists(file, gone))
        return fail(error::kind::data, opened.root_.string(),
                    "is not a folder of authorities: it has no " + file.lexically_relative(opened.root_).string(),
                    "make one with furlong certs init --out PKI");
  return opened;
}

result<deny_outcome> pki::deny(const std::string& name) const {
  const auto lock = folder_lock::take(root_);
  if (!lock) return tl::unexpected(lock.error());
  const auto index = read_index(clients().index());
  if (!index) return tl::unexpected(index.error());
  const auto list = tls::deny_list::load(clients().deny());
  if (!list) return tl::unexpected(list.error());
  auto text = tls::read_text_file(clients().deny(), most_deny_bytes);
  if (!text) return tl::unexpected(text.error());
  const auto of_node = [&](const issued& certificate) {
    return certificate.name == name && certificate.clients.has_value();
  };
  if (std::none_of(index->begin(), index->end(), of_node))
    return fail(error::kind::usage, name, "no certificate was issued to a node of this name",
                "furlong certs show " + root_.string() + " lists the nodes");
  deny_outcome outcome;
  if (!text->empty() && text->back() != '\n') *text += '\n';
  for (const auto& certificate : *index) {
    if (!of_node(certificate)) continue;
    if ((*list)->contains(certificate.common_name())) {
      ++outcome.before;
      continue;
    }
    outcome.added.push_back(certificate.common_name());
    *text += certificate.common_name() + "  # denied at " + tls::to_string(now_) + '\n';
  }
  if (outcome.added.empty()) return outcome;
  if (auto written = replace_file(clients().deny(), *text, access::all); !written)
    return tl::unexpected(written.error());
  return outcome;
}

result<void> pki::copy_deny_list(const fs::path& folder) const {
  const auto text = tls::read_text_file(clients().deny(), most_deny_bytes);
  if (!text) return tl::unexpected(text.error());
  std::error_code gone;
  if (!fs::is_directory(folder / "gateway", gone))
    return fail(error::kind::usage, folder.string(), "is not the folder of a server or aggregator",
                "name a folder that furlong certs issue --role server or aggregator made");
  return replace_file(folder / "deny.txt", *text, access::all);
}

}  // namespace furlong::tools::certs
