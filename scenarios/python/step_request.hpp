// Requests to a trainer as bytes, and the memory that they point to. docs/trainer-protocol.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/large_memory.hpp"
#include "models/model.hpp"

namespace furlong::scenarios {

/// Numbers of a request, one after the other.
class request_buffer {
 public:
  /// Begins a request: leaves room for the header.
  void clear() { bytes_.resize(header_bytes); }
  template <class T>
  void put(T value) {
    put(std::span<const T>(&value, 1));
  }
  template <class T>
  void put(std::span<const T> values) {
    const auto* source = reinterpret_cast<const std::byte*>(values.data());
    bytes_.insert(bytes_.end(), source, source + values.size_bytes());
  }
  [[nodiscard]] std::span<std::byte> bytes() { return bytes_; }

 private:
  static constexpr std::size_t header_bytes = 8;
  std::vector<std::byte> bytes_;
};

/// A step: values and gradients, by their places in the memory file, and examples.
struct step_request {
  std::span<const models::tensor_view> weights;
  std::span<const std::uint32_t> examples;
  std::uint64_t seed = 0;
  std::uint32_t round = 0;       ///< in training the one that is made, in evaluation those made so far; 0: not known
  bool dropout = false;          ///< of a step of training; not of a reconstruction
  std::uint32_t batch_size = 0;  ///< of an evaluation whose batches the trainer cuts; 0: it is one batch
  /// Where gradients are wanted, null where not; no pointer: none are.
  const std::span<float* const>* gradients = nullptr;

  /// @param starts the first example of each part of each client, then the number of all
  /// @param copies room for what is not in the memory file; receives copies of values there
  void write(std::span<const std::uint32_t> starts, request_buffer& request, large_floats& copies) const;
  /// After the reply: gradients that the trainer wrote into copies, to where they are wanted.
  void read_copies(large_floats& copies) const;
};

/// Which part of which client an example is of, as an index of starts.
[[nodiscard]] std::size_t part_of(std::span<const std::uint32_t> starts, std::uint32_t example);

}  // namespace furlong::scenarios
