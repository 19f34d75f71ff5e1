#include "storage/detail/database.hpp"

#include <algorithm>
#include <cstring>

#include "storage/detail/files.hpp"
#include "storage/detail/record.hpp"

namespace furlong::storage::detail {

namespace fs = std::filesystem;
using rocksdb::Slice;
using rocksdb::Status;

namespace {

/// Kept in the default family under `writes_key`; updated by each write.
struct write_count {
  std::uint64_t writes = 0;
  std::uint64_t shard = 0;
};
constexpr auto writes_key = "writes";

tl::unexpected<error> foreign(const database_place& place, const std::string& reason) {
  return fail(error::kind::data, place.name, reason + " in " + place.folder.string() + " belongs to another shard",
              "restore the store from a copy, or start a new run");
}

tl::unexpected<error> refused(const database_place& place, const std::string& doing, const Status& status) {
  const bool damaged = status.IsCorruption() || status.IsNotFound() || status.IsInvalidArgument();
  return fail(damaged ? error::kind::data : error::kind::runtime, place.name,
              "cannot " + doing + ": " + status.ToString(),
              damaged ? "restore the store from a copy, or start a new run" : "check the disk and its free space");
}

tl::unexpected<error> refused(const database_place& place, std::uint32_t client, const std::string& doing,
                              const Status& status) {
  auto why = refused(place, doing, status);
  why.value().place += ", client " + std::to_string(client);
  return why;
}

Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

std::vector<rocksdb::ColumnFamilyDescriptor> descriptors(const environment& env,
                                                         const std::vector<std::string>& names) {
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  descriptors.reserve(names.size());
  const auto options = env.family_options();
  for (const auto& name : names) descriptors.emplace_back(name, options);
  return descriptors;
}

/// Consumes RocksDB's variable-length integer.
std::optional<std::uint32_t> take_number(std::string_view& bytes) {
  std::uint32_t number = 0;
  for (unsigned shift = 0; shift < 35 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= (byte & 0x7FU) << shift;
    if (byte < 0x80U) return number;
  }
  return std::nullopt;
}

/// Appends the clients named by key and record in a piece that begins with a key length.
void add_names(const spread& spread, std::string_view piece, std::vector<std::uint32_t>& named) {
  const auto key_bytes = spread.key_bytes();
  if (piece.size() <= key_bytes) return;
  named.push_back(client_of_key(piece.substr(1)));
  if (!spread.family_per_client()) named.push_back(client_of_key(piece.substr(1 + 5)));
  piece.remove_prefix(1 + key_bytes);
  if (take_number(piece))
    if (const auto client = named_client(piece)) named.push_back(*client);
}

std::optional<std::uint32_t> agreed(const std::vector<std::uint32_t>& named) {
  for (const auto candidate : named)
    if (named.size() == 1 || std::ranges::count(named, candidate) > 1) return candidate;
  return std::nullopt;
}

}  // namespace

result<std::vector<std::string>> list_families(const environment& env, const database_place& place) {
  std::vector<std::string> names;
  const auto status = rocksdb::DB::ListColumnFamilies(env.database_options(), place.folder.string(), &names);
  if (!status.ok()) return refused(place, "read the list of clients", status);
  return names;
}

std::vector<store_problem> diagnose_tables(const environment& env, const database_place& place,
                                           const std::vector<std::string>& families) {
  auto options = env.database_options();
  options.paranoid_checks = false;  // opens although a table is unreadable
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* raw = nullptr;
  const auto status =
      rocksdb::DB::OpenForReadOnly(options, place.folder.string(), descriptors(env, families), &handles, &raw);
  const std::unique_ptr<rocksdb::DB> db(raw);
  if (!status.ok()) return {};
  auto problems = verify_tables(env, *db, place);
  for (auto* handle : handles) db->DestroyColumnFamilyHandle(handle);
  return problems;
}

result<std::unique_ptr<database>> database::create(const environment& env, database_place place) {
  if (auto made = make_folder(place.folder, durability::later); !made) return tl::unexpected(made.error());
  std::unique_ptr<database> self(new database(env, std::move(place), false));
  auto options = env.database_options();
  options.create_if_missing = true;
  options.error_if_exists = true;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const deferred_syncs later;  // the database is not in use before it is sealed, and sealing makes it durable
  const auto status = rocksdb::DB::Open(options, self->place_.folder.string(),
                                        descriptors(env, {rocksdb::kDefaultColumnFamilyName}), &handles, &db);
  if (!status.ok()) return refused(self->place_, "create the shard", status);
  self->db_.reset(db);
  self->adopt(handles);
  return self;
}

result<std::unique_ptr<database>> database::open(const environment& env, database_place place, bool read_only,
                                                 const shard_state& least) {
  std::unique_ptr<database> self(new database(env, std::move(place), read_only));
  if (auto started = self->start(least); !started) return tl::unexpected(started.error());
  return self;
}

result<void> database::start(const shard_state& least) {
  // RocksDB takes a changed length at the end of the MANIFEST for an unfinished record, and would forget families.
  if (const auto damaged = scan_manifest(env_, place_); !damaged.empty()) return as_error(place_, damaged.front());
  const auto names = list_families(env_, place_);
  if (!names) return tl::unexpected(names.error());
  for (const auto& name : *names)
    if (const auto number = place_.spread.family_named(name);
        number && place_.spread.shard_of(*number * place_.spread.bucket_clients) != place_.shard)
      return foreign(place_, "the MANIFEST");
  // RocksDB's log recovery has a gap in every mode: a changed record type can pass for the end of the log.
  if (const auto damaged = scan_logs(env_, place_, *names, least.files, torn_); !damaged.empty())
    return as_error(place_, damaged.front());
  // Opening for writing can move logs to tables, and deletes files that the MANIFEST does not name: if content may be
  // missing, the files are first opened read-only.
  const auto files = file_ends_of(env_, place_);
  if (!files) return tl::unexpected(files.error());
  if (!read_only_ && !files->reach(least.files)) {
    if (auto enough = open_files(*names, true, least); !enough) return enough;
    close();
  }
  if (auto opened = open_files(*names, read_only_, least); !opened) return opened;
  measure_logs();
  old_logs_dirty_ = true;
  return {};
}

result<void> database::open_files(const std::vector<std::string>& families, bool read_only, const shard_state& least) {
  auto options = env_.database_options();
  if (torn_) options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const auto folder = place_.folder.string();
  const auto status = read_only
                          ? rocksdb::DB::OpenForReadOnly(options, folder, descriptors(env_, families), &handles, &db)
                          : rocksdb::DB::Open(options, folder, descriptors(env_, families), &handles, &db);
  db_.reset(db);
  if (!status.ok()) {
    const auto problems = diagnose_tables(env_, place_, families);
    return problems.empty() ? refused(place_, "open the shard", status) : as_error(place_, problems.front());
  }
  adopt(handles);
  if (auto counted = count(); !counted) return counted;
  if (writes_ >= least.writes && records_ >= least.records) return {};
  const auto text = [](std::uint64_t records, std::uint64_t writes) {
    return std::to_string(records) + " records after " + std::to_string(writes) + " writes";
  };
  return fail(error::kind::data, place_.name,
              "values are missing: it has " + text(records_, writes_) + ", but had " +
                  text(least.records, least.writes) + "; a log or the MANIFEST in " + folder +
                  " is truncated or missing",
              "restore the store from a copy, or start a new run");
}

result<void> database::count() {
  const auto& spread = place_.spread;
  std::string found;
  const auto status = db_->Get({}, default_, writes_key, &found);
  if (!status.ok() && !status.IsNotFound()) return refused(place_, "count the writes", status);
  write_count last{0, place_.shard};
  std::memcpy(&last, found.data(), std::min(found.size(), sizeof last));
  if (last.shard != place_.shard) return foreign(place_, "a log or table");
  writes_ = last.writes;
  records_ = 0;
  for (const auto& [number, columns] : families_) {
    const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator({}, columns.handle));
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++records_)
      if (!spread.family_per_client() && spread.family_of(client_of_key(iterator->key().ToStringView())) != number)
        return foreign(place_, "a log or table");
    if (!iterator->status().ok()) return refused(place_, "count the records", iterator->status());
  }
  return {};
}

