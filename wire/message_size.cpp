#include <algorithm>

#include "federated/settings/network.hpp"
#include "wire/control.hpp"
#include "wire/detail/frame.hpp"
#include "wire/message.hpp"

namespace furlong::wire {

namespace {

using detail::broadcast_words;
using detail::data_words;
using detail::digest_words;
using detail::envelope_words;
using detail::list_words;
using detail::update_words;
using detail::word_bytes;
using detail::words_of;
using federated::number_format;

// Fields that later versions of the schema may append to a message.
constexpr std::size_t room_to_grow = 1024;

std::size_t model_bytes(const models::layout& shape, number_format numbers) {
  std::size_t bytes = 0;
  for (const auto& spec : shape.tensors()) bytes += federated::packed_size(numbers_of(spec, numbers), spec.size());
  return bytes;
}

constexpr std::size_t partial_words(std::size_t folded, std::size_t refused, std::size_t sums) {
  return envelope_words + words_of<schema::Partial> + digest_words + list_words<schema::Member>(folded) +
         list_words<schema::Refused>(refused) + sums;
}

}  // namespace

update_format format_of(const federated::network_settings& network) {
  return network.sparse_upload ? update_format::sparse : update_format::dense;
}

packing packing_of(const federated::network_settings& network) {
  return {network.compression.numbers, network.compression.zstd};
}

std::size_t encoded_size(const federated::task_id& /*task*/) {
  return (envelope_words + words_of<schema::Task>)*word_bytes;
}

std::size_t encoded_size(const federated::broadcast& message, number_format numbers) {
  return broadcast_words(model_bytes(*message.model.shape(), numbers), message.reference.size()) * word_bytes;
}

std::size_t encoded_size(const federated::client_update& update, update_format format, number_format numbers) {
  if (!update.words.empty()) return (detail::masked_update_words + update.words.size()) * word_bytes;
  const auto& change = update.change;
  std::size_t words = update_words(change.shape->count());
  for (std::size_t t = 0; t < change.shape->count(); ++t) {
    const auto& spec = (*change.shape)[t];
    const auto& piece = change.pieces[t];
    const bool by_rows = format == update_format::sparse && piece.by_rows;
    const std::size_t rows = by_rows ? piece.row_count : spec.rows;
    words += data_words(federated::packed_size(numbers_of(spec, numbers), rows * spec.cols));
    if (by_rows) words += data_words(rows * sizeof(std::uint32_t));
  }
  return words * word_bytes;
}

std::size_t encoded_size(const federated::partial_aggregate& partial) {
  return partial_words(partial.folded.size(), partial.refused.size(), partial.sums.words.size()) * word_bytes;
}

// Packed numbers take no more words than floats do, and zstd is left out where it does not help.
std::size_t largest_update(const models::layout& up) {
  std::size_t words = update_words(up.count());
  for (const auto& spec : up.tensors())
    words += data_words(spec.size() * sizeof(float)) + data_words(spec.rows * sizeof(std::uint32_t));
  return words * word_bytes + room_to_grow;
}

std::size_t largest_masked_update(std::size_t words) {
  return (detail::masked_update_words + words) * word_bytes + room_to_grow;
}

std::size_t largest_broadcast(const models::layout& down, std::size_t references) {
  const std::size_t values =
      std::max(model_bytes(down, number_format::float32), model_bytes(down, number_format::int8));
  return broadcast_words(values, references) * word_bytes + room_to_grow;
}

std::size_t largest_partial(std::size_t words, std::size_t tasks) {
  return partial_words(tasks, tasks, words) * word_bytes + room_to_grow;
}

std::size_t largest_control(std::size_t entries) {
  // evaluation_scores has the widest entries, with odds as many as entries; those of settled are narrower even with
  // distances as many as entries.
  constexpr std::size_t widest = 1 + 2 * sizeof(std::uint32_t) + 9 * sizeof(double) + sizeof(float) + 1;
  static_assert(widest >=
                sizeof(federated::task_id) + 6 + 3 * sizeof(std::uint64_t) + sizeof(std::uint32_t) + sizeof(float));
  // Three names, the parts and all fields of fixed size; and what later versions may append.
  constexpr std::size_t rest = 3 * longest_name + longest_parts + 2048;
  return longest_scenario + std::min(entries, longest_list) * widest + rest;
}

}  // namespace furlong::wire
