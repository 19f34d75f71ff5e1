#include "storage/detail/generations.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include "storage/detail/files.hpp"

namespace furlong::storage::detail {

namespace fs = std::filesystem;

namespace {

constexpr auto seal_name = "SEALED";

struct found_folder {
  std::uint32_t shard = 0;
  std::uint32_t generation = 0;
  fs::path path;
  bool sealed = false;
};

std::optional<found_folder> parse(const fs::path& folder) {
  found_folder found;
  const auto name = folder.filename().string();
  if (std::sscanf(name.c_str(), "shard-%u.g%u", &found.shard, &found.generation) != 2) return std::nullopt;
  if (name != generation_folder({}, found.shard, found.generation).string()) return std::nullopt;
  found.path = folder;
  found.sealed = is_there(folder / seal_name);
  return found;
}

}  // namespace

fs::path generation_folder(const fs::path& store, std::uint32_t shard, std::uint32_t generation) {
  auto number = std::to_string(shard);
  number.insert(0, number.size() < 4 ? 4 - number.size() : 0, '0');
  return store / ("shard-" + number + ".g" + std::to_string(generation));
}

result<void> seal_generation(const fs::path& folder) {
  if (auto synced = sync_folder(folder); !synced) return synced;
  return replace_file(folder / seal_name, {}).and_then([&] { return sync_path(folder.parent_path()); });
}

result<std::vector<std::optional<std::uint32_t>>> find_generations(const fs::path& store, std::uint32_t shards,
                                                                   bool clean) {
  std::vector<std::optional<std::uint32_t>> valid(shards);
  std::vector<found_folder> all;
  const auto files = files_in(store);
  if (!files) return tl::unexpected(files.error());
  for (const auto& file : *files)
    if (const auto found = parse(file); found && found->shard < shards) all.push_back(*found);
  for (const auto& found : all)
    if (found.sealed) valid[found.shard] = std::max(valid[found.shard].value_or(0), found.generation);
  for (const auto& found : all)
    if (clean && valid[found.shard] != found.generation)
      if (auto removed = remove_folder(found.path); !removed) return tl::unexpected(removed.error());
  return valid;
}

}  // namespace furlong::storage::detail
