// Control messages that the tests, the golden files and the fuzz corpus of wire/ are made of.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "wire/control.hpp"

namespace furlong::wire::samples {

/// One small message of each kind, in the order of `control`, and its name in the corpus.
[[nodiscard]] std::vector<std::pair<std::string_view, control>> small_controls();
/// Any message of a kind (an index in `control`) that is fit to be sent.
[[nodiscard]] control random_control(std::size_t kind, random_stream& random);
/// Whether both say the same, down to the bits of floats.
[[nodiscard]] bool same(const control& a, const control& b);

}  // namespace furlong::wire::samples
