#include "tools/runs/kept_checkpoints.hpp"

#include <algorithm>

#include "base/digest.hpp"
#include "base/parse_number.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "storage/checkpoint.hpp"
#include "storage/durable_folder.hpp"
#include "storage/rocks_store.hpp"
#include "tools/runs/child_runs.hpp"
#include "tools/runs/json.hpp"

namespace furlong::tools {

namespace fs = std::filesystem;

namespace {

result<void> delete_kept(const fs::path& folder) {
  std::error_code failed;
  fs::remove_all(folder, failed);
  if (!failed) return {};
  return fail(error::kind::runtime, folder.string(), "cannot be removed: " + failed.message(), "remove the folder");
}

/// Of all files of a checkpoint.
result<std::string> checkpoint_digest(const fs::path& checkpoint) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(checkpoint, failed)) files.push_back(entry.path());
  std::ranges::sort(files);
  sha256_stream digest;
  for (const auto& path : files) {
    const auto file = scenarios::mapped_file::open(path);
    if (!file) return tl::unexpected(file.error());
    digest.add(path.filename().string()).add(std::uint64_t{file->bytes().size()}).add(file->bytes());
  }
  return hex(digest.finish());
}

/// True if `earlier` is the history of a run that later had the history `later`, at a version of the earlier.
bool continues(const federated::run_history& earlier, std::uint64_t version, const federated::run_history& later) {
  const auto lives = earlier.ids.size();
  return lives <= later.ids.size() && std::equal(earlier.ids.begin(), earlier.ids.end(), later.ids.begin()) &&
         std::equal(earlier.resumed_at.begin(), earlier.resumed_at.end(), later.resumed_at.begin()) &&
         (lives == later.ids.size() || later.resumed_at[lives] >= version);
}

}  // namespace

std::vector<std::uint64_t> kept_checkpoints::versions() const {
  std::vector<std::uint64_t> found;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(root_, missing)) {
    if (const auto version = parse_number<std::uint64_t>(entry.path().filename().string())) found.push_back(*version);
  }
  std::ranges::sort(found);
  return found;
}

result<void> kept_checkpoints::add(std::uint64_t version, const federated::private_store& store,
                                   std::size_t keep) const {
  if (keep > 0) {
    const run_directory made(root_ / (std::to_string(version) + ".new"));
    for (const auto& outdated : {made.root(), at(version).root()})
      if (auto removed = delete_kept(outdated); !removed) return removed;
    if (const auto why = storage::make_durable_folder(made.root()))
      return fail(error::kind::runtime, made.root().string(), "cannot be made: " + why.message());
    if (const auto* rocks = dynamic_cast<const storage::rocks_store*>(&store))
      if (auto copied = rocks->snapshot(made.private_store()); !copied) return copied;
    if (auto copied = storage::copy_checkpoint(checkpoint_, made.checkpoint()); !copied) return copied;
    if (auto recorded = record(version, made.checkpoint()); !recorded) return recorded;
    std::error_code failed;
    fs::rename(made.root(), at(version).root(), failed);
    if (failed) return fail(error::kind::runtime, made.root().string(), "cannot be renamed: " + failed.message());
  }
  auto found = versions();
  while (found.size() > keep) {
    if (auto removed = delete_kept(at(found.front()).root()); !removed) return removed;
    found.erase(found.begin());
  }
  return {};
}

/// Before the folder has its name: a kept checkpoint always has a digest.
result<void> kept_checkpoints::record(std::uint64_t version, const fs::path& checkpoint) const {
  const auto digest = checkpoint_digest(checkpoint);
  if (!digest) return tl::unexpected(digest.error());
  const auto before = read_object(digests());
  json after = json::object();
  for (const auto kept : versions())
    if (const auto name = std::to_string(kept); before.is_object() && before.contains(name)) after[name] = before[name];
  after[std::to_string(version)] = *digest;
  return write_atomically(digests(), json_text(after));
}

result<void> kept_checkpoints::check(std::uint64_t version, const federated::server_state& state,
                                     const federated::server_state& newest) const {
  const auto folder = at(version);
  const auto refuse = [&](const std::string& why) {
    return fail(error::kind::data, folder.root().string(), why,
                "remove this folder: the replay then starts from an earlier checkpoint, or from the start");
  };
  if (state.run != newest.run) return refuse("is the checkpoint of another scenario than the run's");
  if (state.data_sha256 != newest.data_sha256) return refuse("is a checkpoint of other data than the run's");
  if (state.version != version)
    return refuse("is the checkpoint of version " + std::to_string(state.version) + ", not of that in its name");
  if (version > newest.version || !continues(state.history, version, newest.history))
    return refuse("is no earlier moment of the run: its lives are not those of the run's checkpoint");
  if (state.private_save.store != newest.private_save.store)
    return refuse("belongs to another private store than the run's");
  const auto digest = checkpoint_digest(folder.checkpoint());
  if (!digest) return tl::unexpected(digest.error());
  const auto recorded = read_object(digests());
  const auto name = std::to_string(version);
  if (!recorded.is_object() || !recorded.contains(name))
    return refuse("is not among the checkpoints that the run kept (" + digests().filename().string() + ")");
  if (recorded[name] != *digest) return refuse("is not as the run has written it: its digest differs");
  return {};
}

result<std::size_t> kept_checkpoints::drop(std::span<const std::uint32_t> clients, const fs::path& key_file) const {
  std::size_t dropped = 0;
  for (const auto version : versions()) {
    const auto folder = at(version);
    if (!fs::exists(folder.private_store())) continue;
    bool has = false;
    {
      const auto store = storage::rocks_store::inspect(folder.private_store(), storage::store_access::change, key_file);
      const auto holds = [&](std::uint32_t client) {
        const auto erased = (*store)->erase(client);
        return !erased || *erased;
      };
      has = !store || std::ranges::any_of(clients, holds);
    }
    if (!has) continue;
    if (auto removed = delete_kept(folder.root()); !removed) return tl::unexpected(removed.error());
    ++dropped;
  }
  return dropped;
}

}  // namespace furlong::tools
