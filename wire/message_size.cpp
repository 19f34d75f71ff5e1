#include "wire/furlong.capnp.h"
#include "wire/message.hpp"

namespace furlong::wire {

namespace {

constexpr std::size_t word_bytes = 8;
// Fields that later versions of the schema may append to an update.
constexpr std::size_t room_to_grow = 1024;

template <class Struct>
constexpr std::size_t words_of = capnp::sizeInWords<Struct>();

// The frame's header, the root pointer and the Message that every frame holds.
constexpr std::size_t envelope_words = 1 + 1 + words_of<schema::Message>;
constexpr std::size_t digest_words = 4;

constexpr std::size_t data_words(std::size_t bytes) { return (bytes + word_bytes - 1) / word_bytes; }

template <class Struct>
constexpr std::size_t list_words(std::size_t count) {
  return 1 + count * words_of<Struct>;  // the list's own tag, then its structs
}

constexpr std::size_t update_words(std::size_t tensors) {
  return envelope_words + words_of<schema::Update> + words_of<schema::Task> + digest_words +
         list_words<schema::Tensor>(tensors);
}

}  // namespace

std::size_t encoded_size(const federated::task_id& /*task*/) {
  return (envelope_words + words_of<schema::Task>)*word_bytes;
}

std::size_t encoded_size(const federated::broadcast& message) {
  return (envelope_words + words_of<schema::Broadcast> + digest_words +
          data_words(message.model.values().size() * sizeof(float)) + message.reference.size()) *
         word_bytes;
}

std::size_t encoded_size(const federated::client_update& update, update_format format) {
  const auto& change = update.change;
  std::size_t words = update_words(change.shape->count());
  for (std::size_t t = 0; t < change.shape->count(); ++t) {
    const auto& spec = (*change.shape)[t];
    const auto& piece = change.pieces[t];
    const bool by_rows = format == update_format::sparse && piece.by_rows;
    const std::size_t rows = by_rows ? piece.row_count : spec.rows;
    words += data_words(rows * spec.cols * sizeof(float));
    if (by_rows) words += data_words(rows * sizeof(std::uint32_t));
  }
  return words * word_bytes;
}

std::size_t encoded_size(const federated::partial_aggregate& partial) {
  return (envelope_words + words_of<schema::Partial> + digest_words +
          list_words<schema::Member>(partial.folded.size()) + list_words<schema::Refused>(partial.refused.size()) +
          partial.sums.words.size()) *
         word_bytes;
}

std::size_t largest_update(const models::layout& shared) {
  std::size_t words = update_words(shared.count());
  for (const auto& spec : shared.tensors())
    words += data_words(spec.size() * sizeof(float)) + data_words(spec.rows * sizeof(std::uint32_t));
  return words * word_bytes + room_to_grow;
}

}  // namespace furlong::wire
