// What the examination of a part finds: a finding for each law of its kind.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace furlong::tools::conformance {

/// skipped: the law does not concern this part, or could not be examined.
enum class outcome : std::uint8_t { kept, broken, skipped };

struct verdict {
  outcome result = outcome::kept;
  std::string reason = {};  ///< unless it is kept
};
[[nodiscard]] inline verdict skipped(std::string reason) { return {outcome::skipped, std::move(reason)}; }
/// Broken if there is a fault.
[[nodiscard]] inline verdict kept_unless(std::string fault) {
  return {fault.empty() ? outcome::kept : outcome::broken, std::move(fault)};
}

/// What every part of a kind must do.
struct law {
  std::string name;       ///< one word
  std::string statement;  ///< "a task that is repeated gives the same update"
  std::string fix;        ///< what its author does if it is broken
};

struct finding {
  law subject;
  verdict found;
};

/// The findings about one part, in the order of the laws.
class findings {
 public:
  /// Asks whether a law is kept. An exception breaks it.
  void examine(law subject, const std::function<verdict()>& question);

  [[nodiscard]] const std::vector<finding>& listed() const { return listed_; }
  /// The finding about a law, or null.
  [[nodiscard]] const finding* about(const std::string& name) const;
  [[nodiscard]] std::size_t count(outcome result) const;

 private:
  std::vector<finding> listed_;
};

/// One line: "kept     NAME: STATEMENT", "broken   NAME: STATEMENT: REASON; FIX", "skipped  NAME: STATEMENT: REASON".
[[nodiscard]] std::string text_of(const finding& described);

}  // namespace furlong::tools::conformance
