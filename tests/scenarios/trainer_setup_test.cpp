// What a trainer is started with.
#include "scenarios/python/trainer_setup.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <optional>

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(trainer_setup)

namespace {

std::optional<std::string> variable(const scenarios::problem_settings& settings, std::uint32_t worker,
                                    const std::string& name) {
  for (const auto& [key, value] : scenarios::command_for(settings, 4, worker).variables)
    if (key == name) return value;
  return std::nullopt;
}

}  // namespace

BOOST_AUTO_TEST_CASE(workers_have_the_devices_by_turns) {
  scenarios::problem_settings settings;
  settings.problem = "x.py:X";
  BOOST_TEST(scenarios::device_of(settings, 1).empty());
  BOOST_TEST(!variable(settings, 1, "CUDA_VISIBLE_DEVICES"));
  settings.devices = {"cuda:0", "cpu:copy", "cuda:1", "cuda:7"};
  const std::string visible = "CUDA_VISIBLE_DEVICES";
  ::unsetenv(visible.c_str());
  for (const std::uint32_t turn : {0U, 4U}) {
    BOOST_TEST(scenarios::device_of(settings, turn) == "cuda");
    BOOST_TEST(scenarios::device_of(settings, turn + 1) == "cpu:copy");
    BOOST_TEST(variable(settings, turn, visible).value() == "0");
    BOOST_TEST(!variable(settings, turn + 1, visible));
    BOOST_TEST(variable(settings, turn + 2, visible).value() == "1");
    BOOST_TEST(variable(settings, turn, "CUBLAS_WORKSPACE_CONFIG").value() == ":4096:8");
  }
  // Numbers count the devices that the user lets the process see; of none that is left, none is seen.
  ::setenv(visible.c_str(), "5,GPU-3f", 1);
  BOOST_TEST(variable(settings, 0, visible).value() == "5");
  BOOST_TEST(variable(settings, 2, visible).value() == "GPU-3f");
  BOOST_TEST(variable(settings, 3, visible).value().empty());
  ::unsetenv(visible.c_str());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
