// furlong report
#include <fmt/format.h>
#include <iostream>

#include "tools/cli/child_runs.hpp"
#include "tools/cli/client_table.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/failure.hpp"
#include "tools/cli/figures_json.hpp"
#include "tools/cli/messages.hpp"
#include "tools/cli/run_directory.hpp"
#include "tools/cli/run_end.hpp"
#include "tools/report/report.hpp"

namespace furlong::tools {

namespace {

/// A report with private values has a separate name, so that it does not replace one that may be shared.
std::filesystem::path default_page(const report_options& options) {
  const std::string ending = options.embeddings ? "-private.html" : ".html";
  const auto first = std::filesystem::absolute(options.runs.front()).lexically_normal();
  const auto folder = first.has_filename() ? first : first.parent_path();
  return options.runs.size() == 1 ? folder / ("report" + ending) : folder.parent_path() / ("comparison" + ending);
}

/// {"run", "name", "status", "why", "summary"}: docs/schemas/report.schema.json.
json to_json(const run_record& run) {
  json out = {{"run", run.directory.string()},
              {"name", run.name},
              {"status", !run.summary      ? "interrupted"
                         : has_failed(run) ? "failed"
                                           : "done"}};
  if (has_failed(run)) out["why"] = failure_of(run);
  auto summary = json::parse(text_of(run_directory(run.directory).summary()), nullptr, false);
  out["summary"] = summary.is_object() ? std::move(summary) : json();
  return out;
}

void print_json(const std::vector<run_record>& runs, const std::filesystem::path& page, bool is_private) {
  json out = {{"report", page.string()}, {"private", is_private}, {"runs", json::array()}};
  for (const auto& run : runs) out["runs"].push_back(to_json(run));
  std::cout << json_text(out) << '\n';
}

}  // namespace

int report_command(const report_options& options) {
  auto read = read_runs(options.runs);
  if (!read) {
    std::cerr << "furlong: " << for_people(read.error().text()) << '\n';
    return exit_code_of(read.error());
  }
  auto& runs = *read;
  if (options.embeddings)
    if (auto added = add_embeddings(runs); !added) {
      std::cerr << "furlong: " << for_people(added.error().text()) << '\n';
      return exit_code_of(added.error());
    }
  if (options.clients)
    if (auto added = add_clients(runs); !added) return report_failure(added.error());
  const auto out = options.out.empty() ? default_page(options) : options.out;
  if (std::filesystem::exists(out) && !std::filesystem::is_regular_file(out)) {
    std::cerr << "furlong: " << for_people(out.string()) << ": is no file; name another with --out\n";
    return usage;
  }
  if (auto written = write_report(runs, out); !written) {
    std::cerr << "furlong: " << for_people(written.error().text()) << '\n';
    return exit_code_of(written.error());
  }
  if (options.format == output_format::json) {
    print_json(runs, out, options.embeddings);
    return done;
  }
  std::cout << comparison_table(runs);
  fmt::print("report: {}\n", out.string());
  if (options.embeddings) fmt::print("note: this file shows private values; it reveals which users are similar\n");
  return done;
}

}  // namespace furlong::tools
