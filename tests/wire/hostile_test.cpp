// Frames that no encoder of ours makes.
#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/wire/control_samples.hpp"
#include "tests/wire/forge.hpp"
#include "wire/encode.hpp"

BOOST_AUTO_TEST_SUITE(hostile_frames)

using namespace furlong;
using namespace furlong::wire;
using samples::bytes;
using samples::check_accepted;
using samples::check_refused;
using samples::digest_data;
using samples::forge;
using samples::replay;
using samples::with;
using samples::word_at;

namespace {

// An update of small_layout() whose first tensor lists rows and whose second is dense.
bytes forge_update(const std::vector<std::uint32_t>& rows, std::size_t row_bytes, std::size_t values,
                   std::size_t dense_values) {
  return forge([&](schema::Message::Builder root) {
    auto update = root.initUpdate();
    update.initTask();
    update.setLayout(digest_data());
    auto tensors = update.initTensors(2);
    if (row_bytes > 0)
      std::memcpy(tensors[0].initRows(static_cast<unsigned>(row_bytes)).begin(), rows.data(), row_bytes);
    tensors[0].initValues(static_cast<unsigned>(values * 4));
    tensors[1].setDense();
    tensors[1].initValues(static_cast<unsigned>(dense_values * 4));
  });
}

bytes forge_partial(const std::function<void(schema::Partial::Builder)>& fill) {
  return forge([&](schema::Message::Builder root) {
    auto partial = root.initPartial();
    partial.setLayout(digest_data());
    fill(partial);
  });
}

bytes sparse_frame() {
  return samples::copy_of(
      encoder(samples::small_layout()).encode(samples::small_update(), update_format::sparse).value());
}

// Whether a sound frame of the corpus is of a kind that belongs to a layout.
bool needs_layout(const std::string& name) {
  return name.starts_with("broadcast") || name.starts_with("update") || name.starts_with("partial");
}

}  // namespace

BOOST_AUTO_TEST_CASE(cut_at_every_length) {
  decoder read(samples::small_layout());
  for (const auto& [name, frame] : samples::corpus())
    for (std::size_t length = 0; length < frame.size(); ++length) {
      const bytes cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(length));
      BOOST_TEST(!read.decode(cut).has_value(), name << " cut to " << length);
    }
}

BOOST_AUTO_TEST_CASE(cut_at_every_word_with_a_header_that_agrees) {
  for (const auto& [name, frame] : samples::corpus())
    for (std::size_t length = 8; length < frame.size(); length += 8) {
      bytes cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(length));
      cut = with(std::move(cut), 4, static_cast<std::uint32_t>(length / 8 - 1));
      BOOST_TEST(replay(cut) == 0, name << " cut to " << length);
    }
}

// The fuzz target's checks hold for every frame that differs from a sound one in one byte.
BOOST_AUTO_TEST_CASE(every_single_byte_changed) {
  for (const auto& [name, frame] : samples::corpus()) {
    if (name.starts_with("damaged")) continue;
    for (std::size_t at = 0; at < frame.size(); ++at)
      for (const unsigned flip : {0x01U, 0x02U, 0x04U, 0x08U, 0x10U, 0x20U, 0x40U, 0x80U, 0xFFU})
        BOOST_REQUIRE(replay(with(frame, at, static_cast<std::uint8_t>(std::to_integer<unsigned>(frame[at]) ^ flip))) ==
                      0);
  }
}

BOOST_AUTO_TEST_CASE(other_protocol_versions) {
  for (const unsigned version : {0U, 2U, 256U, 65535U})
    check_refused(with(sparse_frame(), 16, static_cast<std::uint16_t>(version)),
                  "protocol: found version " + std::to_string(version) + ", expected 1");
}

BOOST_AUTO_TEST_CASE(kinds) {
  check_refused(with(sparse_frame(), 18, std::uint16_t{26}), "message: found kind 26, expected 0 to 25");
  check_refused(with(sparse_frame(), 18, std::uint16_t{UINT16_MAX}), "message: found kind 65535, expected 0 to 25");
}

