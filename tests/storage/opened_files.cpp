#include "tests/storage/opened_files.hpp"

#include "storage/detail/database.hpp"
#include "storage/detail/manifest.hpp"

namespace furlong::tests {

namespace {

using namespace storage::detail;

keys_ptr keys_of(const store_kind& kind, const store_manifest& manifest) {
  return kind.encrypted ? must(derive_keys(kind.key_file(), manifest.key_salt)) : nullptr;
}

}  // namespace

std::vector<std::string> opened_files(const store_kind& kind, const fs::path& folder) {
  const environment env(kind.layout, keys_of(kind, must(read_manifest(folder))));
  std::vector<std::string> contents;
  for (const auto& file : files_below(folder)) {
    const auto name = file.filename();
    // Never encrypted.
    const bool own = name == "store.furlong" || name == "root.furlong" || name == "SEALED" || name == "LOCK";
    contents.push_back(own ? slurp(file) : must(env.read(file)));
  }
  return contents;
}

void overwrite_record(const store_kind& kind, const fs::path& folder, std::uint32_t client, std::string_view bytes) {
  const auto manifest = must(read_manifest(folder));
  const environment env(kind.layout, keys_of(kind, manifest));
  const auto db = must(database::open(env, {folder / "shard-0000.g0", 0, "test", manifest.spread}, false, {}));
  must(db->put(client, *db->find(client), 0, bytes, false));
}

}  // namespace furlong::tests
