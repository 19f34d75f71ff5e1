#include "storage/detail/environment.hpp"

#include <map>
#include <mutex>
#include <rocksdb/cache.h>
#include <rocksdb/file_checksum.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <string>

#include "storage/detail/cipher.hpp"
#include "storage/detail/files.hpp"

namespace furlong::storage::detail {

namespace {

using rocksdb::FileOptions;
using rocksdb::FSDirectory;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

thread_local int deferring = 0;

/// shared by all shards of a bucketed store
constexpr std::size_t bucket_cache_bytes = std::size_t{256} << 20U;

/// A file whose syncs can be deferred: MANIFEST and CURRENT.
class deferring_file final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;
  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override {
    return deferring > 0 ? IOStatus::OK() : FSWritableFileOwnerWrapper::Sync(options, dbg);
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override {
    return deferring > 0 ? IOStatus::OK() : FSWritableFileOwnerWrapper::Fsync(options, dbg);
  }
};

/// A family's reference to the directory handle that all families of a database share.
class shared_directory final : public FSDirectory {
 public:
  explicit shared_directory(std::shared_ptr<FSDirectory> directory) : directory_(std::move(directory)) {}
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override {
    return deferring > 0 ? IOStatus::OK() : directory_->Fsync(options, dbg);
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* dbg,
                               const rocksdb::DirFsyncOptions& fsync_options) override {
    return deferring > 0 ? IOStatus::OK() : directory_->FsyncWithDirOptions(options, dbg, fsync_options);
  }
  IOStatus Close(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }  // the last owner closes
  size_t GetUniqueId(char* id, size_t max_size) const override { return directory_->GetUniqueId(id, max_size); }

 private:
  std::shared_ptr<FSDirectory> directory_;
};

class small_families final : public rocksdb::FileSystemWrapper {
 public:
  explicit small_families(const std::shared_ptr<rocksdb::FileSystem>& base) : FileSystemWrapper(base) {}
  const char* Name() const override { return "FurlongSmallFamilies"; }

  IOStatus NewWritableFile(const std::string& name, const FileOptions& options, std::unique_ptr<FSWritableFile>* out,
                           IODebugContext* dbg) override {
    // The OPTIONS file lists all families and is rewritten with each new one: quadratic cost. RocksDB works without it.
    if (name.find("/OPTIONS-") != std::string::npos) return IOStatus::NotSupported("the OPTIONS file is disabled");
    auto made = FileSystemWrapper::NewWritableFile(name, options, out, dbg);
    if (made.ok() && (name.find("/MANIFEST-") != std::string::npos || name.ends_with(".dbtmp")))
      *out = std::make_unique<deferring_file>(std::move(*out));
    return made;
  }

  IOStatus NewDirectory(const std::string& name, const IOOptions& options, std::unique_ptr<FSDirectory>* out,
                        IODebugContext* dbg) override {
    // Every family opens the directory, which costs a file descriptor each. They share one.
    const std::lock_guard hold(lock_);
    auto shared = directories_[name].lock();
    if (!shared) {
      std::unique_ptr<FSDirectory> fresh;
      if (auto made = FileSystemWrapper::NewDirectory(name, options, &fresh, dbg); !made.ok()) return made;
      shared = std::move(fresh);
      std::erase_if(directories_, [](const auto& entry) { return entry.second.expired(); });
      directories_[name] = shared;
    }
    *out = std::make_unique<shared_directory>(std::move(shared));
    return IOStatus::OK();
  }

 private:
  std::mutex lock_;
  std::map<std::string, std::weak_ptr<FSDirectory>> directories_;
};

/// Discards RocksDB's information log: it would name clients.
class silent final : public rocksdb::Logger {
 public:
  using Logger::Logv;
  void Logv(const char*, va_list) override {}
};

std::shared_ptr<rocksdb::FileSystem> file_system(const keys_ptr& keys) {
  auto base = rocksdb::FileSystem::Default();
  return std::make_shared<small_families>(keys ? encrypted(std::move(base), keys) : base);
}

std::shared_ptr<rocksdb::TableFactory> table_factory(store_layout layout) {
  rocksdb::BlockBasedTableOptions options;
  options.no_block_cache = true;
  if (layout == store_layout::bucketed) {
    // A bucket has several tables; a client that was never stored is in none of them.
    options.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    // A client's two records are in the same block, which is read twice.
    options.no_block_cache = false;
    options.block_cache = rocksdb::NewLRUCache(bucket_cache_bytes);
  }
  return std::shared_ptr<rocksdb::TableFactory>(rocksdb::NewBlockBasedTableFactory(options));
}

}  // namespace

environment::environment(store_layout layout, const keys_ptr& keys)
    : encrypted_(keys != nullptr),
      layout_(layout),
      tables_(table_factory(layout)),
      env_(rocksdb::NewCompositeEnv(file_system(keys))) {}
environment::~environment() = default;

rocksdb::DBOptions environment::database_options() const {
  rocksdb::DBOptions options;
  options.fail_if_options_file_error = false;  // there is none (small_families); from RocksDB 8.7 on true unless set
  options.env = env_.get();
  options.info_log = std::make_shared<silent>();
  options.max_open_files = 32;
  options.max_file_opening_threads = 1;  // RocksDB starts these threads per family
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.skip_stats_update_on_db_open = true;
  options.avoid_flush_during_shutdown =
      true;  // a flush costs about 1 ms per family; values are in the log and memtable
  options.avoid_flush_during_recovery = true;
  options.allow_concurrent_memtable_write = false;  // required by in-place updates
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kAbsoluteConsistency;
  options.file_checksum_gen_factory = rocksdb::GetFileChecksumGenCrc32cFactory();
  // Shards bound their logs themselves. RocksDB's bound would flush family by family.
  options.max_total_wal_size = std::uint64_t{1} << 40U;
  return options;
}

rocksdb::ColumnFamilyOptions environment::family_options() const {
  const bool bucketed = layout_ == store_layout::bucketed;
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = (bucketed ? 256U : 64U) << 10U;
  options.arena_block_size = bucketed ? 16384 : 4096;
  options.num_levels = 2;
  options.inplace_update_support = true;
  options.inplace_update_num_locks = 16;
  options.compression = rocksdb::kNoCompression;
  options.table_factory = tables_;
  return options;
}

result<std::string> environment::read(const std::filesystem::path& file) const {
  // An unreadable file need not be damaged.
  const auto kind = [&](bool damaged) { return damaged || !is_there(file) ? error::kind::data : error::kind::runtime; };
  if (!encrypted_)
    return read_file(file).map_error([&](error why) {
      why.what = kind(false);
      return why;
    });
  std::string content;
  const auto status = rocksdb::ReadFileToString(env_.get(), file.string(), &content);
  if (status.ok()) return content;
  return fail(kind(status.IsCorruption()), file.string(), status.ToString(),
              "check that the file exists and is readable");
}

std::size_t environment::head_bytes() const { return encrypted_ ? cipher_head_bytes : 0; }

deferred_syncs::deferred_syncs() { ++deferring; }
deferred_syncs::~deferred_syncs() { --deferring; }

}  // namespace furlong::storage::detail
