// Mistakes of models of availability that a run does not see, each found by its law.
#include <atomic>
#include <functional>
#include <memory>

#include "federated/world/availability.hpp"
#include "tests/tools/conformance/planted_parts.hpp"

BOOST_AUTO_TEST_SUITE(planted_availabilities)

using namespace furlong;
using namespace furlong::federated;

namespace {

constexpr virtual_time turn = 3600 * microseconds_per_second;

/// What a sound model answers: clients are available every second hour.
bool in_turn(std::uint32_t client, virtual_time now) { return (now / turn + client) % 2 == 0; }
virtual_time next_turn(virtual_time now) { return (now / turn + 1) * turn; }

struct answers {
  std::function<bool(std::uint32_t client, virtual_time now, std::uint64_t round)> available =
      [](std::uint32_t client, virtual_time now, std::uint64_t) { return in_turn(client, now); };
  std::function<virtual_time(virtual_time now)> changes = next_turn;
  bool by_round = false;
};

class answering final : public availability {
 public:
  explicit answering(answers given) : given_(std::move(given)) {}
  bool available(std::uint32_t client, virtual_time now, std::uint64_t round) const override {
    return given_.available(client, now, round);
  }
  virtual_time changes(std::uint32_t, virtual_time now, std::uint64_t) const override { return given_.changes(now); }
  bool by_round() const override { return given_.by_round; }

 private:
  answers given_;
};

void plant(const std::function<answers()>& make) {
  register_availability({.kind = "planted",
                         .doc = "A model of this test.",
                         .build = [make](const availability_source&) { return std::make_unique<answering>(make()); }});
}

void check_broken(const std::function<answers()>& make, const std::string& law, const std::string& reason) {
  plant(make);
  tests::check_broken(tools::part_kind::availability, law, reason);
}

}  // namespace

BOOST_AUTO_TEST_CASE(sound_models_are_none_of_these) {
  plant([] { return answers(); });
  tests::check_sound(tools::part_kind::availability);
  plant([] {
    return answers{
        .available = [](std::uint32_t client, virtual_time, std::uint64_t round) { return (client + round) % 3 == 0; },
        .changes = [](virtual_time) { return never; },
        .by_round = true};
  });
  tests::check_sound(tools::part_kind::availability);
}

BOOST_AUTO_TEST_CASE(answers_that_remember_the_questions) {
  check_broken(
      [] {
        const auto asked = std::make_shared<std::atomic<std::uint64_t>>(0);
        return answers{.available = [asked](std::uint32_t, virtual_time, std::uint64_t) { return ++*asked % 7 == 0; }};
      },
      "repetition", ", and then ");
}

BOOST_AUTO_TEST_CASE(draws_that_a_resumed_run_does_not_have) {
  const auto built = std::make_shared<std::uint32_t>(0);
  check_broken(
      [built] {
        return answers{.available = [shift = ++*built](std::uint32_t client, virtual_time now, std::uint64_t) {
          return in_turn(client + shift, now);
        }};
      },
      "rebuilding", ", and then ");
}

BOOST_AUTO_TEST_CASE(changes_that_are_not_ahead) {
  check_broken([] { return answers{.changes = [](virtual_time now) { return now; }}; }, "answers",
               "devices.availability.kind: is \"planted\", whose changes() of client ");
}

BOOST_AUTO_TEST_CASE(changes_that_change_nothing) {
  check_broken([] { return answers{.changes = [](virtual_time now) { return next_turn(next_turn(now)); }}; }, "changes",
               ", and the same at that time");
}

BOOST_AUTO_TEST_CASE(changes_that_come_too_late) {
  check_broken([] { return answers{.changes = [](virtual_time now) { return next_turn(now) + 2 * turn; }}; }, "changes",
               ", and another at ");
}

BOOST_AUTO_TEST_CASE(rounds_that_are_not_named) {
  check_broken(
      [] {
        return answers{.available = [](std::uint32_t client, virtual_time now, std::uint64_t round) {
          return in_turn(client + static_cast<std::uint32_t>(round), now);
        }};
      },
      "rounds", "in the next round");
  check_broken([] { return answers{.by_round = true}; }, "rounds", "at half of that time");
}

BOOST_AUTO_TEST_SUITE_END()
