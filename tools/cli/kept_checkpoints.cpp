#include "tools/cli/kept_checkpoints.hpp"

#include <algorithm>

#include "base/parse_number.hpp"
#include "storage/checkpoint.hpp"
#include "storage/durable_folder.hpp"
#include "storage/rocks_store.hpp"

namespace furlong::tools {

namespace fs = std::filesystem;

namespace {

result<void> delete_kept(const fs::path& folder) {
  std::error_code failed;
  fs::remove_all(folder, failed);
  if (!failed) return {};
  return fail(error::kind::runtime, folder.string(), "cannot be removed: " + failed.message(), "remove the folder");
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
    std::error_code failed;
    fs::rename(made.root(), at(version).root(), failed);
    if (failed) return fail(error::kind::runtime, made.root().string(), "cannot be renamed: " + failed.message());
  }
  auto all = versions();
  while (all.size() > keep) {
    if (auto removed = delete_kept(at(all.front()).root()); !removed) return removed;
    all.erase(all.begin());
  }
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
