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

/// The minimum content of a shard whose valid generation is `there`.
result<std::optional<shard_state>> content_of(const fs::path& store, std::uint32_t shard,
                                              std::optional<std::uint32_t> there,
                                              const std::optional<shard_state>& had) {
  if (had && (!there || *there < had->generation))
    return fail(error::kind::data, generation_folder(store, shard, had->generation).string(),
                "the shard or its file " + std::string(seal_name) + " is missing; it existed when the store was saved",
                "restore the store from a copy, or start a new run");
  if (!there || (had && had->generation == *there)) return had;
  const auto file = generation_folder(store, shard, *there) / seal_name;  // a generation newer than the save
  return read_file(file)
      .and_then([&](const std::string& bytes) { return shard_state_of(bytes, file); })
      .map([](const shard_state& state) { return std::optional(state); });
}

}  // namespace

fs::path generation_folder(const fs::path& store, std::uint32_t shard, std::uint32_t generation) {
  auto number = std::to_string(shard);
  number.insert(0, number.size() < 4 ? 4 - number.size() : 0, '0');
  return store / ("shard-" + number + ".g" + std::to_string(generation));
}

result<void> seal_generation(const fs::path& folder, const shard_state& content) {
  if (auto synced = sync_folder(folder); !synced) return synced;
  const auto bytes = to_bytes(content);
  return replace_file(folder / seal_name, std::as_bytes(std::span(bytes))).and_then([&] {
    return sync_path(folder.parent_path());
  });
}

result<shard_states> find_generations(const fs::path& store, const shard_states& saved, bool clean) {
  const auto shards = static_cast<std::uint32_t>(saved.size());
  std::vector<std::optional<std::uint32_t>> valid(shards);
  std::vector<found_folder> folders;
  const auto files = files_in(store);
  if (!files) return tl::unexpected(files.error());
  for (const auto& file : *files)
    if (const auto found = parse(file); found && found->shard < shards) folders.push_back(*found);
  for (const auto& found : folders)
    if (found.sealed) valid[found.shard] = std::max(valid[found.shard].value_or(0), found.generation);
  shard_states states(shards);
  for (std::uint32_t i = 0; i < shards; ++i) {
    auto state = content_of(store, i, valid[i], saved[i]);
    if (!state) return tl::unexpected(state.error());
    states[i] = *state;
  }
  for (const auto& found : folders)
    if (clean && valid[found.shard] != found.generation)
      if (auto removed = remove_folder(found.path); !removed) return tl::unexpected(removed.error());
  return states;
}

}  // namespace furlong::storage::detail
