// Variants of fewer alternatives.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace furlong {

/// The content as a Narrow; nullopt, and nothing is moved: Narrow has no such alternative.
/// @tparam Narrow a variant, each alternative once
template <class Narrow, class... Kinds>
[[nodiscard]] std::optional<Narrow> narrow_variant(std::variant<Kinds...>&& content) {
  return std::visit(
      []<class Kind>(Kind& kind) -> std::optional<Narrow> {
        if constexpr (requires { Narrow(std::in_place_type<Kind>, std::move(kind)); })
          return Narrow(std::in_place_type<Kind>, std::move(kind));
        else
          return std::nullopt;
      },
      content);
}

}  // namespace furlong
