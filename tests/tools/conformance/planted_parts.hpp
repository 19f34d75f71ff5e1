// Parts with one mistake each, which registration and the checks of a run that is opened accept.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>

#include "tools/cli/part_trial.hpp"

namespace furlong::tests {

/// What the examination of the part "planted" finds, in a built-in scenario.
[[nodiscard]] inline tools::conformance::findings examined(tools::part_kind kind) {
  auto made = tools::examine_part({.kind = kind, .name = "planted"});
  BOOST_REQUIRE_MESSAGE(made.has_value(), (made ? std::string() : made.error().text()));
  return std::move(*made);
}

/// The lines about laws that are broken.
[[nodiscard]] inline std::string broken_lines(const tools::conformance::findings& made) {
  std::string lines;
  for (const auto& described : made.listed())
    if (described.found.result == tools::conformance::outcome::broken) lines += text_of(described) + "\n";
  return lines;
}

/// Checks that the part "planted" breaks a law, for a reason with these words, and that the message has law and fix.
inline void check_broken(tools::part_kind kind, const std::string& law, const std::string& reason) {
  const auto made = examined(kind);
  const auto* const about = made.about(law);
  BOOST_REQUIRE_MESSAGE(about != nullptr, law);
  const auto text = text_of(*about);
  BOOST_TEST((about->found.result == tools::conformance::outcome::broken), text);
  BOOST_TEST(about->found.reason.find(reason) != std::string::npos, "\"" << text << "\" does not say: " << reason);
  BOOST_TEST(text.starts_with("broken   " + law + ": " + about->subject.statement + ": "), text);
  BOOST_TEST(text.ends_with("; " + about->subject.fix), text);
}

/// Checks that the part "planted" breaks no law.
inline void check_sound(tools::part_kind kind) { BOOST_TEST(broken_lines(examined(kind)) == ""); }

}  // namespace furlong::tests
