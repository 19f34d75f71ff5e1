#include "storage/detail/shard.hpp"

#include <algorithm>

#include "storage/detail/files.hpp"
#include "storage/detail/generations.hpp"

namespace furlong::storage::detail {

namespace {

// A log of this length with mostly outdated content is rewritten: reopening stays fast at a low cost of copying.
constexpr std::uint64_t least_log_bytes = 8U << 20U;
constexpr std::uint64_t outdated_ratio = 4;
constexpr std::size_t most_log_files = 16;  // each opening starts a new log
constexpr std::size_t most_recent = 1024;   // clients

/// The calling thread's, for all shards: with one each, a store would hold as many dense records as it has shards.
record_coder::scratch& scratch() {
  thread_local record_coder::scratch space;
  return space;
}

}  // namespace

shard::shard(const store_facts& facts, std::uint32_t number, const std::optional<shard_state>& content)
    : facts_(facts), number_(number), content_(content) {}

database_place shard::place(std::uint32_t generation) const {
  return {generation_folder(facts_.folder, number_, generation), number_,
          "private store " + facts_.folder.string() + ", shard " + std::to_string(number_), facts_.spread};
}

result<void> shard::open() {
  if (db_) return {};
  auto opened = database::open(facts_.env, place(content_->generation), facts_.read_only, *content_);
  if (!opened) return tl::unexpected(opened.error());
  db_ = std::move(*opened);
  if (facts_.read_only) return {};
  if (db_->torn()) return rebuild(std::nullopt);  // no log may follow a torn one
  return db_->log_files() > most_log_files ? shorten() : result<void>();
}

result<void> shard::create() {
  if (db_ || content_) return open();
  const auto location = place(0);
  auto made = database::create(facts_.env, location);
  if (!made) return tl::unexpected(made.error());
  const auto content = (*made)->state(0);
  if (!content) return tl::unexpected(content.error());
  if (auto sealed = seal_generation(location.folder, *content); !sealed) return sealed;
  db_ = std::move(*made);
  content_ = *content;
  return {};
}

result<void> shard::note_content() {
  auto now = db_->state(content_->generation);
  if (!now) return tl::unexpected(now.error());
  content_ = *now;
  return {};
}

result<std::optional<shard_state>> shard::state() {
  const std::lock_guard hold(lock_);
  if (db_)
    if (auto noted = note_content(); !noted) return tl::unexpected(noted.error());
  return content_;
}

result<std::optional<record_view>> shard::read(std::uint32_t client, const database::family& columns,
                                               std::size_t slot) {
  const auto present = db_->get(client, columns, slot, found_);
  if (!present) return tl::unexpected(present.error());
  if (!*present) return std::optional<record_view>();
  auto record = facts_.coder.decode(client, {found_.data(), found_.size()}, scratch());
  if (record && record->tag.life > facts_.history.life())
    record = tl::unexpected<std::string>("the record belongs to a later life than any in the store's description");
  if (!record) return as_error(db_->place(), {number_, client, {}, record.error()});
  return std::optional<record_view>(*record);
}

result<slot_pair> shard::tags_of(std::uint32_t client, database::family& columns) {
  if (columns.known) return columns.tags;
  if (const auto at = recent_.find(client); at != recent_.end()) return at->second;
  slot_pair tags;
  for (std::size_t slot = 0; slot < tags.size(); ++slot) {
    const auto record = read(client, columns, slot);
    if (!record) return tl::unexpected(record.error());
    tags[slot] = *record ? (*record)->tag : slot_tag{};
  }
  remember(client, tags, columns);
  return tags;
}

void shard::remember(std::uint32_t client, const slot_pair& tags, database::family& columns) {
  if (facts_.spread.family_per_client()) {
    columns.tags = tags;
    columns.known = true;
    return;
  }
  // Not for the whole population: memory only for recently active clients.
  if (recent_.size() >= most_recent) recent_.clear();
  recent_[client] = tags;
}

result<bool> shard::load(std::uint32_t client, std::span<float> out, slot_tag* tag) {
  const std::lock_guard hold(lock_);
  if (!content_) return false;
  if (auto opened = open(); !opened) return tl::unexpected(opened.error());
  auto* columns = db_->find(client);
  if (columns == nullptr) return false;
  const auto tags = tags_of(client, *columns);
  if (!tags) return tl::unexpected(tags.error());
  const auto slot = current_slot(*tags, facts_.history);
  if (!slot) return false;
  const auto record = read(client, *columns, *slot);
  if (!record) return tl::unexpected(record.error());
  if (!*record || (*record)->tag.sequence != (*tags)[*slot].sequence)
    return as_error(db_->place(), {number_, client, {}, "the record is not the last one written"});
  std::ranges::copy((*record)->values, out.begin());
  if (tag != nullptr) *tag = (*tags)[*slot];
  return true;
}

result<database::family*> shard::family_for(std::uint32_t client) {
  if (auto opened = create(); !opened) return tl::unexpected(opened.error());
  if (db_->find(client) == nullptr)
    if (auto added = db_->add({&client, 1}); !added) return tl::unexpected(added.error());
  return db_->find(client);
}

result<void> shard::commit(std::uint32_t client, std::uint64_t version, std::span<const float> values) {
  const std::lock_guard hold(lock_);
  const auto family = family_for(client);
  if (!family) return tl::unexpected(family.error());
  auto* columns = *family;
  auto tags = tags_of(client, *columns);
  if (!tags) return tl::unexpected(tags.error());
  const auto slot = slot_to_write(*tags, facts_.history, facts_.covered);
  const slot_tag tag{true, facts_.history.life(), version, next_sequence(*tags)};
  if (auto put =
          db_->put(client, *columns, slot, facts_.coder.encode(client, tag, values, scratch()), !(*tags)[slot].present);
      !put)
    return put;
  (*tags)[slot] = tag;
  remember(client, *tags, *columns);
  return overgrown() ? shorten() : result<void>();
}

result<slot_pair> shard::pending_tags(std::uint32_t client, const database::family& columns) {
  slot_pair tags;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const auto record = read(client, columns, pending_slots + i);
    if (!record) return tl::unexpected(record.error());
    if (*record) tags[i] = (*record)->tag;
  }
  return tags;
}

