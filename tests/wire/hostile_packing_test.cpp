// Packed values that no encoder of ours makes.
#include <limits>
#include <zstd.h>

#include "tests/wire/forge.hpp"
#include "wire/encode.hpp"

BOOST_AUTO_TEST_SUITE(hostile_packing)

using namespace furlong;
using namespace furlong::wire;
using samples::bytes;
using samples::check_accepted;
using samples::check_refused;
using samples::data_of;
using samples::digest_data;
using samples::forge;

namespace {

constexpr std::size_t model_bytes = 11 * sizeof(float);  // of small_layout()

bytes forge_broadcast(const bytes& values, schema::Encoding encoding, bool zstd) {
  return forge([&](schema::Message::Builder root) {
    auto to = root.initBroadcast();
    to.setLayout(digest_data());
    to.setValues(data_of(values));
    to.setEncoding(encoding);
    to.setZstd(zstd);
  });
}

// An update whose first tensor is given and whose second is dense and zero, both in the encoding.
bytes forge_update(const bytes& values, schema::Encoding encoding, bool zstd) {
  return forge([&](schema::Message::Builder root) {
    auto to = root.initUpdate();
    to.initTask();
    to.setLayout(digest_data());
    to.setEncoding(encoding);
    auto tensors = to.initTensors(2);
    tensors[0].setValues(data_of(values));
    tensors[0].setZstd(zstd);
    tensors[1].initValues(encoding == schema::Encoding::INT8 ? 7 : encoding == schema::Encoding::FLOAT16 ? 6 : 12);
  });
}

bytes deflated(std::size_t size, bool with_size = true) {
  const bytes content(size);
  bytes frame(ZSTD_compressBound(size));
  auto* const work = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(work, ZSTD_c_contentSizeFlag, with_size ? 1 : 0);
  const auto length = ZSTD_compress2(work, frame.data(), frame.size(), content.data(), content.size());
  ZSTD_freeCCtx(work);
  frame.resize(length);
  return frame;
}

// One scale and codes.
bytes with_scale(float scale, std::size_t codes) {
  bytes packed(sizeof scale + codes, std::byte{1});
  std::memcpy(packed.data(), &scale, sizeof scale);
  return packed;
}

bytes joined(bytes a, const bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

BOOST_AUTO_TEST_CASE(encodings_that_there_are_not) {
  check_refused(forge_broadcast(bytes(model_bytes), schema::Encoding(3), false),
                "broadcast.encoding: found 3, expected less than 3");
  check_refused(forge_update(bytes(32), schema::Encoding(65535), false),
                "update.encoding: found 65535, expected less than 3");
}

BOOST_AUTO_TEST_CASE(lengths_that_do_not_fit_the_encoding) {
  check_accepted(forge_broadcast(bytes(22), schema::Encoding::FLOAT16, false));
  check_refused(forge_broadcast(bytes(model_bytes), schema::Encoding::FLOAT16, false),
                "broadcast.values: found 44 bytes, expected 22");
  check_accepted(forge_broadcast(bytes(19), schema::Encoding::INT8, false));
  check_refused(forge_broadcast(bytes(15), schema::Encoding::INT8, false), "found 15 bytes, expected 19");
  check_accepted(forge_update(bytes(16), schema::Encoding::FLOAT16, false));
  check_refused(forge_update(bytes(32), schema::Encoding::FLOAT16, false),
                "update.tensors[0].values: found 32 bytes, expected 16");
  check_refused(forge_update(bytes(8), schema::Encoding::INT8, false),
                "update.tensors[0].values: found 8 bytes, expected 12");
}

BOOST_AUTO_TEST_CASE(scales_that_are_no_scales) {
  check_accepted(forge_update(with_scale(0.5F, 8), schema::Encoding::INT8, false));
  check_accepted(forge_update(with_scale(0.0F, 8), schema::Encoding::INT8, false));
  for (const float scale : {-1.0F, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::max()}) {
    check_refused(forge_update(with_scale(scale, 8), schema::Encoding::INT8, false),
                  "update.tensors[0].values: found a scale that is negative or too large, expected finite scales");
    check_refused(forge_broadcast(joined(with_scale(scale, 8), with_scale(1.0F, 3)), schema::Encoding::INT8, false),
                  "broadcast.values: found a scale");
    check_refused(forge_broadcast(joined(with_scale(1.0F, 8), with_scale(scale, 3)), schema::Encoding::INT8, false),
                  "broadcast.values: found a scale");
  }
}

BOOST_AUTO_TEST_CASE(zstd_frames_that_claim_another_size) {
  check_accepted(forge_broadcast(deflated(model_bytes), schema::Encoding::FLOAT32, true));
  check_refused(forge_broadcast(deflated(model_bytes + 1), schema::Encoding::FLOAT32, true),
                "broadcast.values: found a zstd frame of 45 bytes, expected 44");
  check_refused(forge_broadcast(deflated(model_bytes - 4), schema::Encoding::FLOAT32, true),
                "broadcast.values: found a zstd frame of 40 bytes, expected 44");
  check_refused(forge_broadcast(deflated(model_bytes, false), schema::Encoding::FLOAT32, true),
                "broadcast.values: found bytes that are no zstd frame with the size of its content");
  check_refused(forge_update(deflated(33), schema::Encoding::FLOAT32, true),
                "update.tensors[0].values: found a zstd frame of 33 bytes, expected 32");
  check_refused(forge_broadcast({}, schema::Encoding::FLOAT32, true), "broadcast.values: found bytes that are no zstd");
  check_refused(forge_broadcast(bytes(model_bytes), schema::Encoding::FLOAT32, true), "found bytes that are no zstd");
}

BOOST_AUTO_TEST_CASE(formats_that_are_not_todays) {
  const auto sound = deflated(model_bytes);
  for (const std::uint32_t magic : {0xFD2FB525U, 0xFD2FB526U, 0xFD2FB527U, 0x184D2A50U /* skippable */})
    check_refused(forge_broadcast(samples::with(sound, 0, magic), schema::Encoding::FLOAT32, true),
                  "broadcast.values: found bytes that are no zstd frame");
}

// 64 MiB of zeros are a frame of some kilobytes. Its size is asked before anything is unpacked, so whether it states it
// or lies, no memory is taken for it.
BOOST_AUTO_TEST_CASE(a_bomb) {
  const auto bomb = deflated(std::size_t{1} << 26U);
  BOOST_TEST(bomb.size() < 10000U);
  check_refused(forge_broadcast(bomb, schema::Encoding::FLOAT32, true),
                "broadcast.values: found a zstd frame of 67108864 bytes, expected 44");
  check_refused(forge_broadcast(deflated(std::size_t{1} << 26U, false), schema::Encoding::FLOAT32, true),
                "found bytes that are no zstd frame with the size of its content");
  // Claims 44 in a size field of 4 bytes, and holds 64 MiB.
  auto liar = bomb;
  BOOST_REQUIRE((std::to_integer<unsigned>(liar[4]) >> 6U) == 2U);
  const std::size_t at = (std::to_integer<unsigned>(liar[4]) & 0x20U) != 0 ? 5 : 6;
  liar = samples::with(std::move(liar), at, std::uint32_t{model_bytes});
  check_refused(forge_broadcast(liar, schema::Encoding::FLOAT32, true), "broadcast.values: found a damaged zstd frame");
}

BOOST_AUTO_TEST_CASE(more_or_less_than_one_zstd_frame) {
  const auto sound = deflated(model_bytes);
  check_refused(forge_broadcast(joined(sound, bytes(3)), schema::Encoding::FLOAT32, true), "expected one whole zstd");
  check_refused(
      forge_broadcast(joined(sound, deflated(model_bytes)), schema::Encoding::FLOAT32, true),
      "broadcast.values: found " + std::to_string(2 * sound.size()) + " bytes, expected one whole zstd frame");
  auto cut = sound;
  cut.pop_back();
  check_refused(forge_broadcast(cut, schema::Encoding::FLOAT32, true), "expected one whole zstd frame");
}

BOOST_AUTO_TEST_CASE(zstd_frames_with_every_byte_changed) {
  const encoder make(samples::small_layout());
  const auto frame =
      samples::copy_of(make.encode(samples::even_broadcast(), {federated::number_format::float32, true}).value());
  for (std::size_t at = 0; at < frame.size(); ++at)
    for (unsigned value = 0; value < 256; ++value)
      BOOST_REQUIRE(samples::replay(samples::with(frame, at, static_cast<std::uint8_t>(value))) == 0);
}

BOOST_AUTO_TEST_CASE(another_number_of_constants_than_the_rule_has) {
  const auto shape = samples::small_layout();
  decoder read(shape, shape, federated::rule_sizes{.reference = 1000});
  const auto decoded = [&](unsigned constants) {
    const auto frame = forge([&](schema::Message::Builder root) {
      auto to = root.initBroadcast();
      to.setLayout(digest_data());
      to.initValues(model_bytes);
      to.initReference(constants);
    });
    const auto found = read.decode(frame);
    return found ? std::string() : found.error().text();
  };
  for (const unsigned constants : {0U, 1000U}) BOOST_TEST(decoded(constants) == "");
  for (const unsigned constants : {1U, 999U, 1001U})
    BOOST_TEST(decoded(constants) ==
               "broadcast.reference: found " + std::to_string(constants) + " numbers, expected 1000 or none");
}

BOOST_AUTO_TEST_SUITE_END()
