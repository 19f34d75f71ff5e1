// Input errors: result<T> holds a value or an error with place, reason and fix.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace furlong {

/// An error message in three parts.
struct error {
  /// Kind of failure; decides the exit code of the command.
  enum class kind {
    usage,   ///< the command line or the scenario is wrong
    data,    ///< a dataset, store or checkpoint is missing or unreadable
    model,   ///< a model that computes in other processes failed: the run can go on once it is corrected
    runtime  ///< everything else
  };

  kind what = kind::runtime;
  std::string place;   ///< file, line, key or client; may be empty
  std::string reason;  ///< what is wrong
  std::string fix;     ///< how to correct it; may be empty

  /// One line: "place: reason; fix".
  [[nodiscard]] std::string text() const {
    std::string line = place.empty() ? reason : place + ": " + reason;
    return fix.empty() ? line : line + "; " + fix;
  }
};

/// A T or an error. No exception crosses an actor.
template <class T>
using result = tl::expected<T, error>;

/// Makes the error alternative of any result<T>.
[[nodiscard]] inline tl::unexpected<error> fail(error::kind kind, std::string place, std::string reason,
                                                std::string fix = {}) {
  return tl::unexpected<error>(error{kind, std::move(place), std::move(reason), std::move(fix)});
}

}  // namespace furlong
