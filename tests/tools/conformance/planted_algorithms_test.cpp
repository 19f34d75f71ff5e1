// Mistakes of algorithms that a run does not see, each found by its law.
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "federated/aggregation/aggregate.hpp"
#include "tests/support/behaving_algorithm.hpp"
#include "tests/tools/conformance/planted_parts.hpp"

BOOST_AUTO_TEST_SUITE(planted_algorithms)

using namespace furlong;
using namespace furlong::federated;
using tests::algorithm_behaviour;

namespace {

/// Registers an algorithm. `make` is called for each instance.
void plant(const std::function<algorithm_behaviour()>& make) {
  register_algorithm({.kind = "planted",
                      .doc = "An algorithm of this test.",
                      .build = [make](const option_values&) -> result<std::shared_ptr<const algorithm>> {
                        return std::make_shared<const tests::behaving_algorithm>(make());
                      }});
}

void check_broken(const std::function<algorithm_behaviour()>& make, const std::string& law, const std::string& reason) {
  plant(make);
  tests::check_broken(tools::part_kind::algorithm, law, reason);
}

phase_result train_all(local_task& task) { return task.sgd(task.parts().all_tensors, task.client_loop()); }

/// Moves a shared weight.
void shift(local_values& task, float distance) { *task.weights()[0].data += distance; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_sound_algorithm_is_none_of_these) {
  plant([] { return algorithm_behaviour(); });
  tests::check_sound(tools::part_kind::algorithm);
}

BOOST_AUTO_TEST_CASE(an_update_that_is_not_finite) {
  check_broken(
      [] {
        return algorithm_behaviour{.train = [](local_task& task) {
          task.count(train_all(task));
          if (task.id().client % 2 == 1) shift(task, std::numeric_limits<float>::quiet_NaN());
        }};
      },
      "updates", "its update is not finite");
}

BOOST_AUTO_TEST_CASE(an_update_without_weight) {
  check_broken(
      [] {
        return algorithm_behaviour{.train = [](local_task& task) {
          task.count_unweighted(train_all(task));
          task.weigh(0, 0.0);
        }};
      },
      "updates", "its update has no weight, and the client has examples");
}

BOOST_AUTO_TEST_CASE(an_update_that_weighs_more_than_it_may) {
  check_broken(
      [] {
        return algorithm_behaviour{.train = [](local_task& task) {
          const auto phase = train_all(task);
          task.count(phase);
          task.weigh(9 * phase.examples, 9 * phase.loss_sum);
        }};
      },
      "updates", "its update is refused as weight-bound");
}

BOOST_AUTO_TEST_CASE(training_that_depends_on_the_number_of_the_call) {
  check_broken(
      [] {
        const auto calls = std::make_shared<std::atomic<int>>(0);
        return algorithm_behaviour{.train = [calls](local_task& task) {
          task.count(train_all(task));
          shift(task, 1e-3F * static_cast<float>(++*calls));
        }};
      },
      "repetition", "of its update is ");
}

BOOST_AUTO_TEST_CASE(training_that_reads_what_another_client_left_in_its_buffers) {
  const auto make = [] {
    return algorithm_behaviour{.train = [](local_task& task) {
      const auto& tensors = task.parts().all_tensors;
      task.count(train_all(task));
      add(task.weights(), 1e-3F, task.scratch(0), tensors);  // holds anything
      assign(task.scratch(0), task.weights(), tensors);
    }};
  };
  check_broken(make, "order", "of its update is ");
  BOOST_TEST((tests::examined(tools::part_kind::algorithm).about("repetition")->found.result ==
              tools::conformance::outcome::kept));
}

BOOST_AUTO_TEST_CASE(training_in_a_buffer_that_all_threads_share) {
  check_broken(
      [] {
        const auto current = std::make_shared<std::atomic<std::uint32_t>>(0);
        return algorithm_behaviour{.train = [current](local_task& task) {
          *current = task.id().client;
          task.count(train_all(task));
          for (int waits = 0; waits < 200; ++waits) std::this_thread::yield();
          if (*current != task.id().client) shift(task, 1.0F);
        }};
      },
      "threads", " while others train");
}

BOOST_AUTO_TEST_CASE(private_values_that_are_kept_in_the_algorithm) {
  struct memory {
    std::mutex lock;
    std::set<std::pair<std::uint32_t, std::uint64_t>> trained;
  };
  check_broken(
      [] {
        const auto known = std::make_shared<memory>();
        return algorithm_behaviour{.train = [known](local_task& task) {
          task.count(train_all(task));
          const auto& [client, version] = std::pair(task.id().client, task.id().version);
          const std::scoped_lock hold(known->lock);
          if (version > 0 && known->trained.contains({client, version - 1})) shift(task, 1e-3F);
          known->trained.insert({client, version});
        }};
      },
      "restoration", " in a resumed run");
}

BOOST_AUTO_TEST_CASE(a_plan_of_twice_the_work) {
  check_broken([] { return algorithm_behaviour{.plan = [](std::uint64_t count) { return 2 * count; }}; }, "plan",
               ", and its task counted ");
}

BOOST_AUTO_TEST_CASE(a_plan_that_depends_on_the_instance) {
  const auto instances = std::make_shared<std::atomic<std::uint64_t>>(0);
  check_broken(
      [instances] {
        return algorithm_behaviour{.plan = [number = ++*instances](std::uint64_t count) { return count + number; }};
      },
      "plan", " in a resumed run");
}

BOOST_AUTO_TEST_CASE(a_personalization_that_depends_on_the_number_of_the_call) {
  check_broken(
      [] {
        const auto calls = std::make_shared<std::atomic<int>>(0);
        return algorithm_behaviour{
            .personalize = [calls](personal_task& task) { shift(task, 0.1F * static_cast<float>(++*calls)); }};
      },
      "personalization", "after other clients were scored");
}

BOOST_AUTO_TEST_CASE(a_momentum_that_the_algorithm_keeps) {
  check_broken(
      [] {
        const auto velocity = std::make_shared<std::vector<float>>();
        return algorithm_behaviour{.step = [velocity](server_view& server, const aggregate& round) {
          auto change = round.change;
          velocity->resize(change.values().size(), 0.0F);
          for (std::size_t i = 0; i < velocity->size(); ++i)
            change.values()[i] = (*velocity)[i] = 0.5F * (*velocity)[i] + change.values()[i];
          server.optimize(change);
        }};
      },
      "step", "of the model is ");
}

BOOST_AUTO_TEST_SUITE_END()
