#include "tools/node_store.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "federated/client_work.hpp"
#include "storage/memory_store.hpp"
#include "tools/run_directory.hpp"
#include "tools/run_start.hpp"

namespace furlong::tools {

namespace {

using json = nlohmann::ordered_json;

/// What a store has been told of its run.
struct memory {
  std::vector<std::uint64_t> resumed_at;
  std::uint64_t covered = 0;
};

std::filesystem::path memory_of(const std::filesystem::path& folder) { return folder / "covered.json"; }

result<memory> recall(const std::filesystem::path& folder) {
  std::ifstream in(memory_of(folder));
  if (!in) return memory{};
  const auto read = json::parse(in, nullptr, false);
  const auto whole = [](const json& one) { return one.is_number_unsigned(); };
  const auto lives = read.is_object() ? read.value("resumed_at", json()) : json();
  const bool good =
      lives.is_array() && std::all_of(lives.begin(), lives.end(), whole) && whole(read.value("covered", json()));
  if (!good)
    return fail(error::kind::data, memory_of(folder).string(), "is damaged",
                "remove it if this store is of the server's present run, or name another --store");
  return memory{lives.get<std::vector<std::uint64_t>>(), read["covered"].get<std::uint64_t>()};
}

/// The store, and beside it what it was told.
class node_store final : public federated::private_store {
 public:
  node_store(std::unique_ptr<federated::private_store> values, std::filesystem::path folder, memory told)
      : values_(std::move(values)), folder_(std::move(folder)), told_(std::move(told)) {}

  result<bool> load(std::uint32_t client, models::private_parameters& out) override {
    return values_->load(client, out);
  }
  result<void> commit(std::uint32_t client, std::uint64_t version, const models::private_parameters& value) override {
    return values_->commit(client, version, value);
  }
  result<void> sync() override { return values_->sync(); }
  void covered(std::uint64_t version) override {
    values_->covered(version);
    if (version == told_.covered) return;
    told_.covered = version;
    const json out = {{"resumed_at", told_.resumed_at}, {"covered", version}};
    // Nothing is lost without it: only a start of the run from nothing would not be noticed.
    if (auto written = write_atomically(memory_of(folder_), out.dump()); !written)
      spdlog::warn("{}", written.error().text());
  }
  result<bool> erase(std::uint32_t client) override { return values_->erase(client); }
  result<void> visit(
      const std::function<void(std::uint32_t, std::uint64_t, const models::private_parameters&)>& each) override {
    return values_->visit(each);
  }

 private:
  std::unique_ptr<federated::private_store> values_;
  std::filesystem::path folder_;
  memory told_;
};

}  // namespace

result<std::shared_ptr<federated::private_store>> open_node_store(const federated::experiment& e,
                                                                  const std::filesystem::path& folder,
                                                                  const federated::protocol::welcome& got,
                                                                  std::uint32_t clients) {
  if (!federated::is_stateful(e.settings.algorithm))
    return std::make_shared<storage::memory_store>(e.parts.private_);  // stays empty, and leaves no trace
  const auto told = recall(folder);
  if (!told) return tl::unexpected(told.error());
  auto values = open_private_store(e, folder, got.history, clients, true);
  if (!values) return tl::unexpected(values.error());
  // Without this the values of the earlier start would pass for values of this one.
  if (told->resumed_at == got.history.resumed_at && told->covered > 0 && got.covered == 0)
    return fail(error::kind::usage, folder.string(),
                "has the private values of an earlier start of this run, which came to version " +
                    std::to_string(told->covered) + ", and the server has started it from nothing",
                "name another --store, or remove this folder");
  return std::make_shared<node_store>(std::move(*values), folder, memory{got.history.resumed_at, told->covered});
}

}  // namespace furlong::tools
