// Looks for damage in a database's files without RocksDB's help.
#include <algorithm>

#include "storage/detail/database.hpp"
#include "storage/detail/files.hpp"
#include "storage/detail/log_scan.hpp"

namespace furlong::storage::detail {

namespace fs = std::filesystem;

namespace {

std::string name_in_store(const fs::path& file) { return (file.parent_path().filename() / file.filename()).string(); }

/// Scans one file; `owner` tells whose record a damaged piece was.
template <class Owner>
bool scan_one(const environment& env, const database_place& place, const fs::path& file, const std::string& what,
              const Owner& owner, std::vector<store_problem>& problems) {
  const auto content = env.read(file);
  if (!content) {
    problems.push_back({place.shard, std::nullopt, name_in_store(file), content.error().reason, content.error().what});
    return false;
  }
  const auto scan = scan_log(*content);
  for (const auto& damage : scan.damages)
    problems.push_back({place.shard, owner(damage.payload), name_in_store(file),
                        "the " + what + " is damaged at byte " + std::to_string(env.head_bytes() + damage.offset) +
                            ": " + damage.reason});
  return scan.torn;
}

}  // namespace

std::vector<store_problem> scan_manifest(const environment& env, const database_place& place) {
  std::vector<store_problem> problems;
  const auto current = place.folder / "CURRENT";
  const auto name = env.read(current);
  if (!name || !name->starts_with("MANIFEST-") || !name->ends_with('\n')) {
    problems.push_back({place.shard, std::nullopt, name_in_store(current),
                        name ? "the file is damaged: it does not name a MANIFEST" : name.error().reason,
                        name ? error::kind::data : name.error().what});
    return problems;
  }
  const auto owner = [&](std::string_view payload) { return owner_in_manifest(place.spread, payload); };
  scan_one(env, place, place.folder / name->substr(0, name->size() - 1), "list of families", owner, problems);
  return problems;
}

std::vector<store_problem> scan_logs(const environment& env, const database_place& place,
                                     const std::vector<std::string>& families, bool& torn) {
  std::vector<store_problem> problems;
  auto files = files_in(place.folder);
  if (!files) {
    problems.push_back(
        {place.shard, std::nullopt, place.folder.filename().string(), files.error().reason, files.error().what});
    return problems;
  }
  auto& logs = *files;
  std::erase_if(logs, [](const fs::path& file) { return file.extension() != ".log"; });
  std::ranges::sort(logs);
  const auto owner = [&](const std::string& payload) { return owner_in_log(place.spread, payload, families); };
  for (const auto& log : logs) torn |= scan_one(env, place, log, "log", owner, problems);
  return problems;
}

tl::unexpected<error> as_error(const database_place& place, const store_problem& problem) {
  const auto client = problem.client ? ", client " + std::to_string(*problem.client) : std::string();
  const auto file = problem.file.empty() ? std::string() : problem.file + ": ";
  return fail(problem.what, place.name + client, file + problem.reason,
              problem.what == error::kind::data
                  ? "restore the store from a copy, or start the run anew"
                  : "check the disk, the folder's permissions, and how many files may be open (ulimit -n)");
}

}  // namespace furlong::storage::detail
