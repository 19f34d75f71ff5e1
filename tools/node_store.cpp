#include "tools/node_store.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "federated/client_work.hpp"
#include "storage/memory_store.hpp"
#include "storage/rocks_store.hpp"
#include "tools/run_directory.hpp"
#include "tools/run_start.hpp"

namespace furlong::tools {

namespace {

using json = nlohmann::ordered_json;

/// The start of the run that a store is of (welcome::start_id).
std::filesystem::path start_file(const std::filesystem::path& folder) { return folder / "start.json"; }

/// 0: none is known.
result<std::uint64_t> recall(const std::filesystem::path& folder) {
  std::ifstream in(start_file(folder));
  if (!in) return 0;
  const auto read = json::parse(in, nullptr, false);
  const auto start = read.is_object() ? read.value("start_id", json()) : json();
  if (!start.is_number_unsigned())
    return fail(error::kind::data, start_file(folder).string(), "is damaged",
                "remove it if this store is empty, or name another --store");
  return start.get<std::uint64_t>();
}

result<void> remember(const std::filesystem::path& folder, std::uint64_t start_id) {
  return write_atomically(start_file(folder), json{{"start_id", start_id}}.dump());
}

/// A run that starts again from nothing has the id of the one before: without this, values of the earlier start would
/// pass for values of this one. Looks before the store is opened for the run, which may make them void for good.
result<void> check_start(const federated::experiment& e, const std::filesystem::path& folder, std::uint64_t start_id) {
  const auto known = recall(folder);
  if (!known) return tl::unexpected(known.error());
  if (*known == start_id) return {};
  const auto store = storage::rocks_store::inspect(folder, storage::store_access::read, e.settings.own.key_file);
  if (!store) return tl::unexpected(store.error());
  if ((*store)->run() != e.run) return {};  // a better reason, which opening it tells
  const auto values = (*store)->list();
  if (!values) return tl::unexpected(values.error());
  if (values->empty()) return {};
  return fail(error::kind::usage, folder.string(),
              "has the private values of an earlier start of this run, and the server has started it from nothing",
              "name another --store, or remove this folder");
}

}  // namespace

result<void> check_node_store(const std::filesystem::path& folder, const std::filesystem::path& key_file) {
  if (!storage::rocks_store::is_in(folder)) return {};
  const auto opened = storage::rocks_store::inspect(folder, storage::store_access::change, key_file);
  return opened ? result<void>() : tl::unexpected(opened.error());
}

result<std::shared_ptr<federated::private_store>> open_node_store(const federated::experiment& e,
                                                                  const std::filesystem::path& folder,
                                                                  const federated::protocol::welcome& got,
                                                                  std::uint32_t clients) {
  if (!federated::is_stateful(e.settings.algorithm))
    return std::make_shared<storage::memory_store>(e.parts.private_);  // stays empty, and leaves no trace
  if (storage::rocks_store::is_in(folder)) {
    if (auto same = check_start(e, folder, got.start_id); !same) return tl::unexpected(same.error());
  } else if (!storage::rocks_store::is_vacant(folder)) {
    return fail(error::kind::usage, folder.string(), "is not empty, and has no private store",
                "name a new or empty folder with --store, or the one that this node had before");
  }
  auto values = open_private_store(e, folder, got.history, clients, true, {});
  if (!values) return tl::unexpected(values.error());
  if (auto noted = remember(folder, got.start_id); !noted) return tl::unexpected(noted.error());
  return std::shared_ptr<federated::private_store>(std::move(*values));
}

}  // namespace furlong::tools