result<shard_state> database::state(std::uint32_t generation) const {
  const auto files = file_ends_of(env_, place_);
  if (!files) return tl::unexpected(files.error());
  return shard_state{generation, writes_, records_, *files};
}

void database::adopt(const std::vector<rocksdb::ColumnFamilyHandle*>& handles) {
  families_.reserve(handles.size());
  for (auto* handle : handles) {
    if (const auto number = place_.spread.family_named(handle->GetName()))
      families_[*number].handle = handle;
    else
      default_ = handle;
  }
}

void database::measure_logs() {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(place_.folder, failed)) {
    if (entry.path().extension() != ".log") continue;
    const auto bytes = entry.file_size(failed);
    if (failed) continue;  // RocksDB has moved it to tables since
    ++log_files_;
    log_bytes_ += bytes;
  }
}

database::~database() { close(); }

void database::close() {
  if (!db_) return;
  for (auto& [number, columns] : families_) db_->DestroyColumnFamilyHandle(columns.handle);
  if (default_ != nullptr) db_->DestroyColumnFamilyHandle(default_);
  families_.clear();
  default_ = nullptr;
  db_->Close();
  db_.reset();
}

database::family* database::find(std::uint32_t client) {
  const auto found = families_.find(place_.spread.family_of(client));
  return found == families_.end() ? nullptr : &found->second;
}

result<std::vector<std::uint32_t>> database::clients() {
  std::vector<std::uint32_t> clients;
  if (place_.spread.family_per_client()) {
    for (const auto& [client, columns] : families_) clients.push_back(client);
  } else {
    for (const auto& [bucket, columns] : families_) {
      const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator({}, columns.handle));
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
        const auto client = client_of_key(iterator->key().ToStringView());
        if (clients.empty() || clients.back() != client) clients.push_back(client);
      }
      if (!iterator->status().ok()) return refused(place_, "read the list of clients", iterator->status());
    }
  }
  std::ranges::sort(clients);
  return clients;
}

