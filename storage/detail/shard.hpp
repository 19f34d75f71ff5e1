// A shard of the private store: some hundred clients in one database, opened on demand.
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
#include "storage/detail/incarnations.hpp"
#include "storage/detail/record.hpp"
#include "storage/detail/spread.hpp"
#include "storage/problem.hpp"

namespace furlong::storage::detail {

/// Shared by all shards of a store.
struct store_facts {
  std::filesystem::path folder;
  models::layout_ptr layout;
  detail::spread spread;
  record_coder coder;
  incarnations history;
  bool read_only = false;
  std::atomic<std::uint64_t> covered = 0;
  environment env;
};

/// Thread-safe. Errors name the store, the shard and the client.
class shard {
 public:
  /// `content`: the minimum content of the shard; none: nothing was stored in it.
  shard(const store_facts& facts, std::uint32_t number, const std::optional<shard_state>& content);

  /// Reads the client's value into `out`, and its tag. False if it has none.
  [[nodiscard]] result<bool> load(std::uint32_t client, std::span<float> out, slot_tag* tag = nullptr);
  [[nodiscard]] result<void> commit(std::uint32_t client, std::uint64_t version, std::span<const float> values);
  /// Stores a pending value of the client (private_store::stage).
  [[nodiscard]] result<void> stage(const federated::task_id& task, std::span<const float> values);
  /// Overwrites the pending value of this task: a shard never has fewer records than before.
  [[nodiscard]] result<void> discard(const federated::task_id& task);
  /// Reads the client's i-th pending value (0 or 1) into `out`, and its tag: `sequence` is the task's attempt. Nothing:
  /// there is none.
  [[nodiscard]] result<std::optional<slot_tag>> load_pending(std::uint32_t client, std::size_t i, std::span<float> out);
  /// Creates the missing families of the clients.
  [[nodiscard]] result<void> prepare(std::span<const std::uint32_t> clients);
  /// Makes all commits durable, including those before the shard was last closed. Does not open the shard.
  [[nodiscard]] result<void> sync();
  /// The content; none: nothing was stored. Does not open the shard. Not concurrent with commit().
  [[nodiscard]] result<std::optional<shard_state>> state();
  /// Removes every byte of the client from all files. False if there is none. A crash leaves the state before or after;
  /// a second call completes the first.
  [[nodiscard]] result<bool> erase(std::uint32_t client);
  /// Clients that were ever stored or prepared, ascending. Does not open databases with a family per client.
  [[nodiscard]] result<std::vector<std::uint32_t>> clients();
  /// Copies its files to the folder of another store (see snapshot_folder()).
  [[nodiscard]] result<void> copy_to(const std::filesystem::path& store);
  /// Checks every file and every record, and adds all damage.
  void verify(std::vector<store_problem>& problems);

  /// Closes the database unless `wanted()` says that it is in use again. Makes nothing durable.
  void close_unless(const std::function<bool()>& wanted);

 private:
  [[nodiscard]] database_place place(std::uint32_t generation) const;
  [[nodiscard]] result<void> open();
  [[nodiscard]] result<void> create();
  /// Records the content of the open database.
  [[nodiscard]] result<void> note_content();
  [[nodiscard]] result<slot_pair> tags_of(std::uint32_t client, database::family& columns);
  void remember(std::uint32_t client, const slot_pair& tags, database::family& columns);
  /// Opens or creates the shard and the client's family.
  [[nodiscard]] result<database::family*> family_for(std::uint32_t client);
  [[nodiscard]] result<slot_pair> pending_tags(std::uint32_t client, const database::family& columns);
  [[nodiscard]] result<void> put_pending(std::uint32_t client, std::size_t i, const slot_tag& tag,
                                         std::span<const float> values, bool is_new);
  [[nodiscard]] result<std::optional<record_view>> read(std::uint32_t client, const database::family& columns,
                                                        std::size_t slot);
  [[nodiscard]] result<void> rebuild(std::optional<std::uint32_t> without);
  [[nodiscard]] result<void> copy_into(database& fresh, std::optional<std::uint32_t> without);
  [[nodiscard]] result<void> copy_client(database& fresh, std::uint32_t client, std::optional<std::uint32_t> without);
  [[nodiscard]] result<bool> is_stored(std::uint32_t client);
  /// Removes outdated values from the log.
  [[nodiscard]] result<void> shorten();
  [[nodiscard]] bool overgrown() const;
  void verify_records(std::vector<store_problem>& problems);

  const store_facts& facts_;
  const std::uint32_t number_;
  std::mutex lock_;
  std::optional<shard_state> content_;  // content when the shard was last closed or saved
  std::unique_ptr<database> db_;
  std::unordered_map<std::uint32_t, slot_pair> recent_;  // tags of clients in buckets, cached from load to commit
  bool closed_dirty_ = false;                            // closed with commits that are not durable yet
  rocksdb::PinnableSlice found_;
};

}  // namespace furlong::storage::detail
