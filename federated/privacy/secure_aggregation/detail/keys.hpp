// Public keys of a client for one round, and the keys that follow from them.
#pragma once

#include "base/digest.hpp"
#include "federated/privacy/secure_aggregation/detail/bytes.hpp"
#include "federated/privacy/secure_aggregation/shamir.hpp"
#include "federated/update.hpp"

namespace furlong::federated::privacy::detail {

struct public_keys {
  crypto::key sealing{};  ///< X25519: neighbours seal shares for it
  crypto::key masking{};  ///< X25519: pairwise masks
  digest commitment{};    ///< SHA-256 of the seed of the client's own mask

  void write(byte_writer& to) const { to.raw(sealing).raw(masking).raw(commitment); }
  void read(byte_reader& from) {
    from.array(sealing);
    from.array(masking);
    from.array(commitment);
  }
  friend bool operator==(const public_keys&, const public_keys&) = default;
};
constexpr std::size_t public_keys_bytes = 96;
/// Of a pair of shares that is sealed for a neighbour.
constexpr std::size_t sealed_bytes = 2 * sizeof(secret_share) + crypto::tag_bytes;

/// A server copies them to all neighbours of a client.
inline bool is_short(crypto::bytes_view certificate, crypto::bytes_view signature) {
  constexpr std::size_t most_certificate_bytes = 8192, most_signature_bytes = 1024;
  return certificate.size() <= most_certificate_bytes && signature.size() <= most_signature_bytes;
}

inline void write_task(byte_writer& to, const task_id& of) {
  to.number(of.run).number(of.version).number(of.client).number(of.attempt);
}

inline crypto::bytes_view text_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// What a client signs.
inline crypto::bytes key_statement(const task_id& of, const public_keys& keys) {
  byte_writer out;
  out.raw(text_bytes("furlong secure aggregation: keys"));
  write_task(out, of);
  keys.write(out);
  return out.take();
}

/// The key of a shared secret, for one use between two tasks.
inline crypto::key derived_key(std::string_view use, const crypto::key& shared, const task_id& a, const task_id& b) {
  byte_writer info;
  info.raw(text_bytes("furlong secure aggregation: ")).raw(text_bytes(use));
  write_task(info, a);
  write_task(info, b);
  crypto::key made;
  crypto::hkdf_sha256(shared, {}, info.take(), made);
  return made;
}

/// The seed of the mask that two clients share. The client with the lower number adds it, the other one subtracts it.
inline std::optional<crypto::key> pair_seed(const crypto::agreement_key& own, const task_id& self,
                                            const crypto::key& other, const task_id& peer) {
  const auto shared = own.agree(other);
  if (!shared) return std::nullopt;
  const bool first = self.client < peer.client;
  return derived_key("mask", *shared, first ? self : peer, first ? peer : self);
}

}  // namespace furlong::federated::privacy::detail
