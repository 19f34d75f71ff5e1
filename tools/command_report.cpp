// furlong report
#include <fmt/format.h>
#include <iostream>

#include "tools/commands.hpp"
#include "tools/exit_code.hpp"
#include "tools/report/report.hpp"

namespace furlong::tools {

int report_command(const report_options& options) {
  std::vector<run_record> runs;
  for (const auto& folder : options.runs) {
    auto record = read_run(folder);
    if (!record) {
      std::cerr << "furlong: " << record.error().text() << '\n';
      return exit_code_of(record.error());
    }
    runs.push_back(std::move(*record));
  }
  auto out = options.out;
  if (out.empty()) {
    const auto first = std::filesystem::absolute(options.runs.front()).lexically_normal();
    const auto folder = first.has_filename() ? first : first.parent_path();
    out = runs.size() == 1 ? folder / "report.html" : folder.parent_path() / "comparison.html";
  }
  if (std::filesystem::exists(out) && !std::filesystem::is_regular_file(out)) {
    std::cerr << "furlong: " << out.string() << ": is no file; name another with --out\n";
    return usage;
  }
  if (auto written = write_report(runs, out); !written) {
    std::cerr << "furlong: " << written.error().text() << '\n';
    return exit_code_of(written.error());
  }
  std::cout << comparison_table(runs);
  fmt::print("report: {}\n", out.string());
  return done;
}

}  // namespace furlong::tools
