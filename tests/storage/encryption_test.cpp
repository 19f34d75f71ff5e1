// What encryption promises: no plaintext in any file, and no doubt about the key.
#include <sys/stat.h>
#include <unistd.h>

#include "storage/detail/manifest.hpp"
#include "storage/detail/record.hpp"
#include "storage/key_file.hpp"
#include "tests/storage/opened_files.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(encryption)

using models::private_parameters;
using storage::check_secret_file;
using storage::create_key_file;
using storage::rocks_store;
using storage::store_access;
using storage::store_layout;

namespace {

constexpr std::uint32_t first_client = 2'023'406'800;  // its bytes are in nothing else
constexpr std::uint32_t clients = 5;

void fill(const store_kind& kind, const fs::path& folder, const models::layout_ptr& layout) {
  const auto store = must(rocks_store::create(folder, layout, kind.options({.run = 1, .history = {}})));
  for (std::uint64_t version = 0; version < 4; ++version)
    for (std::uint32_t client = first_client; client < first_client + clients; ++client)
      must(store->commit(client, version, make_value(layout, client, version)));
  must(store->sync());
}

std::string as_hex(const std::string& bytes) {
  std::string text;
  for (const char one : bytes) {
    text += "0123456789abcdef"[static_cast<unsigned char>(one) >> 4U];
    text += "0123456789abcdef"[static_cast<unsigned char>(one) & 15U];
  }
  return text;
}

/// Pieces of values, clients' names and their numbers that the contents hold: for each content the first of them.
std::vector<std::string> telling(const std::vector<std::string>& contents, const models::layout_ptr& layout) {
  std::vector<std::string> needles{"client-", "bucket-"};
  for (std::uint32_t client = first_client; client < first_client + clients; ++client) {
    if (layout->size() < 100) {  // four given bytes are in megabytes of noise now and then
      needles.emplace_back(reinterpret_cast<const char*>(&client), sizeof client);
      needles.emplace_back(needles.back().rbegin(), needles.back().rend());
    }
    for (std::uint64_t version = 0; version < 4; ++version) {
      const auto value = make_value(layout, client, version);
      const auto step = std::max<std::size_t>(2, value.values().size() / 50);
      for (std::size_t at = 0; at + 2 <= value.values().size(); at += step)
        needles.emplace_back(reinterpret_cast<const char*>(value.values().data() + at), 2 * sizeof(float));
    }
  }
  std::vector<std::string> found;
  for (const auto& content : contents) {
    const auto needle = std::ranges::find_if(needles, [&](const auto& one) { return contains(content, one); });
    if (needle != needles.end())
      found.push_back(as_hex(*needle) + " at " + std::to_string(content.find(*needle)) + " of " +
                      content.substr(0, 120));
  }
  return found;
}

std::vector<std::string> raw_files(const fs::path& folder) {
  std::vector<std::string> contents;
  for (const auto& file : files_below(folder)) contents.push_back(file.string() + slurp(file));
  return contents;
}

}  // namespace

