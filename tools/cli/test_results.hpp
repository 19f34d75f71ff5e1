// What `furlong test` found, as JSON and as JUnit XML.
#pragma once

#include <string>
#include <vector>

#include "scenarios/schema/scenario.hpp"
#include "tools/expectations/expectations.hpp"
#include "tools/runs/figures_json.hpp"

namespace furlong::tools {

/// A tested scenario.
struct test_result {
  std::string name;
  std::string file;
  std::uint64_t seed = 0;
  int code = 0;          ///< exit code
  double seconds = 0.0;  ///< wall time of the runs that no earlier scenario had
  findings conditions = {};
  std::string error = {};  ///< why there are no conditions
};

/// An invocation.
struct test_results {
  int code = 0;  ///< exit code
  bool smoke = false;
  std::string folder;                             ///< of the runs, if they are kept
  std::vector<scenarios::problem> problems = {};  ///< of invalid scenarios: then nothing ran
  std::vector<test_result> scenarios = {};
  std::size_t broken = 0;  ///< runs that did not end well

  /// Number of conditions that held, or failed.
  [[nodiscard]] std::size_t count(bool held) const;
};

/// The more important of two exit codes: interrupted, a failed run, an invalid scenario, a failed expectation, missing
/// data.
[[nodiscard]] int graver(int first, int second);

/// {"file", "line", "column", "key", "why", "fix"}.
[[nodiscard]] json to_json(const scenarios::problem& problem);
/// As docs/schemas/test.schema.json describes it.
[[nodiscard]] json to_json(const test_results& results);
/// As the schema of Jenkins and the tools that read it have it: a suite for each scenario, a case for each condition. A
/// run that failed is an error, missing data a skipped case, an invalid scenario a suite with an error for each
/// problem.
[[nodiscard]] std::string junit_xml(const test_results& results);

}  // namespace furlong::tools
