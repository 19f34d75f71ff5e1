// Messages that the tests, the golden files and the fuzz corpus of wire/ are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "federated/experiment/update.hpp"
#include "wire/encode.hpp"

namespace furlong::wire::samples {

using bytes = std::vector<std::byte>;

/// A frame as it would lie in a file, and what it is called there.
struct named_frame {
  std::string name;
  bytes frame;
};

/// Two tensors: "items" 4 x 2 and "bias" 1 x 3.
[[nodiscard]] models::layout_ptr small_layout();
[[nodiscard]] federated::task_id small_task();
[[nodiscard]] federated::broadcast small_broadcast();
/// Lists rows 3 and 1 of "items", in this order, and all of "bias".
[[nodiscard]] federated::client_update small_update();
/// The same, rounded to a format.
[[nodiscard]] federated::broadcast small_broadcast(federated::number_format numbers);
[[nodiscard]] federated::client_update small_update(federated::number_format numbers);
/// All values 0.5, so that zstd makes even these shorter.
[[nodiscard]] federated::broadcast even_broadcast();
[[nodiscard]] federated::client_update even_update();
[[nodiscard]] federated::partial_aggregate small_partial();

/// Up to six tensors of all kinds: tables, vectors, scalars, tensors without rows or without columns.
[[nodiscard]] models::layout_ptr random_layout(random_stream& random);
/// Any bits as values, so infinities and NaNs too; tensors dense or by rows, rows in any order, sometimes none or all;
/// the pieces lie in any order in the buffer of values.
[[nodiscard]] federated::client_update random_update(const models::layout_ptr& shape, random_stream& random);
[[nodiscard]] federated::broadcast random_broadcast(const models::layout_ptr& shape, random_stream& random);
[[nodiscard]] federated::partial_aggregate random_partial(random_stream& random);

[[nodiscard]] bytes copy_of(const encoded& frame);
/// Sound and damaged frames of small_layout(): where the fuzzer starts from.
[[nodiscard]] std::vector<named_frame> corpus();

}  // namespace furlong::wire::samples
