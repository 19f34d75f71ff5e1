#include "storage/detail/record.hpp"

#include <algorithm>
#include <bit>
#include <capnp/message.h>
#include <capnp/serialize.h>
#include <cstring>

#include "storage/at_rest.capnp.h"

namespace furlong::storage::detail {

namespace {

static_assert(std::endian::native == std::endian::little, "values are stored little-endian without conversion");

constexpr std::uint16_t format_whole = 1;
// Values: a bit for each row of the layout, lowest bit of a byte first, padded to 4 bytes; then the rows whose bit is
// 1.
constexpr std::uint16_t format_rows = 2;
constexpr std::size_t checksum_bytes = 16;
constexpr std::size_t checksum_words = checksum_bytes / 8;
// Segment table, root pointer, the struct's data section and its one pointer.
constexpr std::size_t overhead_words = 1 + 1 + 5 + 1;

kj::ArrayPtr<const capnp::word> as_words(const std::uint64_t* first, std::size_t count) {
  return {reinterpret_cast<const capnp::word*>(first), count};
}

// One level of structs and one pointer per field: more than any record uses.
capnp::ReaderOptions limits(std::size_t words) { return {4 * words + 64, 4}; }

tl::unexpected<std::string> wrong(std::string reason) { return tl::unexpected<std::string>(std::move(reason)); }

constexpr std::size_t words_for(std::size_t bytes) { return overhead_words + (bytes + 7) / 8 + checksum_words; }

constexpr std::size_t bitmap_bytes(std::size_t rows) { return (rows + 31) / 32 * 4; }

/// Bitwise: -0 is not zero.
bool is_zero(const float* values, std::size_t count) {
  return std::all_of(values, values + count, [](float value) { return std::bit_cast<std::uint32_t>(value) == 0; });
}

}  // namespace

record_coder::record_coder(const models::layout& layout, std::uint64_t layout_hash, keys_ptr keys)
    : values_(layout.size()),
      layout_hash_(layout_hash),
      words_(words_for(values_ * sizeof(float))),
      keys_(std::move(keys)) {
  for (const auto& spec : layout.tensors()) {
    tensors_.push_back({spec.rows, spec.cols});
    rows_ += spec.rows;
  }
}

/// Fills space.rows and space.values if less than half of the values remain; otherwise returns false.
bool record_coder::leave_zeros_out(std::span<const float> values, scratch& space) const {
  space.rows.assign(bitmap_bytes(rows_), 0);
  space.values.clear();
  const auto most = values_ / 2;
  if (space.rows.size() / sizeof(float) > most) return false;
  const auto room = most - space.rows.size() / sizeof(float);
  const float* source = values.data();
  std::size_t row = 0;
  for (const auto& tensor : tensors_)
    for (std::uint32_t i = 0; i < tensor.rows; ++i, ++row, source += tensor.cols) {
      if (is_zero(source, tensor.cols)) continue;
      if (space.values.size() + tensor.cols > room) return false;
      space.rows[row / 8] = static_cast<std::uint8_t>(space.rows[row / 8] | (1U << (row % 8)));
      space.values.insert(space.values.end(), source, source + tensor.cols);
    }
  return true;
}

/// Fills space.values with all values. False if their number does not match the bits.
bool record_coder::put_zeros_in(std::span<const std::byte> stored, scratch& space) const {
  const auto bits = bitmap_bytes(rows_);
  if (stored.size() < bits) return false;
  space.values.assign(values_, 0.0F);
  auto rest = stored.subspan(bits);
  float* target = space.values.data();
  std::size_t row = 0;
  for (const auto& tensor : tensors_)
    for (std::uint32_t i = 0; i < tensor.rows; ++i, ++row, target += tensor.cols) {
      if ((std::to_integer<unsigned>(stored[row / 8]) >> (row % 8) & 1U) == 0) continue;
      const auto bytes = tensor.cols * sizeof(float);
      if (rest.size() < bytes) return false;
      std::memcpy(target, rest.data(), bytes);
      rest = rest.subspan(bytes);
    }
  return rest.empty();
}

digest record_coder::checksum(std::span<const std::uint64_t> content) const {
  return keys_ ? hmac_sha256(keys_->records, std::as_bytes(content)) : sha256(std::as_bytes(content));
}

std::size_t record_coder::record_bytes(std::span<const float> values, scratch& space) const {
  if (!leave_zeros_out(values, space)) return record_bytes();
  return 8 * words_for(space.rows.size() + space.values.size() * sizeof(float));
}

std::string_view record_coder::encode(std::uint32_t client, const slot_tag& tag, std::span<const float> values,
                                      scratch& space) const {
  const bool by_rows = leave_zeros_out(values, space);
  auto& words = space.words;
  words.assign(words_, 0);  // Cap'n Proto requires zeroed words
  capnp::FlatMessageBuilder message({reinterpret_cast<capnp::word*>(words.data() + 1), words.size() - 1});
  auto record = message.initRoot<schema::PrivateRecord>();
  record.setFormat(by_rows ? format_rows : format_whole);
  record.setClient(client);
  record.setLife(tag.life);
  record.setVersion(tag.version);
  record.setSequence(tag.sequence);
  record.setLayoutHash(layout_hash_);
  const auto rows = by_rows ? std::as_bytes(std::span(space.rows)) : std::span<const std::byte>();
  const auto stored = std::as_bytes(by_rows ? std::span<const float>(space.values) : values);
  auto list = record.initValues(static_cast<unsigned>(rows.size() + stored.size()));
  // Either may be empty and have a null address, which memcpy does not accept.
  if (!rows.empty()) std::memcpy(list.begin(), rows.data(), rows.size());
  if (!stored.empty()) std::memcpy(list.begin() + rows.size(), stored.data(), stored.size());
  const auto used = message.getSegmentsForOutput()[0].size();
  words[0] = static_cast<std::uint64_t>(used) << 32U;  // table of one segment: count - 1, then its words
  const auto sum = checksum(std::span(words).first(1 + used));
  std::memcpy(&words[1 + used], sum.data(), checksum_bytes);
  return {reinterpret_cast<const char*>(words.data()), 8 * (1 + used + checksum_words)};
}

tl::expected<record_view, std::string> record_coder::decode(std::uint32_t client, std::string_view bytes,
                                                            scratch& space) const {
  if (bytes.size() % 8 != 0 || bytes.size() < 8 * (overhead_words + checksum_words))
    return wrong("the record has an invalid length of " + std::to_string(bytes.size()) + " bytes");
  auto& words = space.words;
  words.resize(bytes.size() / 8);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  const auto content = std::span(words).first(words.size() - checksum_words);
  const auto sum = checksum(content);
  if (CRYPTO_memcmp(sum.data(), &words[content.size()], checksum_bytes) != 0)
    return wrong("the record's checksum does not match its content");
  try {
    capnp::FlatArrayMessageReader message(as_words(content.data(), content.size()), limits(content.size()));
    const auto record = message.getRoot<schema::PrivateRecord>();
    const auto format = record.getFormat();
    if (format != format_whole && format != format_rows)
      return wrong("the record has format " + std::to_string(format) + ", this release reads " +
                   std::to_string(format_whole) + " and " + std::to_string(format_rows));
    if (record.getClient() != client)
      return wrong("the record belongs to client " + std::to_string(record.getClient()));
    if (record.getLayoutHash() != layout_hash_) return wrong("the record has a different private layout");
    const auto values = record.getValues();
    const slot_tag tag{true, record.getLife(), record.getVersion(), record.getSequence()};
    if (format == format_rows) {
      if (!put_zeros_in(std::as_bytes(std::span(values.begin(), values.size())), space))
        return wrong("the record's rows do not match its row bits");
      return record_view{tag, space.values};
    }
    if (values.size() != values_ * sizeof(float))
      return wrong("the record has " + std::to_string(values.size()) + " bytes of values instead of " +
                   std::to_string(values_ * sizeof(float)));
    return record_view{tag, {reinterpret_cast<const float*>(values.begin()), values_}};
  } catch (const kj::Exception& bad) {
    return wrong(std::string("cannot read the record: ") + bad.getDescription().cStr());
  }
}

std::uint64_t short_form(const digest& content) {
  std::uint64_t number = 0;
  std::memcpy(&number, content.data(), sizeof number);
  return number;
}

std::optional<std::uint32_t> named_client(std::string_view record) {
  // Segment table, root pointer, then the data section, where Cap'n Proto puts the client after the format.
  constexpr std::size_t place = 8 + 8 + 4;
  std::uint32_t client = 0;
  if (record.size() < place + sizeof client) return std::nullopt;
  std::memcpy(&client, record.data() + place, sizeof client);
  return client;
}

}  // namespace furlong::storage::detail
