// What the command writes is there after a loss of power once the function that wrote it has returned.
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sys/stat.h>

#include "base/durable_file.hpp"
#include "scenarios/traces/trace_file.hpp"
#include "tests/support/power_loss.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tools/certs/files.hpp"
#include "tools/report/report.hpp"
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

unsigned mode_of(const fs::path& file) { return static_cast<unsigned>(fs::status(file).permissions()); }

std::size_t entries(const temporary_folder& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
}

/// The step and errno of a failure.
std::pair<file_step, int> failed(const file_outcome& outcome) {
  BOOST_TEST_REQUIRE(!outcome.has_value());
  return {outcome.error().step, outcome.error().reason.value()};
}

/// Sets the umask until destroyed.
struct other_umask {
  mode_t before;
  explicit other_umask(mode_t mask) : before(::umask(mask)) {}
  other_umask(const other_umask&) = delete;
  other_umask& operator=(const other_umask&) = delete;
  ~other_umask() { ::umask(before); }
};

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

BOOST_AUTO_TEST_CASE(pages_and_traces_last) {
  const temporary_folder folder;
  const watched_disk disk(folder.path(), [](const watched_disk&) {});
  const auto page = folder / "page.html";
  BOOST_TEST_REQUIRE(tools::write_table("title", "text", {"name", "figure"}, {{"a", "1"}}, page).has_value());
  BOOST_TEST((left(disk, "page.html") == content_of(page)));
  federated::availability_trace trace;
  trace.starts = {0};
  trace.ends = {1'000'000};
  trace.offsets = {0, 1};
  trace.length = 2'000'000;
  BOOST_TEST_REQUIRE(scenarios::write_trace(trace, folder / "trace.csv").has_value());
  BOOST_TEST((left(disk, "trace.csv") == "# length = 2\n# clients = 1\nclient,start,end\n0,0,1\n"));
  BOOST_TEST(entries(folder) == 2U);
}

BOOST_AUTO_TEST_CASE(an_unfinished_file_leaves_the_old_one_and_nothing_else) {
  const temporary_folder folder;
  const auto path = folder / "file";
  BOOST_TEST_REQUIRE(replace_durably(path, "old", {}).has_value());
  {
    auto file = durable_file::begin(path, {});
    BOOST_TEST_REQUIRE(file.has_value());
    BOOST_TEST_REQUIRE(file->write(std::string(1 << 17, 'x')).has_value());
    BOOST_TEST(entries(folder) == 2U);
  }
  BOOST_TEST(content_of(path) == "old");
  BOOST_TEST(entries(folder) == 1U);
}

BOOST_AUTO_TEST_CASE(a_file_is_written_in_the_order_of_its_parts) {
  const temporary_folder folder;
  auto file = durable_file::begin(folder / "file", {});
  BOOST_TEST_REQUIRE(file.has_value());
  std::string expected;
  for (const std::size_t size : {3U, 70'000U, 1U, 65'535U, 2U}) {
    const std::string part(size, static_cast<char>('a' + expected.size() % 26));
    BOOST_TEST_REQUIRE(file->write(part).has_value());
    expected += part;
  }
  BOOST_TEST_REQUIRE(file->replace().has_value());
  BOOST_TEST((content_of(folder / "file") == expected));
}

BOOST_AUTO_TEST_CASE(a_stale_temporary_file_gives_away_no_secret) {
  const temporary_folder folder;
  const auto path = folder / "key";
  std::ofstream(folder / "elsewhere") << "mine";
  fs::create_symlink(folder / "elsewhere", folder / "key.new");
  BOOST_TEST_REQUIRE(replace_durably(path, "secret", {0600}).has_value());
  BOOST_TEST(content_of(folder / "elsewhere") == "mine");
  BOOST_TEST(!fs::is_symlink(path));
  std::ofstream(folder / "key.new") << "begun";
  fs::permissions(folder / "key.new", fs::perms(0666));
  BOOST_TEST_REQUIRE(replace_durably(path, "secret", {0600}).has_value());
  BOOST_TEST(mode_of(path) == 0600U);
}

BOOST_AUTO_TEST_CASE(only_an_exact_mode_ignores_the_umask) {
  const temporary_folder folder;
  const other_umask strict(0077);
  BOOST_TEST_REQUIRE(replace_durably(folder / "exact", "", {0644, true}).has_value());
  BOOST_TEST(mode_of(folder / "exact") == 0644U);
  BOOST_TEST_REQUIRE(replace_durably(folder / "usual", "", {0644}).has_value());
  BOOST_TEST(mode_of(folder / "usual") == 0600U);
}

BOOST_AUTO_TEST_CASE(a_name_that_is_in_use_is_not_created) {
  const temporary_folder folder;
  BOOST_TEST_REQUIRE(create_durably(folder / "file", "first", {}).has_value());
  BOOST_TEST((failed(create_durably(folder / "file", "second", {})) == std::pair(file_step::create, EEXIST)));
  BOOST_TEST(content_of(folder / "file") == "first");
  fs::create_symlink(folder / "nowhere", folder / "link");
  BOOST_TEST((failed(create_durably(folder / "link", "second", {})) == std::pair(file_step::create, EEXIST)));
  BOOST_TEST(entries(folder) == 2U);
}

BOOST_AUTO_TEST_CASE(a_failure_names_its_step_and_path) {
  const temporary_folder folder;
  const auto lost = replace_durably(folder / "missing/file", "", {});
  BOOST_TEST((failed(lost) == std::pair(file_step::create, ENOENT)));
  BOOST_TEST((lost.error().path == folder / "missing/file.new"));
  fs::create_directory(folder / "taken");
  const auto taken = replace_durably(folder / "taken", "", {});
  BOOST_TEST((failed(taken) == std::pair(file_step::rename, EISDIR)));
  BOOST_TEST((taken.error().path == folder / "taken"));
  BOOST_TEST(entries(folder) == 1U);
  BOOST_TEST((failed(make_durable(folder / "missing")) == std::pair(file_step::open_path, ENOENT)));
}

// Whatever the umask.
BOOST_AUTO_TEST_CASE(keys_are_their_owners_alone) {
  using namespace tools::certs;
  const temporary_folder folder;
  const other_umask open(0);
  BOOST_TEST_REQUIRE(create_file(folder / "key", "secret", access::owner).has_value());
  BOOST_TEST(mode_of(folder / "key") == 0600U);
  const auto again = create_file(folder / "key", "secret", access::owner);
  BOOST_TEST_REQUIRE(!again.has_value());
  BOOST_TEST(again.error().place == (folder / "key").string());
  BOOST_TEST(again.error().reason == "cannot create the file: File exists");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
