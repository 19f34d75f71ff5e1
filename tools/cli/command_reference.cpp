// furlong reference
#include <algorithm>
#include <fmt/format.h>
#include <iostream>

#include "scenarios/schema/nearest.hpp"
#include "scenarios/schema/schema.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/runs/failure.hpp"

namespace furlong::tools {

namespace {

struct reference_options {
  std::vector<std::string> names;
};

/// A part of the reference, from its heading to the next one.
struct section {
  std::string name;  ///< of the table, or the kind: "algorithm.client", "fedavg"
  std::string text;
};

/// What is in brackets or quotes: of "## [scenario]" and "### kind = \"fedavg\"".
std::string name_of(std::string_view heading) {
  const auto begin = heading.find_first_of("[\"");
  if (begin == std::string_view::npos) return {};
  const auto first = heading.find_first_not_of("[\"", begin);
  return std::string(heading.substr(first, heading.find_first_of("]\"", first) - first));
}

std::vector<section> sections_of(std::string_view reference) {
  std::vector<section> sections;
  while (!reference.empty()) {
    const auto end = std::min(reference.find('\n'), reference.size() - 1) + 1;
    const auto line = reference.substr(0, end);
    reference.remove_prefix(end);
    if (line.starts_with('#')) sections.push_back({name_of(line), {}});
    if (!sections.empty()) sections.back().text += line;
  }
  return sections;
}

int reference_command(const reference_options& options) {
  const auto reference = scenarios::scenario_reference_markdown();
  const auto sections = sections_of(reference);
  std::vector<std::string> known;
  for (const auto& section : sections) known.push_back(section.name);
  for (const auto& name : options.names)
    if (std::ranges::find(known, name) == known.end()) {
      const auto near = scenarios::nearest(name, known);
      return report_failure(
          {error::kind::usage, name, "is no table of a scenario, and no kind that is registered",
           near.empty() ? "furlong reference without names prints all" : "did you mean " + near + "?"});
    }
  if (options.names.empty()) std::cout << reference;
  for (const auto& section : sections)
    if (std::ranges::find(options.names, section.name) != options.names.end()) std::cout << section.text;
  return done;
}

}  // namespace

void add_reference(CLI::App& app, command& chosen) {
  const auto [sub, options] =
      add_command(app, chosen, "reference",
                  "print the keys of scenarios and their meaning, those of parts registered by this program too",
                  reference_command);
  sub->add_option(
      "names", options->names,
      "tables, such as algorithm.client, or kinds of algorithms, rules, policies, models and datasets, such "
      "as fedavg (default: all)");
}

}  // namespace furlong::tools
