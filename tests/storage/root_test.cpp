// What a store had when it was saved is there, or opening it fails.
#include "storage/detail/manifest.hpp"
#include "storage/rocks_store.hpp"
#include "tests/storage/store_kinds.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(root)

using federated::store_save;
using models::private_parameters;
using storage::rocks_store;
using storage::store_access;

namespace {

constexpr std::uint32_t clients = 24;

/// A store of some shards that was opened twice, saved at version 20 and closed: several logs, and in the larger
/// layout tables.
store_save make_saved(const store_kind& kind, const fs::path& folder, const models::layout_ptr& layout) {
  const auto options = kind.options({.history = {}, .expected_clients = 900, .open_shards = 2});
  for (std::uint64_t life = 0; life < 2; ++life) {
    auto again = options;
    again.history.resumed_at.assign(life, 10);
    const auto store =
        must(life == 0 ? rocks_store::create(folder, layout, again) : rocks_store::open(folder, layout, again));
    for (std::uint64_t i = 0; i < 2 * std::uint64_t{clients}; ++i)
      must(store->commit(static_cast<std::uint32_t>(i % clients) * 37, 10 * life,
                         make_value(layout, static_cast<std::uint32_t>(i % clients), i)));
    const auto save = must(store->save(10 * (life + 1)));
    store->covered(save.version);
    if (life == 1) return save;
  }
  return {};
}

/// "": every client has its last value. Else why not, "error" where the store says so.
std::string look(const store_kind& kind, const fs::path& folder, const models::layout_ptr& layout, bool to_write) {
  const auto store = to_write ? rocks_store::open(folder, layout, kind.options({.history = {{10, 20}}}))
                              : rocks_store::inspect(folder, store_access::read, kind.key_file());
  if (!store) return "error";
  const auto all = (*store)->list();
  if (!all) return "error";
  for (std::uint32_t i = 0; i < clients; ++i) {
    private_parameters out(layout);
    const auto found = (*store)->load(i * 37, out);
    if (!found) return "error";
    if (!*found) return "client " + std::to_string(i * 37) + " has no value";
    if (!same(out, make_value(layout, i, clients + i)))
      return "client " + std::to_string(i * 37) + " has another value";
  }
  if (!to_write && !(*store)->verify().empty()) return "error";
  return all->size() == clients ? "" : std::to_string(all->size()) + " clients are listed";
}

void copy_folder(const fs::path& from, const fs::path& to) {
  fs::remove_all(to);
  fs::copy(from, to, fs::copy_options::recursive);
}

/// Does something random to a file. Says what. `others`: files to take for it.
std::string damage(const fs::path& file, const std::vector<fs::path>& others, random_stream& draws) {
  auto content = slurp(file);
  const auto size = static_cast<std::uint32_t>(content.size());
  const auto at = size == 0 ? 0 : draws.below(size);
  switch (draws.below(5)) {
    case 0: fs::remove(file); return "removed";
    case 1: fs::resize_file(file, at); return "cut to " + std::to_string(at) + " bytes of " + std::to_string(size);
    case 2: {
      const auto length = std::min<std::uint32_t>(size - at, 1 + draws.below(200));
      std::fill_n(content.begin() + at, length, '\0');
      spill(file, content);
      return "zeroed " + std::to_string(length) + " bytes at " + std::to_string(at);
    }
    case 3: fs::resize_file(file, 0); return "emptied";
    default: {
      const auto& other = others[draws.below(static_cast<std::uint32_t>(others.size()))];
      fs::copy_file(other, file, fs::copy_options::overwrite_existing);
      return "replaced by " + other.string();
    }
  }
}

/// Where each record of a log or MANIFEST ends, if it is of one fragment.
std::vector<std::size_t> record_ends(const std::string& log) {
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at + 7 <= log.size() && ends.size() < 1000;) {
    at += 7 + static_cast<unsigned char>(log[at + 4]) + 256U * static_cast<unsigned char>(log[at + 5]);
    if (at > log.size() || at > 32'768) break;
    ends.push_back(at);
  }
  return ends;
}

}  // namespace

