// What a server tells its nodes and aggregators of a scenario.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/schema/scenario.hpp"

namespace furlong::scenarios {

/// The resolved scenario without what is the server's own affair, or of a simulation only: paths, devices, dropout,
/// events, expectations. The numbers of rounds and of clients a round are settled. Parsing it gives the same model,
/// algorithm and data. `fit()` must have been called.
[[nodiscard]] std::string node_toml(const scenario& of);

/// Reads what a server sent. Opens nothing. A node names its own paths: a scenario that does is an error (kind usage),
/// as is one with any other problem, of which the first is told.
[[nodiscard]] result<scenario> parse_node_scenario(const std::string& text,
                                                   const std::vector<setting_override>& own = {});

/// What a node is ready to hold of a run that somebody else describes, in bytes.
struct node_limits {
  double model = 0x1p30;  ///< all tensors; a message is no longer either
  double data = 0x1p32;   ///< what is made of the data, or needed to work on them, however small their files are
};

/// Holds a server's scenario against the limits before anything is made of it.
/// @param facts of the data, as the server says
/// Fails (kind usage) naming what is too large and how large it would be.
[[nodiscard]] result<void> check_size(const scenario& of, const models::data_facts& facts,
                                      const node_limits& limits = {});

/// What a node decides about a server's scenario: where its data, its Python class and its key are. Empty ones say
/// nothing. Fails (kind usage) when the scenario's source reads files and `data` is empty, or the other way round, and
/// likewise of a class.
[[nodiscard]] result<std::vector<setting_override>> own_settings(const scenario& of, const std::filesystem::path& data,
                                                                 const std::string& problem,
                                                                 const std::filesystem::path& key_file);

}  // namespace furlong::scenarios
