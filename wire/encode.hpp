// From plain values to frames. There is no encoder for private parameters, and nothing but these encoders can make an
// `encoded`: code that sends only `encoded` cannot send what is private.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/digest.hpp"
#include "base/result.hpp"
#include "federated/experiment/update.hpp"
#include "wire/control.hpp"
#include "wire/message.hpp"

namespace furlong::wire {

/// The bytes of one frame. Immutable; copies share the bytes, and may be used by any thread.
class encoded {
 public:
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words_.get(), count_)); }
  [[nodiscard]] std::size_t size() const { return count_ * sizeof(std::uint64_t); }

 private:
  friend class encoder;
  /// @param frame its words, and how many
  explicit encoded(std::pair<std::shared_ptr<const std::uint64_t[]>, std::size_t> frame)
      : words_(std::move(frame.first)), count_(frame.second) {}

  std::shared_ptr<const std::uint64_t[]> words_;
  std::size_t count_;
};

/// Makes the frames of one run. Thread-safe.
///
/// The same message always gives the same bytes (with zstd: of the same version). Errors name the field
/// ("update.tensors[2].rows") and say that
///  - a message is of another layout than the encoder's, or its parts do not fit the layout;
///  - a broadcast has another number of constants than the aggregation rule;
///  - a row is listed twice, or members of a partial aggregate are not in order;
///  - a number was not rounded to the format in which it is to travel;
///  - a text or list of a control message is too long, a text is not printable UTF-8, a range ends before it begins, a
///    score is not finite or counts more right answers than examples;
///  - a field is longer than Cap'n Proto can hold: 512 MiB, so 2^27 values in a model or tensor, 2^26 sums.
class encoder {
 public:
  /// @param down the layout of the run's broadcasts
  /// @param up of its updates
  /// @param rule of its aggregation rule; nothing: unknown, and not looked at
  encoder(models::layout_ptr down, models::layout_ptr up, std::optional<federated::rule_sizes> rule = {});
  /// Of a run whose algorithm adds no tensors, and whose rule is unknown.
  explicit encoder(const models::layout_ptr& shared);

  [[nodiscard]] static encoded encode(const federated::task_id& task);
  /// Takes any control message: hello, assignment, settled and so on. Reasons of what was not rejected and stages of
  /// what was not dropped do not travel.
  [[nodiscard]] static result<encoded> encode(const control& message);
  /// Clients train on the values in the message: round them before, and the same for all (round_model).
  [[nodiscard]] result<encoded> encode(const federated::broadcast& message, const packing& scheme = {}) const;
  /// Rows may be listed in any order; the frame has them sorted. int8 groups numbers as they travel: a change that was
  /// rounded by rows cannot travel dense (round_change).
  [[nodiscard]] result<encoded> encode(const federated::client_update& update, update_format format,
                                       const packing& scheme = {}) const;
  [[nodiscard]] result<encoded> encode(const federated::partial_aggregate& partial) const;

 private:
  [[nodiscard]] result<encoded> encode_masked(const federated::client_update& update) const;
  [[nodiscard]] result<encoded> encode_plain(const federated::client_update& update, update_format format) const;
  [[nodiscard]] result<encoded> encode_packed(const federated::client_update& update, update_format format,
                                              const packing& scheme) const;

  models::layout_ptr down_;
  models::layout_ptr up_;
  std::optional<federated::rule_sizes> rule_;
  digest down_digest_;
  digest up_digest_;
};

}  // namespace furlong::wire
