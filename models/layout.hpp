// The names, shapes and offsets of a set of tensors in one contiguous buffer of float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace furlong::models {

/// The rows of a tensor that one client uses.
enum class row_index : std::uint8_t {
  none,        ///< all of them
  by_feature,  ///< the rows that the client's examples name (an item's row, a word's row)
  by_client    ///< the client's own row (a table of all users)
};

/// One tensor: a row-major matrix of float32. A vector has one row, a scalar is 1 x 1.
struct tensor_spec {
  std::string name;
  std::uint32_t rows = 1;
  std::uint32_t cols = 1;
  row_index index = row_index::none;
  bool exact = false;   ///< sent as float32 with every compression
  bool buffer = false;  ///< moved by the model itself in training (running statistics), by no gradient and optimizer

  [[nodiscard]] std::size_t size() const { return std::size_t{rows} * cols; }
  friend bool operator==(const tensor_spec&, const tensor_spec&) = default;
};

/// An immutable list of tensors and their offsets in the common buffer. Thread-safe.
class layout {
 public:
  explicit layout(std::vector<tensor_spec> specs);

  [[nodiscard]] std::span<const tensor_spec> tensors() const { return specs_; }
  [[nodiscard]] const tensor_spec& operator[](std::size_t tensor) const { return specs_[tensor]; }
  [[nodiscard]] std::size_t count() const { return specs_.size(); }
  /// First element of a tensor in the buffer.
  [[nodiscard]] std::size_t offset(std::size_t tensor) const { return offsets_[tensor]; }
  /// Elements of all tensors together.
  [[nodiscard]] std::size_t size() const { return offsets_.back(); }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  /// "name rows cols" of each tensor, of a buffer "name rows cols buffer", a line each: identifies a layout in hashes
  /// and on-disk formats.
  [[nodiscard]] std::string signature() const;

  friend bool operator==(const layout& a, const layout& b) { return a.specs_ == b.specs_; }

 private:
  std::vector<tensor_spec> specs_;
  std::vector<std::size_t> offsets_;  // one more than tensors; the last is the size
};

using layout_ptr = std::shared_ptr<const layout>;

/// The split of a model's tensors by the scenario's `private = [...]`, and the layouts of messages and stored values.
/// Without added tensors of the algorithm, `down`, `up` and `shared` are the same object, `reported` and `server` are
/// empty, and `private_` has only the model's tensors.
struct partition {
  struct slot {
    bool is_private = false;
    std::size_t tensor = 0;  ///< index in the shared or in the private layout
  };

  layout_ptr model;         ///< all tensors, in the model's own order
  layout_ptr shared;        ///< the shared ones, in the same order
  layout_ptr private_;      ///< the private ones, which never leave the client; then added ones
  layout_ptr down;          ///< of a broadcast: `shared`, then added tensors
  layout_ptr up;            ///< of an update: `shared` if sends_model, then added tensors
  layout_ptr reported;      ///< the added tensors of `up`
  layout_ptr server;        ///< the added tensors of the server
  bool sends_model = true;  ///< updates contain the delta of `shared`
  std::vector<slot> slots;  ///< one per tensor of `model`
  // Indices in `model`. Without buffers: what gradients train, and what algorithms compute with.
  std::vector<std::size_t> all_tensors;
  std::vector<std::size_t> shared_tensors;
  std::vector<std::size_t> private_tensors;
  std::vector<std::size_t> buffers;      ///< shared and private ones
  std::vector<std::size_t> own_tensors;  ///< the private ones with their buffers: the first tensors of `private_`
};

/// Sets `out` to the buffers that training these tensors moves: those among them, and all buffers of a side (shared,
/// private) that has one of them, or that has buffers alone.
void moved_buffers(const partition& parts, std::span<const std::size_t> tensors, std::vector<std::size_t>& out);

/// Splits a model's tensors into shared and private ones. Fails if a name is unknown or listed twice, if a private
/// tensor is indexed by client (a private tensor already belongs to one client), or if no trained tensor is left to
/// share.
[[nodiscard]] result<partition> split(const layout_ptr& model, std::span<const std::string> private_names);

}  // namespace furlong::models
