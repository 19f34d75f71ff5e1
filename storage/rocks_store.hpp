// Private values on disk, kept over all lives of a run: RocksDB, with a column family per client or per bucket of
// clients. docs/private-store.md compares the layouts and says what encryption protects.
//
// The folder of a store has its description (store.furlong: format, run, private layout, store layout, number of
// shards, lives, and a check value of the key if encrypted), its root (root.furlong: the content of each shard at the
// last save), a lock, and a folder per shard and generation. Each of these is a RocksDB database with the families of
// some hundred clients, or some thousand clients in buckets. Shards are opened on demand; the least recently used are
// closed. Clients that were never stored take no space.
//
// Durability: a commit survives a kill of the process at once, and a crash of the machine after sync(). Commits are
// atomic. Damage is detected and reported, with the client's number if it can be determined; nothing is skipped. A log
// that is missing, or truncated exactly between two records, is detected if this lost anything of the last save.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "federated/experiment/private_store.hpp"
#include "storage/problem.hpp"
#include "storage/store_layout.hpp"

namespace furlong::storage {

namespace detail {
struct store_content;
}

struct store_options {
  std::uint64_t run = 0;           ///< the run's id; stores of other runs are rejected
  federated::run_history history;  ///< including the life that begins now
  /// The run may have continued while the store was closed, as for a node whose server did not stop. The store's life
  /// then continues with all its commits, unless `history` has a life that began since.
  bool same_life = false;
  /// The save that the checkpoint at the start of the life names. All zero: unknown.
  federated::store_save save = {};
  /// On creation, determines the number of shards: per client, one for 400 clients, at most 256; bucketed, one per
  /// bucket, at most 64.
  std::uint32_t expected_clients = 1;
  /// Number of open shards, at least 1. It bounds the memory: an open shard takes about 40 KB per client with a family,
  /// or up to about 0.5 MB per bucket. Results do not depend on it.
  std::uint32_t open_shards = 64;
  /// Empty: per client on creation, otherwise the layout of the existing store. A layout other than that of an existing
  /// store is an error.
  std::optional<store_layout> layout = {};
  /// On creation of a bucketed store, clients per bucket; 0: 256 to 4096, so that a full bucket has about 4 MiB.
  std::uint32_t bucket_clients = 0;
  /// The key file of an encrypted store (see key_file.hpp). Empty: not encrypted. A missing, wrong or superfluous key
  /// is an error before anything is written.
  std::filesystem::path key_file = {};
};

/// Access to a store outside of a run.
enum class store_access : std::uint8_t {
  read,   ///< list, show, verify; changes no file
  change  ///< also erase
};

/// An entry of `list`.
struct stored_client {
  std::uint32_t client = 0;
  std::uint64_t version = 0;  ///< server version at which the value was committed
  std::uint32_t life = 0;     ///< of the store
  std::uint64_t bytes = 0;    ///< of the value's record
};

class rocks_store final : public federated::private_store {
 public:
  /// True if the folder has a store.
  [[nodiscard]] static bool is_in(const std::filesystem::path& folder);
  /// True if the folder does not exist, or has no files except those of an interrupted creation or a new file system.
  [[nodiscard]] static bool is_vacant(const std::filesystem::path& folder);
  /// True if a folder has shards of a store, but not its description: a creation writes that first.
  [[nodiscard]] static bool is_headless(const std::filesystem::path& folder);
  /// Creates a store in a folder that has neither a store nor shards of one.
  [[nodiscard]] static result<std::unique_ptr<rocks_store>> create(const std::filesystem::path& folder,
                                                                   models::layout_ptr private_layout,
                                                                   const store_options& options);
  /// Opens a store for a run and begins a new life, from the checkpoint at the end of the history or from nothing.
  /// Fails if the store is of another run or layout, damaged, or in use by another process; and (kind data, nothing
  /// changed) if it continued after a later checkpoint and may have overwritten values that this one covers.
  [[nodiscard]] static result<std::unique_ptr<rocks_store>> open(const std::filesystem::path& folder,
                                                                 const models::layout_ptr& private_layout,
                                                                 const store_options& options);
  /// Opens a store of any run in the state of its last life. `key_file`: of an encrypted store.
  [[nodiscard]] static result<std::unique_ptr<rocks_store>> inspect(const std::filesystem::path& folder,
                                                                    store_access access,
                                                                    const std::filesystem::path& key_file = {});
  ~rocks_store() override;

  result<bool> load(std::uint32_t client, models::private_parameters& out) override;
  result<void> commit(std::uint32_t client, std::uint64_t version, const models::private_parameters& value) override;
  result<void> sync() override;
  /// Fails if the store is open read-only.
  result<federated::store_save> save(std::uint64_t version) override;
  void covered(std::uint64_t version) override;
  /// Copies the content of the last save() to a folder that does not exist: a complete store with the same id. Tables
  /// are hard links, logs are copies. Call between save() and the next commit(). Durable on return.
  [[nodiscard]] result<void> snapshot(const std::filesystem::path& folder) const;
  /// Removes every byte of the client's values, and its number, from all files: its shard is rewritten without it.
  /// False if there is no such client. Survives a crash: the erasure has not happened, is complete, or is completed
  /// when the store is next opened. A client with a damaged record can be erased; other damaged records of its shard
  /// are copied unchanged. Fails without changes if a damaged file keeps RocksDB from reading the others.
  [[nodiscard]] result<bool> erase(std::uint32_t client) override;
  result<void> visit(
      const std::function<void(std::uint32_t, std::uint64_t, const models::private_parameters&)>& each) override;
  result<void> stage(const federated::task_id& task, const models::private_parameters& value) override;
  result<void> discard(const federated::task_id& task) override;
  result<void> visit_pending(
      const std::function<void(const federated::task_id&, const models::private_parameters&)>& each) override;

  /// Optional: creates the families of clients in advance, shard by shard, which is many times faster than one by one.
  /// Clients that have one are skipped.
  [[nodiscard]] result<void> prepare(std::span<const std::uint32_t> clients);

  /// The private layout; after inspect(), as the store describes it.
  [[nodiscard]] const models::layout_ptr& layout() const;
  [[nodiscard]] std::uint64_t run() const;
  /// Version of the last checkpoint after which values were committed: values that only earlier checkpoints cover may
  /// be overwritten. 0: none.
  [[nodiscard]] std::uint64_t covered() const;
  /// The last save; id 0: none.
  [[nodiscard]] const federated::store_save& last_save() const;
  /// Fails (kind data) as open() would if no life can begin from the checkpoint of this version that names `save`.
  /// Changes nothing.
  [[nodiscard]] result<void> check_fits(std::uint64_t version, const federated::store_save& save) const;
  /// Opens every shard once. Fails if a shard is too damaged to open, or lacks content of the last save; verify() finds
  /// damaged records.
  [[nodiscard]] result<void> check_shards();
  [[nodiscard]] std::uint32_t shards() const;
  [[nodiscard]] store_layout kind() const;
  [[nodiscard]] bool encrypted() const;
  /// Every client that has a value, ascending. Not concurrent with commit().
  [[nodiscard]] result<std::vector<stored_client>> list();
  /// Checks every byte of every file and every record. Empty: no problems. Not concurrent with commit().
  [[nodiscard]] std::vector<store_problem> verify();

 private:
  explicit rocks_store(std::unique_ptr<detail::store_content> made);
  std::unique_ptr<detail::store_content> content_;
};

}  // namespace furlong::storage
