// What the command writes is there after a loss of power once the function that wrote it has returned.
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "tests/support/power_loss.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tools/certs/files.hpp"
#include "tools/runs/node_store.hpp"
#include "tools/runs/run_directory.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(durable_files)

namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The content of a file after a loss of power; nothing: the file is lost.
std::optional<std::string> left(const watched_disk& disk, const fs::path& file) {
  const auto image = disk.durable();
  const auto at = image.find(file);
  if (at == image.end() || at->second == nullptr) return std::nullopt;
  return *at->second;
}

bool left_folder(const watched_disk& disk, const fs::path& folder) {
  const auto image = disk.durable();
  const auto at = image.find(folder);
  return at != image.end() && at->second == nullptr;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_folder_and_all_above_it_last) {
  const temporary_folder folder;
  const watched_disk disk(folder.path(), [](const watched_disk&) {});
  BOOST_TEST_REQUIRE(tools::run_directory(folder / "runs/today/one/").create().has_value());
  BOOST_TEST(left_folder(disk, "runs/today/one"));
}

BOOST_AUTO_TEST_CASE(a_file_is_replaced_whole_or_not_at_all) {
  const temporary_folder folder;
  const auto file = folder / "summary.json";
  BOOST_TEST_REQUIRE(tools::write_atomically(file, "old").has_value());
  std::set<std::string> seen;
  const watched_disk disk(folder.path(), [&](const watched_disk& now) {
    seen.insert(left(now, "summary.json").value_or("lost"));
    for (std::uint32_t draw = 0; draw < 20; ++draw) {
      const auto image = now.partly({draw, purpose::test});
      const auto at = image.find("summary.json");
      seen.insert(at == image.end() ? "lost" : *at->second);
    }
  });
  BOOST_TEST_REQUIRE(tools::write_atomically(file, "new").has_value());
  BOOST_TEST((left(disk, "summary.json") == "new\n"));
  BOOST_TEST((seen == std::set<std::string>{"old\n", "new\n"}));
}

BOOST_AUTO_TEST_CASE(lines_last_once_they_are_synced) {
  const temporary_folder folder;
  { std::ofstream(folder / "metrics.jsonl") << "one\n"; }
  const watched_disk disk(folder.path(), [](const watched_disk&) {});
  auto file = tools::growing_file::open(folder / "metrics.jsonl", 4);
  BOOST_TEST_REQUIRE(file.has_value());
  BOOST_TEST_REQUIRE(file->append("two").has_value());
  BOOST_TEST((left(disk, "metrics.jsonl") == "one\n"));
  BOOST_TEST((file->sync() == 8U));
  BOOST_TEST((left(disk, "metrics.jsonl") == "one\ntwo\n"));
}

// Updates are acknowledged to a node that has it.
BOOST_AUTO_TEST_CASE(a_node_record_lasts_in_a_new_folder) {
  const temporary_folder folder;
  const watched_disk disk(folder.path(), [](const watched_disk&) {});
  BOOST_TEST_REQUIRE(tools::write_node_record(folder / "nodes/one", {}).has_value());
  BOOST_TEST((left(disk, "nodes/one/node.json") == content_of(folder / "nodes/one/node.json")));
}

BOOST_AUTO_TEST_CASE(keys_and_certificates_last) {
  using namespace tools::certs;
  const temporary_folder folder;
  const watched_disk disk(folder.path(), [](const watched_disk&) {});
  auto staged = staged_folder::begin(folder / "authority");
  BOOST_TEST_REQUIRE(staged.has_value());
  BOOST_TEST_REQUIRE(create_file(staged->path() / "key", "secret", access::owner).has_value());
  BOOST_TEST_REQUIRE(staged->commit().has_value());
  BOOST_TEST((left(disk, "authority/key") == "secret"));
  BOOST_TEST_REQUIRE(create_folder(folder / "authority/issued").has_value());
  BOOST_TEST(left_folder(disk, "authority/issued"));
  BOOST_TEST_REQUIRE(replace_file(folder / "authority/denied", "first", access::all).has_value());
  BOOST_TEST((left(disk, "authority/denied") == "first"));
  BOOST_TEST_REQUIRE(replace_file(folder / "authority/denied", "second", access::all).has_value());
  BOOST_TEST((left(disk, "authority/denied") == "second"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
