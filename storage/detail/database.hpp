// One RocksDB database: the content of a shard, with a column family per client or bucket. Not thread-safe: a shard has
// a lock.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <rocksdb/db.h>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "storage/detail/environment.hpp"
#include "storage/detail/record.hpp"
#include "storage/detail/root.hpp"
#include "storage/detail/spread.hpp"
#include "storage/problem.hpp"

namespace furlong::storage::detail {

/// The owner of a damaged piece of a write-ahead log. The piece names its client three times: in the family, the key
/// and the record; two matching names decide. `families`: family names by family id. Empty if undetermined.
[[nodiscard]] std::optional<std::uint32_t> owner_in_log(const spread& spread, std::string_view payload,
                                                        const std::vector<std::string>& families);
/// The same for a piece of a MANIFEST, which names families.
[[nodiscard]] std::optional<std::uint32_t> owner_in_manifest(const spread& spread, std::string_view payload);

/// Location of a shard's files, and its name in messages.
struct database_place {
  std::filesystem::path folder;
  std::uint32_t shard = 0;
  std::string name;  ///< "private store DIR, shard 3"
  detail::spread spread;
};

class database {
 public:
  /// A column family, and the cached tags of its client's records in the layout per client.
  struct family {
    rocksdb::ColumnFamilyHandle* handle = nullptr;
    bool known = false;  ///< the tags were read and the records are intact; always false for a bucket
    slot_pair tags;
  };

  /// Creates a database in a folder that does not exist or is empty.
  [[nodiscard]] static result<std::unique_ptr<database>> create(const environment& env, database_place place);
  /// Opens an existing database. Fails on any damage of its log or MANIFEST; the error names shard, file, byte and, if
  /// it can be determined, the client. Fails if it has less than `least`, before any file is changed. A log that ends
  /// in an unfinished record, as after a crash, opens: see torn().
  [[nodiscard]] static result<std::unique_ptr<database>> open(const environment& env, database_place place,
                                                              bool read_only, const shard_state& least);
  ~database();
  database(const database&) = delete;
  database& operator=(const database&) = delete;

  /// True if the last process stopped in the middle of a write, which had not been acknowledged as durable.
  [[nodiscard]] bool torn() const { return torn_; }
  [[nodiscard]] std::uint64_t log_bytes() const { return log_bytes_; }
  [[nodiscard]] std::size_t log_files() const { return log_files_; }
  [[nodiscard]] const database_place& place() const { return place_; }
  /// Its content, as state of `generation`.
  [[nodiscard]] result<shard_state> state(std::uint32_t generation) const;
  [[nodiscard]] rocksdb::DB& raw() { return *db_; }

  /// Every client that was ever stored or has a family, ascending.
  [[nodiscard]] result<std::vector<std::uint32_t>> clients();
  /// The family of the client if it exists, or null.
  [[nodiscard]] family* find(std::uint32_t client);
  /// Creates the missing families of the clients.
  [[nodiscard]] result<void> add(std::span<const std::uint32_t> clients);
  [[nodiscard]] std::size_t family_count() const { return families_.size(); }

  /// Reads a record. False if there is none.
  [[nodiscard]] result<bool> get(std::uint32_t client, const family& columns, std::size_t slot,
                                 rocksdb::PinnableSlice& out);
  /// Writes a record atomically. `is_new`: the slot was empty.
  [[nodiscard]] result<void> put(std::uint32_t client, const family& columns, std::size_t slot, std::string_view record,
                                 bool is_new);
  /// Moves all values from the log to tables. Cheap only for few families.
  [[nodiscard]] result<void> flush();
  /// Returns when all writes survive a crash of the machine.
  [[nodiscard]] result<void> sync();
  [[nodiscard]] bool dirty() const { return dirty_; }

 private:
  database(const environment& env, database_place place, bool read_only)
      : env_(env), place_(std::move(place)), read_only_(read_only) {}
  result<void> start(const shard_state& least);
  /// Opens it with RocksDB; fails if it has less than `least`.
  result<void> open_files(const std::vector<std::string>& families, bool read_only, const shard_state& least);
  /// Counts writes and records.
  result<void> count();
  void close();
  void adopt(const std::vector<rocksdb::ColumnFamilyHandle*>& handles);
  void measure_logs();

  const environment& env_;
  database_place place_;
  bool read_only_ = false;
  bool torn_ = false;
  bool dirty_ = false;           // written to since the last sync
  bool manifest_dirty_ = false;  // families created since the last sync
  bool old_logs_dirty_ = false;  // logs of an earlier process may not be durable
  std::uint64_t log_bytes_ = 0;
  std::size_t log_files_ = 0;
  std::uint64_t writes_ = 0;  // kept in the default family: RocksDB's sequence numbers decrease after in-place updates
  std::uint64_t records_ = 0;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::ColumnFamilyHandle* default_ = nullptr;
  std::unordered_map<std::uint32_t, family> families_;
  rocksdb::WriteBatch batch_;
};

/// While it exists, RocksDB neither creates nor deletes files in the background: listed files stay readable.
class quiet_files {
 public:
  /// Waits for running flushes and compactions.
  explicit quiet_files(rocksdb::DB& db) : db_(db) { db_.PauseBackgroundWork(); }
  ~quiet_files() { db_.ContinueBackgroundWork(); }
  quiet_files(const quiet_files&) = delete;
  quiet_files& operator=(const quiet_files&) = delete;

 private:
  rocksdb::DB& db_;
};

/// Makes the MANIFEST of a database durable; with `logs`, its logs too.
[[nodiscard]] result<void> sync_files(const std::filesystem::path& folder, bool logs);
/// The family names of a database on disk, by family id, without opening it.
[[nodiscard]] result<std::vector<std::string>> list_families(const environment& env, const database_place& place);
/// Scans all logs of a database for damage and for missing writes between them. Sets `torn` if a log ends in an
/// unfinished record, or lacks writes after the last save, which left the files `saved`.
[[nodiscard]] std::vector<store_problem> scan_logs(const environment& env, const database_place& place,
                                                   const std::vector<std::string>& families, const file_ends& saved,
                                                   bool& torn);
/// The same for the MANIFEST in use and IDENTITY; without them nothing else can be read.
[[nodiscard]] std::vector<store_problem> scan_manifest(const environment& env, const database_place& place);
/// Number and length of the MANIFEST and log in use.
[[nodiscard]] result<file_ends> file_ends_of(const environment& env, const database_place& place);
/// Compares every table file with the checksum taken when it was written. Background work of the database must be
/// paused.
[[nodiscard]] std::vector<store_problem> verify_tables(const environment& env, rocksdb::DB& db,
                                                       const database_place& place);
/// The same for a database that does not open although its logs are intact: a damaged log can keep RocksDB busy
/// forever.
[[nodiscard]] std::vector<store_problem> diagnose_tables(const environment& env, const database_place& place,
                                                         const std::vector<std::string>& families);
/// Converts a problem to an error.
[[nodiscard]] tl::unexpected<error> as_error(const database_place& place, const store_problem& problem);

}  // namespace furlong::storage::detail