result<void> shard::put_pending(std::uint32_t client, std::size_t i, const slot_tag& tag, std::span<const float> values,
                                bool is_new) {
  const auto record = facts_.coder.encode(client, tag, values, scratch());
  return db_->put(client, *db_->find(client), pending_slots + i, record, is_new).and_then([this] {
    return overgrown() ? shorten() : result<void>();
  });
}

result<void> shard::stage(const federated::task_id& task, std::span<const float> values) {
  const std::lock_guard hold(lock_);
  const auto columns = family_for(task.client);
  if (!columns) return tl::unexpected(columns.error());
  const auto tags = pending_tags(task.client, **columns);
  if (!tags) return tl::unexpected(tags.error());
  const auto i = slot_to_stage(*tags, facts_.history, facts_.covered, task);
  const slot_tag tag{true, facts_.history.life(), task.version, task.attempt};
  return put_pending(task.client, i, tag, values, !(*tags)[i].present);
}

result<void> shard::discard(const federated::task_id& task) {
  const std::lock_guard hold(lock_);
  if (!content_) return {};
  if (auto opened = open(); !opened) return opened;
  const auto* columns = db_->find(task.client);
  if (columns == nullptr) return {};
  const auto tags = pending_tags(task.client, *columns);
  if (!tags) return tl::unexpected(tags.error());
  const auto found = std::ranges::find_if(*tags, [&](const slot_tag& tag) { return is_of(tag, task); });
  if (found == tags->end()) return {};
  const std::vector<float> nothing(facts_.layout->size(), 0.0F);
  const slot_tag none{true, facts_.history.life(), no_version, 0};
  return put_pending(task.client, static_cast<std::size_t>(found - tags->begin()), none, nothing, false);
}

result<std::optional<slot_tag>> shard::load_pending(std::uint32_t client, std::size_t i, std::span<float> out) {
  const std::lock_guard hold(lock_);
  if (!content_) return std::optional<slot_tag>();
  if (auto opened = open(); !opened) return tl::unexpected(opened.error());
  const auto* columns = db_->find(client);
  if (columns == nullptr) return std::optional<slot_tag>();
  const auto record = read(client, *columns, pending_slots + i);
  if (!record) return tl::unexpected(record.error());
  if (!*record || !facts_.history.contains((*record)->tag.life, (*record)->tag.version))
    return std::optional<slot_tag>();
  std::ranges::copy((*record)->values, out.begin());
  return std::optional((*record)->tag);
}

result<void> shard::prepare(std::span<const std::uint32_t> clients) {
  const std::lock_guard hold(lock_);
  if (auto opened = create(); !opened) return opened;
  return db_->add(clients);
}

bool shard::overgrown() const {
  if (db_->log_bytes() <= least_log_bytes) return false;
  if (!facts_.spread.family_per_client()) return true;
  return db_->log_bytes() > outdated_ratio * 2 * db_->family_count() * facts_.coder.record_bytes();
}

result<void> shard::shorten() {
  // A few families can be flushed; with hundreds, each would become a table of a few hundred bytes.
  return facts_.spread.family_per_client() ? rebuild(std::nullopt) : db_->flush();
}

result<void> shard::sync() {
  const std::lock_guard hold(lock_);
  if (db_)
    if (auto synced = db_->sync(); !synced) return synced;
  if (closed_dirty_)
    if (auto synced = sync_files(place(content_->generation).folder, true); !synced) return synced;
  closed_dirty_ = false;
  return {};
}

void shard::close_unless(const std::function<bool()>& wanted) {
  const std::lock_guard hold(lock_);
  if (!db_ || wanted()) return;
  static_cast<void>(note_content());  // on failure the previous, lower content applies
  closed_dirty_ |= db_->dirty();      // the next sync() makes it durable
  found_.Reset();
  recent_.clear();
  db_.reset();
}

