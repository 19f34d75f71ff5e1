// The lists of clients in the sums that a node's clients have helped to open (federated/client/confirmed_lists.hpp), on
// the node's disk: they outlive its process, lives of the server, and starts of a run.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "base/digest.hpp"
#include "base/result.hpp"
#include "federated/client/confirmed_lists.hpp"

namespace furlong::storage {

/// A RocksDB database, `confirmed` in the node's folder, for all runs that the node takes part in. Not thread-safe.
class confirmed_store {
 public:
  /// The database's folder.
  [[nodiscard]] static std::filesystem::path place_in(const std::filesystem::path& folder);

  /// Opens or creates it for a run, which `run` identifies. Fails (kind usage) if clients have confirmed lists in
  /// another start of this run, and (kind data) if it is damaged.
  [[nodiscard]] static result<std::unique_ptr<confirmed_store>> open(const std::filesystem::path& folder,
                                                                     const digest& run, std::uint64_t start_id);
  ~confirmed_store();
  confirmed_store(const confirmed_store&) = delete;
  confirmed_store& operator=(const confirmed_store&) = delete;

  /// The lists of this run, without older ones, which are deleted.
  [[nodiscard]] result<std::shared_ptr<federated::confirmed_lists>> read();
  /// Durable on return.
  [[nodiscard]] result<void> add(std::span<const federated::confirmed_list> lists);

 private:
  struct parts;
  explicit confirmed_store(std::unique_ptr<parts> content);
  std::unique_ptr<parts> content_;
};

}  // namespace furlong::storage
