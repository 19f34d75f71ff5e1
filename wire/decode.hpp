// Decodes untrusted frames to plain values, or returns an error that names the field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/digest.hpp"
#include "base/result.hpp"
#include "federated/experiment/update.hpp"
#include "wire/control.hpp"
#include "wire/message.hpp"

namespace furlong::wire {

/// A broadcast whose values still lie in the frame, or, where they came packed, in the decoder. Packed or not, these
/// are the values that clients train on.
struct broadcast_view {
  std::uint64_t run = 0;
  std::uint64_t version = 0;
  std::span<const float> values;  ///< as many as the layout has
  std::span<const double> reference;
  federated::update_limits limits = {};
};

/// One tensor of an update.
struct tensor_view {
  bool by_rows = false;
  std::span<const std::uint32_t> rows;  ///< strictly increasing, below the tensor's rows; empty when dense
  std::span<const float> values;        ///< all of the tensor, or as many rows as are listed
};

/// An update whose rows still lie in the frame, and so do its values unless they came packed.
struct update_view {
  federated::task_id id;
  std::uint32_t weight = 0;
  std::uint64_t examples = 0;
  double loss_sum = 0.0;
  std::span<const tensor_view> tensors;  ///< one per tensor of the layout; none beside words
  std::span<const std::int64_t> words;   ///< masked, under secure aggregation; else empty
  std::uint64_t masked_for = 0;
};

/// A partial aggregate whose sums still lie in the frame.
struct partial_view {
  std::uint64_t run = 0;
  std::uint64_t version = 0;
  std::uint32_t aggregator = 0;
  std::uint64_t weight = 0;
  std::uint64_t examples = 0;
  std::int64_t loss_fixed = 0;
  std::span<const federated::member> folded;           ///< clients strictly increasing
  std::span<const federated::refused_member> refused;  ///< clients not decreasing
  std::span<const std::int64_t> sums;
};

using message = with_control<federated::task_id, broadcast_view, update_view, partial_view>;

/// Reads the frames of one run. Keeps the room it needs from frame to frame; not thread-safe, so have one per thread.
///
/// Errors name the field ("update.tensors[2].rows"), what was found there and what was expected. Checked are: the
/// frame's length against its header, the protocol version, the kind, that all pointers stay inside of the frame, the
/// layout's digest, the length of every field against the layout and the aggregation rule, that rows are strictly
/// increasing and exist, the order of members, enumerated values, and of control messages the lengths of texts and
/// lists (wire/control.hpp), the order of ranges, that text is printable UTF-8 and that scores are finite. No exception
/// leaves. Memory is never taken for more entries than the frame holds; packed values take what the layout has, once
/// the frame's own claim agrees with the layout. Whether values are finite, who sent them and whether they were asked
/// for is not looked at here: that is the server's part.
///
/// Pointers that meet inside of a frame let a short frame claim much: what is read in all is bounded by the frame's
/// own length, which no honest frame exceeds, since the decoder visits each part once.
class decoder {
 public:
  /// Reads what there is to read before the run is known: tasks and control messages. Refuses all else by kind.
  decoder() = default;
  /// @param down the layout of the run's broadcasts; none: as without
  /// @param up of its updates
  /// @param rule of its aggregation rule; nothing: unknown, and bounded by the length of frames
  decoder(models::layout_ptr down, models::layout_ptr up, std::optional<federated::rule_sizes> rule = {});
  /// Of a run whose algorithm adds no tensors, and whose rule is unknown.
  explicit decoder(const models::layout_ptr& shared) : decoder(shared, shared) {}

  /// Validates a frame of any kind and returns a view of it, control messages themselves. Nothing large is copied,
  /// unless values are packed or the frame does not begin at a multiple of 8 bytes. The view lasts until the next call,
  /// and no longer than the frame.
  [[nodiscard]] result<message> decode(std::span<const std::byte> frame);

  /// Copies what a view of this decoder's last frame shows. A target that is used again allocates nothing once it is
  /// large enough.
  void copy(const broadcast_view& view, federated::broadcast& into) const;
  void copy(const update_view& view, federated::client_update& into) const;
  void copy(const partial_view& view, federated::partial_aggregate& into) const;

  /// What decode() needs to know and keeps between frames.
  struct workspace {
    models::layout_ptr down;
    models::layout_ptr up;
    std::optional<federated::rule_sizes> rule;
    digest down_digest{};
    digest up_digest{};
    std::size_t largest_update = 0;
    std::vector<std::uint64_t> aligned;  ///< a copy of a frame that came misaligned
    std::vector<std::byte> inflated;     ///< content of a zstd frame
    std::vector<float> numbers;          ///< unpacked values, where the layout has them
    std::vector<tensor_view> tensors;
    std::vector<double> reference;
    std::vector<federated::member> folded;
    std::vector<federated::refused_member> refused;
  };

 private:
  workspace room_;
};

}  // namespace furlong::wire
