// Serves a dashboard with sample data until its standard input ends: dashboard_sample [--hostile] [--empty]
// [--answers N]. Prints the address. After N answers to /api/status it stops serving, as a server that dies.
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>

#include "tests/dashboard/sample.hpp"
#include "tools/dashboard/dashboard_server.hpp"

namespace {

namespace dashboard = furlong::tools::dashboard;

struct sample_options {
  bool hostile = false;
  bool empty = false;
  int answers = -1;
};

bool read_options(int argc, char** argv, sample_options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--hostile") {
      options.hostile = true;
    } else if (word == "--empty") {
      options.empty = true;
    } else if (word == "--answers" && i + 1 < argc) {
      const char* text = argv[++i];
      if (std::from_chars(text, text + std::strlen(text), options.answers).ec != std::errc()) return false;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  sample_options options;
  if (!read_options(argc, argv, options)) {
    std::cerr << "usage: dashboard_sample [--hostile] [--empty] [--answers N]\n";
    return 2;
  }
  // Each snapshot reads the wall clock once: so many answers to the page were given.
  std::atomic<int> asked = 0;
  std::atomic<bool> counting = false;
  auto clocks = dashboard::system_clocks();
  dashboard::status_board board({[&, wall = clocks.wall] {
                                   if (counting) ++asked;
                                   return wall();
                                 },
                                 clocks.steady});
  if (!options.empty) furlong::tests::fill_sample(board, 140, clocks.wall(), options.hostile);
  counting = true;
  auto server = dashboard::dashboard_server::start(board, {});
  if (!server) {
    std::cerr << server.error().text() << '\n';
    return 4;
  }
  std::cout << (*server)->url() << std::endl;
  std::thread killer;
  if (options.answers >= 0)
    killer = std::thread([&] {
      while (asked < options.answers) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the last answer goes out
      server->reset();
    });
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  asked = options.answers;
  if (killer.joinable()) killer.join();
  return 0;
}
