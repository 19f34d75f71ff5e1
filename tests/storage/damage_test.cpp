// Whatever bit is flipped in whatever file: it is found, and said whose value it hit.

#include "storage/rocks_store.hpp"
#include "tests/storage/store_kinds.hpp"
#include "tests/support/few_files.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(damage)

using models::private_parameters;
using storage::rocks_store;
using storage::store_access;

namespace {

constexpr std::uint32_t clients = 5;
constexpr std::uint32_t first_client = 70;

std::uint32_t client_of(std::uint64_t commit) {
  return first_client + static_cast<std::uint32_t>(commit * 3 % clients);
}

/// Commit number i is by client_of(i), at version i.
void fill(const store_kind& kind, const fs::path& folder, const models::layout_ptr& layout, std::uint64_t commits) {
  const auto store = must(rocks_store::create(folder, layout, kind.options()));
  for (std::uint64_t i = 0; i < commits; ++i) {
    must(store->commit(client_of(i), i, make_value(layout, client_of(i), i)));
    if (i % 7 == 0) store->covered(i);
  }
}

/// So many large values that there are tables, and in a bucket not so many that it is compacted.
std::uint64_t commits_in_tables(const store_kind& kind) { return kind.bucketed() ? 10 : 15; }

void flip(const fs::path& file, std::size_t byte, unsigned bit) {
  auto content = slurp(file);
  content[byte] = static_cast<char>(static_cast<unsigned char>(content[byte]) ^ (1U << bit));
  spill(file, content);
}

/// What verify() says, and whether every load() either fails or gives the client's own last value.
std::vector<storage::store_problem> inspect(const store_kind& kind, const fs::path& folder,
                                            const models::layout_ptr& layout, std::uint64_t commits,
                                            bool& some_load_failed) {
  const auto store = kind.inspect(folder, store_access::read);
  some_load_failed = false;
  for (std::uint32_t client = first_client; client < first_client + clients; ++client) {
    private_parameters out(layout);
    const auto found = store->load(client, out);
    some_load_failed |= !found;
    if (!found) continue;
    std::uint64_t last = commits;
    while (client_of(--last) != client) continue;
    BOOST_REQUIRE(*found);
    BOOST_REQUIRE(same(out, make_value(layout, client, last)));
  }
  return store->verify();
}

/// The only file below `folder` that ends so.
fs::path only(const fs::path& folder, const std::string& ending) {
  const auto found = files_below(folder, ending);
  BOOST_REQUIRE(found.size() == 1);
  return found.front();
}

}  // namespace

