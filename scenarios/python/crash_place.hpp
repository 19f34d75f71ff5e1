// Where a trainer ends that ends within the user's code, by a signal or by os._exit().
#pragma once

#include <string>
#include <string_view>

namespace furlong::scenarios {

/// Reads a trainer's lines for the stack that Python writes last (faulthandler).
class crash_place {
 public:
  void read(std::string_view line);
  /// "FILE:LINE" of the innermost frame that is neither of a library nor of the package furlong; empty: nothing is
  /// known.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  bool inside_ = false;  ///< the frames of the thread that ends
  std::string text_;
};

}  // namespace furlong::scenarios
