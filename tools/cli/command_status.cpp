// furlong status
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <iostream>
#include <thread>
#include <unistd.h>

#include "actors/net/address.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/failure.hpp"
#include "tools/cli/messages.hpp"
#include "tools/dashboard/status_client.hpp"
#include "tools/dashboard/status_text.hpp"

namespace furlong::tools {

namespace {

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

}  // namespace

int status_command(const status_options& options) {
  const auto server = actors::net::parse_address(options.server);
  if (!server) {
    std::cerr << "furlong: --server: " << for_people(server.error().text()) << '\n';
    return usage;
  }
  if (options.watch) return watch(*server, options.format);
  const auto answer = ask(*server, options.format);
  if (!answer) {
    std::cerr << "furlong: " << for_people(answer.error().text()) << '\n';
    return exit_code_of(answer.error());
  }
  std::cout << *answer;
  return done;
}

}  // namespace furlong::tools
