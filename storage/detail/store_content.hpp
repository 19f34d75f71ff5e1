// An open store: its description, its root, its lock and its shards.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "storage/detail/files.hpp"
#include "storage/detail/generations.hpp"
#include "storage/detail/manifest.hpp"
#include "storage/detail/recent_shards.hpp"
#include "storage/detail/root.hpp"
#include "storage/detail/shard.hpp"
#include "storage/rocks_store.hpp"

namespace furlong::storage::detail {

/// As thread-safe as rocks_store.
struct store_content {
  store_content(const std::filesystem::path& folder, models::layout_ptr layout, const store_manifest& described,
                const keys_ptr& keys, bool read_only, std::uint32_t open_shards)
      : manifest(described),
        facts{folder,
              layout,
              described.spread,
              record_coder(*layout, short_form(sha256(described.signature)), keys),
              described.history,
              read_only,
              described.history.resumed_at(),
              {described.spread.layout, keys}},
        recorded(described.covered),
        recent(described.spread.shards, open_shards) {}

  /// Takes the lock and opens a new store, whose root is set.
  result<void> start_new() {
    if (auto taken = take_lock(); !taken) return taken;
    if (auto found = find_shards(); !found) return found;
    if (auto written = write_root(facts.folder, root); !written) return written;
    return write_manifest(facts.folder, manifest);
  }

  /// Takes the lock, reads the root, and begins a life of the store.
  /// @param begins the options of that life; null: begins none
  result<void> start(const store_options* begins) {
    if (auto taken = take_lock(); !taken) return taken;
    auto read = read_root(facts.folder, manifest.id, manifest.spread.shards);
    if (!read) return tl::unexpected(read.error());
    root = std::move(*read);
    if (begins != nullptr)
      if (auto begun = begin_life(*begins); !begun) return begun;
    return find_shards();
  }

  result<void> take_lock() {
    auto taken = folder_lock::take(facts.folder, facts.read_only);
    if (!taken) return tl::unexpected(taken.error());
    lock = std::move(*taken);
    return {};
  }

  result<void> find_shards() {
    const auto contents = find_generations(facts.folder, root.shards, !facts.read_only);
    if (!contents) return tl::unexpected(contents.error());
    for (std::uint32_t i = 0; i < manifest.spread.shards; ++i)
      shards.push_back(std::make_unique<shard>(facts, i, (*contents)[i]));
    return {};
  }

  /// Fails without changes if values that the new life starts from may have been overwritten.
  result<void> begin_life(const store_options& options) {
    const auto last = facts.history.life();
    if (options.same_life)
      facts.history.go_on(options.history);
    else
      facts.history.begin(options.history);
    const auto bound = facts.history.bound(last);
    if (auto fits = check_fits(bound, options.save); !fits) return fits;
    base = options.save;
    manifest.history = facts.history;
    manifest.covered = std::min(manifest.covered, bound);
    if (auto written = write_manifest(facts.folder, manifest); !written) return written;
    recorded = manifest.covered;
    facts.covered = std::max(facts.history.resumed_at(), manifest.covered);
    return {};
  }

  [[nodiscard]] result<void> check_fits(std::uint64_t version, const federated::store_save& save) const {
    const auto refuse = [&](const std::string& reason) {
      return fail(error::kind::data, facts.folder.string(), reason,
                  "restore the store and the checkpoint from the same copy, or start a new run");
    };
    if (version != 0 && version < manifest.covered)  // version 0 needs no values
      return refuse("the private store is newer than the checkpoint of version " + std::to_string(version) +
                    ": it continued after the checkpoint of version " + std::to_string(manifest.covered) +
                    ", and may have overwritten values that the older one covers");
    if (save.store == 0) return {};
    if (save.store != manifest.id) return refuse("the checkpoint was written with another private store");
    if (save == root.last || save == root.base) return {};
    const auto& last = root.last;
    return refuse("the checkpoint of version " + std::to_string(save.version) +
                  " belongs to another state of the private store, which was last saved at version " +
                  std::to_string(last.version) + (last.version < save.version ? ": the store is older" : ""));
  }

  [[nodiscard]] result<void> check_writable() const {
    if (!facts.read_only) return {};
    return fail(error::kind::runtime, "private store " + facts.folder.string(), "the store is open read-only");
  }
  /// The same, and that a value has the layout of the store.
  [[nodiscard]] result<void> check_writable(const models::private_parameters& value) const {
    if (value.values().size() == facts.layout->size()) return check_writable();
    return fail(error::kind::runtime, "private store " + facts.folder.string(), "the value does not have its layout");
  }

  [[nodiscard]] result<void> save(std::uint64_t version) {
    store_root next{{manifest.id, 0, version}, base, {}};
    const auto id = random_id();
    if (!id) return tl::unexpected(id.error());
    next.last.id = *id;
    for (auto& part : shards) {
      const auto has = part->state();
      if (!has) return tl::unexpected(has.error());
      next.shards.push_back(*has);
    }
    if (auto written = write_root(facts.folder, next); !written) return written;
    root = std::move(next);
    return {};
  }

  /// Records the last durable checkpoint before a commit overwrites values that only older checkpoints cover.
  [[nodiscard]] result<void> record_covered() {
    if (recorded >= facts.covered) return {};
    const std::lock_guard hold(manifest_lock);
    if (recorded >= facts.covered) return {};
    manifest.covered = facts.covered;
    if (auto written = write_manifest(facts.folder, manifest); !written) return written;
    recorded = manifest.covered;
    return {};
  }

  /// Marks a shard as used, and closes the least recently used ones.
  void touch(std::uint32_t shard) {
    for (const auto idle : recent.touch(shard))
      shards[idle]->close_unless([this, idle] { return recent.contains(idle); });
  }

  /// Returns use(shard of the client), and marks the shard as used.
  template <class Use>
  auto with_shard(std::uint32_t client, const Use& use) {
    const auto number = manifest.spread.shard_of(client);
    auto done = use(*shards[number]);
    touch(number);
    return done;
  }

  /// Calls each(client) for every client that was ever stored or prepared, ascending, until one fails.
  template <class Each>
  [[nodiscard]] result<void> each_client(const Each& each) {
    std::vector<std::uint32_t> clients;
    for (std::uint32_t i = 0; i < shards.size(); ++i) {
      const auto part = shards[i]->clients();
      touch(i);
      if (!part) return tl::unexpected(part.error());
      clients.insert(clients.end(), part->begin(), part->end());
    }
    std::ranges::sort(clients);
    for (const auto client : clients)
      if (auto done = each(client); !done) return done;
    return {};
  }

  /// Calls each(client, tag, value) for every client with a value, ascending.
  template <class Each>
  [[nodiscard]] result<void> visit(const Each& each) {
    models::private_parameters value(facts.layout);
    return each_client([&](std::uint32_t client) {
      slot_tag tag;
      const auto load = [&](shard& in) { return in.load(client, value.values(), &tag); };
      return with_shard(client, load).map([&](bool found) {
        if (found) each(client, tag, value);
      });
    });
  }

  store_manifest manifest;
  store_facts facts;
  store_root root;
  federated::store_save base;  // of the last durable checkpoint
  folder_lock lock;
  std::mutex manifest_lock;
  std::atomic<std::uint64_t> recorded;  // manifest.covered on disk
  std::vector<std::unique_ptr<shard>> shards;
  recent_shards recent;
};

}  // namespace furlong::storage::detail
