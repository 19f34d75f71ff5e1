// One RocksDB database: a shard's content, a column family per client or bucket. Not thread-safe: a shard has a lock.
//
// Whose record a piece of a damaged file was.
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

/// The client whose record a damaged piece of a write-ahead log was. Such a piece names it three times, in the family,
/// the key and the record; two that agree decide. `families`: family names by family id. Empty when it cannot be told.
[[nodiscard]] std::optional<std::uint32_t> owner_in_log(const spread& spread, std::string_view payload,
                                                        const std::vector<std::string>& families);
/// The same for a piece of a MANIFEST, which names families.
[[nodiscard]] std::optional<std::uint32_t> owner_in_manifest(const spread& spread, std::string_view payload);

/// What a shard's files are, and how messages call them.
struct database_place {
  std::filesystem::path folder;
  std::uint32_t shard = 0;
  std::string name;  ///< "private store DIR, shard 3"
  detail::spread spread;
};

class database {
 public:
  /// A family, and where it has one client, what is known of its two records.
  struct family {
    rocksdb::ColumnFamilyHandle* handle = nullptr;
    bool known = false;  ///< the tags were read (and the records found sound); never of a bucket
    slot_pair tags;
  };

  /// A new one, in a folder that does not exist or is empty.
  [[nodiscard]] static result<std::unique_ptr<database>> create(const environment& env, database_place place);
  /// An existing one. Any damage to its log or MANIFEST is an error that names shard, file, byte and, where it can be
  /// told, the client. So is less than `least`, before any file is changed. A log that ends in an unfinished record, as
  /// a crash leaves it, opens: see torn().
  [[nodiscard]] static result<std::unique_ptr<database>> open(const environment& env, database_place place,
                                                              bool read_only, const shard_state& least);
  ~database();
  database(const database&) = delete;
  database& operator=(const database&) = delete;

  /// Whether the last process was stopped in the middle of a write, which was never called durable.
  [[nodiscard]] bool torn() const { return torn_; }
  [[nodiscard]] std::uint64_t log_bytes() const { return log_bytes_; }
  [[nodiscard]] std::size_t log_files() const { return log_files_; }
  [[nodiscard]] const database_place& place() const { return place_; }
  /// What it has, with `generation` in it.
  [[nodiscard]] result<shard_state> state(std::uint32_t generation) const;
  [[nodiscard]] rocksdb::DB& raw() { return *db_; }

  /// Every client that was ever stored, or that has a family, ascending.
  [[nodiscard]] result<std::vector<std::uint32_t>> clients();
  /// The family that the client is in if it is stored, or null.
  [[nodiscard]] family* find(std::uint32_t client);
  /// Makes the families that the clients lack.
  [[nodiscard]] result<void> add(std::span<const std::uint32_t> clients);
  [[nodiscard]] std::size_t family_count() const { return families_.size(); }

  /// Reads a record. False when there is none.
  [[nodiscard]] result<bool> get(std::uint32_t client, const family& of, std::size_t slot, rocksdb::PinnableSlice& out);
  /// Writes a record, whole or not at all. `is_new`: the slot was empty.
  [[nodiscard]] result<void> put(std::uint32_t client, const family& of, std::size_t slot, std::string_view record,
                                 bool is_new);
  /// Moves all values from the log to tables. Cheap for few families only.
  [[nodiscard]] result<void> flush();
  /// Returns when all that was written survives a crash of the machine.
  [[nodiscard]] result<void> sync();
  [[nodiscard]] bool dirty() const { return dirty_; }

 private:
  database(const environment& env, database_place place, bool read_only)
      : env_(env), place_(std::move(place)), read_only_(read_only) {}
  result<void> start(const shard_state& least);
  /// Opens it with RocksDB, and fails when it has less than `least`.
  result<void> open_files(const std::vector<std::string>& families, bool read_only, const shard_state& least);
  /// Reads how many writes and records there are.
  result<void> count();
  void close();
  void adopt(const std::vector<rocksdb::ColumnFamilyHandle*>& handles);
  void measure_logs();

  const environment& env_;
  database_place place_;
  bool read_only_ = false;
  bool torn_ = false;
  bool dirty_ = false;           // written to since the last sync
  bool manifest_dirty_ = false;  // families made since the last sync
  bool old_logs_dirty_ = false;  // an earlier process may have left its log in the system's cache only
  std::uint64_t log_bytes_ = 0;
  std::size_t log_files_ = 0;
  std::uint64_t writes_ = 0;  // kept in the default family: RocksDB's own numbers go back after updates in place
  std::uint64_t records_ = 0;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::ColumnFamilyHandle* default_ = nullptr;
  std::unordered_map<std::uint32_t, family> families_;
  rocksdb::WriteBatch batch_;
};

/// While it lives RocksDB neither makes nor deletes files in the background: what it lists stays there to be read.
class quiet_files {
 public:
  /// Waits for flushes and compactions that are under way.
  explicit quiet_files(rocksdb::DB& db) : db_(db) { db_.PauseBackgroundWork(); }
  ~quiet_files() { db_.ContinueBackgroundWork(); }
  quiet_files(const quiet_files&) = delete;
  quiet_files& operator=(const quiet_files&) = delete;

 private:
  rocksdb::DB& db_;
};

/// Makes the MANIFEST of a database durable, and its logs if asked to.
[[nodiscard]] result<void> sync_files(const std::filesystem::path& folder, bool logs);
/// The family names of a database on disk, by family id, without opening it.
[[nodiscard]] result<std::vector<std::string>> list_families(const environment& env, const database_place& place);
/// Scans all logs of a database for damage, and for writes that are missing between them. Sets `torn` when a log ends
/// in an unfinished record, or lacks writes that came after the last save, which left the files `saved`.
[[nodiscard]] std::vector<store_problem> scan_logs(const environment& env, const database_place& place,
                                                   const std::vector<std::string>& families, const file_ends& saved,
                                                   bool& torn);
/// The same for the MANIFEST in use and the IDENTITY; nothing else can be read without them.
[[nodiscard]] std::vector<store_problem> scan_manifest(const environment& env, const database_place& place);
/// Which MANIFEST and log are in use, and how long they are.
[[nodiscard]] result<file_ends> file_ends_of(const environment& env, const database_place& place);
/// Compares every table file of a database, whose files are quiet, with the checksum that was taken when it was
/// written.
[[nodiscard]] std::vector<store_problem> verify_tables(const environment& env, rocksdb::DB& db,
                                                       const database_place& place);
/// The same for a database that does not open although its logs are sound: a damaged log can keep RocksDB busy for
/// ever.
[[nodiscard]] std::vector<store_problem> diagnose_tables(const environment& env, const database_place& place,
                                                         const std::vector<std::string>& families);
/// A problem as an error.
[[nodiscard]] tl::unexpected<error> as_error(const database_place& place, const store_problem& problem);

}  // namespace furlong::storage::detail
