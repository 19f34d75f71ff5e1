#include "storage/detail/root.hpp"

#include <algorithm>
#include <capnp/message.h>
#include <capnp/serialize.h>
#include <cstring>

#include "storage/at_rest.capnp.h"
#include "storage/detail/files.hpp"
#include "storage/detail/keys.hpp"
#include "storage/detail/message.hpp"

namespace furlong::storage::detail {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view root_magic = "FURLROOT";
constexpr std::string_view shard_magic = "FURLSHRD";
constexpr auto root_name = "root.furlong";

void write(schema::ShardState::Builder out, std::uint32_t shard, const shard_state& state) {
  out.setShard(shard);
  out.setGeneration(state.generation);
  out.setWrites(state.writes);
  out.setRecords(state.records);
  out.setManifest(state.files.manifest);
  out.setManifestBytes(state.files.manifest_bytes);
  out.setLog(state.files.log);
  out.setLogBytes(state.files.log_bytes);
}

shard_state read(schema::ShardState::Reader reader) {
  return {reader.getGeneration(),
          reader.getWrites(),
          reader.getRecords(),
          {reader.getManifest(), reader.getManifestBytes(), reader.getLog(), reader.getLogBytes()}};
}

result<store_root> read(schema::StoreRoot::Reader reader, std::uint64_t id, std::uint32_t shards,
                        const fs::path& file) {
  if (reader.getStoreId() != id)
    return fail(error::kind::data, file.string(),
                "the file belongs to another private store than store.furlong in the same folder",
                "restore the whole store from one copy, or start a new run");
  store_root root{{id, reader.getSave(), reader.getVersion()},
                  {id, reader.getBaseSave(), reader.getBaseVersion()},
                  shard_states(shards)};
  for (const auto shard : reader.getShards()) {
    if (shard.getShard() >= shards)
      return fail(error::kind::data, file.string(), "the file names a shard that the store does not have",
                  "restore the whole store from one copy, or start a new run");
    root.shards[shard.getShard()] = read(shard);
  }
  return root;
}

}  // namespace

result<std::uint64_t> random_id() {
  for (std::uint64_t id = 0;;) {
    const auto bytes = random_salt();
    if (!bytes) return tl::unexpected(bytes.error());
    std::memcpy(&id, bytes->data(), sizeof id);
    if (id != 0) return id;
  }
}

result<void> write_root(const fs::path& store, const store_root& root) {
  capnp::MallocMessageBuilder message;
  auto out = message.initRoot<schema::StoreRoot>();
  out.setStoreId(root.last.store);
  out.setSave(root.last.id);
  out.setVersion(root.last.version);
  out.setBaseSave(root.base.id);
  out.setBaseVersion(root.base.version);
  const auto known = std::ranges::count_if(root.shards, [](const auto& one) { return one.has_value(); });
  auto list = out.initShards(static_cast<unsigned>(known));
  unsigned next = 0;
  for (std::uint32_t i = 0; i < root.shards.size(); ++i)
    if (root.shards[i]) write(list[next++], i, *root.shards[i]);
  return write_sealed(store / root_name, root_magic, message);
}

result<store_root> read_root(const fs::path& store, std::uint64_t id, std::uint32_t shards) {
  const auto file = store / root_name;
  if (!is_there(file))
    return fail(error::kind::data, file.string(), "the file is missing; it records the content of the private store",
                "restore the store from a copy, or start a new run");
  return read_sealed<schema::StoreRoot>(file, root_magic, "root of the store",
                                        [&](auto message) { return read(message, id, shards, file); });
}

std::string to_bytes(const shard_state& state) {
  capnp::MallocMessageBuilder message;
  write(message.initRoot<schema::ShardState>(), 0, state);
  return seal(shard_magic, flat(message));
}

result<shard_state> shard_state_of(std::string_view bytes, const fs::path& file) {
  return unseal(shard_magic, bytes, file, "seal of the shard").and_then([&](std::string_view payload) {
    return with_message<schema::ShardState>(payload, file,
                                            [](auto message) { return result<shard_state>(read(message)); });
  });
}

}  // namespace furlong::storage::detail
