// What the tests of scenarios share.
#pragma once

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>

#include "scenarios/schema/scenario.hpp"

namespace furlong::scenarios::testing {

/// A directory of one test, gone when the test ends.
class temporary_directory {
 public:
  temporary_directory() {
    static std::atomic<int> number = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("furlong-scenarios-" + std::to_string(::getpid()) + "-" + std::to_string(number++));
    std::filesystem::create_directories(path_);
  }
  ~temporary_directory() { std::filesystem::remove_all(path_); }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Writes a file and returns its path.
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    const auto file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

 private:
  std::filesystem::path path_;
};

/// The data root where this machine has a file or folder of real data.
inline std::optional<std::filesystem::path> real_data(const std::string& name) {
  const char* named = std::getenv("FURLONG_DATA");
  for (const auto& root : {std::filesystem::path(named == nullptr ? "" : named), std::filesystem::path("data"),
                           std::filesystem::path("../shared/data")})
    if (!root.empty() && std::filesystem::exists(root / name)) return root;
  return std::nullopt;
}

/// The precondition of a test that reads it: without it the test is skipped.
inline auto has_real_data(const std::string& name) {
  return [name](boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result there(real_data(name).has_value());
    if (!there) there.message() << "there is no " << name << " here";
    return there;
  };
}

/// What went wrong, or nothing.
template <class T>
std::string text_of(const result<T>& outcome) {
  return outcome ? "" : outcome.error().text();
}
inline std::string text_of(const tl::expected<scenario, std::vector<problem>>& outcome) {
  std::string text;
  if (!outcome)
    for (const auto& problem : outcome.error()) text += (text.empty() ? "" : "\n") + problem.text();
  return text;
}

/// A valid scenario; tests change it by overrides.
inline const std::string& valid_scenario() {
  static const std::string text = R"([scenario]
name = "valid"
rounds = 10

[data]
source = "synthetic-ratings"
users = 50
items = 60
ratings_per_user = 20

[model]
kind = "matrix-factorization"
rank = 4
private = ["user"]

[algorithm]
kind = "furl"

[participation]
per_round = 10
)";
  return text;
}

/// Checks that a message has these words.
inline void check_says(const std::string& said, const std::string& expected) {
  BOOST_TEST(said.find(expected) != std::string::npos, "\"" << said << "\" does not say: " << expected);
}

/// The only problem of a scenario with overrides, as text; all of them, a line each, when there are more.
inline std::string problems_with(const std::vector<setting_override>& overrides) {
  return text_of(parse_scenario_text(valid_scenario(), "valid.toml", overrides));
}

/// The valid scenario with overrides that are valid too.
inline scenario parsed(const std::vector<setting_override>& overrides = {}) {
  auto read = parse_scenario_text(valid_scenario(), "valid.toml", overrides);
  BOOST_REQUIRE_MESSAGE(read.has_value(), problems_with(overrides));
  return *read;
}

}  // namespace furlong::scenarios::testing
