// The description of a store: "store.furlong" in its folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.hpp"
#include "models/layout.hpp"
#include "storage/detail/incarnations.hpp"
#include "storage/detail/spread.hpp"

namespace furlong::storage::detail {

struct store_manifest {
  std::uint64_t id = 0;  ///< random, drawn at creation; never 0
  std::uint64_t run = 0;
  detail::spread spread;
  std::string signature;  ///< of the private layout
  incarnations history;
  std::uint64_t covered = 0;  ///< values that only checkpoints before this version cover may be overwritten
  std::string key_salt;       ///< of an encrypted store, else empty
  std::string key_check;      ///< store_keys::check of the store's key

  [[nodiscard]] bool encrypted() const { return !key_salt.empty(); }
};

[[nodiscard]] bool has_manifest(const std::filesystem::path& store);
/// Replaces the manifest; durable on return.
[[nodiscard]] result<void> write_manifest(const std::filesystem::path& store, const store_manifest& manifest);
/// Fails if the file is missing, damaged or of another format.
[[nodiscard]] result<store_manifest> read_manifest(const std::filesystem::path& store);
/// The layout that a signature describes: names and shapes only.
[[nodiscard]] result<models::layout_ptr> layout_of(const std::string& signature);

}  // namespace furlong::storage::detail
