#include "storage/rocks_store.hpp"

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>

#include "storage/detail/digest.hpp"
#include "storage/detail/files.hpp"
#include "storage/detail/generations.hpp"
#include "storage/detail/manifest.hpp"
#include "storage/detail/root.hpp"
#include "storage/detail/shard.hpp"

namespace furlong::storage {

namespace fs = std::filesystem;
using detail::store_manifest;

namespace {

std::uint64_t layout_hash(const std::string& signature) { return detail::short_form(sha256(signature)); }

/// The keys of a store; null if it is not encrypted. Fails unless `key_file` matches the store.
result<detail::keys_ptr> keys_of(const fs::path& folder, const store_manifest& manifest, const fs::path& key_file) {
  const auto refuse = [&](const std::string& reason, const std::string& fix) {
    return fail(error::kind::usage, folder.string(), reason, fix);
  };
  if (!manifest.encrypted() && !key_file.empty())
    return refuse("the private store is not encrypted, but a key file is given (" + key_file.string() + ")",
                  "omit the key file, or start a run with it in another folder");
  if (!manifest.encrypted()) return nullptr;
  if (key_file.empty()) return refuse("the private store is encrypted, but no key file is given", "name its key file");
  auto keys = detail::derive_keys(key_file, manifest.key_salt);
  if (keys && (*keys)->check != manifest.key_check)
    return refuse("the key in " + key_file.string() + " is not the key of this private store",
                  "name the key file that the store was created with");
  return keys;
}

result<void> check_options(const fs::path& folder, const store_manifest& manifest, const models::layout& private_layout,
                           const store_options& options) {
  const auto refuse = [&](const std::string& reason, const std::string& fix) {
    return fail(error::kind::usage, folder.string(), reason, fix);
  };
  if (manifest.run != options.run)
    return refuse("the private store belongs to another run or scenario",
                  "resume with the scenario and seed that the run started with, or choose another folder");
  if (manifest.signature != private_layout.signature())
    return refuse("the private store has a different private layout; its tensors are (name, rows, columns): " +
                      manifest.signature,
                  "use the model settings that the run started with, or choose another folder");
  if (options.layout && *options.layout != manifest.spread.layout)
    return refuse("the private store has the layout " + std::string(name_of(manifest.spread.layout)) + ", not " +
                      std::string(name_of(*options.layout)),
                  "use this layout, or start the run in another folder");
  return {};
}

}  // namespace

struct rocks_store::content {
  content(const fs::path& folder, models::layout_ptr layout, const store_manifest& described,
          const detail::keys_ptr& keys, bool read_only)
      : manifest(described),
        facts{folder,
              layout,
              described.spread,
              detail::record_coder(*layout, layout_hash(described.signature), keys),
              described.history,
              read_only,
              described.history.resumed_at(),
              {described.spread.layout, keys}},
        recorded(described.covered) {}

  /// Takes the lock and opens a new store, whose root is set.
  result<void> start_new(std::uint32_t open_shards);
  /// Takes the lock, reads the root, and begins a life of the store.
  /// @param begins the options of that life; null: begins none
  result<void> start(std::uint32_t open_shards, const store_options* begins);
  [[nodiscard]] result<void> take_lock();
  [[nodiscard]] result<void> find_shards(std::uint32_t open_shards);
  /// Fails without changes if values that the new life starts from may have been overwritten.
  [[nodiscard]] result<void> begin_life(const store_options& options);
  [[nodiscard]] result<void> check_fits(std::uint64_t from, const federated::store_save& save) const;
  [[nodiscard]] result<void> save(std::uint64_t version);
  /// Records the last durable checkpoint before a commit overwrites values that only older checkpoints cover.
  [[nodiscard]] result<void> record_covered();
  [[nodiscard]] std::uint32_t shard_of(std::uint32_t client) const { return manifest.spread.shard_of(client); }
  /// Marks a shard as used, and closes the least recently used ones.
  void touch(std::uint32_t shard);
  [[nodiscard]] bool is_recent(std::uint32_t shard);
  [[nodiscard]] result<std::vector<std::uint32_t>> clients();
  /// Loads one client's value with its tag.
  [[nodiscard]] result<bool> load(std::uint32_t client, std::span<float> out, detail::slot_tag* tag);