BOOST_DATA_TEST_CASE(no_damaged_cut_or_missing_file_passes_for_a_store_with_less, all_kinds, kind) {
  for (const std::uint32_t rank : {50U, 9000U}) {  // in logs; in tables too
    const temporary_folder original;
    const temporary_folder folder;
    const auto layout = small_layout(rank);
    make_saved(kind, original.path(), layout);
    copy_folder(original.path(), folder.path());
    BOOST_REQUIRE(look(kind, folder.path(), layout, false).empty());
    const auto files = files_below(original.path());
    random_stream draws(rank, purpose::test);
    int noticed = 0;
    for (int i = 0; i < damages(); ++i) {
      copy_folder(original.path(), folder.path());
      const auto& victim = files[draws.below(static_cast<std::uint32_t>(files.size()))];
      const auto file = folder.path() / fs::relative(victim, original.path());
      const auto what = damage(file, files, draws);
      const bool to_write = i % 2 == 0;
      const auto seen = look(kind, folder.path(), layout, to_write);
      BOOST_TEST_CONTEXT(file << " " << what << (to_write ? ", opened to be written" : ", read")) {
        BOOST_TEST((seen.empty() || seen == "error"), seen);
        if (seen.empty()) continue;
        ++noticed;
        fs::copy_file(victim, file, fs::copy_options::overwrite_existing);  // nothing else was lost
        BOOST_TEST(look(kind, folder.path(), layout, true) == "");
      }
    }
    BOOST_TEST(noticed > damages() / 4);
  }
}

// Where RocksDB itself sees nothing wrong.
BOOST_DATA_TEST_CASE(a_log_or_manifest_that_was_cut_between_two_records_is_noticed, all_kinds, kind) {
  if (kind.encrypted) return;  // the ends are found in plain files only
  const temporary_folder original;
  const temporary_folder folder;
  const auto layout = small_layout();
  make_saved(kind, original.path(), layout);
  int cuts = 0;
  for (const auto& victim : files_below(original.path())) {
    const auto name = victim.filename().string();
    if (!name.ends_with(".log") && !name.starts_with("MANIFEST-")) continue;
    const auto content = slurp(victim);
    for (const auto end : record_ends(content)) {
      if (end == content.size()) continue;
      copy_folder(original.path(), folder.path());
      const auto file = folder.path() / fs::relative(victim, original.path());
      fs::resize_file(file, end);
      for (const bool to_write : {false, true}) {  // reading leaves all as it is
        const auto seen = look(kind, folder.path(), layout, to_write);
        BOOST_TEST_CONTEXT(file << " cut to " << end << " of " << content.size() << " bytes")
        BOOST_TEST((seen.empty() || seen == "error"), seen);
        ++cuts;
      }
      fs::copy_file(victim, file, fs::copy_options::overwrite_existing);
      BOOST_TEST(look(kind, folder.path(), layout, true) == "");
    }
  }
  BOOST_TEST(cuts > 20);
}

BOOST_DATA_TEST_CASE(a_shard_that_is_gone_is_named_and_nothing_is_deleted, all_kinds, kind) {
  const temporary_folder original;
  const temporary_folder folder;
  const auto layout = small_layout();
  make_saved(kind, original.path(), layout);
  copy_folder(original.path(), folder.path());
  fs::remove(folder.path() / "shard-0000.g0" / "SEALED");
  for (const auto access : {store_access::read, store_access::change}) {
    const auto why = must_fail(rocks_store::inspect(folder.path(), access, kind.key_file()));
    BOOST_TEST(contains(why, "shard-0000.g0"));
    BOOST_TEST(contains(why, "SEALED"));
  }
  fs::copy_file(original.path() / "shard-0000.g0" / "SEALED", folder.path() / "shard-0000.g0" / "SEALED");
  BOOST_TEST(look(kind, folder.path(), layout, true) == "");
  fs::remove_all(folder.path() / "shard-0000.g0");
  BOOST_TEST(contains(must_fail(rocks_store::inspect(folder.path(), store_access::read, kind.key_file())), "missing"));
  fs::remove(folder.path() / "root.furlong");
  BOOST_TEST(contains(must_fail(rocks_store::inspect(folder.path(), store_access::read, kind.key_file())), "root"));
}

