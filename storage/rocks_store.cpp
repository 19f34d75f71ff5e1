#include "storage/rocks_store.hpp"

#include <algorithm>

#include "storage/confirmed_store.hpp"
#include "storage/detail/store_content.hpp"

namespace furlong::storage {

namespace fs = std::filesystem;
using detail::store_manifest;

namespace {

tl::unexpected<error> refuse(const fs::path& folder, std::string reason, std::string fix) {
  return fail(error::kind::usage, folder.string(), std::move(reason), std::move(fix));
}

result<void> check_options(const fs::path& folder, const store_manifest& manifest, const models::layout& private_layout,
                           const store_options& options) {
  if (manifest.run != options.run)
    return refuse(folder, "the private store belongs to another run or scenario",
                  "resume with the scenario and seed that the run started with, or choose another folder");
  if (manifest.signature != private_layout.signature())
    return refuse(folder,
                  "the private store has a different private layout; its tensors are (name, rows, columns): " +
                      manifest.signature,
                  "use the model settings that the run started with, or choose another folder");
  if (options.layout && *options.layout != manifest.spread.layout)
    return refuse(folder,
                  "the private store has the layout " + std::string(name_of(manifest.spread.layout)) + ", not " +
                      std::string(name_of(*options.layout)),
                  "use this layout, or start the run in another folder");
  return {};
}

}  // namespace

rocks_store::rocks_store(std::unique_ptr<detail::store_content> made) : content_(std::move(made)) {}

rocks_store::~rocks_store() = default;

bool rocks_store::is_in(const fs::path& folder) { return detail::has_manifest(folder); }

bool rocks_store::is_vacant(const fs::path& folder) {
  if (!detail::is_there(folder)) return true;
  const auto entries = detail::files_in(folder);
  return entries && std::ranges::all_of(*entries, [&folder](const fs::path& path) {
           const auto name = path.filename();
           return name == "LOCK" || name == "root.furlong" || name == "root.furlong.new" ||
                  name == "store.furlong.new" || name == "lost+found" || path == confirmed_store::place_in(folder);
         });
}

bool rocks_store::is_headless(const fs::path& folder) {
  if (is_in(folder) || !detail::is_there(folder)) return false;
  const auto entries = detail::files_in(folder);
  return entries && std::ranges::any_of(
                        *entries, [](const fs::path& path) { return path.filename().string().starts_with("shard-"); });
}

result<std::unique_ptr<rocks_store>> rocks_store::create(const fs::path& folder, models::layout_ptr private_layout,
                                                         const store_options& options) {
  if (detail::has_manifest(folder))
    return refuse(folder, "the folder already has a private store", "resume its run, or choose another folder");
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
  auto made = std::make_unique<detail::store_content>(folder, std::move(private_layout), manifest, keys, false,
                                                      options.open_shards);
  made->root = {{*id, 0, 0}, {*id, 0, 0}, detail::shard_states(manifest.spread.shards)};
  return made->start_new().map([&] { return std::unique_ptr<rocks_store>(new rocks_store(std::move(made))); });
}

result<std::unique_ptr<rocks_store>> rocks_store::open(const fs::path& folder, const models::layout_ptr& private_layout,
                                                       const store_options& options) {
  const auto manifest = detail::read_manifest(folder);
  if (!manifest) return tl::unexpected(manifest.error());
  if (auto fit = check_options(folder, *manifest, *private_layout, options); !fit) return tl::unexpected(fit.error());
  const auto keys = detail::open_keys(folder, manifest->key_salt, manifest->key_check, options.key_file);
  if (!keys) return tl::unexpected(keys.error());
  auto made =
      std::make_unique<detail::store_content>(folder, private_layout, *manifest, *keys, false, options.open_shards);
  return made->start(&options).map([&] { return std::unique_ptr<rocks_store>(new rocks_store(std::move(made))); });
}

result<std::unique_ptr<rocks_store>> rocks_store::inspect(const fs::path& folder, store_access access,
                                                          const fs::path& key_file) {
  const auto manifest = detail::read_manifest(folder);
  if (!manifest) return tl::unexpected(manifest.error());
  auto layout = detail::layout_of(manifest->signature);
  if (!layout) return tl::unexpected(layout.error());
  const auto keys = detail::open_keys(folder, manifest->key_salt, manifest->key_check, key_file);
  if (!keys) return tl::unexpected(keys.error());
  auto made = std::make_unique<detail::store_content>(folder, std::move(*layout), *manifest, *keys,
                                                      access == store_access::read, store_options().open_shards);
  return made->start(nullptr).map([&] { return std::unique_ptr<rocks_store>(new rocks_store(std::move(made))); });
}

result<bool> rocks_store::load(std::uint32_t client, models::private_parameters& out) {
  return content_->with_shard(client, [&](auto& in) { return in.load(client, out.values()); });
}

result<void> rocks_store::commit(std::uint32_t client, std::uint64_t version, const models::private_parameters& value) {
  if (auto writable = content_->check_writable(value); !writable) return writable;
  if (auto recorded = content_->record_covered(); !recorded) return recorded;
  return content_->with_shard(client, [&](auto& in) { return in.commit(client, version, value.values()); });
}

result<void> rocks_store::sync() {
  for (auto& part : content_->shards)
    if (auto synced = part->sync(); !synced) return synced;
  return {};
}

result<federated::store_save> rocks_store::save(std::uint64_t version) {
  if (auto writable = content_->check_writable(); !writable) return tl::unexpected(writable.error());
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
  return content_->visit([&](std::uint32_t client, const detail::slot_tag& tag,
                             const models::private_parameters& value) { each(client, tag.version, value); });
}

result<void> rocks_store::stage(const federated::task_id& task, const models::private_parameters& value) {
  if (auto writable = content_->check_writable(value); !writable) return writable;
  return content_->with_shard(task.client, [&](auto& in) { return in.stage(task, value.values()); });
}

result<void> rocks_store::discard(const federated::task_id& task) {
  if (auto writable = content_->check_writable(); !writable) return writable;
  return content_->with_shard(task.client, [&](auto& in) { return in.discard(task); });
}

result<void> rocks_store::visit_pending(
    const std::function<void(const federated::task_id&, const models::private_parameters&)>& each) {
  models::private_parameters value(content_->facts.layout);
  return content_->each_client([&](std::uint32_t client) {
    return content_->with_shard(client, [&](detail::shard& shard) -> result<void> {
      for (std::size_t i = 0; i < detail::slot_pair().size(); ++i) {
        const auto tag = shard.load_pending(client, i, value.values());
        if (!tag) return tl::unexpected(tag.error());
        if (*tag) each({run(), (*tag)->version, client, static_cast<std::uint32_t>((*tag)->sequence)}, value);
      }
      return {};
    });
  });
}

const models::layout_ptr& rocks_store::layout() const { return content_->facts.layout; }
std::uint64_t rocks_store::run() const { return content_->manifest.run; }
std::uint64_t rocks_store::covered() const { return content_->recorded; }
const federated::store_save& rocks_store::last_save() const { return content_->root.last; }
result<void> rocks_store::check_fits(std::uint64_t version, const federated::store_save& save) const {
  return content_->check_fits(version, save);
}
result<void> rocks_store::check_shards() {
  return content_->each_client([](auto) { return result<void>(); });
}
std::uint32_t rocks_store::shards() const { return content_->manifest.spread.shards; }
store_layout rocks_store::kind() const { return content_->manifest.spread.layout; }
bool rocks_store::encrypted() const { return content_->manifest.encrypted(); }

result<void> rocks_store::prepare(std::span<const std::uint32_t> clients) {
  if (auto writable = content_->check_writable(); !writable) return writable;
  std::vector<std::vector<std::uint32_t>> by_shard(shards());
  for (const auto client : clients) by_shard[content_->manifest.spread.shard_of(client)].push_back(client);
  for (std::uint32_t i = 0; i < by_shard.size(); ++i) {
    if (by_shard[i].empty()) continue;
    if (auto done = content_->shards[i]->prepare(by_shard[i]); !done) return done;
    content_->touch(i);
  }
  return {};
}

result<std::vector<stored_client>> rocks_store::list() {
  std::vector<stored_client> clients;
  detail::record_coder::scratch space;
  return content_
      ->visit([&](std::uint32_t client, const detail::slot_tag& tag, const models::private_parameters& value) {
        clients.push_back({client, tag.version, tag.life, content_->facts.coder.record_bytes(value.values(), space)});
      })
      .map([&] { return std::move(clients); });
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
  if (auto writable = content_->check_writable(); !writable) return tl::unexpected(writable.error());
  return content_->with_shard(client, [&](auto& in) { return in.erase(client); });
}

}  // namespace furlong::storage
