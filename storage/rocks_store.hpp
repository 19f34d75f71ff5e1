// Private values on disk, for as long as a run and its successors live: RocksDB, a column family per client, or per
// bucket of clients. docs/private-store.md says which layout suits what, and what encryption protects.
//
// The folder of a store holds its description (store.furlong: format, run, private layout, store layout, number of
// shards, lives, and a check value of the key where it is encrypted), its root (root.furlong: what each shard had at
// the last save), a lock, and a folder per shard and generation, each a RocksDB database with the families of some
// hundred clients, or some thousand clients in buckets. Shards are opened when they are needed, and the least recently
// used are closed again. Nothing is kept for clients that were never stored.
//
// What survives: a commit survives a kill of the process at once, and a crash of the machine after sync(). A commit is
// never seen half. Damage is found and named, with the client's number where it can be told; nothing is ever skipped.
// A log that was cut off exactly between two records, or is gone, is noticed when that lost anything of the last save.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "federated/private_store.hpp"
#include "storage/problem.hpp"
#include "storage/store_layout.hpp"

namespace furlong::storage {

struct store_options {
  std::uint64_t run = 0;           ///< the run's id: a store of another run is refused
  federated::run_history history;  ///< of the life that begins now
  /// The run may have gone on while the store was closed: a node's, whose server did not stop. Then its life goes on,
  /// with all that was committed in it, unless `history` has one that began since.
  bool same_life = false;
  /// What the checkpoint that the life begins from names as the save that belongs to it. All zero: unknown.
  federated::store_save save = {};
  /// On creation, decides the number of shards: per client one for 400 of them, 256 at most; bucketed one for each
  /// bucket, 64 at most.
  std::uint32_t expected_clients = 1;
  /// How many shards stay open, at least 1. This bounds the memory: an open shard takes about 40 KB per client with a
  /// family of its own, or up to about 0.5 MB per bucket. Values do not depend on it.
  std::uint32_t open_shards = 64;
  /// Empty: a family per client on creation, and whatever the store has when it is opened. Else another layout of an
  /// existing store is an error.
  std::optional<store_layout> layout = {};
  /// On creation of a bucketed store, clients per bucket; 0: 256 to 4096, so that a full bucket has about 4 MiB.
  std::uint32_t bucket_clients = 0;
  /// The file with the key of an encrypted store (see key_file.hpp). Empty: not encrypted. A key that is missing, wrong
  /// or superfluous is an error before anything is written.
  std::filesystem::path key_file = {};
};

/// How a store is opened outside of a run.
enum class store_access : std::uint8_t {
  read,   ///< list, show, verify; changes no file
  change  ///< erase too
};

/// A client as `list` tells of it.
struct stored_client {
  std::uint32_t client = 0;
  std::uint64_t version = 0;  ///< server version at which the value was committed
  std::uint32_t life = 0;     ///< of the store
  std::uint64_t bytes = 0;    ///< of the value's record
};

class rocks_store final : public federated::private_store {
 public:
  /// Whether a folder has a store.
  [[nodiscard]] static bool is_in(const std::filesystem::path& folder);
  /// Whether a folder has nothing in it but what a creation leaves that was cut off, or a new file system has. So is
  /// one that does not exist.
  [[nodiscard]] static bool is_vacant(const std::filesystem::path& folder);
  /// Whether a folder has shards of a store, and not the file that says of which: a creation makes none before it.
  [[nodiscard]] static bool is_headless(const std::filesystem::path& folder);
  /// Makes a store in a folder that has none, and no shards of one.
  [[nodiscard]] static result<std::unique_ptr<rocks_store>> create(const std::filesystem::path& folder,
                                                                   models::layout_ptr private_layout,
                                                                   const store_options& options);
  /// Goes on with a store: begins another life of it, from the checkpoint at the end of the history, or from nothing.
  /// Fails when it is of another run or layout, damaged, or in use by another process; and (kind data, with nothing
  /// changed) when it has gone on after a later checkpoint, and so may have overwritten values that this one covers.
  [[nodiscard]] static result<std::unique_ptr<rocks_store>> open(const std::filesystem::path& folder,
                                                                 const models::layout_ptr& private_layout,
                                                                 const store_options& options);
  /// Opens a store of any run as its last life left it. `key_file`: of an encrypted store.
  [[nodiscard]] static result<std::unique_ptr<rocks_store>> inspect(const std::filesystem::path& folder,
                                                                    store_access access,
                                                                    const std::filesystem::path& key_file = {});
  ~rocks_store() override;

  result<bool> load(std::uint32_t client, models::private_parameters& out) override;
  result<void> commit(std::uint32_t client, std::uint64_t version, const models::private_parameters& value) override;
  result<void> sync() override;
  /// Fails when the store was opened for reading.
  result<federated::store_save> save(std::uint64_t version) override;
  void covered(std::uint64_t version) override;
  /// Leaves no byte of the client's values, nor its number, in any file: its shard is written anew without it. False
  /// when there was no such client. Survives a crash: either nothing has happened, or it is done, or it is when the
  /// store is next opened. A client whose record is damaged can be erased as well; other damaged records of its shard
  /// are copied as they are. Fails, and changes nothing, where a file is damaged so that RocksDB cannot read the
  /// others.
  [[nodiscard]] result<bool> erase(std::uint32_t client) override;
  result<void> visit(
      const std::function<void(std::uint32_t, std::uint64_t, const models::private_parameters&)>& each) override;

  /// Makes room for clients that will be stored, shard by shard: many times faster than one by one when each has a
  /// family. Clients that have room already are passed over. Never needed.
  [[nodiscard]] result<void> prepare(std::span<const std::uint32_t> clients);

  /// The private layout; after inspect(), as the store describes it.
  [[nodiscard]] const models::layout_ptr& layout() const;
  [[nodiscard]] std::uint64_t run() const;
  /// The last checkpoint after which values were committed: what only earlier ones cover may be overwritten. 0: none.
  [[nodiscard]] std::uint64_t covered() const;
  /// The last save; id 0: there was none.
  [[nodiscard]] const federated::store_save& last_save() const;
  /// Whether a life can begin from the checkpoint of this version that names `save`. Fails (kind data) as open() would,
  /// and changes nothing.
  [[nodiscard]] result<void> check_fits(std::uint64_t version, const federated::store_save& save) const;
  /// Opens every shard once. Fails when one of them is damaged so that it cannot be, or lacks what it had when the
  /// store was last saved; damaged records are found by verify().
  [[nodiscard]] result<void> check_shards();
  [[nodiscard]] std::uint32_t shards() const;
  [[nodiscard]] store_layout kind() const;
  [[nodiscard]] bool encrypted() const;
  /// Every client that has a value, ascending. While no commit() runs.
  [[nodiscard]] result<std::vector<stored_client>> list();
  /// Looks at every byte of every file and at every record. Empty: all is well. While no commit() runs.
  [[nodiscard]] std::vector<store_problem> verify();

 private:
  struct content;
  explicit rocks_store(std::unique_ptr<content> made);
  std::unique_ptr<content> content_;
};

}  // namespace furlong::storage
