// Which kernels the processes of a federation compute with, by network.kernel_levels.
#include "federated/processes/kernel_choice.hpp"

#include <boost/test/unit_test.hpp>

#include "models/kernels/levels.hpp"

BOOST_AUTO_TEST_SUITE(kernels_of_federations)

using namespace furlong;
using namespace furlong::federated::processes;
using federated::kernel_rule;

namespace {

/// This process's level, which a test may lower.
struct level_guard {
  std::string before{models::kernels().level};
  ~level_guard() { static_cast<void>(models::use_kernels(before)); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(by_same_the_level_in_use_must_be_equal) {
  const auto own = own_kernels();
  BOOST_TEST(!unlike_kernels(kernel_rule::same, own));
  BOOST_TEST(unlike_kernels(kernel_rule::same, {"x86-64-v9", own.levels})
                 .value()
                 .starts_with("its kernels are of level x86-64-v9, the server's of level " + own.level));
  BOOST_TEST(unlike_kernels(kernel_rule::same, {}).value().starts_with("its kernels are of level unknown"));
  BOOST_TEST(!unlike_kernels(kernel_rule::any, {"x86-64-v9", "x86-64-v9"}));
}

BOOST_AUTO_TEST_CASE(by_common_the_level_in_use_must_be_among_a_processs) {
  const auto own = own_kernels();
  BOOST_TEST(!unlike_kernels(kernel_rule::common, {"x86-64-v9", own.level + ",x86-64-v9"}));
  BOOST_TEST(unlike_kernels(kernel_rule::common, {own.level, own.level + "0"}).value() ==
             "it has kernels of the levels " + own.level + "0 only, and the run computes with those of level " +
                 own.level);
}

BOOST_AUTO_TEST_CASE(the_common_level_is_the_highest_that_all_have) {
  const level_guard guard;
  const auto levels = models::usable_levels();
  const std::string lowest(levels.front());
  kernel_choice choice;
  const auto arrives = [&](const std::string& has, bool fixed = false) {
    return choice.on_arrival(kernel_rule::common, {has, has}, fixed);
  };
  const auto own = own_kernels();
  BOOST_TEST(!arrives(own.levels).lowered);
  BOOST_TEST(arrives("neon9").refused.has_value());  // nothing in common: it changes nothing
  BOOST_TEST(models::kernels().level == levels.back());
  const auto answer = arrives("neon9," + lowest);
  BOOST_TEST(!answer.refused);
  BOOST_TEST(answer.lowered == (levels.size() > 1));
  BOOST_TEST(models::kernels().level == lowest);
  BOOST_TEST(!arrives(own.levels).lowered);  // not back to a higher one
  BOOST_TEST(models::kernels().level == lowest);
}

BOOST_AUTO_TEST_CASE(a_run_that_has_begun_keeps_its_level) {
  const level_guard guard;
  kernel_choice choice;
  const auto own = own_kernels();
  BOOST_TEST(choice.on_arrival(kernel_rule::common, {"neon9", "neon9"}, true).refused.has_value());
  BOOST_TEST(!choice.on_arrival(kernel_rule::common, {"neon9", "neon9," + own.level}, true).lowered);
  BOOST_TEST(models::kernels().level == own.level);
}

BOOST_AUTO_TEST_CASE(a_process_follows_only_to_levels_that_it_has) {
  const level_guard guard;
  const std::string lowest(models::usable_levels().front());
  BOOST_TEST(follow_kernels(kernel_rule::same, "x86-64-v9").has_value());
  BOOST_TEST(follow_kernels(kernel_rule::any, "x86-64-v9").has_value());
  BOOST_TEST(follow_kernels(kernel_rule::common, "x86-64-v9").error().text().find("which this process has not") !=
             std::string::npos);
  BOOST_TEST(models::kernels().level == guard.before);
  BOOST_TEST(follow_kernels(kernel_rule::common, lowest).has_value());
  BOOST_TEST(models::kernels().level == lowest);
  BOOST_TEST(level_of_run(kernel_rule::common, "x86-64-v9") == lowest);
  BOOST_TEST(level_of_run(kernel_rule::any, "x86-64-v9") == "x86-64-v9");
}

BOOST_AUTO_TEST_SUITE_END()
