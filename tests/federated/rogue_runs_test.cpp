// What a lying server gains from a run as a whole: by more sums, later ones, and models of its choice.
#include <boost/test/unit_test.hpp>

#include "tests/federated/rogue_attack.hpp"

namespace furlong::federated::testing {

BOOST_AUTO_TEST_SUITE(rogue_server_runs)

/// Each sum over the same updates has new noise: their mean has less than was stated.
BOOST_AUTO_TEST_CASE(noise_of_clients_is_not_averaged_out) {
  for (const bool is_async : {false, true}) {
    attack with({"noise", adversary_kind::semi_honest, 10, 8, is_async, true});
    with.server.play(with.honest(0));
    with.server.play(with.honest(1));
    BOOST_TEST(with.clients.restart());
    with.server.play(with.honest(2));
    BOOST_TEST(with.server.look().sums == 1U);
  }
}

/// Without signatures clients do not see that others have another scenario, and their secrets do not fit together.
BOOST_AUTO_TEST_CASE(other_terms_have_other_secrets) {
  for (auto world : worlds()) {
    world.is_signed = false;
    attack with(world);
    for (std::uint32_t i = 1; i < world.clients; ++i) with.clients.send_inputs(i, sent_inputs::other_settings);
    with.server.play(with.honest());
    BOOST_TEST(with.server.look().largest_share < 0.5);
  }
}

/// The stated epsilon is of the scenario's rounds.
BOOST_AUTO_TEST_CASE(no_sum_is_opened_after_the_last_round) {
  for (const std::uint64_t version : {999U, 1000U}) {
    attack with(worlds().front());
    auto tasks = with.tasks(0);
    for (auto& task : tasks) task.version = version;
    with.server.play(with.server.honest(tasks, version));
    BOOST_TEST(with.server.look().sums == (version < 1000 ? 1U : 0U));
  }
}

/// What no client can see: of a version that it has not worked on, which model that was.
BOOST_AUTO_TEST_CASE(models_of_other_versions_are_not_known) {
  for (const auto& world : worlds()) {
    attack with(world);
    auto tasks = with.tasks(0);
    for (std::uint32_t i = 1; i < world.clients; ++i) {
      with.clients.send_inputs(i, sent_inputs::other_model);
      tasks[i].version -= 1;
    }
    with.server.play(with.server.honest(tasks, with.sum_version()));
    BOOST_TEST((with.server.look().largest_share > 1 - 1e-6) == world.is_async);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::federated::testing