BOOST_DATA_TEST_CASE(an_encrypted_store_has_no_plaintext_in_any_file, all_kinds, kind) {
  for (const std::uint32_t rank : {50U, 20'000U}) {  // in the log; in tables
    const temporary_folder folder;
    const auto layout = small_layout(rank);
    fill(kind, folder.path(), layout);
    const auto plain = telling(raw_files(folder.path()), layout);
    BOOST_TEST(plain.empty() == kind.encrypted, "rank " << rank << ": " << (plain.empty() ? "nothing" : plain.front()));
    BOOST_TEST(!telling(opened_files(kind, folder.path()), layout).empty());  // the search finds what there is
  }
}

BOOST_AUTO_TEST_CASE(no_two_files_begin_with_the_same_counter) {
  const temporary_folder folder;
  const store_kind kind{store_layout::per_client, true};
  fill(kind, folder.path(), small_layout());
  std::vector<std::string> heads;
  for (const auto& file : files_below(folder.path()))
    if (const auto content = slurp(file); content.size() > 32 && !content.starts_with("FURL"))  // our own are plain
      heads.push_back(content.substr(0, 16));
  BOOST_TEST(heads.size() >= 4);
  std::ranges::sort(heads);
  BOOST_TEST((std::ranges::adjacent_find(heads) == heads.end()));
}

BOOST_AUTO_TEST_CASE(files_of_equal_content_are_encrypted_differently) {
  const temporary_folder folder;
  const store_kind kind{store_layout::per_client, true};
  const auto layout = small_layout();
  {
    auto options = kind.options({.run = 1, .history = {}});
    options.expected_clients = 1200;
    const auto store = must(rocks_store::create(folder.path(), layout, options));
    for (const std::uint32_t client : {0U, 400U, 800U}) must(store->commit(client, 0, make_value(layout, client, 0)));
    must(store->sync());
  }
  std::vector<std::string> contents;  // of the file that names the MANIFEST: the same in every new database
  for (const auto& file : files_below(folder.path()))
    if (file.filename() == "CURRENT") contents.push_back(slurp(file).substr(kind.head_bytes()));
  BOOST_TEST(contents.size() == 3U);
  std::ranges::sort(contents);
  BOOST_TEST((std::ranges::adjacent_find(contents) == contents.end()));
}

BOOST_DATA_TEST_CASE(a_key_that_does_not_fit_is_refused_and_nothing_is_touched, all_kinds, kind) {
  const temporary_folder folder;
  const temporary_folder keys;
  const auto layout = small_layout();
  fill(kind, folder.path(), layout);
  const auto wrong = keys.path() / "wrong";
  must(create_key_file(wrong));
  const auto before = raw_files(folder.path());
  const auto refused = [&](const fs::path& key) {
    auto options = kind.options({.run = 1, .history = {{3}}});
    options.key_file = key;
    const auto reason = must_fail(rocks_store::open(folder.path(), layout, options));
    BOOST_TEST(must_fail(rocks_store::inspect(folder.path(), store_access::change, key)) == reason);
    return reason;
  };
  if (kind.encrypted) {
    BOOST_TEST(contains(refused(wrong), "is not the key of this private store"));
    BOOST_TEST(contains(refused({}), "is encrypted, but no key file is given"));
    BOOST_TEST(contains(refused(keys.path() / "missing"), "key file does not exist"));
  } else {
    BOOST_TEST(contains(refused(wrong), "is not encrypted"));
  }
  BOOST_TEST(raw_files(folder.path()) == before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_key_file_is_its_owners_and_is_never_overwritten) {
  const temporary_folder folder;
  const auto file = folder.path() / "key";
  must(create_key_file(file));
  const auto content = slurp(file);
  BOOST_TEST(content.size() == 65);
  BOOST_TEST((content.find_first_not_of("0123456789abcdef") == 64 && content.back() == '\n'));
  BOOST_TEST((fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write)));
  BOOST_TEST(contains(must_fail(create_key_file(file)), "already exists"));
  BOOST_TEST(slurp(file) == content);
  must(create_key_file(folder.path() / "other"));
  BOOST_TEST(slurp(folder.path() / "other") != content);
}

BOOST_AUTO_TEST_CASE(key_files_that_others_may_read_or_that_hold_no_key_are_refused) {
  const temporary_folder folder;
  const auto file = folder.path() / "key";
  const auto store = folder.path() / "store";
  const storage::store_options options{.history = {}, .key_file = file};
  must(create_key_file(file));
  for (const auto who : {fs::perms::group_read, fs::perms::others_read, fs::perms::others_write}) {
    fs::permissions(file, who, fs::perm_options::add);
    BOOST_TEST(contains(must_fail(rocks_store::create(store, small_layout(), options)), "chmod 600 " + file.string()));
    fs::permissions(file, who, fs::perm_options::remove);
  }
  const auto good = slurp(file);
  for (const auto& bad : {std::string(), good.substr(1), good + "0", good.substr(0, 63) + "x\n", "\n" + good}) {
    spill(file, bad);
    BOOST_TEST(contains(must_fail(rocks_store::create(store, small_layout(), options)), "not a key file"));
  }
  BOOST_TEST(!fs::exists(store));
  spill(file, good.substr(0, 64));  // without its newline it is as good
  must(rocks_store::create(store, small_layout(), options));
}

BOOST_AUTO_TEST_CASE(a_key_file_that_others_may_replace_is_refused) {
  const temporary_folder folder;
  const auto file = folder.path() / "key";
  must(create_key_file(file));
  must(check_secret_file(file));
  const auto refused = [](const fs::path& path) { return must_fail(check_secret_file(path)); };

  fs::create_symlink(file, folder.path() / "link");
  BOOST_TEST(contains(refused(folder.path() / "link"), "is a symbolic link"));
  // Nothing is said of permissions: changing those of a folder or of a device would be bad advice.
  BOOST_TEST(contains(refused(folder.path()), "is not a regular file"));
  BOOST_TEST(contains(refused("/dev/zero"), "is not a regular file"));
  BOOST_TEST(contains(refused(folder.path() / "gone"), "No such file"));
  const auto pipe = folder.path() / "pipe";
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const storage::store_options options{.history = {}, .key_file = pipe};
  BOOST_TEST(contains(must_fail(rocks_store::create(folder.path() / "store", small_layout(), options)),
                      "is not a regular file"));

  const auto all = fs::perms::owner_all | fs::perms::others_write | fs::perms::others_exec;
  fs::permissions(folder.path(), all);
  BOOST_TEST(contains(refused(file), "chmod o-w " + folder.path().string()));
  fs::permissions(folder.path(), all | fs::perms::sticky_bit);  // as /tmp: nobody else may rename or remove the file
  must(check_secret_file(file));
  if (::geteuid() == 0) {
    BOOST_REQUIRE(::chown(file.c_str(), 12345, 0) == 0);
    BOOST_TEST(contains(refused(file), "belongs to another user"));
  }
}

// Counter mode alone lets anyone who knows a value change it in the file and fix RocksDB's checksums.
BOOST_AUTO_TEST_CASE(a_record_made_without_the_key_is_damage) {
  for (const auto& kind : {all_kinds[2], all_kinds[3]}) {
    const temporary_folder folder;
    const auto layout = small_layout();
    fill(kind, folder.path(), layout);
    const auto signature = must(storage::detail::read_manifest(folder.path())).signature;
    const storage::detail::record_coder forger(*layout, storage::detail::short_form(sha256(signature)));
    storage::detail::record_coder::scratch space;
    const auto value = make_value(layout, first_client, 99);
    overwrite_record(kind, folder.path(), first_client,
                     forger.encode(first_client, {true, 0, 3, 99}, value.values(), space));
    const auto store = kind.inspect(folder.path(), store_access::read);
    private_parameters out(layout);
    BOOST_TEST(contains(must_fail(store->load(first_client, out)), "checksum"));
    const auto problems = store->verify();
    BOOST_TEST_REQUIRE(problems.size() == 1);
    BOOST_TEST(*problems.front().client == first_client);
    BOOST_TEST(must(store->load(first_client + 1, out)));
  }
}

BOOST_AUTO_TEST_CASE(a_file_of_another_store_is_refused_even_with_one_key_file) {
  const store_kind kind{store_layout::per_client, true};
  const temporary_folder mine;
  const temporary_folder other;
  const auto layout = small_layout();
  fill(kind, mine.path(), layout);
  fill(kind, other.path(), layout);
  const auto log = files_below(mine.path(), ".log").front();
  spill(log, slurp(files_below(other.path(), ".log").front()));
  const auto problems = kind.inspect(mine.path(), store_access::read)->verify();
  BOOST_TEST_REQUIRE(!problems.empty());
  BOOST_TEST(contains(problems.front().text(), "belongs to another store"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
