// Furlong's own parts keep the laws of parts of other libraries, which are examined in the same way.
#include <algorithm>

#include "models/model.hpp"
#include "tests/tools/conformance/planted_parts.hpp"

BOOST_AUTO_TEST_SUITE(part_conformance)

using namespace furlong;
using tools::part_kind;
using tools::part_request;
using tools::conformance::outcome;

namespace {

struct unexamined_part {
  part_kind kind;
  std::string name;
  const char* reason;
};

/// Those that do without generated data.
const std::vector<unexamined_part> unexamined = {
    {part_kind::algorithm, "python", "is what a class of another program does"},
    {part_kind::availability, "trace", "reads files"},
    {part_kind::model, "python", "is what a class of another program computes"},
    {part_kind::dataset, "python", "is what a class of another program loads"},
    {part_kind::dataset, "movielens", "reads files"},
    {part_kind::dataset, "interactions", "reads files"},
    {part_kind::dataset, "hosted-ratings", "has its data on nodes"},
    {part_kind::dataset, "text", "reads files"},
    {part_kind::dataset, "labelled-text", "reads files"},
    {part_kind::dataset, "leaf", "reads files"},
};

bool is_examined(part_kind kind, const std::string& name) {
  return std::ranges::none_of(
      unexamined, [&](const unexamined_part& listed) { return listed.kind == kind && listed.name == name; });
}

/// Small widths, so that all slopes of a model take moments.
std::vector<scenarios::setting_override> small_widths(const std::string& model) {
  std::vector<scenarios::setting_override> overrides;
  for (const auto& option : models::find_model(model)->options)
    for (const char* width : {"rank", "embedding", "hidden", "projection", "mlp"})
      if (option.name == width) overrides.push_back({"model." + option.name, "3"});
  return overrides;
}

void check_all(part_kind kind) {
  for (const auto& name : tools::names_of_parts(kind)) {
    if (!is_examined(kind, name)) continue;
    BOOST_TEST_CONTEXT(tools::kind_name(kind) << " " << name) {
      part_request request{.kind = kind, .name = name};
      if (kind == part_kind::model) request.overrides = small_widths(name);
      if (name == "fltrust") request.overrides = {{"algorithm.aggregation.root", "[0, 1]"}};  // trusted clients
      const auto made = tools::examine_part(request);
      BOOST_TEST_REQUIRE(made.has_value(), (made ? std::string() : made.error().text()));
      BOOST_TEST(tests::broken_lines(*made) == "");
      BOOST_TEST(made->count(outcome::kept) > made->count(outcome::skipped));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(algorithms_keep_the_laws) { check_all(part_kind::algorithm); }
BOOST_AUTO_TEST_CASE(rules_keep_the_laws) { check_all(part_kind::rule); }
BOOST_AUTO_TEST_CASE(policies_keep_the_laws) { check_all(part_kind::policy); }
BOOST_AUTO_TEST_CASE(models_of_availability_keep_the_laws) { check_all(part_kind::availability); }
BOOST_AUTO_TEST_CASE(models_keep_the_laws) { check_all(part_kind::model); }
BOOST_AUTO_TEST_CASE(datasets_keep_the_laws) { check_all(part_kind::dataset); }

BOOST_AUTO_TEST_CASE(parts_that_are_not_examined_are_registered) {
  for (const auto& listed : unexamined) {
    const auto names = tools::names_of_parts(listed.kind);
    BOOST_TEST((std::ranges::find(names, listed.name) != names.end()), listed.name << " " << listed.reason);
  }
}

// What the laws skip must be what does not concern a part.
BOOST_AUTO_TEST_CASE(a_law_that_does_not_concern_a_part_is_skipped_with_the_reason) {
  const auto reason = [](part_kind kind, const std::string& name, const std::string& law) {
    const auto made = tools::examine_part({.kind = kind, .name = name});
    BOOST_TEST_REQUIRE(made.has_value());
    const auto* const about = made->about(law);
    BOOST_TEST_REQUIRE(about != nullptr);
    BOOST_TEST((about->found.result == outcome::skipped));
    return about->found.reason;
  };
  BOOST_TEST(reason(part_kind::rule, "mean", "weights") == "its traits say that updates are weighed by examples");
  BOOST_TEST(reason(part_kind::rule, "fedatt", "sensitivity") ==
             "its traits state no sensitivity, so privacy.noise is refused for it");
  BOOST_TEST(reason(part_kind::policy, "power-of-choice", "losses") == "its traits say that it selects by losses");
  BOOST_TEST(reason(part_kind::policy, "round-robin", "draws") == "its traits do not say draws_alike");
}

BOOST_AUTO_TEST_CASE(a_part_that_there_is_not_is_told_with_a_similar_one) {
  const auto made = tools::examine_part({.kind = part_kind::algorithm, .name = "fedavgg"});
  BOOST_TEST_REQUIRE(!made.has_value());
  BOOST_TEST(made.error().text() == "fedavgg: is no algorithm that is registered; did you mean fedavg?");
  BOOST_TEST((made.error().what == error::kind::usage));
}

BOOST_AUTO_TEST_CASE(a_part_that_fits_no_built_in_scenario_is_told_with_the_reason) {
  const auto made = tools::examine_part({.kind = part_kind::algorithm, .name = "python"});
  BOOST_TEST_REQUIRE(!made.has_value());
  const auto text = made.error().text();
  BOOST_TEST(text.starts_with("python: fits none of the scenarios that this command has: "), text);
  BOOST_TEST(text.ends_with("; name a scenario that it fits, or set its keys with --set"), text);
}

BOOST_AUTO_TEST_SUITE_END()