BOOST_DATA_TEST_CASE(the_root_of_another_store_is_refused, all_kinds, kind) {
  const temporary_folder one;
  const temporary_folder other;
  make_saved(kind, one.path(), small_layout());
  make_saved(kind, other.path(), small_layout());
  fs::copy_file(other.path() / "root.furlong", one.path() / "root.furlong", fs::copy_options::overwrite_existing);
  BOOST_TEST(contains(must_fail(rocks_store::inspect(one.path(), store_access::read, kind.key_file())),
                      "belongs to another private store"));
}

// A checkpoint names the save that it was written after. The one before it fits too: a process can end in between.
BOOST_DATA_TEST_CASE(a_checkpoint_fits_the_store_at_its_save_and_no_other, all_kinds, kind) {
  const temporary_folder folder;
  const temporary_folder older;
  const temporary_folder foreign;
  const auto layout = small_layout();
  const auto first = make_saved(kind, folder.path(), layout);
  copy_folder(folder.path(), older.path());
  const auto reopen = [&](const fs::path& at, const store_save& save) {
    return rocks_store::open(at, layout, kind.options({.history = {{10, save.version}}, .save = save}));
  };
  const auto go_on = [&](const fs::path& at, std::uint64_t version, const store_save& from) {
    const auto store = must(reopen(at, from));
    must(store->commit(0, version - 1, make_value(layout, 0, version)));
    return must(store->save(version));
  };
  const auto uncovered = go_on(folder.path(), 30, first);  // killed before its checkpoint was durable
  const auto second = go_on(folder.path(), 30, first);     // and once more
  BOOST_TEST((uncovered != second));
  BOOST_TEST(contains(must_fail(reopen(folder.path(), uncovered)), "belongs to another state"));
  const auto third = go_on(folder.path(), 40, second);
  must(reopen(folder.path(), third));
  must(reopen(folder.path(), second));
  must_fail(reopen(folder.path(), first));
  const auto why = must_fail(reopen(older.path(), third));
  BOOST_TEST(contains(why, "version 40"));
  BOOST_TEST(contains(why, "last saved at version 20: the store is older"));
  // The copy goes on by itself: as far as the original, with other values.
  const auto branch = go_on(older.path(), 30, first);
  must_fail(reopen(older.path(), second));
  must_fail(reopen(folder.path(), branch));
  make_saved(kind, foreign.path(), layout);
  BOOST_TEST(
      contains(must_fail(reopen(foreign.path(), third)), "the checkpoint was written with another private store"));
  must(reopen(older.path(), {}));  // a checkpoint that names no save
}

BOOST_DATA_TEST_CASE(a_store_that_is_emptied_while_it_is_in_use_cannot_be_saved, all_kinds, kind) {
  const temporary_folder folder;
  const auto layout = small_layout();
  const auto store = must(rocks_store::create(folder.path(), layout, kind.options({.history = {}})));
  must(store->commit(1, 0, make_value(layout, 1, 0)));
  must(store->save(1));
  for (const auto& entry : fs::directory_iterator(folder.path())) fs::remove_all(entry.path());
  must(store->commit(1, 1, make_value(layout, 1, 1)));
  const auto refused = store->save(2);
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST((refused.error().what == error::kind::data), refused.error().text());
  BOOST_TEST(contains(refused.error().text(), "removed while it was in use"), refused.error().text());
}

BOOST_AUTO_TEST_CASE(a_damaged_identity_file_is_an_error) {
  for (const auto& kind : all_kinds) {
    if (!kind.encrypted) continue;
    const temporary_folder folder;
    const auto layout = small_layout();
    make_saved(kind, folder.path(), layout);
    const auto file = files_below(folder.path(), "IDENTITY").front();
    for (const std::size_t size : {0U, 5U, 40U}) {
      const auto content = slurp(file);
      spill(file, std::string(size, 'x'));
      const auto store = kind.inspect(folder.path(), store_access::read);
      const auto problems = store->verify();
      BOOST_TEST_REQUIRE(!problems.empty());
      BOOST_TEST(contains(problems.front().text(), "IDENTITY"), problems.front().text());
      BOOST_TEST(look(kind, folder.path(), layout, true) == "error");
      spill(file, content);
    }
    BOOST_TEST(look(kind, folder.path(), layout, true) == "");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
