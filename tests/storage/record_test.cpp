// The record of one value: every bit of it counts, and it belongs to one client.
#include "storage/detail/record.hpp"

#include <cstring>

#include "storage/detail/spread.hpp"
#include "tests/storage/fixtures.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(records)

using storage::store_layout;
using storage::detail::record_coder;
using storage::detail::slot_tag;
using storage::detail::spread;

namespace {
constexpr std::uint64_t layout_hash = 0x1122334455667788;
constexpr slot_tag tag{true, 3, 41, 17};
}  // namespace

BOOST_AUTO_TEST_CASE(a_record_reads_back) {
  for (const std::uint32_t rank : {0U, 1U, 2U, 50U, 5'000U}) {
    const auto layout = small_layout(rank);
    const record_coder coder(*layout, layout_hash);
    const auto value = make_value(layout, 9, 1);
    record_coder::scratch space;
    const std::string bytes(coder.encode(9, tag, value.values(), space));
    BOOST_TEST(bytes.size() == coder.record_bytes());
    const auto back = coder.decode(9, bytes, space);
    BOOST_TEST_REQUIRE(back.has_value());
    BOOST_TEST(back->tag.life == 3U);
    BOOST_TEST(back->tag.version == 41U);
    BOOST_TEST(back->tag.sequence == 17U);
    BOOST_TEST(std::ranges::equal(back->values, value.values()));
    BOOST_TEST(*storage::detail::named_client(bytes) == 9U);
  }
}

// A copy of a table over items, of which a client has a few.
BOOST_AUTO_TEST_CASE(rows_of_zeros_take_a_bit) {
  const auto layout = std::make_shared<models::layout>(std::vector<models::tensor_spec>{
      {"user", 1, 8}, {"copy/item", 3706, 8, models::row_index::by_feature}, {"mean"}});
  const record_coder coder(*layout, layout_hash);
  record_coder::scratch space;
  models::private_parameters value(layout);
  const auto check = [&](std::size_t most) {
    const std::string bytes(coder.encode(9, tag, value.values(), space));
    BOOST_TEST(bytes.size() <= most);
    BOOST_TEST(bytes.size() == coder.record_bytes(value.values(), space));
    const auto back = coder.decode(9, bytes, space);
    BOOST_TEST_REQUIRE(back.has_value());
    BOOST_TEST(back->tag.sequence == 17U);
    BOOST_TEST((std::memcmp(back->values.data(), value.values().data(), value.values().size_bytes()) == 0));
    return bytes;
  };
  static_cast<void>(check(600));  // nothing but the bits
  for (std::size_t row = 0; row < 165; ++row) value.tensor(1)[row * 22 * 8 + row % 8] = -1.5F;
  value.tensor(2)[0] = -0.0F;  // not zero to the bit
  const auto bytes = check(600 + 165 * 32 + 4);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += 7) {
    auto bad = bytes;
    bad[bit / 8] = static_cast<char>(static_cast<unsigned char>(bad[bit / 8]) ^ (1U << (bit % 8)));
    BOOST_TEST(!coder.decode(9, bad, space).has_value());
  }
  for (auto& one : value.tensor(1)) one = 0.25F;
  BOOST_TEST(check(coder.record_bytes()).size() == coder.record_bytes());  // whole
}

BOOST_AUTO_TEST_CASE(every_flipped_bit_and_every_cut_is_noticed) {
  const auto layout = small_layout(7);
  const record_coder coder(*layout, layout_hash);
  record_coder::scratch space;
  const std::string bytes(coder.encode(9, tag, make_value(layout, 9, 1).values(), space));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    auto bad = bytes;
    bad[bit / 8] = static_cast<char>(static_cast<unsigned char>(bad[bit / 8]) ^ (1U << (bit % 8)));
    BOOST_TEST(!coder.decode(9, bad, space).has_value());
  }
  for (std::size_t length = 0; length < bytes.size(); ++length)
    BOOST_TEST(!coder.decode(9, bytes.substr(0, length), space).has_value());
}