  store_manifest manifest;
  detail::store_facts facts;
  detail::store_root root;
  federated::store_save base;  // of the last durable checkpoint
  detail::folder_lock lock;
  std::mutex manifest_lock;
  std::atomic<std::uint64_t> recorded;  // manifest.covered on disk
  std::vector<std::unique_ptr<detail::shard>> shards;

  std::mutex recent_lock;  // taken after a shard's lock, never before
  std::list<std::uint32_t> recent;
  std::vector<std::list<std::uint32_t>::iterator> place;  // in `recent`; its end if not listed
  std::size_t limit = 1;
};

result<void> rocks_store::content::take_lock() {
  auto taken = detail::folder_lock::take(facts.folder, facts.read_only);
  if (!taken) return tl::unexpected(taken.error());
  lock = std::move(*taken);
  return {};
}

result<void> rocks_store::content::start_new(std::uint32_t open_shards) {
  if (auto taken = take_lock(); !taken) return taken;
  if (auto found = find_shards(open_shards); !found) return found;
  if (auto written = write_root(facts.folder, root); !written) return written;
  return write_manifest(facts.folder, manifest);
}

result<void> rocks_store::content::start(std::uint32_t open_shards, const store_options* begins) {
  if (auto taken = take_lock(); !taken) return taken;
  auto read = detail::read_root(facts.folder, manifest.id, manifest.spread.shards);
  if (!read) return tl::unexpected(read.error());
  root = std::move(*read);
  if (begins != nullptr)
    if (auto begun = begin_life(*begins); !begun) return begun;
  return find_shards(open_shards);
}

result<void> rocks_store::content::find_shards(std::uint32_t open_shards) {
  const auto count = manifest.spread.shards;
  const auto contents = detail::find_generations(facts.folder, root.shards, !facts.read_only);
  if (!contents) return tl::unexpected(contents.error());
  for (std::uint32_t i = 0; i < count; ++i) shards.push_back(std::make_unique<detail::shard>(facts, i, (*contents)[i]));
  place.assign(shards.size(), recent.end());
  limit = std::max(1U, open_shards);
  return {};
}

result<void> rocks_store::content::begin_life(const store_options& options) {
  const auto last = facts.history.life();
  if (options.same_life)
    facts.history.go_on(options.history);
  else
    facts.history.begin(options.history);
  const auto from = facts.history.bound(last);
  if (auto fits = check_fits(from, options.save); !fits) return fits;
  base = options.save;
  manifest.history = facts.history;
  manifest.covered = std::min(manifest.covered, from);
  if (auto written = write_manifest(facts.folder, manifest); !written) return written;
  recorded = manifest.covered;
  facts.covered = std::max(facts.history.resumed_at(), manifest.covered);
  return {};
}

result<void> rocks_store::content::check_fits(std::uint64_t from, const federated::store_save& save) const {
  const auto refuse = [&](const std::string& reason) {
    return fail(error::kind::data, facts.folder.string(), reason,
                "restore the store and the checkpoint from the same copy, or start a new run");
  };
  if (from != 0 && from < manifest.covered)  // version 0 needs no values
    return refuse("the private store is newer than the checkpoint of version " + std::to_string(from) +
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

result<void> rocks_store::content::save(std::uint64_t version) {
  detail::store_root next{{manifest.id, 0, version}, base, {}};
  const auto id = detail::random_id();
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

result<void> rocks_store::content::record_covered() {
  if (recorded >= facts.covered) return {};
  const std::lock_guard hold(manifest_lock);
  if (recorded >= facts.covered) return {};
  manifest.covered = facts.covered;
  if (auto written = write_manifest(facts.folder, manifest); !written) return written;
  recorded = manifest.covered;
  return {};
}

void rocks_store::content::touch(std::uint32_t shard) {
  std::vector<std::uint32_t> idle;
  {
    const std::lock_guard hold(recent_lock);
    if (place[shard] != recent.end()) recent.erase(place[shard]);
    place[shard] = recent.insert(recent.begin(), shard);
    for (; recent.size() > limit; recent.pop_back()) {
      idle.push_back(recent.back());
      place[recent.back()] = recent.end();
    }
  }
  for (const auto victim : idle) shards[victim]->close_unless([this, victim] { return is_recent(victim); });
}

bool rocks_store::content::is_recent(std::uint32_t shard) {
  const std::lock_guard hold(recent_lock);
  return place[shard] != recent.end();
}

result<bool> rocks_store::content::load(std::uint32_t client, std::span<float> out, detail::slot_tag* tag) {
  const auto number = shard_of(client);
  auto found = shards[number]->load(client, out, tag);
  touch(number);
  return found;
}

result<std::vector<std::uint32_t>> rocks_store::content::clients() {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < shards.size(); ++i) {
    const auto some = shards[i]->clients();
    touch(i);
    if (!some) return tl::unexpected(some.error());
    all.insert(all.end(), some->begin(), some->end());
  }
  std::ranges::sort(all);
  return all;
}

rocks_store::rocks_store(std::unique_ptr<content> made) : content_(std::move(made)) {}

rocks_store::~rocks_store() = default;

bool rocks_store::is_in(const fs::path& folder) { return detail::has_manifest(folder); }

bool rocks_store::is_vacant(const fs::path& folder) {
  if (!detail::is_there(folder)) return true;
  const auto all = detail::files_in(folder);
  return all && std::ranges::all_of(*all, [](const fs::path& path) {
           const auto name = path.filename();
           return name == "LOCK" || name == "root.furlong" || name == "root.furlong.new" ||
                  name == "store.furlong.new" || name == "lost+found";
         });
}

bool rocks_store::is_headless(const fs::path& folder) {
  if (is_in(folder) || !detail::is_there(folder)) return false;
  const auto all = detail::files_in(folder);
  return all &&
         std::ranges::any_of(*all, [](const fs::path& path) { return path.filename().string().starts_with("shard-"); });
}

result<std::unique_ptr<rocks_store>> rocks_store::create(const fs::path& folder, models::layout_ptr private_layout,
                                                         const store_options& options) {
  if (detail::has_manifest(folder))
    return fail(error::kind::usage, folder.string(), "the folder already has a private store",
                "resume its run, or choose another folder");
  if (is_headless(folder))
    return fail(error::kind::data, folder.string(), "has shards of a private store, but its store.furlong is missing",
                "restore the store from a copy, or choose another folder");
  const auto& so_far = options.history.resumed_at;
  const auto id = detail::random_id();
  if (!id) return tl::unexpected(id.error());
  store_manifest manifest;
  manifest.id = *id;
  manifest.run = options.run;
  manifest.signature = private_layout->signature();
  manifest.history = detail::incarnations(so_far, so_far);
  const auto record_bytes = detail::record_coder(*private_layout, 0).record_bytes();
  manifest.spread = detail::spread::of(options.layout.value_or(store_layout::per_client), options.expected_clients,
                                       options.bucket_clients, record_bytes);
  detail::keys_ptr keys;
  if (!options.key_file.empty()) {
    const auto salt = detail::random_salt();
    if (!salt) return tl::unexpected(salt.error());
    auto derived = detail::derive_keys(options.key_file, *salt);
    if (!derived) return tl::unexpected(derived.error());
    keys = std::move(*derived);
    manifest.key_salt = *salt;
    manifest.key_check = keys->check;
  }
  if (auto made = detail::make_folder(folder, detail::durability::at_once); !made) return tl::unexpected(made.error());
  auto made = std::make_unique<content>(folder, std::move(private_layout), manifest, keys, false);
  made->root = {{*id, 0, 0}, {*id, 0, 0}, detail::shard_states(manifest.spread.shards)};
  if (auto started = made->start_new(options.open_shards); !started) return tl::unexpected(started.error());
  return std::unique_ptr<rocks_store>(new rocks_store(std::move(made)));
}

result<std::unique_ptr<rocks_store>> rocks_store::open(const fs::path& folder, const models::layout_ptr& private_layout,
                                                       const store_options& options) {
  const auto manifest = detail::read_manifest(folder);
  if (!manifest) return tl::unexpected(manifest.error());
  if (auto fit = check_options(folder, *manifest, *private_layout, options); !fit) return tl::unexpected(fit.error());
  const auto keys = keys_of(folder, *manifest, options.key_file);
  if (!keys) return tl::unexpected(keys.error());
  auto made = std::make_unique<content>(folder, private_layout, *manifest, *keys, false);
  if (auto started = made->start(options.open_shards, &options); !started) return tl::unexpected(started.error());
  return std::unique_ptr<rocks_store>(new rocks_store(std::move(made)));
}

result<std::unique_ptr<rocks_store>> rocks_store::inspect(const fs::path& folder, store_access access,
                                                          const fs::path& key_file) {
  const auto manifest = detail::read_manifest(folder);
  if (!manifest) return tl::unexpected(manifest.error());
  auto layout = detail::layout_of(manifest->signature);
  if (!layout) return tl::unexpected(layout.error());
  const auto keys = keys_of(folder, *manifest, key_file);
  if (!keys) return tl::unexpected(keys.error());
  auto made = std::make_unique<content>(folder, std::move(*layout), *manifest, *keys, access == store_access::read);
  const store_options defaults;
  if (auto started = made->start(defaults.open_shards, nullptr); !started) return tl::unexpected(started.error());
  return std::unique_ptr<rocks_store>(new rocks_store(std::move(made)));
}

result<bool> rocks_store::load(std::uint32_t client, models::private_parameters& out) {
  return content_->load(client, out.values(), nullptr);
}

result<void> rocks_store::check_writable(std::size_t values) const {
  if (!content_->facts.read_only && values == content_->facts.layout->size()) return {};
  return fail(error::kind::runtime, "private store " + content_->facts.folder.string(),
              content_->facts.read_only ? "the store is open read-only" : "the value does not have its layout");
}

result<void> rocks_store::commit(std::uint32_t client, std::uint64_t version, const models::private_parameters& value) {
  if (auto writable = check_writable(value.values().size()); !writable) return writable;
  if (auto recorded = content_->record_covered(); !recorded) return recorded;
  const auto number = content_->shard_of(client);
  auto done = content_->shards[number]->commit(client, version, value.values());
  content_->touch(number);
  return done;
}

result<void> rocks_store::sync() {
  for (auto& part : content_->shards)
    if (auto synced = part->sync(); !synced) return synced;
  return {};
}

result<federated::store_save> rocks_store::save(std::uint64_t version) {
  if (content_->facts.read_only)
    return fail(error::kind::runtime, "private store " + content_->facts.folder.string(),
                "the store is open read-only");
  return sync().and_then([&] { return content_->save(version); }).map([&] { return content_->root.last; });
}

result<void> rocks_store::snapshot(const fs::path& folder) const {
  if (auto copied = detail::snapshot_folder(content_->facts.folder, folder); !copied) return copied;
  for (const auto& part : content_->shards)
    if (auto copied = part->copy_to(folder); !copied) return copied;
  return detail::sync_path(folder);
}

void rocks_store::covered(std::uint64_t version) {
  content_->facts.covered = version;
  if (content_->root.last.version == version) content_->base = content_->root.last;
}

result<void> rocks_store::visit(
    const std::function<void(std::uint32_t, std::uint64_t, const models::private_parameters&)>& each) {
  const auto clients = content_->clients();
  if (!clients) return tl::unexpected(clients.error());
  models::private_parameters value(content_->facts.layout);
  for (const auto client : *clients) {
    detail::slot_tag tag;
    const auto found = content_->load(client, value.values(), &tag);
    if (!found) return tl::unexpected(found.error());
    if (*found) each(client, tag.version, value);
  }
  return {};
}

result<void> rocks_store::stage(const federated::task_id& task, const models::private_parameters& value) {
  if (auto writable = check_writable(value.values().size()); !writable) return writable;
  const auto number = content_->shard_of(task.client);
  auto done = content_->shards[number]->stage(task, value.values());
  content_->touch(number);
  return done;
}

result<void> rocks_store::discard(const federated::task_id& task) {
  if (auto writable = check_writable(content_->facts.layout->size()); !writable) return writable;
  const auto number = content_->shard_of(task.client);
  auto done = content_->shards[number]->discard(task);
  content_->touch(number);
  return done;
}

result<void> rocks_store::visit_pending(
    const std::function<void(const federated::task_id&, const models::private_parameters&)>& each) {
  const auto clients = content_->clients();
  if (!clients) return tl::unexpected(clients.error());
  models::private_parameters value(content_->facts.layout);
  for (const auto client : *clients) {
    const auto number = content_->shard_of(client);
    const auto tag = content_->shards[number]->load_pending(client, value.values());
    content_->touch(number);
    if (!tag) return tl::unexpected(tag.error());
    if (*tag) each({run(), (*tag)->version, client, static_cast<std::uint32_t>((*tag)->sequence)}, value);
  }
  return {};
}

const models::layout_ptr& rocks_store::layout() const { return content_->facts.layout; }
std::uint64_t rocks_store::run() const { return content_->manifest.run; }
std::uint64_t rocks_store::covered() const { return content_->recorded; }
const federated::store_save& rocks_store::last_save() const { return content_->root.last; }
result<void> rocks_store::check_fits(std::uint64_t version, const federated::store_save& save) const {
  return content_->check_fits(version, save);
}
result<void> rocks_store::check_shards() {
  return content_->clients().map([](const auto& /*clients*/) {});
}
std::uint32_t rocks_store::shards() const { return content_->manifest.spread.shards; }
store_layout rocks_store::kind() const { return content_->manifest.spread.layout; }
bool rocks_store::encrypted() const { return content_->manifest.encrypted(); }

result<void> rocks_store::prepare(std::span<const std::uint32_t> clients) {
  if (content_->facts.read_only)
    return fail(error::kind::runtime, "private store " + content_->facts.folder.string(),
                "the store is open read-only");
  std::vector<std::vector<std::uint32_t>> by_shard(shards());
  for (const auto client : clients) by_shard[content_->shard_of(client)].push_back(client);
  for (std::uint32_t i = 0; i < by_shard.size(); ++i) {
    if (by_shard[i].empty()) continue;
    if (auto done = content_->shards[i]->prepare(by_shard[i]); !done) return done;
    content_->touch(i);
  }
  return {};
}

result<std::vector<stored_client>> rocks_store::list() {
  const auto clients = content_->clients();
  if (!clients) return tl::unexpected(clients.error());
  std::vector<stored_client> all;
  std::vector<float> values(content_->facts.layout->size());
  detail::record_coder::scratch space;
  for (const auto client : *clients) {
    detail::slot_tag tag;
    const auto found = content_->load(client, values, &tag);
    if (!found) return tl::unexpected(found.error());
    if (*found) all.push_back({client, tag.version, tag.life, content_->facts.coder.record_bytes(values, space)});
  }
  return all;
}

std::vector<store_problem> rocks_store::verify() {
  std::vector<store_problem> problems;
  for (std::uint32_t i = 0; i < content_->shards.size(); ++i) {
    content_->shards[i]->verify(problems);
    content_->touch(i);
  }
  return problems;
}

result<bool> rocks_store::erase(std::uint32_t client) {
  if (content_->facts.read_only)
    return fail(error::kind::runtime, "private store " + content_->facts.folder.string(),
                "the store is open read-only");
  const auto number = content_->shard_of(client);
  auto done = content_->shards[number]->erase(client);
  content_->touch(number);
  return done;
}

}  // namespace furlong::storage