BOOST_DATA_TEST_CASE(a_flipped_bit_in_the_log_is_found_and_named_wherever_it_is, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  constexpr std::uint64_t commits = 24;
  fill(kind, folder.path(), layout, commits);
  const auto log = only(folder.path(), ".log");
  const auto head = kind.head_bytes();
  const auto size = fs::file_size(log) - head;
  BOOST_REQUIRE(size < 32'768);  // one block, so that records have one size
  BOOST_REQUIRE(size % commits == 0);
  random_stream draws(1, purpose::test);
  for (std::size_t i = 0; i < 12 * static_cast<std::size_t>(damages()); ++i) {
    // Every byte of the head of a few records (checksum, length, kind, sequence, family, key), then anywhere.
    const auto at =
        i < 3 * 40 ? i / 40 * 11 * (size / commits) + i % 40 : draws.below(static_cast<std::uint32_t>(size));
    const auto bit = draws.below(8);
    const auto owner = client_of(at / (size / commits));
    flip(log, head + at, bit);
    BOOST_TEST_CONTEXT("byte " << at << ", bit " << bit) {
      bool load_failed = false;
      const auto problems = inspect(kind, folder.path(), layout, commits, load_failed);
      BOOST_TEST(load_failed);
      BOOST_TEST_REQUIRE(!problems.empty());
      BOOST_TEST_REQUIRE(problems.front().client.has_value());
      BOOST_TEST(*problems.front().client == owner);
      BOOST_TEST(problems.front().shard == 0);
    }
    flip(log, head + at, bit);
  }
  bool load_failed = true;
  BOOST_TEST(inspect(kind, folder.path(), layout, commits, load_failed).empty());
  BOOST_TEST(!load_failed);
}

BOOST_DATA_TEST_CASE(a_flipped_bit_in_a_log_of_many_blocks_is_found, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  constexpr std::uint64_t commits = 400;
  fill(kind, folder.path(), layout, commits);
  const auto log = only(folder.path(), ".log");
  const auto size = static_cast<std::uint32_t>(fs::file_size(log));
  BOOST_REQUIRE(size > 3 * 32'768);
  random_stream draws(2, purpose::test);
  for (int i = 0; i < 4 * damages(); ++i) {
    // Around the ends of blocks, where records are in fragments, and anywhere.
    auto at = i % 3 == 0 ? (1 + draws.below(size / 32'768)) * 32'768 - 200 + draws.below(400) : draws.below(size);
    at = std::min(at, size - 1);
    const auto bit = draws.below(8);
    flip(log, at, bit);
    BOOST_TEST_CONTEXT("byte " << at << ", bit " << bit) {
      bool load_failed = false;
      const auto problems = inspect(kind, folder.path(), layout, commits, load_failed);
      BOOST_TEST_REQUIRE(!problems.empty());
      BOOST_TEST(load_failed);
      BOOST_TEST(contains(problems.front().text(), "shard 0"));
    }
    flip(log, at, bit);
  }
}

BOOST_DATA_TEST_CASE(a_flipped_bit_in_a_table_is_found_and_named, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout(20'000);
  const std::uint64_t commits = commits_in_tables(kind);
  fill(kind, folder.path(), layout, commits);
  random_stream draws(3, purpose::test);
  const auto tables = files_below(folder.path(), ".sst");
  BOOST_REQUIRE(tables.size() >= (kind.bucketed() ? 1 : clients));
  for (int i = 0; i < 3 * damages() / 2; ++i) {
    const auto& table = tables[draws.below(static_cast<std::uint32_t>(tables.size()))];
    const auto size = static_cast<std::uint32_t>(fs::file_size(table));
    const auto at = i % 2 == 0 ? draws.below(size) : size - 1 - draws.below(1000);
    flip(table, at, i % 8U);
    bool load_failed = false;
    const auto problems = inspect(kind, folder.path(), layout, commits, load_failed);
    BOOST_TEST_CONTEXT(table << " byte " << at) {
      BOOST_TEST_REQUIRE(!problems.empty());
      BOOST_TEST(contains(problems.front().file, table.filename().string()));
      BOOST_TEST(problems.front().client.has_value() == !kind.bucketed());  // a bucket's table is of many
    }
    flip(table, at, i % 8U);
  }
}

BOOST_DATA_TEST_CASE(a_flipped_bit_in_the_list_of_families_is_found, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  fill(kind, folder.path(), layout, 24);
  std::vector<fs::path> files{folder.path() / "store.furlong"};
  for (const auto& file : files_below(folder.path()))
    if (file.filename() == "CURRENT" || file.filename().string().starts_with("MANIFEST-")) files.push_back(file);
  BOOST_REQUIRE(files.size() == 3);
  for (const auto& file : files) {
    const auto size = fs::file_size(file);
    for (std::size_t at = 0; at < size; ++at) {
      flip(file, at, at % 8);
      BOOST_TEST_CONTEXT(file << " byte " << at) {
        const auto store = rocks_store::inspect(folder.path(), store_access::read, kind.key_file());
        BOOST_TEST((!store || !(*store)->verify().empty()));
        private_parameters out(layout);
        BOOST_TEST((!store || !(*store)->load(first_client, out).has_value()));
      }
      flip(file, at, at % 8);
    }
  }
}

// The head of an encrypted file decides how all of it is read.
BOOST_AUTO_TEST_CASE(a_flipped_bit_in_the_head_of_an_encrypted_file_is_found) {
  for (const auto& kind : {all_kinds[2], all_kinds[3]}) {
    const temporary_folder folder;
    const auto layout = small_layout();
    constexpr std::uint64_t commits = 24;
    fill(kind, folder.path(), layout, commits);
    const auto log = only(folder.path(), ".log");
    for (std::size_t at = 0; at < kind.head_bytes(); ++at) {
      flip(log, at, at % 8);
      bool load_failed = false;
      const auto problems = inspect(kind, folder.path(), layout, commits, load_failed);
      BOOST_TEST(load_failed);
      BOOST_TEST_REQUIRE(!problems.empty());
      BOOST_TEST(contains(problems.front().text(), "the file header is damaged"));
      BOOST_TEST(contains(problems.front().file, ".log"));
      flip(log, at, at % 8);
    }
  }
}

// After a kill or a crash the last, never synced record may be there in part. The store opens without it.
BOOST_DATA_TEST_CASE(a_log_that_ends_in_an_unfinished_record_opens_without_it, all_kinds, kind) {
  const auto layout = small_layout();
  constexpr std::uint64_t commits = 24;
  const temporary_folder original;
  fill(kind, original.path(), layout, commits);
  const auto whole = slurp(only(original.path(), ".log"));
  const auto record = (whole.size() - kind.head_bytes()) / commits;
  for (std::size_t cut = 1; cut < record; cut += (cut < 40 ? 1 : 23)) {
    const temporary_folder folder;
    fs::copy(original.path(), folder.path(), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    const auto log = only(folder.path(), ".log");
    fs::resize_file(log, whole.size() - cut);
    for (const auto access : {store_access::read, store_access::change, store_access::read}) {
      const auto store = kind.inspect(folder.path(), access);
      for (std::uint64_t i = commits - 1 - clients; i < commits - 1; ++i) {
        private_parameters out(layout);
        BOOST_TEST(must(store->load(client_of(i), out)));
        BOOST_TEST(same(out, make_value(layout, client_of(i), i)));
      }
      BOOST_TEST(store->verify().empty());
    }
  }
}

BOOST_DATA_TEST_CASE(a_missing_file_is_named, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout(20'000);
  fill(kind, folder.path(), layout, commits_in_tables(kind));
  fs::remove(files_below(folder.path(), ".sst").front());
  const auto store = kind.inspect(folder.path(), store_access::read);
  const auto problems = store->verify();
  BOOST_TEST_REQUIRE(!problems.empty());
  BOOST_TEST(contains(problems.front().text(), ".sst"));
}

// The disk, or the process's limits, may be at fault: the files are as they were.
BOOST_DATA_TEST_CASE(files_that_cannot_be_opened_now_are_not_damaged, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  fill(kind, folder.path(), layout, 24);
  const auto store = must(rocks_store::open(folder.path(), layout, kind.options({.history = {{100}}})));
  private_parameters out(layout);
  // Checked afterwards: the checks of a sanitized build open files themselves.
  const auto [found, problems] = [&] {
    const tests::few_files limit(0);
    auto loaded = store->load(first_client, out);
    return std::pair(std::move(loaded), store->verify());
  }();
  must_fail(found);
  BOOST_TEST((found.error().what == error::kind::runtime));
  BOOST_TEST(!contains(found.error().text(), "restore the store"), found.error().text());
  BOOST_TEST_REQUIRE(!problems.empty());
  BOOST_TEST((problems.front().what == error::kind::runtime));
  BOOST_TEST(must(store->load(first_client, out)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