result<void> database::add(std::span<const std::uint32_t> clients) {
  std::vector<std::uint32_t> missing;
  for (const auto client : clients)
    if (find(client) == nullptr) missing.push_back(place_.spread.family_of(client));
  std::ranges::sort(missing);
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  if (missing.empty()) return {};
  std::vector<std::string> names;
  names.reserve(missing.size());
  for (const auto number : missing) names.push_back(place_.spread.family_name(number));
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  Status status;
  {
    const deferred_syncs later;
    manifest_dirty_ = true;
    status = db_->CreateColumnFamilies(env_.family_options(), names, &handles);
  }
  for (auto* handle : handles) {
    auto& columns = families_[*place_.spread.family_named(handle->GetName())];
    columns.handle = handle;
    columns.known = place_.spread.family_per_client();
  }
  if (!status.ok()) return refused(place_, "create column families", status);
  return {};
}

result<bool> database::get(std::uint32_t client, const family& columns, std::size_t slot, rocksdb::PinnableSlice& out) {
  out.Reset();
  const auto key = place_.spread.key(client, slot);
  const auto status = db_->Get({}, columns.handle, slice(key.bytes()), &out);
  if (status.IsNotFound()) return false;
  if (!status.ok()) return refused(place_, client, "read the value", status);
  return true;
}

result<void> database::put(std::uint32_t client, const family& columns, std::size_t slot, std::string_view record,
                           bool is_new) {
  batch_.Clear();
  const auto key = place_.spread.key(client, slot);
  const write_count now{writes_ + 1, place_.shard};
  auto status = batch_.Put(columns.handle, slice(key.bytes()), slice(record));
  if (status.ok()) status = batch_.Put(default_, writes_key, {reinterpret_cast<const char*>(&now), sizeof now});
  if (status.ok()) status = db_->Write({}, &batch_);
  if (!status.ok()) return refused(place_, client, "store the value", status);
  constexpr std::size_t log_overhead = 60;
  log_bytes_ += record.size() + log_overhead;
  writes_ = now.writes;
  if (is_new) ++records_;
  dirty_ = true;
  return {};
}

result<void> database::flush() {
  std::vector<rocksdb::ColumnFamilyHandle*> handles{default_};
  for (const auto& [number, columns] : families_) handles.push_back(columns.handle);
  if (const auto status = db_->Flush({}, handles); !status.ok())
    return refused(place_, "move the log to tables", status);
  log_bytes_ = 0;
  log_files_ = 1;
  return {};
}

result<void> database::sync() {
  if (!dirty_) return {};
  // The MANIFEST first: a log that names unknown families is useless.
  if (manifest_dirty_ || old_logs_dirty_) {
    if (auto synced = sync_files(place_.folder, old_logs_dirty_); !synced) return synced;
    manifest_dirty_ = old_logs_dirty_ = false;
  }
  if (const auto status = db_->SyncWAL(); !status.ok()) return refused(place_, "make the log durable", status);
  dirty_ = false;
  return {};
}

result<void> sync_files(const fs::path& folder, bool logs) {
  const auto files = files_in(folder);
  if (!files) return tl::unexpected(files.error());
  for (const auto& file : *files) {
    const auto name = file.filename().string();
    if (name.starts_with("MANIFEST-") || (logs && name.ends_with(".log")))
      if (auto synced = sync_path(file); !synced) {
        // RocksDB deletes a log after its content is durable in tables.
        std::error_code ignored;
        const bool deleted = fs::status(file, ignored).type() == fs::file_type::not_found;
        if (!deleted || !name.ends_with(".log")) return synced;
      }
  }
  return {};
}

std::optional<std::uint32_t> owner_in_log(const spread& spread, std::string_view payload,
                                          const std::vector<std::string>& families) {
  // A write batch: sequence and count (12 bytes), then a tag, family id, key length, key, value length, value.
  constexpr std::size_t before_family = 12 + 1;
  if (payload.size() < before_family) return std::nullopt;
  payload.remove_prefix(before_family);
  std::vector<std::uint32_t> named;
  auto piece = payload;
  if (const auto family = take_number(piece); family && *family < families.size())
    if (const auto client = spread.client_named(families[*family])) named.push_back(*client);
  add_names(spread, piece, named);
  if (const auto owner = agreed(named)) return owner;
  // A changed bit can make the family id look longer or shorter.
  named.clear();
  for (std::size_t width = 1; width <= 3 && width < payload.size(); ++width)
    add_names(spread, payload.substr(width), named);
  return agreed(named);
}

std::optional<std::uint32_t> owner_in_manifest(const spread& spread, std::string_view payload) {
  if (!spread.family_per_client()) return std::nullopt;
  const auto prefix = spread.family_name(0).substr(0, spread.family_name(0).size() - 1);
  const auto found = payload.find(prefix);
  if (found == std::string_view::npos) return std::nullopt;
  auto end = found + prefix.size();
  while (end < payload.size() && payload[end] >= '0' && payload[end] <= '9') ++end;
  return spread.family_named(payload.substr(found, end - found));
}

}  // namespace furlong::storage::detail
