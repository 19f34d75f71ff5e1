#include "storage/detail/manifest.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <cstring>
#include <sstream>

#include "base/digest.hpp"
#include "storage/at_rest.capnp.h"
#include "storage/detail/files.hpp"
#include "storage/detail/message.hpp"

namespace furlong::storage::detail {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view magic = "FURLSTOR";
constexpr std::uint16_t manifest_format = 3;
constexpr auto file_name = "store.furlong";

tl::unexpected<error> unreadable(const fs::path& file, const std::string& reason) {
  return fail(error::kind::data, file.string(), reason, "restore the store from a copy, or start a new run");
}

std::string to_text(capnp::Data::Reader bytes) { return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()}; }
capnp::Data::Reader to_data(std::string_view text) {
  return {reinterpret_cast<const capnp::byte*>(text.data()), text.size()};
}

/// False if it is invalid.
bool read_spread(schema::StoreManifest::Reader message, spread& out) {
  const bool bucketed = message.getLayout() != 0;
  out = {bucketed ? store_layout::bucketed : store_layout::per_client, message.getShards(),
         bucketed ? message.getBucketClients() : 1};
  return message.getLayout() <= 1 && out.bucket_clients > 0 && out.shards > 0 && out.shards <= 256;
}

result<store_manifest> read_message(schema::StoreManifest::Reader message, const fs::path& file) {
  if (message.getFormat() != manifest_format)
    return unreadable(file, "the store has format " + std::to_string(message.getFormat()) + ", this release reads " +
                                std::to_string(manifest_format));
  store_manifest manifest;
  manifest.id = message.getStoreId();
  if (manifest.id == 0) return unreadable(file, "the store's id is invalid");
  manifest.run = message.getRun();
  if (!read_spread(message, manifest.spread)) return unreadable(file, "the number of shards or buckets is invalid");
  const auto signature = message.getSignature();
  manifest.signature.assign(signature.begin(), signature.size());
  const auto hash = message.getLayoutHash();
  const auto expected = sha256(manifest.signature);
  if (hash.size() != expected.size() || std::memcmp(hash.begin(), expected.data(), expected.size()) != 0)
    return unreadable(file, "the layout's hash does not match its signature");
  manifest.history = incarnations(to_vector(message.getLives()), to_vector(message.getHistory()));
  manifest.covered = message.getCovered();
  manifest.key_salt = to_text(message.getKeySalt());
  manifest.key_check = to_text(message.getKeyCheck());
  return manifest;
}

}  // namespace

bool has_manifest(const fs::path& store) { return is_there(store / file_name); }

result<void> write_manifest(const fs::path& store, const store_manifest& manifest) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<schema::StoreManifest>();
  root.setFormat(manifest_format);
  root.setStoreId(manifest.id);
  root.setRun(manifest.run);
  root.setShards(manifest.spread.shards);
  root.setLayout(manifest.spread.family_per_client() ? 0 : 1);
  root.setBucketClients(manifest.spread.bucket_clients);
  root.setKeySalt(to_data(manifest.key_salt));
  root.setKeyCheck(to_data(manifest.key_check));
  root.setSignature(manifest.signature);
  const auto hash = sha256(manifest.signature);
  root.setLayoutHash({reinterpret_cast<const capnp::byte*>(hash.data()), hash.size()});
  fill(root.initLives(static_cast<unsigned>(manifest.history.all().size())), manifest.history.all());
  fill(root.initHistory(static_cast<unsigned>(manifest.history.known().size())), manifest.history.known());
  root.setCovered(manifest.covered);
  return write_sealed(store / file_name, magic, message);
}

result<store_manifest> read_manifest(const fs::path& store) {
  const auto file = store / file_name;
  if (!has_manifest(store))
    return fail(error::kind::data, store.string(), "the folder has no private store (" + file.string() + " is missing)",
                "name the folder of a run that keeps private values, or of its store");
  return read_sealed<schema::StoreManifest>(file, magic, "store's description",
                                            [&](auto message) { return read_message(message, file); });
}

result<models::layout_ptr> layout_of(const std::string& signature) {
  std::vector<models::tensor_spec> specs;
  std::istringstream lines(signature);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view buffer_mark = " buffer";
    const bool is_buffer = line.ends_with(buffer_mark);
    if (is_buffer) line.resize(line.size() - buffer_mark.size());
    const auto cols_at = line.rfind(' ');
    const auto rows_at = cols_at == std::string::npos || cols_at == 0 ? cols_at : line.rfind(' ', cols_at - 1);
    models::tensor_spec spec;
    if (rows_at == std::string::npos || std::sscanf(line.c_str() + rows_at, " %u %u", &spec.rows, &spec.cols) != 2)
      return fail(error::kind::data, "private layout", "cannot read \"" + line + "\" as name, rows and columns");
    spec.name = line.substr(0, rows_at);
    spec.buffer = spec.exact = is_buffer;
    specs.push_back(std::move(spec));
  }
  return std::make_shared<const models::layout>(std::move(specs));
}

}  // namespace furlong::storage::detail
