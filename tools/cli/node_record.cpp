#include "tools/cli/node_record.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "storage/durable_folder.hpp"
#include "tools/cli/run_directory.hpp"

namespace furlong::tools {

using json = nlohmann::ordered_json;

std::filesystem::path node_record_file(const std::filesystem::path& folder) { return folder / "node.json"; }

result<std::optional<node_record>> read_node_record(const std::filesystem::path& folder) {
  const auto file = node_record_file(folder);
  std::ifstream in(file);
  if (!in) return std::optional<node_record>();
  const auto read = json::parse(in, nullptr, false);
  node_record record;
  try {
    record.start_id = read.at("start_id").get<std::uint64_t>();
    record.life = read.at("life").get<std::uint64_t>();
    record.store = read.at("store").get<std::uint64_t>();
    record.openings = read.at("openings").get<std::uint64_t>();
    record.served = read.at("served").get<std::uint64_t>();
    record.clients = {read.at("clients").at(0).get<std::uint32_t>(), read.at("clients").at(1).get<std::uint32_t>()};
    record.data_sha256 = read.at("data_sha256").get<std::string>();
  } catch (const json::exception&) {
    return fail(error::kind::data, file.string(), "is damaged",
                "restore the folder from a copy, or name another --store");
  }
  return record;
}

result<void> write_node_record(const std::filesystem::path& folder, const node_record& record) {
  if (const auto failed = storage::make_durable_folder(folder))
    return fail(error::kind::runtime, folder.string(), "cannot be made: " + failed.message());
  const json out = {{"start_id", record.start_id},
                    {"life", record.life},
                    {"store", record.store},
                    {"openings", record.openings},
                    {"served", record.served},
                    {"clients", {record.clients.first, record.clients.last}},
                    {"data_sha256", record.data_sha256}};
  return write_atomically(node_record_file(folder), out.dump());
}

}  // namespace furlong::tools
