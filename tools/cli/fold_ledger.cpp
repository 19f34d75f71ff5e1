#include "tools/cli/fold_ledger.hpp"

#include <fstream>
#include <iterator>

#include "tools/cli/json.hpp"

namespace furlong::tools {

namespace {

/// Bytes up to the end of the last whole line; 0 when there is no file.
std::uint64_t whole_lines(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto last = text.rfind('\n');
  return last == std::string::npos ? 0 : last + 1;
}

}  // namespace

result<fold_ledger> fold_ledger::open(const std::filesystem::path& path,
                                      const federated::protocol::server_state& from) {
  auto file = growing_file::open(path, whole_lines(path));
  if (!file) return tl::unexpected(file.error());
  fold_ledger ledger(std::move(*file), from.history.life());
  if (auto begun = ledger.append(json{{"life", ledger.life_}, {"from", from.version}}.dump()); !begun)
    return tl::unexpected(begun.error());
  return ledger;
}

result<void> fold_ledger::add(const federated::round_report& report) {
  json line = {{"life", life_}, {"version", report.version}, {"folded", json::array()}};
  for (const auto& id : report.members) line["folded"].push_back(json::array({id.version, id.client, id.attempt}));
  return append(line.dump());
}

result<void> fold_ledger::append(const std::string& line) {
  if (auto written = file_.append(line); !written) return written;
  if (auto synced = file_.sync(); !synced) return tl::unexpected(synced.error());
  return {};
}

}  // namespace furlong::tools
