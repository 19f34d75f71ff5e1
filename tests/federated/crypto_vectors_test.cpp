// The primitives of base/crypto.hpp against the vectors of their standards.
#include <boost/test/unit_test.hpp>

#include "base/crypto.hpp"
#include "base/digest.hpp"

namespace furlong::crypto {

BOOST_AUTO_TEST_SUITE(crypto_vectors)

namespace {

bytes from_hex(std::string_view text) {
  bytes made;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    made.push_back(static_cast<std::uint8_t>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
  return made;
}

key key_of(std::string_view text) {
  key made{};
  std::ranges::copy(from_hex(text), made.begin());
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(x25519_of_rfc_7748) {
  // Section 5.2.
  const agreement_key scalar(key_of("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"));
  const auto product = scalar.agree(key_of("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c"));
  BOOST_REQUIRE(product);
  BOOST_TEST(hex(*product) == "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
  // Section 6.1.
  const agreement_key alice(key_of("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
  const agreement_key bob(key_of("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
  BOOST_TEST(hex(alice.public_key()) == "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
  BOOST_TEST(hex(bob.public_key()) == "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
  BOOST_TEST(hex(*alice.agree(bob.public_key())) == "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
  BOOST_TEST(hex(*bob.agree(alice.public_key())) == "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
}

BOOST_AUTO_TEST_CASE(a_point_of_low_order_is_refused) {
  const agreement_key own(key_of("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"));
  BOOST_TEST(!own.agree(key{}));
  BOOST_TEST(!own.agree(key_of("0100000000000000000000000000000000000000000000000000000000000000")));
}

BOOST_AUTO_TEST_CASE(hkdf_of_rfc_5869) {
  bytes out(42);
  hkdf_sha256(bytes(22, 0x0b), from_hex("000102030405060708090a0b0c"), from_hex("f0f1f2f3f4f5f6f7f8f9"), out);  // A.1
  BOOST_TEST(hex(out) == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  hkdf_sha256(bytes(22, 0x0b), {}, {}, out);  // A.3
  BOOST_TEST(hex(out) == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

BOOST_AUTO_TEST_CASE(chacha20_poly1305_of_rfc_8439) {
  // Section 2.8.2.
  const std::string_view text =
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be "
      "it.";
  const bytes plain(text.begin(), text.end());
  const auto with = key_of("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
  const nonce once = {0x07, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47};
  const auto associated = from_hex("50515253c0c1c2c3c4c5c6c7");
  auto sealed = seal(with, once, associated, plain);
  BOOST_TEST(
      hex(sealed) ==
      "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a9e06"
      "0b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de576d265"
      "86cec64b61161ae10b594f09e26a7e902ecbd0600691");
  BOOST_TEST((open(with, once, associated, sealed) == plain));
  BOOST_TEST(!open(with, once, {}, sealed));
  sealed[3] ^= 1U;
  BOOST_TEST(!open(with, once, associated, sealed));
  BOOST_TEST(!open(with, once, associated, bytes(5)));
}

BOOST_AUTO_TEST_CASE(aes_128_ctr_of_sp_800_38a) {
  // F.5.1: the keystream is plaintext xor ciphertext.
  const auto with = key_of("2b7e151628aed2a6abf7158809cf4f3cf0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
  bytes stream(32);
  mask_bytes(stream, with);
  const auto plain = from_hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51");
  for (std::size_t i = 0; i < stream.size(); ++i) stream[i] ^= plain[i];
  BOOST_TEST(hex(stream) == "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff");
}

BOOST_AUTO_TEST_CASE(a_mask_is_the_stream_and_cancels) {
  const auto with = key_of("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
  std::vector<std::int64_t> masked(5001, 7);
  add_mask(masked, with, false);
  bytes stream(masked.size() * sizeof(std::uint64_t));
  mask_bytes(stream, with);
  std::vector<std::int64_t> expected(masked.size());
  std::memcpy(expected.data(), stream.data(), stream.size());
  for (auto& word : expected) word = static_cast<std::int64_t>(static_cast<std::uint64_t>(word) + 7);
  BOOST_TEST((masked == expected));
  add_mask(masked, with, true);
  BOOST_TEST((masked == std::vector<std::int64_t>(5001, 7)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::crypto
