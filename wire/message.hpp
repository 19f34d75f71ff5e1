// The frames of this protocol and their lengths.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.hpp"
#include "federated/aggregation/aggregate.hpp"
#include "federated/experiment/quantization.hpp"
#include "federated/experiment/update.hpp"

namespace furlong::federated {
struct network_settings;
}

namespace furlong::wire {

/// Frames of any other protocol version are refused.
constexpr std::uint16_t protocol_version = 1;

/// Which rows of an update's tensors travel.
enum class update_format : std::uint8_t {
  dense,   ///< all rows of all tensors: says nothing about which rows a client touched
  sparse,  ///< the rows a client changed, where the update lists them: short, and shows the server which they were
};

/// How the numbers of a broadcast or an update travel. The wire never changes a number: what goes out as float16 or
/// int8 must have been rounded to that (federated/experiment/quantization.hpp), and is what comes in.
struct packing {
  federated::number_format numbers = federated::number_format::float32;
  bool zstd = false;  ///< compress on top, tensors of an update each by itself, where that is shorter

  /// True if the numbers travel as they are.
  [[nodiscard]] bool plain() const { return numbers == federated::number_format::float32 && !zstd; }
};

/// What a run's settings ask for.
[[nodiscard]] update_format format_of(const federated::network_settings& network);
[[nodiscard]] packing packing_of(const federated::network_settings& network);

/// Exact length in bytes of the frame that the encoder makes of a message, without making it. O(tensors). How long a
/// frame gets with zstd is known only from the frame.
/// @pre an update's pieces fit its layout
[[nodiscard]] std::size_t encoded_size(const federated::task_id& task);
[[nodiscard]] std::size_t encoded_size(const federated::broadcast& message,
                                       federated::number_format numbers = federated::number_format::float32);
[[nodiscard]] std::size_t encoded_size(const federated::client_update& update, update_format format,
                                       federated::number_format numbers = federated::number_format::float32);
[[nodiscard]] std::size_t encoded_size(const federated::partial_aggregate& partial);

/// Length in bytes above which no frame can hold an update of this layout, in any format: what to refuse before
/// receiving it. The others likewise; control messages have largest_control().
[[nodiscard]] std::size_t largest_update(const models::layout& up);
/// Of an update with so many masked words.
[[nodiscard]] std::size_t largest_masked_update(std::size_t words);
/// @param references constants of the aggregation rule
[[nodiscard]] std::size_t largest_broadcast(const models::layout& down, std::size_t references);
/// @param words of an accumulator
/// @param tasks how many tasks an aggregator can have had in one share: it lists a member for each
[[nodiscard]] std::size_t largest_partial(std::size_t words, std::size_t tasks);

/// Whether all messages of a run with these layouts and this rule can be encoded, whatever their values: Cap'n Proto
/// counts the bytes of a field in 29 bits. Fails (kind usage), naming what is too long.
[[nodiscard]] result<void> check_lengths(const models::layout& down, const models::layout& up,
                                         const federated::rule_sizes& rule);

}  // namespace furlong::wire
