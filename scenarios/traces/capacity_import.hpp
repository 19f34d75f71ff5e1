// Imports device speeds of FedScale as a table of devices (device_file.hpp). docs/traces.md shows the file.
//
// FedScale (Lai et al. 2022; client_device_capacity): by client, computation is the milliseconds per example of a
// forward pass, communication the bandwidth in kbit/s.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "federated/world/device_table.hpp"

namespace furlong::scenarios {

/// Reads an object of devices by name. `order` has the names of the devices of the behaviour trace beside it
/// (device_names()): rows are in their order, matched by name, or by position where some have no name; empty: all rows
/// in the order of the file. Fails (kind data) if a device is invalid, repeated or missing.
[[nodiscard]] result<federated::device_table> import_capacities(const std::filesystem::path& path,
                                                                const std::vector<std::string>& order);
/// The same for a text; `name` is the file in messages.
[[nodiscard]] result<federated::device_table> import_capacities(std::string_view text, const std::string& name,
                                                                const std::vector<std::string>& order);

/// The speeds of a table, as a file that read_device_table() reads back identically.
[[nodiscard]] std::string device_csv(const federated::device_table& table);

}  // namespace furlong::scenarios
