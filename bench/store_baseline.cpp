#include "bench/store_baseline.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <rocksdb/db.h>
#include <string>

namespace furlong::bench {

namespace {

void check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "baseline: %s\n", status.ToString().c_str());
  std::exit(4);
}

std::string key_of(std::uint32_t client, unsigned slot) {
  std::string key(5, '\0');
  for (unsigned i = 0; i < 4; ++i) key[i] = static_cast<char>(client >> (24 - 8 * i));
  key[4] = static_cast<char>(slot);
  return key;
}

}  // namespace

struct single_family::content {
  std::unique_ptr<rocksdb::DB> db;
  std::string value;
};

single_family::single_family(const std::filesystem::path& folder) : content_(std::make_unique<content>()) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  check(rocksdb::DB::Open(options, folder.string(), &db));
  content_->db.reset(db);
}

single_family::~single_family() = default;

void single_family::commit(std::uint32_t client, std::uint64_t version, std::span<const float> values) {
  auto& value = content_->value;
  value.resize(sizeof version + values.size_bytes());
  std::memcpy(value.data(), &version, sizeof version);
  std::memcpy(value.data() + sizeof version, values.data(), values.size_bytes());
  check(content_->db->Put({}, key_of(client, version % 2), value));
}

void single_family::sync() { check(content_->db->SyncWAL()); }

bool single_family::load(std::uint32_t client, std::span<float> out) {
  std::uint64_t newest = 0;
  bool found = false;
  for (unsigned slot = 0; slot < 2; ++slot) {
    auto& value = content_->value;
    const auto status = content_->db->Get({}, key_of(client, slot), &value);
    if (status.IsNotFound()) continue;
    check(status);
    std::uint64_t version = 0;
    std::memcpy(&version, value.data(), sizeof version);
    if (found && version < newest) continue;
    std::memcpy(out.data(), value.data() + sizeof version, out.size_bytes());
    newest = version;
    found = true;
  }
  return found;
}

std::size_t single_family::visit() {
  const std::unique_ptr<rocksdb::Iterator> all(content_->db->NewIterator({}));
  std::size_t count = 0;
  for (all->SeekToFirst(); all->Valid(); all->Next()) ++count;
  check(all->status());
  return count;
}

void single_family::erase(std::uint32_t client) {
  auto& db = *content_->db;
  check(db.DeleteRange({}, db.DefaultColumnFamily(), key_of(client, 0), key_of(client, 255)));
  check(db.Flush({}));  // ends the log that contains the bytes
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  const auto first = key_of(client, 0);
  const auto last = key_of(client, 255);
  const rocksdb::Slice from(first);
  const rocksdb::Slice to(last);
  check(db.CompactRange(options, &from, &to));
}

}  // namespace furlong::bench
