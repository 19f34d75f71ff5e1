#include "tools/runs/run_record.hpp"

#include <mutex>
#include <unordered_set>

namespace furlong::tools {

std::string_view figure_key::shared(std::string_view text) {
  static std::mutex guard;
  static std::unordered_set<std::string> names;  // its texts stay where they are
  const std::lock_guard lock(guard);
  return *names.emplace(text).first;
}

}  // namespace furlong::tools
