#include "tests/storage/kill_trial.hpp"
#include "tests/storage/store_kinds.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(kills)

BOOST_DATA_TEST_CASE(a_killed_writer_loses_no_synced_commit_and_tears_none, all_kinds, kind) {
  const temporary_folder folder;
  kill_trials trials(folder.path() / "store", {KILL_WRITER}, {kind.layout, kind.key_file()});
  random_stream draws(1, purpose::test);
  for (int i = 0; i < 20; ++i) BOOST_TEST_REQUIRE(trials.run(draws.below(25)) == "", "kill " << i);
  BOOST_TEST(trials.synced() > 1000);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