result<void> shard::copy_to(const std::filesystem::path& store) {
  const std::lock_guard hold(lock_);
  if (!content_) return {};
  std::optional<quiet_files> quiet;
  if (db_) quiet.emplace(db_->raw());
  return snapshot_folder(place(content_->generation).folder, generation_folder(store, number_, content_->generation));
}

result<bool> shard::erase(std::uint32_t client) {
  const std::lock_guard hold(lock_);
  if (!content_) return false;
  if (auto opened = open(); !opened) return tl::unexpected(opened.error());
  const auto stored = is_stored(client);
  if (!stored || !*stored) return stored;
  return rebuild(client).map([] { return true; });
}

result<bool> shard::is_stored(std::uint32_t client) {
  const auto* columns = db_->find(client);
  if (columns == nullptr || facts_.spread.family_per_client()) return columns != nullptr;
  for (std::size_t slot = 0; slot < record_slots; ++slot) {
    auto present = db_->get(client, *columns, slot, found_);
    if (!present || *present) return present;
  }
  return false;
}

result<void> shard::rebuild(std::optional<std::uint32_t> without) {
  const auto next = content_->generation + 1;
  const auto location = place(next);
  if (auto removed = remove_folder(location.folder); !removed) return removed;
  auto fresh = database::create(facts_.env, location);
  auto done = fresh ? copy_into(**fresh, without) : result<void>(tl::unexpected(fresh.error()));
  if (done) done = (*fresh)->sync();
  std::optional<shard_state> content;
  if (done) {
    const quiet_files quiet((*fresh)->raw());
    done = (*fresh)->state(next).and_then([&](const shard_state& has) {
      content = has;
      return seal_generation(location.folder, has);
    });
  }
  if (!done) {
    if (fresh) fresh->reset();
    const auto ignored = remove_folder(location.folder);  // report the first failure; open() cleans up too
    static_cast<void>(ignored);
    return done;
  }
  found_.Reset();
  recent_.clear();
  db_ = std::move(*fresh);
  content_ = content;
  if (auto removed = remove_folder(place(next - 1).folder); !removed) return removed;
  return sync_path(facts_.folder);
}

result<void> shard::copy_into(database& fresh, std::optional<std::uint32_t> without) {
  const auto clients = db_->clients();
  if (!clients) return tl::unexpected(clients.error());
  std::vector<std::uint32_t> kept;
  for (const auto client : *clients) {
    if (client == without) continue;
    const auto tags = tags_of(client, *db_->find(client));
    if (!tags && !without) return tl::unexpected(tags.error());
    const auto pending = pending_tags(client, *db_->find(client));
    if (!pending && !without) return tl::unexpected(pending.error());
    const bool waits = !pending || current_slot(*pending, facts_.history);
    if (!tags || waits || current_slot(*tags, facts_.history)) kept.push_back(client);
  }
  if (auto added = fresh.add(kept); !added) return added;
  for (const auto client : kept)
    if (auto copied = copy_client(fresh, client, without); !copied) return copied;
  return {};
}

result<void> shard::copy_client(database& fresh, std::uint32_t client, std::optional<std::uint32_t> without) {
  const auto& source = *db_->find(client);
  auto& target = *fresh.find(client);
  for (std::size_t slot = 0; slot < record_slots; ++slot) {
    const auto record = read(client, source, slot);  // checks the record: damage must not get a new checksum
    if (record && (!*record || !facts_.history.contains((*record)->tag.life, (*record)->tag.version))) continue;
    if (!record) {
      // An erasure copies damaged records of other clients unchanged, but cannot skip files that RocksDB cannot read.
      const auto present = db_->get(client, source, slot, found_);
      if (!without || !present || named_client({found_.data(), found_.size()}) == without)
        return tl::unexpected(record.error());
      target.known = false;
    } else if (target.known && slot < pending_slots) {
      target.tags[slot] = (*record)->tag;
    }
    if (auto put = fresh.put(client, target, slot, {found_.data(), found_.size()}, true); !put) return put;
  }
  return {};
}

result<std::vector<std::uint32_t>> shard::clients() {
  const std::lock_guard hold(lock_);
  std::vector<std::uint32_t> clients;
  if (!content_) return clients;
  if (!facts_.spread.family_per_client())
    if (auto opened = open(); !opened) return tl::unexpected(opened.error());
  if (db_) return db_->clients();
  const auto location = place(content_->generation);
  if (const auto damaged = scan_manifest(facts_.env, location); !damaged.empty())
    return as_error(location, damaged.front());
  const auto files = file_ends_of(facts_.env, location);
  if (!files) return tl::unexpected(files.error());
  if (!files->reach(content_->files)) {  // families may be missing
    if (auto opened = open(); !opened) return tl::unexpected(opened.error());
    return db_->clients();
  }
  const auto names = list_families(facts_.env, location);
  if (!names) return tl::unexpected(names.error());
  for (const auto& name : *names)
    if (const auto client = facts_.spread.client_named(name)) clients.push_back(*client);
  std::ranges::sort(clients);
  return clients;
}

}  // namespace furlong::storage::detail
