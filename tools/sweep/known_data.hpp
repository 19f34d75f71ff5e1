// The digests of the data of a sweep's runs, each found once.
#pragma once

#include <map>
#include <tuple>

#include "scenarios/schema/scenario.hpp"
#include "tools/cli/data_digest.hpp"

namespace furlong::tools {

/// Reads data to find their digests, and remembers these. Not thread-safe.
class known_data {
 public:
  /// Of the data as they are now. Fails as load_data() does.
  [[nodiscard]] result<data_digest> of(const scenarios::scenario& scenario);

 private:
  /// What the files follow from: the source, its options, the trace.
  using key = std::tuple<std::string, std::map<std::string, option_value, std::less<>>, std::string>;
  std::map<key, data_digest> known_;
};

}  // namespace furlong::tools
