#include "tools/cli/main.hpp"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <new>
#include <spdlog/spdlog.h>
#include <stdexcept>
#include <sys/resource.h>
#include <unistd.h>

#include "scenarios/python/trainer_output.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/cli/usage_error.hpp"
#include "tools/runs/calling_script.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/version.hpp"

namespace furlong::tools {

namespace {

/// A run may need thousands of open files and connections. The soft limit is often 1024 and is raised to the hard
/// limit; if that is not enough, the failing process reports it.
void raise_file_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &files));
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Furlong: federation of partially local models");
  app.name("furlong");
  app.set_version_flag("--version", std::string("furlong ") + version);
  app.require_subcommand(1);
  command chosen;
  add_run(app, chosen);
  add_validate(app, chosen);
  add_infer(app, chosen);
  add_export(app, chosen);
  add_replay(app, chosen);
  add_store(app, chosen);
  add_report(app, chosen);
  add_compare(app, chosen);
  add_privacy(app, chosen);
  add_audit(app, chosen);
  add_test(app, chosen);
  add_sweep(app, chosen);
  add_tune(app, chosen);
  add_trace(app, chosen);
  add_serve(app, chosen);
  add_aggregate(app, chosen);
  add_join(app, chosen);
  add_certs(app, chosen);
  add_status(app, chosen);
  add_reference(app, chosen);
  add_check_part(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& why) {
    if (why.get_exit_code() == 0) return app.exit(why);  // --help, --version
    for (const auto& mistake : usage_errors(app, why)) report_failure(mistake);
    return usage;
  }
  raise_file_limit();
  if (auto fit = check_environment(std::time(nullptr)); !fit) return report_failure(fit.error());
  return chosen();
}

/// To the log, or where there is none to stderr.
void log_trainer(std::string_view line) {
  if (const auto* log = spdlog::default_logger_raw(); log->name() == "furlong")
    spdlog::info("{}", line);
  else
    fmt::print(stderr, "{}\n", line);
}

result<void> call(const std::function<void()>& register_parts) {
  try {
    if (register_parts) register_parts();
    return {};
  } catch (const std::invalid_argument& why) {
    return fail(error::kind::usage, "", why.what());
  }
}

}  // namespace

int main(int argc, char** argv, const std::function<void()>& register_parts) {
  attach_to_script();
  end_when_exhausted();
  static_cast<void>(spdlog::default_logger_raw());  // made first, it outlives the trainers, whose threads log
  scenarios::set_trainer_output(log_trainer);
  try {
    if (auto registered = call(register_parts); !registered) return report_failure(registered.error());
    const int code = parse_and_run(argc, argv);
    std::cout.flush();
    if (std::fflush(stdout) == 0 && std::cout) return code;
    std::cerr << "furlong: the results could not be written to stdout\n";
    return code == done ? failure : code;
  } catch (const std::bad_alloc&) {
    std::terminate();  // reports the limit
  } catch (const std::filesystem::filesystem_error& why) {
    return report_failure({error::kind::runtime, why.path1().string(), "cannot be accessed: " + why.code().message(),
                           "check the path and its permissions"});
  } catch (const std::exception& why) {
    return report_failure({error::kind::runtime, "", why.what(), ""});
  }
}

}  // namespace furlong::tools
