// Public keys of a client for one round, and the keys that follow from them.
#pragma once

#include <algorithm>

#include "base/digest.hpp"
#include "federated/experiment/update.hpp"
#include "federated/privacy/secure_aggregation/detail/bytes.hpp"
#include "federated/privacy/secure_aggregation/shamir.hpp"

namespace furlong::federated::privacy::detail {

struct public_keys {
  crypto::key sealing{};  ///< X25519: neighbours seal shares for it
  crypto::key masking{};  ///< X25519: pairwise masks
  digest commitment{};    ///< SHA-256 of the seed of the client's own mask
  digest model{};         ///< sum_inputs::model of its task

  void write(byte_writer& to) const { to.raw(sealing).raw(masking).raw(commitment).raw(model); }
  void read(byte_reader& from) {
    from.array(sealing);
    from.array(masking);
    from.array(commitment);
    from.array(model);
  }
  friend bool operator==(const public_keys&, const public_keys&) = default;
};
constexpr std::size_t public_keys_bytes = 128;
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

/// What a client signs. Its terms are not sent: who has others finds the signature false.
inline crypto::bytes key_statement(const task_id& of, const public_keys& keys, const digest& terms) {
  byte_writer out;
  out.raw(text_bytes("furlong secure aggregation: keys"));
  write_task(out, of);
  keys.write(out);
  out.raw(terms);
  return out.take();
}

/// What both sides of a pair must have been told alike; else their secrets differ, and nothing that one makes for the
/// other is of use.
struct sum_context {
  digest terms{};             ///< sum_inputs::terms
  std::uint64_t version = 0;  ///< of the server, to which the sum is applied
  std::uint32_t clients = 0;  ///< that exchange keys: the graph's size, from which degree and threshold follow
};

/// One side of a pair.
struct pair_side {
  task_id task;
  digest model{};
};

/// The key of a shared secret, for one use between two tasks.
inline crypto::key derived_key(std::string_view use, const crypto::key& shared, const sum_context& in,
                               const pair_side& a, const pair_side& b) {
  byte_writer info;
  info.raw(text_bytes("furlong secure aggregation: ")).raw(text_bytes(use));
  info.raw(in.terms).number(in.version).number(in.clients);
  for (const auto* side : {&a, &b}) {
    write_task(info, side->task);
    info.raw(side->model);
  }
  crypto::key made;
  crypto::hkdf_sha256(shared, {}, info.take(), made);
  return made;
}

/// The seed of the mask that two clients share. The client with the lower number adds it, the other one subtracts it.
inline std::optional<crypto::key> pair_seed(const crypto::agreement_key& own, const sum_context& in,
                                            const pair_side& self, const crypto::key& other, const pair_side& peer) {
  const auto shared = own.agree(other);
  if (!shared) return std::nullopt;
  const bool first = self.task.client < peer.task.client;
  return derived_key("mask", *shared, in, first ? self : peer, first ? peer : self);
}

/// A client's word to a peer that it was sent this list of survivors: 16 bytes that only these two can make. Their key
/// is of their sealing keys, whose secrets stay with them: those of the masks of clients that dropped out are restored.
using list_tag = std::array<std::uint8_t, 16>;
inline list_tag tag_of(const crypto::key& pair, const digest& list, std::uint32_t from, std::uint32_t to) {
  byte_writer info;
  info.raw(text_bytes("furlong secure aggregation: survivors")).raw(list).number(from).number(to);
  list_tag made;
  crypto::hkdf_sha256(pair, {}, info.take(), made);
  return made;
}

/// Peers that must have been sent the same list: more than half of all, so that two lists never find as many (unless
/// clients confirm both), and as many as open a secret. Of those in the list at most so many may be silent as it is
/// longer than a sum must be: keys of clients that took part in an earlier sum only are not counted for survivors.
inline std::size_t fewest_confirmations(std::size_t peers, std::size_t in_list, std::size_t spare,
                                        std::size_t threshold) {
  return std::max({threshold, peers / 2 + 1, in_list - std::min(in_list, spare)});
}

}  // namespace furlong::federated::privacy::detail
