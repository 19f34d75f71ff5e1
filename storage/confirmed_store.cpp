#include "storage/confirmed_store.hpp"

#include <cstring>
#include <rocksdb/db.h>

#include "storage/durable_folder.hpp"

namespace furlong::storage {

namespace fs = std::filesystem;
using federated::confirmed_list;

namespace {

// A key is the run, then nothing (the value is the start), or client and version, most significant byte first:
// keys of a client are in the order of its versions.
constexpr std::size_t run_bytes = sizeof(digest);
constexpr std::size_t list_key_bytes = run_bytes + 12;

std::string text_of(const digest& content) { return {reinterpret_cast<const char*>(content.data()), content.size()}; }

void append(std::string& out, std::uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out.push_back(static_cast<char>(number >> shift));
}

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  for (const char byte : text) number = number << 8U | static_cast<std::uint8_t>(byte);
  return number;
}

std::string key_of(const std::string& run, std::uint32_t client, std::uint64_t version) {
  auto key = run;
  append(key, client, 4);
  append(key, version, 8);
  return key;
}

rocksdb::Options options() {
  rocksdb::Options made;
  made.create_if_missing = true;
  made.wal_recovery_mode =
      rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;  // of a write that was not completed
  made.write_buffer_size = 4U << 20U;
  made.keep_log_file_num = 1;
  return made;
}

}  // namespace

struct confirmed_store::parts {
  fs::path folder;
  std::string run;
  std::unique_ptr<rocksdb::DB> db;

  [[nodiscard]] result<void> done(const rocksdb::Status& status) const {
    if (status.ok()) return {};
    if (status.IsIOError() && status.ToString().find("lock") != std::string::npos)
      return fail(error::kind::usage, folder.string(), "is in use by another process",
                  "end that process, or name another --store");
    return fail(status.IsCorruption() ? error::kind::data : error::kind::runtime, folder.string(), status.ToString(),
                "restore the folder from a copy; without it this node's clients may help to open a second sum");
  }
  [[nodiscard]] result<void> write(rocksdb::WriteBatch& batch) const {
    rocksdb::WriteOptions durable;
    durable.sync = true;
    return done(db->Write(durable, &batch));
  }
};

confirmed_store::confirmed_store(std::unique_ptr<parts> content) : content_(std::move(content)) {}
confirmed_store::~confirmed_store() = default;

fs::path confirmed_store::place_in(const fs::path& folder) { return folder / "confirmed"; }

result<std::unique_ptr<confirmed_store>> confirmed_store::open(const fs::path& folder, const digest& run,
                                                               std::uint64_t start_id) {
  auto made = std::make_unique<parts>(parts{place_in(folder), text_of(run), nullptr});
  if (const auto failed = make_durable_folder(made->folder))
    return fail(error::kind::runtime, made->folder.string(), "cannot be made: " + failed.message());
  rocksdb::DB* opened = nullptr;
  const auto status = rocksdb::DB::Open(options(), made->folder.string(), &opened);
  made->db.reset(opened);
  if (auto done = made->done(status); !done) return tl::unexpected(done.error());
  std::string start;
  append(start, start_id, 8);
  std::string before;
  const auto found = made->db->Get({}, made->run, &before);
  if (!found.ok() && !found.IsNotFound()) return tl::unexpected(made->done(found).error());
  if (found.ok() && before == start) return std::unique_ptr<confirmed_store>(new confirmed_store(std::move(made)));
  const std::unique_ptr<rocksdb::Iterator> any(made->db->NewIterator({}));
  any->Seek(key_of(made->run, 0, 0));
  if (found.ok() && any->Valid() && any->key().starts_with(made->run))
    return fail(error::kind::usage, made->folder.string(),
                "clients of this node have helped to open sums of an earlier start of this run, and the server has "
                "started it from nothing: sums of both could show the update of one client",
                "ask its operator to change scenario.seed, which makes it another run");
  rocksdb::WriteBatch batch;
  batch.Put(made->run, start);
  if (auto done = made->write(batch); !done) return tl::unexpected(done.error());
  return std::unique_ptr<confirmed_store>(new confirmed_store(std::move(made)));
}

result<std::shared_ptr<federated::confirmed_lists>> confirmed_store::read() {
  auto lists = std::make_shared<federated::confirmed_lists>();
  rocksdb::WriteBatch old;
  std::vector<std::string> of_client;
  const std::unique_ptr<rocksdb::Iterator> row(content_->db->NewIterator({}));
  for (row->Seek(key_of(content_->run, 0, 0)); row->Valid() && row->key().starts_with(content_->run); row->Next()) {
    const auto key = row->key().ToStringView();
    confirmed_list entry;
    if (key.size() != list_key_bytes || row->value().size() != entry.list.size())
      return fail(error::kind::data, content_->folder.string(), "has an entry that is no list",
                  "restore the folder from a copy");
    entry.client = static_cast<std::uint32_t>(number_in(key.substr(run_bytes, 4)));
    entry.version = number_in(key.substr(run_bytes + 4));
    std::memcpy(entry.list.data(), row->value().data(), entry.list.size());
    lists->add(entry);
    if (!of_client.empty() && !key.starts_with(std::string_view(of_client.front()).substr(0, run_bytes + 4)))
      of_client.clear();
    of_client.emplace_back(key);
    if (of_client.size() <= federated::confirmed_lists::most_versions) continue;
    old.Delete(of_client.front());
    of_client.erase(of_client.begin());
  }
  if (auto done = content_->done(row->status()); !done) return tl::unexpected(done.error());
  static_cast<void>(lists->take_new());
  if (old.Count() > 0)
    if (auto done = content_->write(old); !done) return tl::unexpected(done.error());
  return lists;
}

result<void> confirmed_store::add(std::span<const confirmed_list> lists) {
  if (lists.empty()) return {};
  rocksdb::WriteBatch batch;
  for (const auto& entry : lists) batch.Put(key_of(content_->run, entry.client, entry.version), text_of(entry.list));
  return content_->write(batch);
}

}  // namespace furlong::storage