BOOST_AUTO_TEST_CASE(a_record_of_another_client_or_layout_is_refused) {
  const auto layout = small_layout(7);
  const record_coder coder(*layout, layout_hash);
  record_coder::scratch space;
  const std::string bytes(coder.encode(9, tag, make_value(layout, 9, 1).values(), space));
  BOOST_TEST(contains(coder.decode(10, bytes, space).error(), "client 9"));
  BOOST_TEST(contains(record_coder(*layout, 5).decode(9, bytes, space).error(), "a different private layout"));
  BOOST_TEST(contains(record_coder(*small_layout(6), layout_hash).decode(9, bytes, space).error(), "bytes of values"));
}

BOOST_AUTO_TEST_CASE(family_names_lead_back_to_clients) {
  const spread one_each;
  for (const std::uint32_t client : {0U, 7U, 4'294'967'295U})
    BOOST_TEST(*one_each.client_named(one_each.family_name(client)) == client);
  for (const auto* name : {"default", "client-", "client-4294967296", "client-7x", "client--1", "bucket-3"})
    BOOST_TEST(!one_each.client_named(name).has_value());
}

BOOST_AUTO_TEST_CASE(bucket_names_lead_back_to_buckets_and_to_no_client) {
  const spread buckets{store_layout::bucketed, 4, 100};
  for (const std::uint32_t client : {0U, 99U, 4'294'967'295U}) {
    const auto name = buckets.family_name(buckets.family_of(client));
    BOOST_TEST(*buckets.family_named(name) == client / 100);
    BOOST_TEST(!buckets.client_named(name).has_value());
  }
  BOOST_TEST(!buckets.family_named("client-3").has_value());
}

BOOST_AUTO_TEST_CASE(keys_sort_by_client_and_name_it) {
  for (const auto layout : {store_layout::per_client, store_layout::bucketed}) {
    const spread some{layout, 1, 1};
    std::string last;
    for (const std::uint32_t client : {0U, 1U, 255U, 256U, 65'536U, 4'294'967'295U})
      for (const std::size_t slot : {0U, 1U}) {
        const auto key = some.key(client, slot);
        BOOST_TEST(storage::detail::client_of_key(key.bytes()) == client);
        BOOST_TEST((last < key.bytes()));
        last = key.bytes();
      }
  }
}

BOOST_AUTO_TEST_CASE(buckets_and_shards_follow_from_population_and_values) {
  const auto small = spread::of(store_layout::bucketed, 1'000'000, 0, 280);
  BOOST_TEST(small.bucket_clients == 4096);
  BOOST_TEST(small.shards == 64);
  BOOST_TEST(spread::of(store_layout::bucketed, 1'000'000, 0, 1U << 20U).bucket_clients == 256);
  BOOST_TEST(spread::of(store_layout::bucketed, 10'000, 0, 2048).bucket_clients == 1024);
  BOOST_TEST(spread::of(store_layout::bucketed, 10'000, 0, 2048).shards == 10);
  BOOST_TEST(spread::of(store_layout::bucketed, 0, 0, 280).shards == 1);
  BOOST_TEST(spread::of(store_layout::bucketed, 1000, 70, 280).bucket_clients == 70);
}

BOOST_AUTO_TEST_CASE(a_keyed_record_passes_with_its_key_only) {
  const auto layout = small_layout(7);
  const auto keys = std::make_shared<storage::detail::store_keys>();
  keys->records.fill(7);
  const auto others = std::make_shared<storage::detail::store_keys>();
  others->records.fill(8);
  record_coder::scratch space;
  const auto value = make_value(layout, 9, 1);
  const std::string keyed(record_coder(*layout, layout_hash, keys).encode(9, tag, value.values(), space));
  const std::string plain(record_coder(*layout, layout_hash).encode(9, tag, value.values(), space));
  BOOST_TEST(keyed.size() == plain.size());
  BOOST_TEST(record_coder(*layout, layout_hash, keys).decode(9, keyed, space).has_value());
  BOOST_TEST(!record_coder(*layout, layout_hash, others).decode(9, keyed, space).has_value());
  BOOST_TEST(!record_coder(*layout, layout_hash).decode(9, keyed, space).has_value());
  BOOST_TEST(!record_coder(*layout, layout_hash, keys).decode(9, plain, space).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
