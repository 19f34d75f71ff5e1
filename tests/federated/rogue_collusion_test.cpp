// What a lying server gains from clients that tell it all that they know.
#include <boost/test/unit_test.hpp>

#include "tests/federated/rogue_attack.hpp"

namespace furlong::federated::testing {

BOOST_AUTO_TEST_SUITE(rogue_server_collusion)

namespace {

/// The first clients hear of each list with all that collude; those that do not have the first one only, or the second.
void lists_with_colluding(attack& with, std::uint32_t colluding) {
  const auto honest = with.world().clients - colluding;
  for (auto i = honest; i < with.world().clients; ++i) with.clients.send_inputs(i, sent_inputs::colludes);
  auto sum = with.honest();
  const auto half = std::min(with.world().fewest() - colluding, honest / 2 + honest % 2);
  for (auto& [task, what] : sum)
    std::erase_if(what.list,
                  [&, first = task.client < half](auto client) { return client < honest && (client < half) != first; });
  with.server.play(sum);
}

}  // namespace

/// Two lists of which each has enough members need as many clients that confirm both as the lists are longer than all
/// clients together.
BOOST_AUTO_TEST_CASE(a_third_of_the_clients_must_collude) {
  for (const auto& world : worlds()) {
    const auto both = 2 * world.fewest() - world.clients;
    for (const auto colluding : {both - 2, both}) {
      attack with(world);
      if (with.graph().degree + 1 < world.clients) continue;
      lists_with_colluding(with, colluding);
      BOOST_TEST((with.server.look().largest_share > 1 - 1e-6) == (colluding == both), world.name);
    }
  }
}

/// docs/privacy.md: the server draws the graph.
BOOST_AUTO_TEST_CASE(colluding_neighbours_as_many_as_the_threshold_open_an_update) {
  for (const auto& world : worlds())
    for (const std::uint32_t fewer : {1U, 0U}) {
      attack with(world);
      const auto near = with.honest().begin()->second.neighbours;
      if (near.size() + 1 == world.clients) continue;
      for (std::uint32_t i = 0; i + fewer < with.graph().threshold; ++i)
        with.clients.send_inputs(near[i].client, sent_inputs::colludes);
      with.server.play(with.honest());
      BOOST_TEST((with.server.look().largest_share > 1 - 1e-6) == (fewer == 0), world.name);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::federated::testing
