// Detects damage in a database's files without RocksDB.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "storage/detail/database.hpp"
#include "storage/detail/files.hpp"
#include "storage/detail/log_scan.hpp"

namespace furlong::storage::detail {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view manifest_prefix = "MANIFEST-";

std::string name_in_store(const fs::path& file) { return (file.parent_path().filename() / file.filename()).string(); }

/// The name of the MANIFEST in use. Errors name CURRENT, as store_problem does.
result<std::string> manifest_name(const environment& env, const database_place& place) {
  const auto current = place.folder / "CURRENT";
  auto name = env.read(current);
  if (!name) return fail(name.error().what, name_in_store(current), name.error().reason);
  if (!name->starts_with(manifest_prefix) || !name->ends_with('\n'))
    return fail(error::kind::data, name_in_store(current), "the file is damaged: it does not name a MANIFEST");
  name->pop_back();
  return name;
}

/// The logs of a database, oldest first.
result<std::vector<fs::path>> logs_of(const database_place& place) {
  auto files = files_in(place.folder);
  if (!files) return files;
  std::erase_if(*files, [](const fs::path& file) { return file.extension() != ".log"; });
  std::ranges::sort(*files);
  return files;
}

/// Scans one file and adds to `problems`; `owner` determines the client of a damaged piece. True if the file is torn.
template <class Owner>
bool scan_one(const environment& env, const database_place& place, const fs::path& file, const std::string& title,
              const Owner& owner, std::vector<store_problem>& problems,
              const std::function<void(std::string_view)>& each = {}) {
  const auto content = env.read(file);
  if (!content) {
    problems.push_back({place.shard, std::nullopt, name_in_store(file), content.error().reason, content.error().what});
    return false;
  }
  const auto scan = scan_log(*content, each);
  for (const auto& damage : scan.damages)
    problems.push_back({place.shard, owner(damage.payload), name_in_store(file),
                        "the " + title + " is damaged at byte " + std::to_string(env.head_bytes() + damage.offset) +
                            ": " + damage.reason});
  return scan.torn;
}

/// Checks the sequence numbers of the writes across a shard's logs: each batch begins with its first number (8 bytes)
/// and its count (4 bytes). A missing or repeated number would make RocksDB abort the process. A power failure can keep
/// a log and lose the end of the previous one if neither was synced.
class write_counter {
 public:
  /// `unsaved`: the log was started after the last save, of which nothing is missing.
  void begin_log(bool unsaved) { may_lack_ = unsaved; }
  void operator()(std::string_view batch) {
    std::uint64_t first = 0;
    std::uint32_t count = 0;
    if (batch.size() < sizeof first + sizeof count) return;
    std::memcpy(&first, batch.data(), sizeof first);
    std::memcpy(&count, batch.data() + sizeof first, sizeof count);
    if (last_ && may_lack_ && first > *last_ + 1)
      lacks_ = true;
    else if (last_ && first != *last_ + 1 && !break_)
      break_ = "write " + std::to_string(*last_) + " is followed by write " + std::to_string(first);
    last_ = first + count - 1;
    may_lack_ = false;
  }
  /// The first gap or repetition in the numbers.
  [[nodiscard]] const std::optional<std::string>& broken() const { return break_; }
  /// True if writes after the last save are missing.
  [[nodiscard]] bool lacks_unsaved() const { return lacks_; }

 private:
  bool may_lack_ = false;
  bool lacks_ = false;
  std::optional<std::uint64_t> last_;
  std::optional<std::string> break_;
};

std::uint64_t number_of(const fs::path& log) { return std::strtoull(log.filename().c_str(), nullptr, 10); }

/// True if the newest log of the last save still has all its content.
bool has_saved_log(const std::vector<fs::path>& logs, const file_ends& saved) {
  const auto found = std::ranges::find(logs, saved.log, number_of);
  std::error_code failed;
  return found != logs.end() && fs::file_size(*found, failed) >= saved.log_bytes && !failed;
}

}  // namespace

std::vector<store_problem> scan_manifest(const environment& env, const database_place& place) {
  std::vector<store_problem> problems;
  // RocksDB aborts the process if it cannot read this file.
  if (const auto identity = place.folder / "IDENTITY"; is_there(identity))
    if (const auto id = env.read(identity); !id || id->empty()) {
      problems.push_back({place.shard, std::nullopt, name_in_store(identity),
                          id ? "the file is damaged: it is empty" : id.error().reason,
                          id ? error::kind::data : id.error().what});
      return problems;
    }
  const auto name = manifest_name(env, place);
  if (!name) {
    problems.push_back({place.shard, std::nullopt, name.error().place, name.error().reason, name.error().what});
    return problems;
  }
  const auto owner = [&](std::string_view payload) { return owner_in_manifest(place.spread, payload); };
  scan_one(env, place, place.folder / *name, "list of families", owner, problems);
  return problems;
}

result<file_ends> file_ends_of(const environment& env, const database_place& place) {
  const auto removed = fail(error::kind::data, place.name, "files of the shard were removed while it was in use",
                            "restore the store from a copy, or start a new run");
  if (!is_there(place.folder / "CURRENT")) return removed;
  const auto name = manifest_name(env, place);
  if (!name) return tl::unexpected(name.error());
  const auto logs = logs_of(place);
  if (!logs) return tl::unexpected(logs.error());
  file_ends ends;
  std::error_code failed;
  ends.manifest = std::strtoull(name->c_str() + manifest_prefix.size(), nullptr, 10);
  ends.manifest_bytes = fs::file_size(place.folder / *name, failed);
  if (!failed && !logs->empty()) {
    ends.log = number_of(logs->back());
    ends.log_bytes = fs::file_size(logs->back(), failed);
  }
  if (failed == std::errc::no_such_file_or_directory) return removed;
  if (failed) return fail(error::kind::runtime, place.name, "cannot list the files of the shard: " + failed.message());
  return ends;
}

std::vector<store_problem> scan_logs(const environment& env, const database_place& place,
                                     const std::vector<std::string>& families, const file_ends& saved, bool& torn) {
  std::vector<store_problem> problems;
  const auto logs = logs_of(place);
  if (!logs) {
    problems.push_back(
        {place.shard, std::nullopt, place.folder.filename().string(), logs.error().reason, logs.error().what});
    return problems;
  }
  const auto owner = [&](const std::string& payload) { return owner_in_log(place.spread, payload, families); };
  write_counter writes;
  const bool saved_is_there = has_saved_log(*logs, saved);
  for (const auto& log : *logs) {
    writes.begin_log(saved_is_there && number_of(log) > saved.log);
    torn |= scan_one(env, place, log, "log", owner, problems, std::ref(writes));
    if (problems.empty() && writes.broken())
      problems.push_back({place.shard, std::nullopt, name_in_store(log),
                          *writes.broken() + ": a log is truncated, missing, or of another shard"});
  }
  torn |= writes.lacks_unsaved();
  return problems;
}

tl::unexpected<error> as_error(const database_place& place, const store_problem& problem) {
  const auto client = problem.client ? ", client " + std::to_string(*problem.client) : std::string();
  const auto file = problem.file.empty() ? std::string() : problem.file + ": ";
  return fail(problem.what, place.name + client, file + problem.reason,
              problem.what == error::kind::data
                  ? "restore the store from a copy, or start a new run"
                  : "check the disk, the folder's permissions, and the limit of open files (ulimit -n)");
}

}  // namespace furlong::storage::detail
