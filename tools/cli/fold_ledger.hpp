// Which updates each version took in, for those who audit a federation: that no update counts twice, and that none that
// was acknowledged is missing.
#pragma once

#include <filesystem>

#include "federated/run_observer.hpp"
#include "tools/cli/run_directory.hpp"

namespace furlong::tools {

/// A file of JSON lines, only ever appended to. Each life of a run begins with {"life":N,"from":VERSION}: what earlier
/// lives wrote of later versions is void. Each version that is made adds
/// {"life":N,"version":V,"folded":[[BASE,CLIENT,ATTEMPT],...]}, before the checkpoint that holds it. Lines are on disk
/// when a call returns. Not thread-safe.
class fold_ledger {
 public:
  /// Opens the file, which may exist; a line that a killed process left torn is cut off.
  [[nodiscard]] static result<fold_ledger> open(const std::filesystem::path& path,
                                                const federated::protocol::server_state& from);
  [[nodiscard]] result<void> add(const federated::round_report& report);

 private:
  fold_ledger(growing_file file, std::uint64_t life) : file_(std::move(file)), life_(life) {}
  [[nodiscard]] result<void> append(const std::string& line);

  growing_file file_;
  std::uint64_t life_ = 0;
};

}  // namespace furlong::tools
