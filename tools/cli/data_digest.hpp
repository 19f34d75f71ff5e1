// Tells the files of a run's data from others.
#pragma once

#include <filesystem>
#include <string>

#include "tools/cli/session.hpp"

namespace furlong::tools {

/// The digest of data, and where they come from.
struct data_digest {
  std::string sha256;  ///< as data_sha256() has it
  std::string place;   ///< a file, to be named in a message; all are part of one digest
};
/// Of data as a scenario's load_data() read them.
[[nodiscard]] result<data_digest> digest_of(const scenarios::dataset& data, const federated::run_settings& settings);

/// SHA-256 in hex over the lengths and bytes of the files that the data were read from, and of the availability trace;
/// empty where all is generated, or on nodes. Where the files are does not matter.
/// Fails (kind data) when one cannot be read any more.
[[nodiscard]] result<std::string> data_sha256(const session& of);

/// Fails (kind data) when the data are not those of a run, whose clients and classes would then be others.
/// @param recorded digest in the run's checkpoint; empty: it has none, and nothing is compared
/// @param run its folder
[[nodiscard]] result<void> check_same_data(const session& of, const std::string& recorded,
                                           const std::filesystem::path& run);
/// The same where the digest is known.
[[nodiscard]] result<void> check_same_data(const data_digest& here, const std::string& recorded,
                                           const std::filesystem::path& run);

}  // namespace furlong::tools
