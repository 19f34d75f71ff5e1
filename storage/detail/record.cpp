#include "storage/detail/record.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <cstring>

#include "storage/at_rest.capnp.h"

namespace furlong::storage::detail {

namespace {

constexpr std::uint16_t record_format = 1;
constexpr std::size_t checksum_bytes = 16;
constexpr std::size_t checksum_words = checksum_bytes / 8;
// Segment table, root pointer, the struct's data section and its one pointer.
constexpr std::size_t overhead_words = 1 + 1 + 5 + 1;

kj::ArrayPtr<const capnp::word> as_words(const std::uint64_t* first, std::size_t count) {
  return {reinterpret_cast<const capnp::word*>(first), count};
}

// One level of structs and one pointer per field: no message of ours needs more.
capnp::ReaderOptions limits(std::size_t words) { return {4 * words + 64, 4}; }

tl::unexpected<std::string> wrong(std::string what) { return tl::unexpected<std::string>(std::move(what)); }

}  // namespace

record_coder::record_coder(const models::layout& layout, std::uint64_t layout_hash, keys_ptr keys)
    : values_(layout.size()),
      layout_hash_(layout_hash),
      words_(overhead_words + (values_ * sizeof(float) + 7) / 8 + checksum_words),
      keys_(std::move(keys)) {}

digest record_coder::checksum(std::span<const std::uint64_t> content) const {
  return keys_ ? hmac_sha256(keys_->records, std::as_bytes(content)) : sha256(std::as_bytes(content));
}

std::string_view record_coder::encode(std::uint32_t client, const slot_tag& tag, std::span<const float> values,
                                      scratch& space) const {
  space.assign(words_, 0);  // Cap'n Proto wants zeroed words
  capnp::FlatMessageBuilder message({reinterpret_cast<capnp::word*>(space.data() + 1), space.size() - 1});
  auto record = message.initRoot<schema::PrivateRecord>();
  record.setFormat(record_format);
  record.setClient(client);
  record.setLife(tag.life);
  record.setVersion(tag.version);
  record.setSequence(tag.sequence);
  record.setLayoutHash(layout_hash_);
  std::memcpy(record.initValues(static_cast<unsigned>(values.size_bytes())).begin(), values.data(),
              values.size_bytes());
  const auto used = message.getSegmentsForOutput()[0].size();
  space[0] = static_cast<std::uint64_t>(used) << 32U;  // table of one segment: count - 1, then its words
  const auto sum = checksum(std::span(space).first(1 + used));
  std::memcpy(&space[1 + used], sum.data(), checksum_bytes);
  return {reinterpret_cast<const char*>(space.data()), 8 * (1 + used + checksum_words)};
}

tl::expected<record_view, std::string> record_coder::decode(std::uint32_t client, std::string_view bytes,
                                                            scratch& space) const {
  if (bytes.size() % 8 != 0 || bytes.size() < 8 * (overhead_words + checksum_words))
    return wrong("the record has an impossible length of " + std::to_string(bytes.size()) + " bytes");
  space.resize(bytes.size() / 8);
  std::memcpy(space.data(), bytes.data(), bytes.size());
  const auto content = std::span(space).first(space.size() - checksum_words);
  const auto sum = checksum(content);
  if (CRYPTO_memcmp(sum.data(), &space[content.size()], checksum_bytes) != 0)
    return wrong("the record's checksum does not fit its content");
  try {
    capnp::FlatArrayMessageReader message(as_words(content.data(), content.size()), limits(content.size()));
    const auto record = message.getRoot<schema::PrivateRecord>();
    if (record.getFormat() != record_format)
      return wrong("the record has format " + std::to_string(record.getFormat()) + ", this release reads " +
                   std::to_string(record_format));
    if (record.getClient() != client) return wrong("the record is of client " + std::to_string(record.getClient()));
    if (record.getLayoutHash() != layout_hash_) return wrong("the record is of another private layout");
    const auto values = record.getValues();
    if (values.size() != values_ * sizeof(float))
      return wrong("the record has " + std::to_string(values.size()) + " bytes of values instead of " +
                   std::to_string(values_ * sizeof(float)));
    return record_view{{true, record.getLife(), record.getVersion(), record.getSequence()},
                       {reinterpret_cast<const float*>(values.begin()), values_}};
  } catch (const kj::Exception& bad) {
    return wrong(std::string("the record cannot be read: ") + bad.getDescription().cStr());
  }
}

std::optional<std::uint32_t> named_client(std::string_view record) {
  // Segment table, root pointer, then the data section, where Cap'n Proto puts the client behind the format.
  constexpr std::size_t place = 8 + 8 + 4;
  std::uint32_t client = 0;
  if (record.size() < place + sizeof client) return std::nullopt;
  std::memcpy(&client, record.data() + place, sizeof client);
  return client;
}

}  // namespace furlong::storage::detail
