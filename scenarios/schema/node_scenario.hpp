// The scenario that a server sends to its nodes and aggregators.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/schema/scenario.hpp"

namespace furlong::scenarios {

/// The resolved scenario without parts that only the server or a simulation uses: paths, every option with a file that
/// begins beside the scenario (option_spec::beside_file), devices, dropout, events,
/// expectations. The numbers of rounds, of clients per round
/// and of reports that it needs are settled. Parsing it gives the same model, algorithm
/// and data. Requires `fit()`.
[[nodiscard]] std::string node_toml(const scenario& run);

/// Whether node_toml() has this key where a scenario has it.
[[nodiscard]] bool is_told_to_nodes(std::string_view key);

/// The name of such a scenario in problems.
inline constexpr const char* servers_scenario = "the server's scenario";

/// Reads a scenario from a server. Opens no files. Where its data, model, algorithm or rule have a file, the server
/// tells an empty text, since nodes have their own. A scenario with paths is an error (kind usage), since nodes set
/// their own; so is any other problem, of which the first is reported.
[[nodiscard]] result<scenario> parse_node_scenario(const std::string& text,
                                                   const std::vector<setting_override>& own = {});

/// Limits in bytes of a node's memory for a run that another party describes.
struct node_limits {
  double model = 0x1p30;  ///< all tensors; also the maximum length of a message
  double data = 0x1p32;   ///< memory of the data, or of working on them, however small the files are
};

/// Checks a server's scenario against the limits before anything is allocated. Fails (kind usage) naming what is too
/// large and its size.
/// @param facts of the data, as stated by the server
[[nodiscard]] result<void> check_size(const scenario& run, const models::data_facts& facts,
                                      const node_limits& limits = {});

/// The Python classes of a node, "FILE.py:CLASS", and the devices that they compute on; empty: none.
struct node_classes {
  std::string problem = {};
  std::string algorithm = {};
  std::vector<std::string> devices = {};
};

/// Sets a node's own paths in a server's scenario: its data, its Python classes and its key. Empty: not set. Fails
/// (kind usage) if the source reads files and `data` is empty, or vice versa; likewise for the classes and for `files`,
/// those of other keys of the data, the model, the algorithm and the rule (--own KEY=FILE).
[[nodiscard]] result<std::vector<setting_override>> own_settings(const scenario& run, const std::filesystem::path& data,
                                                                 const node_classes& python,
                                                                 const std::filesystem::path& key_file,
                                                                 const std::vector<setting_override>& files = {});

/// The same of an aggregator, which has no data: files of other keys of the model, the algorithm and the rule. Fails
/// (kind usage) for keys without a file. It needs none if the model has the same tensors without.
[[nodiscard]] result<std::vector<setting_override>> aggregator_settings(const scenario& described,
                                                                        const std::vector<setting_override>& files);
/// The first of these keys without a file so far; empty: there is none.
[[nodiscard]] std::string missing_file(const scenario& described);

/// Reads "KEY=FILE" of the option --own. The error names it.
[[nodiscard]] result<std::vector<setting_override>> read_own_files(const std::vector<std::string>& texts);

}  // namespace furlong::scenarios
