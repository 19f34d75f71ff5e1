// How input errors travel in Furlong: result<T> holds a value or an error that names the place, the reason and the
// fix.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace furlong {

/// What went wrong, in the three parts a person needs.
struct error {
  /// What kind of failure it is; decides the exit code of the command.
  enum class kind {
    usage,   ///< the command line or the scenario is wrong
    data,    ///< a dataset, store or checkpoint is missing or unreadable
    runtime  ///< everything else
  };

  kind what = kind::runtime;
  std::string place;   ///< file, line, key or client that the error is about; may be empty
  std::string reason;  ///< what is wrong there
  std::string fix;     ///< what to do about it; may be empty

  /// One line: "place: reason; fix".
  [[nodiscard]] std::string text() const {
    std::string line = place.empty() ? reason : place + ": " + reason;
    return fix.empty() ? line : line + "; " + fix;
  }
};

/// A T, or the reason why there is none. No exception crosses an actor.
template <class T>
using result = tl::expected<T, error>;

/// Makes the failed alternative of any result<T>.
[[nodiscard]] inline tl::unexpected<error> fail(error::kind what, std::string place, std::string reason,
                                                std::string fix = {}) {
  return tl::unexpected<error>(error{what, std::move(place), std::move(reason), std::move(fix)});
}

}  // namespace furlong
