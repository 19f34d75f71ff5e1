// Parts of the command line that several commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/cli/commands.hpp"

namespace furlong::tools {

/// The action that the command line selects; run after successful parsing.
using command = std::function<int()>;

/// A choice among words; other words are rejected with the list.
template <class Enum>
CLI::Validator one_of(const std::map<std::string, Enum>& words) {
  return {[words](std::string& text) -> std::string {
            const auto at = words.find(text);
            if (at == words.end()) {
              std::string all;
              for (const auto& [word, value] : words) all += (all.empty() ? "" : ", ") + word;
              return "\"" + text + "\" is none of these: " + all;
            }
            text = std::to_string(static_cast<int>(at->second));
            return {};
          },
          ""};
}

/// A whole number in digits, from `low` to `high`. Others are rejected with `wanted`, which describes valid values.
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high, const std::string& wanted);
/// The same; `wanted` is the range.
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high);
/// A seed of a run.
CLI::Validator seed_number();

/// A client of a run.
CLI::Validator client_number();

void add_format(CLI::App* to, output_format& format);
void add_overrides(CLI::App* to, std::vector<scenarios::setting_override>& overrides);
void add_log_level(CLI::App* to, std::string& level, const std::string& doc);

/// report and compare.
void add_reports(CLI::App& app, command& chosen);
void add_infer(CLI::App& app, command& chosen);
void add_export(CLI::App& app, command& chosen);
/// serve, aggregate and join.
void add_federation(CLI::App& app, command& chosen);
/// sweep and tune.
void add_sweeps(CLI::App& app, command& chosen);
/// privacy.
void add_privacy(CLI::App& app, command& chosen);

}  // namespace furlong::tools
