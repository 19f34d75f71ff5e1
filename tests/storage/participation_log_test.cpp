#include "storage/participation_log.hpp"

#include "storage/checkpoint.hpp"
#include "tests/storage/fixtures.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(participation_logs)

using federated::participation_ledger;

namespace {

constexpr std::size_t clients = 50;

/// Something happens to some clients.
void change(participation_ledger& ledger, std::uint64_t seed) {
  random_stream draws(seed, purpose::test, 3);
  for (int i = 0; i < 7; ++i) {
    auto& of = ledger.touch(draws.below(clients));
    of.selected = draws();
    of.folded = draws();
    of.last_selection = (std::uint64_t{draws()} << 32U) | draws();
    of.ended_at = draws();
    of.trained_at = draws();
    of.asked_version = draws();
    of.attempt = draws();
    of.reported_version = draws();
    of.trained_version = draws();
    of.loss = draws.normal();
    of.folded_version = draws();
  }
}

bool same(const participation_ledger& a, const participation_ledger& b) {
  return std::ranges::equal(a.records(), b.records());
}

std::filesystem::path log_in(const temporary_folder& folder) { return folder.path() / "participation.log"; }

}  // namespace

BOOST_AUTO_TEST_CASE(each_append_adds_what_changed_and_all_of_it_reads_back) {
  const temporary_folder folder;
  participation_ledger ledger(clients);
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < 9; ++i) {
    change(ledger, i);
    must(storage::append_participation(folder.path(), ledger));
    BOOST_TEST(ledger.stored_bytes() > bytes);
    BOOST_TEST(ledger.stored_bytes() - bytes < 1000U);  // seven clients, not fifty
    bytes = ledger.stored_bytes();
    BOOST_TEST((fs::status(log_in(folder)).permissions() == (fs::perms::owner_read | fs::perms::owner_write)));
    const auto found = must(storage::read_participation(folder.path(), clients, bytes));
    BOOST_TEST(same(*found, ledger));
    BOOST_TEST(found->stored_bytes() == bytes);
  }
  must(storage::append_participation(folder.path(), ledger));  // nothing happened
  BOOST_TEST(ledger.stored_bytes() == bytes);
  BOOST_TEST(std::filesystem::file_size(log_in(folder)) == bytes);
}

// A crash between the append and the checkpoint: the next life goes on from the checkpoint and writes over it.
BOOST_AUTO_TEST_CASE(what_no_checkpoint_covers_is_written_over) {
  const temporary_folder folder;
  participation_ledger ledger(clients);
  change(ledger, 1);
  must(storage::append_participation(folder.path(), ledger));
  const auto covered = ledger.stored_bytes();
  auto resumed = must(storage::read_participation(folder.path(), clients, covered));
  change(ledger, 2);
  must(storage::append_participation(folder.path(), ledger));
  BOOST_TEST(same(*must(storage::read_participation(folder.path(), clients, covered)), *resumed));
  change(*resumed, 3);
  must(storage::append_participation(folder.path(), *resumed));
  BOOST_TEST(same(*must(storage::read_participation(folder.path(), clients, resumed->stored_bytes())), *resumed));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_brings_its_records_along) {
  const temporary_folder folder;
  const auto layout = std::make_shared<const models::layout>(std::vector<models::tensor_spec>{{"mean", 1, 1}});
  federated::server_state state;
  state.model = models::shared_parameters(layout);
  state.ledger = std::make_shared<participation_ledger>(clients);
  for (std::uint64_t i = 0; i < 3; ++i) {
    change(*state.ledger, i);
    must(storage::write_checkpoint(folder.path(), state));
    BOOST_TEST(same(*must(storage::read_checkpoint(folder.path(), layout)).ledger, *state.ledger));
  }
  std::filesystem::remove(log_in(folder));
  must_fail(storage::read_checkpoint(folder.path(), layout));
}

/// Some file systems wait for the disk when a file is truncated and written again.
void write_anew(const std::filesystem::path& file, const std::string& content) {
  std::filesystem::remove(file);
  spill(file, content);
}

BOOST_AUTO_TEST_CASE(every_flipped_bit_and_every_truncation_is_refused) {
  const temporary_folder folder;
  participation_ledger ledger(clients);
  for (std::uint64_t i = 0; i < 2; ++i) {
    change(ledger, i);
    must(storage::append_participation(folder.path(), ledger));
  }
  const auto bytes = slurp(log_in(folder));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    auto bad = bytes;
    bad[at] = static_cast<char>(static_cast<unsigned char>(bad[at]) ^ (1U << (at % 8)));
    write_anew(log_in(folder), bad);
    BOOST_TEST(contains(must_fail(storage::read_participation(folder.path(), clients, bytes.size())),
                        log_in(folder).string()));
    write_anew(log_in(folder), bytes.substr(0, at));
    must_fail(storage::read_participation(folder.path(), clients, bytes.size()));
  }
  spill(log_in(folder), bytes);
  must_fail(storage::read_participation(folder.path(), 3, bytes.size()));  // of a larger population
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