BOOST_AUTO_TEST_CASE(headers_that_claim_another_length) {
  const auto frame = sparse_frame();
  const auto words = word_at<std::uint32_t>(frame, 4);
  check_refused({}, "frame: found 0 bytes, expected at least the 8 of its header");
  check_refused(bytes(7), "frame: found 7 bytes");
  check_refused(bytes(8), "frame: not sound");
  for (const std::uint32_t more : {1U, 511U, 0xFFFFFFFEU})
    check_refused(with(frame, 0, more), "frame.segments: found " + std::to_string(std::uint64_t{more} + 1));
  check_refused(with(frame, 0, UINT32_MAX), "frame.segments: found 4294967296, expected 1");
  check_refused(with(frame, 4, UINT32_MAX), "expected 34359738368 as its header says");
  check_refused(with(frame, 4, words + 1), "frame: found " + std::to_string(frame.size()) + " bytes, expected");
  check_refused(with(frame, 4, words - 1), "frame: found " + std::to_string(frame.size()) + " bytes, expected");
  auto longer = frame;
  longer.push_back(std::byte{0});
  check_refused(longer, "frame: found " + std::to_string(longer.size()) + " bytes");
}

BOOST_AUTO_TEST_CASE(updates_far_longer_than_the_layout_allows) {
  const auto grow = [](std::size_t extra) {
    auto frame = sparse_frame();
    frame.resize(frame.size() + extra);
    return with(std::move(frame), 4, static_cast<std::uint32_t>((sparse_frame().size() + extra) / 8 - 1));
  };
  check_accepted(grow(64));
  const auto limit = largest_update(*samples::small_layout());
  check_accepted(grow(limit - sparse_frame().size()));
  check_refused(grow(limit - sparse_frame().size() + 8), "expected at most " + std::to_string(limit));
}

BOOST_AUTO_TEST_CASE(other_layouts) {
  const auto other =
      std::make_shared<models::layout>(std::vector<models::tensor_spec>{{"items", 4, 2}, {"bios", 1, 3}});
  decoder read(other);
  for (const auto& [name, frame] : samples::corpus()) {
    if (name.starts_with("damaged") || name == "empty" || !needs_layout(name)) continue;
    const auto found = read.decode(frame);
    BOOST_REQUIRE(!found.has_value());
    const auto expected = ".layout: found " + hex(models::layout_digest(*samples::small_layout())) + ", expected " +
                          hex(models::layout_digest(*other));
    BOOST_TEST(found.error().text().find(expected) != std::string::npos, samples::complaint(found));
  }
  const std::uint8_t few[31] = {};
  check_refused(forge([&](auto root) {
                  root.initUpdate().setLayout({few, 31});
                }),
                "update.layout: found 31 bytes, expected 32");
  check_refused(forge([](auto root) { root.initBroadcast(); }), "broadcast.layout: found 0 bytes, expected 32");
  check_refused(forge([](auto root) { root.initPartial(); }), "partial.layout: found 0 bytes, expected 32");
}

BOOST_AUTO_TEST_CASE(parts_that_are_missing) {
  auto task = samples::copy_of(encoder::encode(samples::small_task()));
  check_refused(with(task, 3 * 8, std::uint64_t{0}), "task: found nothing");
  check_refused(forge([](auto root) { root.initUpdate().setLayout(digest_data()); }), "update.task: found nothing");
  check_refused(forge([](auto root) {
                  auto update = root.initUpdate();
                  update.initTask();
                  update.setLayout(digest_data());
                }),
                "update.tensors: found 0 tensors, expected 2");
  check_refused(forge([](auto root) {
                  auto update = root.initUpdate();
                  update.initTask();
                  update.setLayout(digest_data());
                  update.initTensors(3);
                }),
                "update.tensors: found 3 tensors, expected 2");
  check_refused(forge([](auto root) { root.initBroadcast().setLayout(digest_data()); }),
                "broadcast.values: found 0 bytes, expected 44");
}

