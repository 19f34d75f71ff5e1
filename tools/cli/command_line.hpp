// The parts of the command line: the commands, and options that several of them have.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/cli/command_options.hpp"

namespace furlong::tools {

/// The action that the command line selects; run after successful parsing.
using command = std::function<int()>;

/// The message about a word that is not in a list.
std::string none_of(const std::string& text, const std::vector<std::string>& words);

/// A choice among words; other words are rejected with the list.
template <class Enum>
CLI::Validator one_of(const std::map<std::string, Enum>& words) {
  return {[words](std::string& text) -> std::string {
            const auto found = words.find(text);
            if (found == words.end()) {
              std::vector<std::string> names;
              for (const auto& [word, value] : words) names.push_back(word);
              return none_of(text, names);
            }
            text = std::to_string(static_cast<int>(found->second));
            return {};
          },
          ""};
}

/// A whole number in digits, from `low` to `high`. Others are rejected: "is not" and `wanted`, which describes valid
/// values.
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high, const std::string& wanted);
/// The same; `wanted` is the range.
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high);
/// A number from `low` to `high`.
CLI::Validator number_between(double low, double high);
/// A seed of a run.
CLI::Validator seed_number();

/// A client of a run.
CLI::Validator client_number();

/// An option that may be given often, with one value each.
CLI::Option* repeated(CLI::Option* option, const std::string& value);

void add_format(CLI::App* parser, output_format& format);
void add_overrides(CLI::App* parser, std::vector<scenarios::setting_override>& overrides);
void add_accept_changed_code(CLI::App* parser, bool& accepted);
void add_log_level(CLI::App* parser, std::string& level, const std::string& doc);

void add_seed(CLI::App* parser, std::optional<std::uint64_t>& seed, const std::string& doc);
void add_threads(CLI::App* parser, std::size_t& threads, const std::string& doc);
CLI::Option* add_jobs(CLI::App* parser, std::size_t& jobs, const std::string& doc);
/// --grid and --with, in the order of the command line.
void add_grid(CLI::App* parser, std::vector<grid_option>& grid);
/// What sweep and tune have in common, but for the scenarios and --grid.
void add_many_runs(CLI::App* parser, many_runs_options& options, const std::string& seeds, const std::string& out);
void add_trust(CLI::App* parser, trust_options& trust);
void add_give_up(CLI::App* parser, double& give_up);

/// Adds a command, whose options the caller then describes. If the command line selects it, `run` is called with them.
template <class Options>
[[nodiscard]] std::pair<CLI::App*, std::shared_ptr<Options>> add_command(CLI::App& parser, command& chosen,
                                                                         const std::string& name,
                                                                         const std::string& doc,
                                                                         int (*run)(const Options&)) {
  auto options = std::make_shared<Options>();
  auto* const added = parser.add_subcommand(name, doc);
  added->callback([options, run, &chosen] { chosen = [options, run] { return run(*options); }; });
  return {added, std::move(options)};
}

// The commands, each in its own file.

void add_run(CLI::App& app, command& chosen);
void add_validate(CLI::App& app, command& chosen);
void add_infer(CLI::App& app, command& chosen);
void add_export(CLI::App& app, command& chosen);
void add_replay(CLI::App& app, command& chosen);
void add_store(CLI::App& app, command& chosen);
void add_report(CLI::App& app, command& chosen);
void add_compare(CLI::App& app, command& chosen);
void add_privacy(CLI::App& app, command& chosen);
void add_audit(CLI::App& app, command& chosen);
void add_test(CLI::App& app, command& chosen);
void add_sweep(CLI::App& app, command& chosen);
void add_tune(CLI::App& app, command& chosen);
void add_trace(CLI::App& app, command& chosen);
void add_serve(CLI::App& app, command& chosen);
void add_aggregate(CLI::App& app, command& chosen);
void add_join(CLI::App& app, command& chosen);
void add_certs(CLI::App& app, command& chosen);
void add_status(CLI::App& app, command& chosen);
void add_reference(CLI::App& app, command& chosen);
void add_check_part(CLI::App& app, command& chosen);

}  // namespace furlong::tools
