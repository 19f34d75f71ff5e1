// Which models a server keeps for the tasks that start from them.
#include "federated/protocol/model_shelf.hpp"

#include <boost/test/unit_test.hpp>

using namespace furlong;
using namespace furlong::federated;
using namespace furlong::federated::protocol;

namespace {

struct shelf : model_shelf {
  static broadcast_ptr model_of(std::uint64_t version) {
    return std::make_shared<const broadcast>(broadcast{1, version, {}, {}, {}});
  }
  static open_task task_from(std::uint64_t version) { return {{1, version, 5, 0}}; }

  void next(std::uint64_t version, std::vector<open_task> held = {}) { publish(model_of(version), 10 + version, held); }
  [[nodiscard]] bool keeps(std::uint64_t version) { return model_digest(version).has_value(); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(model_shelves, shelf)

BOOST_AUTO_TEST_CASE(the_newest_version_is_the_one_that_tasks_start_from) {
  next(0);
  next(1);
  BOOST_TEST(newest()->version == 1U);
  BOOST_TEST(task_bytes() == 11U);
  BOOST_TEST(model(1) == newest());
  BOOST_TEST(!keeps(0));
}

BOOST_AUTO_TEST_CASE(a_version_stays_while_a_task_needs_it) {
  next(0);
  need(0);
  need(0);
  next(1);
  release(0);
  next(2);
  BOOST_TEST(keeps(0));
  BOOST_TEST(!keeps(1));
  release(0);
  BOOST_TEST(keeps(0));  // until the round is closed
  next(3);
  BOOST_TEST(!keeps(0));
}

BOOST_AUTO_TEST_CASE(a_task_that_is_opened_again_keeps_its_model) {
  next(0);
  need(0);
  release(0);
  need(0);
  next(1);
  BOOST_TEST(keeps(0));
}

BOOST_AUTO_TEST_CASE(a_version_with_a_held_task_stays_until_the_task_is_held_no_more) {
  next(0);
  need(0);
  release(0);
  next(1, {task_from(0)});
  BOOST_TEST(keeps(0));
  next(2, {task_from(1)});
  BOOST_TEST(!keeps(0));
  BOOST_TEST(keeps(1));
}

BOOST_AUTO_TEST_CASE(a_resumed_run_has_the_models_of_its_open_tasks) {
  restore(model_of(3));
  need(3);
  need(2);  // a closed task of a simulation, without a model
  next(5);
  BOOST_TEST(model(3)->version == 3U);
  BOOST_TEST(!model(2));
  BOOST_TEST(!keeps(2));
  BOOST_TEST(!keeps(4));  // never there
}

BOOST_AUTO_TEST_SUITE_END()
