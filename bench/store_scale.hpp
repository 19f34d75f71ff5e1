// The private store at 100,000 clients, in both layouts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "storage/rocks_store.hpp"

namespace furlong::bench {

/// The size and options of a measurement.
struct store_scale {
  std::uint32_t clients = 100'000;
  storage::store_layout layout = storage::store_layout::per_client;
  std::filesystem::path key_file = {};  ///< empty: not encrypted
};

/// Creates a store of that size in `folder` with all shards open, then takes cohorts of 100 clients drawn uniformly: a
/// read and a commit of each, a sync after each cohort. Figures by name. Ends the program on any failure.
[[nodiscard]] std::map<std::string, double> measure_creation(const std::filesystem::path& folder,
                                                             const store_scale& scale);
/// Opens the store again and takes cohorts with a quarter of the shards open, each cohort in the order of its clients'
/// numbers, and in the order drawn.
[[nodiscard]] std::map<std::string, double> measure_quarter_open(const std::filesystem::path& folder,
                                                                 const store_scale& scale);

}  // namespace furlong::bench
