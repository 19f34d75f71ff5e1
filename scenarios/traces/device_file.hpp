// Tables of recorded devices and of groups of clients, as CSV with a header.
//
//   client,ms_per_example,mbit,download,train,upload,group
//   0,162,6.271,,0.1,,north
//
// `client` is required, the other columns are not, and their order is free. An empty field says nothing: the scenario's
// value holds. Clients are numbered from 0 without gaps, in rows of any order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "federated/experiment/client_groups.hpp"
#include "federated/world/device_table.hpp"

namespace furlong::federated {
struct device_settings;
}

namespace furlong::scenarios {

/// Speeds and probabilities. Fails (kind data) at the first error, with the line, and if there is no device or no
/// column of them. Groups are not read.
[[nodiscard]] result<federated::device_table> read_device_table(const std::filesystem::path& path);
/// The same for a text; `name` is the file in messages.
[[nodiscard]] result<federated::device_table> read_device_table(std::string_view text, const std::string& name);

/// The column `group`, in which each of `clients` clients must have a name. Groups are numbered by first appearance.
[[nodiscard]] result<federated::client_groups> read_client_groups(const std::filesystem::path& path,
                                                                  std::uint32_t clients);
[[nodiscard]] result<federated::client_groups> read_client_groups(std::string_view text, const std::string& name,
                                                                  std::uint32_t clients);

/// The files that describe the devices of a scenario: the trace and the table, as far as it has them.
[[nodiscard]] std::vector<std::filesystem::path> device_files(const federated::device_settings& settings);

}  // namespace furlong::scenarios
