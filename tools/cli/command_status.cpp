// furlong status
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <iostream>
#include <thread>
#include <unistd.h>

#include "tools/cli/command_line.hpp"
#include "tools/cli/federation.hpp"
#include "tools/dashboard/status_client.hpp"
#include "tools/dashboard/status_text.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/messages.hpp"

namespace furlong::tools {

namespace {

struct status_options {
  std::string server;  ///< "HOST:PORT" of a dashboard
  output_format format = output_format::text;
  bool watch = false;  ///< until interrupted
};

constexpr auto watch_every = std::chrono::seconds(2);
constexpr auto longest_wait = std::chrono::seconds(30);
constexpr const char* clear_screen = "\033[H\033[2J\033[3J";

result<std::string> ask(const actors::net::host_port& server, output_format format) {
  const auto status = dashboard::fetch_status(server.host, server.port);
  if (!status) return tl::unexpected(status.error());
  if (format == output_format::text) return dashboard::status_text(*status);
  return dashboard::text_of(*status) + '\n';
}

/// Runs until interrupted or until stdout is closed. Retries an unreachable server at increasing intervals.
int watch(const actors::net::host_port& server, output_format format) {
  const bool redraw = format == output_format::text && ::isatty(STDOUT_FILENO) != 0;
  auto wait = watch_every;
  while (std::cout) {
    const auto answer = ask(server, format);
    wait = answer ? watch_every : std::min(2 * wait, longest_wait);
    if (redraw) std::cout << clear_screen;
    if (answer)
      std::cout << *answer << (redraw || format == output_format::json ? "" : "\n") << std::flush;
    else
      std::cerr << "furlong: " << for_people(answer.error().text()) << "; retrying in " << wait.count() << " s\n";
    std::this_thread::sleep_for(wait);
  }
  return failure;
}

int status_command(const status_options& options) {
  const auto server = read_address("--server", options.server);
  if (!server) return report_failure(server.error());
  if (options.watch) return watch(*server, options.format);
  const auto answer = ask(*server, options.format);
  if (!answer) return report_failure(answer.error());
  std::cout << *answer;
  return done;
}

}  // namespace

void add_status(CLI::App& app, command& chosen) {
  const auto [sub, options] =
      add_command(app, chosen, "status", "show the state of a federation, from its dashboard", status_command);
  sub->add_option("--server", options->server, "its --dashboard address")->required()->option_text("HOST:PORT");
  sub->add_flag("--watch", options->watch, "again every two seconds, until interrupted");
  add_format(sub, options->format);
}

}  // namespace furlong::tools
