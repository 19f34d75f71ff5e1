#include <rocksdb/file_checksum.h>

#include "storage/detail/shard.hpp"

namespace furlong::storage::detail {

std::vector<store_problem> verify_tables(const environment& env, rocksdb::DB& db, const database_place& place) {
  std::vector<store_problem> problems;
  std::vector<rocksdb::LiveFileMetaData> tables;
  db.GetLiveFilesMetaData(&tables);
  const auto factory = rocksdb::GetFileChecksumGenCrc32cFactory();
  for (const auto& table : tables) {
    const std::filesystem::path file = table.db_path + table.name;
    store_problem problem{place.shard,
                          place.spread.client_named(table.column_family_name),
                          (file.parent_path().filename() / file.filename()).string(),
                          {}};
    const auto content = env.read(file);
    const auto generator = factory->CreateFileChecksumGenerator({});
    if (content) generator->Update(content->data(), content->size());
    generator->Finalize();
    if (!content) {
      problem.reason = content.error().reason;
      problem.what = content.error().what;
    } else if (generator->GetChecksum() != table.file_checksum) {
      problem.reason = "the table is damaged: its checksum does not match its content";
    }
    if (!problem.reason.empty()) problems.push_back(std::move(problem));
  }
  return problems;
}

void shard::verify_records(std::vector<store_problem>& problems) {
  const auto clients = db_->clients();
  if (!clients) return problems.push_back({number_, std::nullopt, {}, clients.error().reason, clients.error().what});
  for (const auto client : *clients) {
    const auto& columns = *db_->find(client);
    for (std::size_t slot = 0; slot < record_slots; ++slot)
      if (const auto record = read(client, columns, slot); !record)
        problems.push_back({number_, client, {}, record.error().reason, record.error().what});
  }
}

void shard::verify(std::vector<store_problem>& problems) {
  const std::lock_guard hold(lock_);
  if (!content_) return;
  const auto location = place(content_->generation);
  std::optional<quiet_files> quiet;
  if (db_) quiet.emplace(db_->raw());
  const auto add = [&](const std::vector<store_problem>& found) {
    problems.insert(problems.end(), found.begin(), found.end());
    return !found.empty();
  };
  if (add(scan_manifest(facts_.env, location))) return;  // without the MANIFEST the other files cannot be interpreted
  const auto families = list_families(facts_.env, location);
  if (!families) return problems.push_back({number_, std::nullopt, {}, families.error().reason, families.error().what});
  bool torn = false;
  const bool damaged = add(scan_logs(facts_.env, location, *families, content_->files, torn));
  const auto opened = open();
  if (opened) {
    if (!quiet) quiet.emplace(db_->raw());  // opening may have started to move a log to tables
    add(verify_tables(facts_.env, db_->raw(), location));
    verify_records(problems);
  } else if (!damaged && !add(diagnose_tables(facts_.env, location, *families))) {
    problems.push_back({number_, std::nullopt, {}, opened.error().reason, opened.error().what});
  }
}

}  // namespace furlong::storage::detail