BOOST_AUTO_TEST_CASE(rows_and_values_that_do_not_fit) {
  check_accepted(forge_update({1, 3}, 8, 4, 3));
  check_accepted(forge_update({0, 1, 2, 3}, 16, 8, 3));
  check_refused(forge_update({3, 1}, 8, 4, 3), "update.tensors[0].rows: found row 1 after row 3, expected strictly");
  check_refused(forge_update({1, 1}, 8, 4, 3), "update.tensors[0].rows: found row 1 after row 1, expected strictly");
  check_refused(forge_update({1, 4}, 8, 4, 3), "update.tensors[0].rows: found row 4, expected rows below 4");
  check_refused(forge_update({1, UINT32_MAX}, 8, 4, 3), "found row 4294967295, expected rows below 4");
  check_refused(forge_update({0, 1, 2, 3, 4}, 20, 10, 3), "update.tensors[0].rows: found 5 rows, expected at most 4");
  check_refused(forge_update({1, 3}, 7, 4, 3), "update.tensors[0].rows: found 7 bytes, expected a multiple of 4");
  check_refused(forge_update({1, 3}, 8, 5, 3), "update.tensors[0].values: found 20 bytes, expected 16");
  check_refused(forge_update({1, 3}, 8, 0, 3), "update.tensors[0].values: found 0 bytes, expected 16");
  check_refused(forge_update({1, 3}, 8, 4, 2), "update.tensors[1].values: found 8 bytes, expected 12");
  check_refused(with(sparse_frame(), 18 * 8, std::uint16_t{2}), "update.tensors[0]: found format 2");
}

BOOST_AUTO_TEST_CASE(partial_aggregates_that_contradict_themselves) {
  check_refused(forge_partial([](auto partial) {
                  auto folded = partial.initFolded(2);
                  folded[0].setClient(7);
                  folded[1].setClient(7);
                }),
                "partial.folded: found client 7 after client 7");
  check_refused(forge_partial([](auto partial) {
                  auto refused = partial.initRefused(2);
                  refused[0].setClient(7);
                  refused[1].setClient(6);
                }),
                "partial.refused: found client 6 after client 7");
  check_refused(forge_partial([](auto partial) { partial.initRefused(1)[0].setWhy(schema::Rejection(9)); }),
                "partial.refused.why: found 9, expected less than 9");
  check_refused(forge_partial([](auto partial) { partial.initSums(15); }),
                "partial.sums: found 15 bytes, expected a multiple of 8");
}

// A list of structs without content takes no room, so its count is whatever it says.
BOOST_AUTO_TEST_CASE(a_list_that_claims_more_members_than_the_frame_holds) {
  const auto sound = forge_partial([](auto partial) { partial.initFolded(0); });
  const std::size_t tag = sound.size() - 8;
  BOOST_REQUIRE(word_at<std::uint32_t>(sound, tag) == 0);
  const auto claim = with(with(sound, tag, std::uint32_t{0x7FFFFFFC}), tag + 4, std::uint32_t{0});
  check_refused(claim, "frame: not sound");
}

// Both tensors look at one piece of the frame: it would be read twice, though it came once.
BOOST_AUTO_TEST_CASE(pointers_that_meet) {
  const auto shape = std::make_shared<models::layout>(std::vector<models::tensor_spec>{{"a", 64, 8}, {"b", 64, 8}});
  federated::client_update update{{}, 0, 0, 0.0, {shape, {{false, 0, 0, 0}, {false, 0, 0, 512}}, {}, {}}};
  update.change.values.resize(1024, 1.0F);
  auto frame = samples::copy_of(encoder(shape).encode(update, update_format::dense).value());
  constexpr std::size_t second_values = 22 * 8;
  constexpr std::uint32_t words = 512 * 4 / 8;
  frame = with(frame, second_values, word_at<std::uint32_t>(frame, second_values) - (words << 2U));
  decoder read(shape);
  BOOST_TEST(read.decode(frame).has_value());
  frame.resize(frame.size() - words * 8);
  frame = with(frame, 4, static_cast<std::uint32_t>(frame.size() / 8 - 1));
  const auto found = read.decode(frame);
  BOOST_REQUIRE(!found.has_value());
  BOOST_TEST(found.error().text().find("frame: not sound") != std::string::npos, samples::complaint(found));
}

BOOST_AUTO_TEST_CASE(frames_of_noise) {
  random_stream random(4, purpose::test);
  for (int i = 0; i < 20000; ++i) {
    bytes frame(8 + std::size_t{8} * random.below(40));
    for (auto& byte : frame) byte = std::byte{static_cast<std::uint8_t>(random() & random())};
    frame = with(with(frame, 0, std::uint32_t{0}), 4, static_cast<std::uint32_t>(frame.size() / 8 - 1));
    BOOST_REQUIRE(replay(frame) == 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
