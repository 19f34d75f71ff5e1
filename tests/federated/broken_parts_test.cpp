// Parts of other libraries that do not keep their contracts: each mistake ends the run with a message, in every engine.
// In an executable of its own: what it registers stays registered.
#include <functional>
#include <stdexcept>

#include "federated/participation/policy.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/running.hpp"
#include "federated/world/availability.hpp"
#include "tests/federated/broken_runs.hpp"

BOOST_AUTO_TEST_SUITE(broken_parts)

using namespace furlong;
using namespace furlong::federated;
using clients = std::vector<std::uint32_t>;
using tests::failure_of;

namespace {

using choice = std::function<clients(selection&)>;

class answering_policy final : public selection_policy {
 public:
  explicit answering_policy(choice answer) : answer_(std::move(answer)) {}
  clients choose(selection& of, const participation_ledger&) override { return answer_(of); }

 private:
  choice answer_;
};

experiment experiment_with(const policy_traits& traits, decltype(policy_entry::build) build,
                           participation_mode mode = participation_mode::sync) {
  register_policy({.kind = "broken", .doc = "A policy of this test.", .traits = traits, .build = std::move(build)});
  auto settings = tests::plain_settings();
  settings.participation->policy = chosen_policy("broken");
  settings.participation->mode = mode;
  settings.participation->concurrency = settings.participation->buffer = 8;
  return tests::simulated(settings);
}

experiment experiment_with(const choice& answer, participation_mode mode, const policy_traits& traits) {
  return experiment_with(
      traits,
      [answer](const experiment&, const participation_ledger&) { return std::make_unique<answering_policy>(answer); },
      mode);
}

std::string failure_with(const policy_traits& traits, decltype(policy_entry::build) build) {
  return failure_of(experiment_with(traits, std::move(build)));
}

std::string failure_with(const choice& answer, participation_mode mode = participation_mode::sync,
                         const policy_traits& traits = {}) {
  return failure_of(experiment_with(answer, mode, traits));
}

/// The first eligible ones.
clients sound(const selection& of) {
  clients chosen;
  for (std::uint32_t client = 0; client < 17 && chosen.size() < of.count; ++client)
    if (of.eligible(client)) chosen.push_back(client);
  return chosen;
}

struct broken_choice {
  choice answer;
  std::string says;
};

// Of 24 clients, 17 to 19 are for validation and 20 to 23 for the test.
const std::vector<broken_choice> broken_choices = {
    {[](selection&) -> clients { return {1'000'000'000}; },
     "client 1000000000, which does not train: it is held out, or there is none with this number; correct the policy: "
     "choose() may only name clients of participants->training()"},
    {[](selection& of) -> clients {
       auto chosen = sound(of);
       chosen.back() = 21;
       return chosen;
     },
     "client 21, which does not train"},
    {[](selection& of) -> clients { return of.eligible(4'000'000'000) ? clients{4} : clients{4'000'000'000}; },
     "client 4000000000, which does not train"},
    {[](selection& of) -> clients {
       auto chosen = sound(of);
       chosen.back() = chosen[chosen.size() - 2];
       return chosen;
     },
     "client 6 twice; correct the policy: choose() names a client once"},
    {[](selection& of) -> clients {
       auto chosen = sound(of);
       std::swap(chosen.front(), chosen.back());
       return chosen;
     },
     "client 1 after client 7; correct the policy: sort what choose() returns"},
    {[](selection& of) -> clients {
       auto chosen = sound(of);
       chosen.push_back(8);
       return chosen;
     },
     "9 of 8 clients; correct the policy: choose() may name as many as are wanted, and no more"},
    {[](selection& of) -> clients {
       auto chosen = sound(of);
       chosen.pop_back();
       return chosen;
     },
     "7 of 8 clients, and client 7 could be asked too"},
    {[](selection&) -> clients { return {}; }, "0 of 8 clients, and client 0 could be asked too"},
    {[](selection&) -> clients { throw std::runtime_error("no more ideas"); },
     "failed: no more ideas; correct the policy: choose() must not throw"},
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_sound_choice_is_none_of_these) {
  BOOST_TEST(failure_with(sound) == "");
  BOOST_TEST(failure_with(sound, participation_mode::async) == "");
}

BOOST_AUTO_TEST_CASE(a_choice_ends_the_run_over_nodes_too) {
  const auto e = experiment_with(broken_choices.front().answer, participation_mode::sync, {});
  tests::check_says(tests::failure_over_nodes(e), broken_choices.front().says);
}

BOOST_AUTO_TEST_CASE(a_choice_that_a_policy_may_not_make_ends_the_run) {
  for (const auto& [answer, says] : broken_choices)
    for (const auto mode : {participation_mode::sync, participation_mode::async}) {
      const auto said = failure_with(answer, mode);
      BOOST_TEST(said.starts_with("participation.policy: the policy \"broken\" "), said);
      BOOST_TEST(said.find(says) != std::string::npos, said << " does not say: " << says);
    }
}

BOOST_AUTO_TEST_CASE(a_held_out_client_among_others_is_none_that_trains) {
  auto setup = experiment_with([](selection&) -> clients { return {5}; }, participation_mode::sync, {});
  const auto held_out = tests::make_ratings(3);
  std::erase(held_out->seen, 5U);
  held_out->held_out_test.insert(held_out->held_out_test.begin(), 5U);
  setup.participants = held_out;
  tests::check_says(failure_of(setup), "client 5, which does not train");
}

// In the middle of a run, in the middle of an asynchronous round, and of clients that have a task.
BOOST_AUTO_TEST_CASE(a_client_that_cannot_be_asked_now_ends_the_run) {
  for (const auto mode : {participation_mode::sync, participation_mode::async}) {
    std::uint32_t calls = 0;
    const auto said = failure_with(
        [&calls](selection& of) -> clients {
          auto chosen = sound(of);
          if (++calls % 4 != 0) return chosen;
          for (std::uint32_t client = 0; client < 17; ++client)
            if (!of.eligible(client)) return {client};
          return clients{21};
        },
        mode);
    const std::string expected = mode == participation_mode::async ? "which cannot be asked now" : "does not train";
    BOOST_TEST(said.find(expected) != std::string::npos, said);
  }
}

BOOST_AUTO_TEST_CASE(a_policy_that_draws_cohorts_may_choose_fewer) {
  const auto one = [](selection& of) -> clients { return of.eligible(3) ? clients{3} : clients{}; };
  BOOST_TEST(failure_with(one).find("1 of 8 clients, and client 0 could be asked too") != std::string::npos);
  BOOST_TEST(failure_with(one, participation_mode::sync, {.draws_cohort = true}) == "");
}

// Client 0 has no examples.
BOOST_AUTO_TEST_CASE(a_policy_that_needs_examples_may_leave_out_who_has_none) {
  const auto all_others = [](selection& of) -> clients {
    clients chosen;
    for (std::uint32_t client = 1; client < 17 && chosen.size() < of.count; ++client)
      if (of.eligible(client)) chosen.push_back(client);
    return chosen;
  };
  const auto settings = [] {
    auto made = tests::plain_settings();
    made.participation->policy = chosen_policy("broken");
    made.participation->per_round = 17;
    return made;
  };
  for (const bool needs : {true, false}) {
    static_cast<void>(failure_with(all_others, participation_mode::sync, {.needs_examples = needs}));
    const auto said = failure_of(tests::simulated(settings()));
    BOOST_TEST(said.empty() == needs, said);
  }
}

BOOST_AUTO_TEST_CASE(a_policy_that_is_not_built_ends_the_run) {
  const policy_traits none;
  const auto null = [](const experiment&, const participation_ledger&) { return std::unique_ptr<selection_policy>(); };
  BOOST_TEST(failure_with(none, null) ==
             "participation.policy: the policy \"broken\" was not built; correct the policy: its build returns null");
  const auto throws = [](const experiment&, const participation_ledger&) -> std::unique_ptr<selection_policy> {
    throw std::runtime_error("no table");
  };
  BOOST_TEST(failure_with(none, throws) ==
             "participation.policy: the policy \"broken\" was not built: no table; correct the policy: its build must "
             "not throw");
  BOOST_CHECK_THROW(register_policy({.kind = "none", .doc = "Cannot be built."}), std::invalid_argument);
}

namespace {

/// Forgets how to go on after its first selection.
class forgetful_policy final : public selection_policy {
 public:
  clients choose(selection& of, const participation_ledger&) override { return sound(of); }
  void asked(const clients&) override { throw std::runtime_error("no memory of it"); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_policy_that_cannot_note_who_was_selected_ends_the_run) {
  const auto build = [](const experiment&, const participation_ledger&) {
    return std::make_unique<forgetful_policy>();
  };
  const std::string says =
      "participation.policy: the policy \"broken\" failed: no memory of it; correct the policy: asked() must not throw";
  for (const auto mode : {participation_mode::sync, participation_mode::async})
    BOOST_TEST(failure_of(experiment_with({}, build, mode)) == says);
}

namespace {

/// Time stands still in it, or it fails.
class broken_availability final : public availability {
 public:
  explicit broken_availability(bool throws) : throws_(throws) {}
  bool available(std::uint32_t, virtual_time, std::uint64_t) const override {
    if (throws_) throw std::runtime_error("no table");
    return true;
  }
  virtual_time changes(std::uint32_t, virtual_time now, std::uint64_t) const override { return now; }

 private:
  bool throws_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_model_of_availability_that_cannot_answer_ends_the_run) {
  for (const bool throws : {true, false}) {
    register_availability({.kind = "broken",
                           .doc = "A model of this test.",
                           .build = [throws](const availability_source&) -> std::unique_ptr<availability> {
                             return std::make_unique<broken_availability>(throws);
                           }});
    auto settings = tests::plain_settings();
    settings.devices->availability.kind = "broken";
    settings.participation->mode = participation_mode::async;  // the reference loop knows no time
    settings.participation->concurrency = settings.participation->buffer = 8;
    const std::string says = throws ? "which failed in available(): no table" : "whose changes() of client ";
    const auto said = failure_of(tests::simulated(settings));
    BOOST_TEST(said.starts_with("devices.availability.kind: is \"broken\", " + says), said);
  }
}

BOOST_AUTO_TEST_SUITE_END()
