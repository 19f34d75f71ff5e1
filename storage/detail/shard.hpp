// A shard of the private store: some hundred clients in one database, opened when it is needed.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "storage/detail/database.hpp"
#include "storage/detail/lives.hpp"
#include "storage/detail/record.hpp"
#include "storage/detail/spread.hpp"
#include "storage/problem.hpp"

namespace furlong::storage::detail {

/// What all shards of a store have in common.
struct store_facts {
  std::filesystem::path folder;
  models::layout_ptr layout;
  detail::spread spread;
  record_coder coder;
  lives history;
  bool read_only = false;
  std::atomic<std::uint64_t> covered = 0;
  environment env;
};

/// Thread-safe. Errors name the store, the shard and the client.
class shard {
 public:
  /// `content`: what it must have at least; none: nothing was stored in it yet.
  shard(const store_facts& facts, std::uint32_t number, const std::optional<shard_state>& content);

  /// The client's value into `out`, and its tag. False when it has none.
  [[nodiscard]] result<bool> load(std::uint32_t client, std::span<float> out, slot_tag* tag = nullptr);
  [[nodiscard]] result<void> commit(std::uint32_t client, std::uint64_t version, std::span<const float> values);
  /// Makes the families that the clients lack.
  [[nodiscard]] result<void> prepare(std::span<const std::uint32_t> clients);
  /// Makes all commits durable, those of times when the shard was open before too. Opens nothing.
  [[nodiscard]] result<void> sync();
  /// What it has; none: nothing was stored in it yet. Opens nothing. While no commit() runs.
  [[nodiscard]] result<std::optional<shard_state>> state();
  /// Leaves no byte of the client in any file. False when there was none. What a crash leaves is the state before or
  /// after; a second call finishes the first one's work.
  [[nodiscard]] result<bool> erase(std::uint32_t client);
  /// Clients that were ever stored or prepared for, ascending. Opens nothing where each has a family.
  [[nodiscard]] result<std::vector<std::uint32_t>> clients();
  /// Adds all damage that a look at every file and every record finds.
  void verify(std::vector<store_problem>& problems);

  /// Closes the database unless `wanted()` says that it is in use again. Makes nothing durable.
  void close_unless(const std::function<bool()>& wanted);

 private:
  [[nodiscard]] database_place place(std::uint32_t generation) const;
  [[nodiscard]] result<void> open();
  [[nodiscard]] result<void> create();
  /// Notes what the open database has.
  [[nodiscard]] result<void> note_content();
  [[nodiscard]] result<slot_pair> tags_of(std::uint32_t client, database::family& of);
  void remember(std::uint32_t client, const slot_pair& tags, database::family& of);
  [[nodiscard]] result<std::optional<record_view>> read(std::uint32_t client, const database::family& of,
                                                        std::size_t slot);
  [[nodiscard]] result<void> rebuild(std::optional<std::uint32_t> without);
  [[nodiscard]] result<void> copy_into(database& fresh, std::optional<std::uint32_t> without);
  [[nodiscard]] result<void> copy_client(database& fresh, std::uint32_t client, std::optional<std::uint32_t> without);
  [[nodiscard]] result<bool> is_stored(std::uint32_t client);
  /// Drops what is outdated in the log.
  [[nodiscard]] result<void> shorten();
  [[nodiscard]] bool overgrown() const;
  void verify_records(std::vector<store_problem>& problems);

  const store_facts& facts_;
  const std::uint32_t number_;
  std::mutex lock_;
  std::optional<shard_state> content_;  // what it had when it was last closed or saved
  std::unique_ptr<database> db_;
  std::unordered_map<std::uint32_t, slot_pair> recent_;  // tags of clients in buckets: a commit follows a load
  bool closed_dirty_ = false;                            // was closed with commits that are not durable yet
  record_coder::scratch scratch_;
  rocksdb::PinnableSlice found_;
};

}  // namespace furlong::storage::detail
