// What trainers write, and what is said of one that does not start. No Python is needed.
#include "scenarios/python/trainer_output.hpp"

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/shared_memory.hpp"
#include "scenarios/python/problem.hpp"
#include "tests/support/temporary_folder.hpp"

BOOST_AUTO_TEST_SUITE(trainer_output_lines)

using namespace furlong;

namespace {

std::mutex lines_lock;
std::vector<std::string> lines;

struct captured_lines {
  captured_lines() {
    lines.clear();
    scenarios::set_trainer_output([](std::string_view line) {
      const std::lock_guard guard(lines_lock);
      lines.emplace_back(line);
    });
  }
  ~captured_lines() {
    scenarios::set_trainer_output([](std::string_view) {});
  }
};

struct open_pipe {
  int ends[2] = {-1, -1};
  open_pipe() { BOOST_REQUIRE(pipe2(ends, O_CLOEXEC) == 0); }
  void put(std::string_view text) const {
    while (!text.empty()) {
      const auto count = write(ends[1], text.data(), text.size());
      BOOST_REQUIRE(count > 0);
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }
};

std::size_t logged_bytes() {
  std::size_t total = 0;
  for (const auto& line : lines) total += line.size() + 32;  // with its time
  return total;
}

}  // namespace

BOOST_AUTO_TEST_CASE(lines_have_their_work) {
  const captured_lines captured;
  const open_pipe pipe;
  scenarios::output_allowance allowance;
  {
    scenarios::trainer_output output(3, pipe.ends[0], allowance);
    pipe.put("begin\n");
    output.set_work("client anna, round 1");
    pipe.put("a\n\nb");
    output.set_work("client ben, round 1");
    pipe.put("c\n");
    close(pipe.ends[1]);
    BOOST_TEST(output.close() == "bc");
  }
  const std::vector<std::string> expected{"trainer 3: begin", "trainer 3 (client anna, round 1): a",
                                          "trainer 3 (client anna, round 1): ", "trainer 3 (client ben, round 1): bc"};
  BOOST_TEST(lines == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_flood_is_cut_and_its_last_lines_are_kept) {
  const captured_lines captured;
  scenarios::output_allowance allowance;
  const auto whole = allowance.lines + allowance.last_lines;
  std::string block;
  for (int i = 0; i < 1000; ++i) block += "0123456789\n";
  for (int start = 0; start < 30; ++start) {  // also over many starts of one trainer
    const open_pipe pipe;
    scenarios::trainer_output output(0, pipe.ends[0], allowance);
    for (int i = 0; i < 100; ++i) pipe.put(block);
    pipe.put("the last line\n\n");
    if (start == 0) {
      output.write_kept();  // a failure that the trainer reports
      const std::lock_guard guard(lines_lock);
      BOOST_REQUIRE(lines.size() > 2U);
      BOOST_TEST(lines[lines.size() - 2] == "trainer 0: the last line");
    }
    close(pipe.ends[1]);
    BOOST_TEST(output.close() == "the last line");
  }
  BOOST_TEST(logged_bytes() < whole + 8192);  // notes
  BOOST_TEST(logged_bytes() > whole - 2 * scenarios::trainer_output::most_kept);
  const auto notes = std::ranges::count_if(
      lines, [](const auto& line) { return line.find("its further lines are left out") != std::string::npos; });
  BOOST_TEST(notes == 1);
}

BOOST_AUTO_TEST_CASE(a_thread_that_prints_without_pause_does_not_stop_the_run) {
  const captured_lines captured;
  const open_pipe pipe;
  scenarios::output_allowance allowance{.lines = 1000, .last_lines = 1000};
  scenarios::trainer_output output(0, pipe.ends[0], allowance);
  std::atomic<bool> printing = true;
  std::thread flood([&] {
    const std::string block(1U << 16U, '\n');
    while (printing) pipe.put(block);
  });
  for (int step = 0; step < 200; ++step) output.set_work("client anna");
  printing = false;
  flood.join();
  close(pipe.ends[1]);
}

BOOST_AUTO_TEST_CASE(the_size_of_the_memory_file_is_sealed) {
  const int memory = share_large_memory();
  BOOST_REQUIRE(memory >= 0);
  struct stat file {};
  BOOST_REQUIRE(fstat(memory, &file) == 0);
  BOOST_TEST(ftruncate(memory, 0) == -1);
  BOOST_TEST(errno == EPERM);
  BOOST_TEST(ftruncate(memory, file.st_size * 2) == -1);
  BOOST_TEST((fcntl(memory, F_GET_SEALS) & F_SEAL_SEAL) != 0);
}

BOOST_AUTO_TEST_CASE(an_interpreter_that_ends_at_once_is_named_with_its_last_line) {
  const tests::temporary_folder folder;
  const auto program = folder.path() / "python-of-mine";
  const auto says = [&](const std::string& text) {
    std::ofstream(program) << "#!/bin/sh\necho 'Traceback:' >&2\necho \"" << text << "\" >&2\nexit 1\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    const auto opened =
        scenarios::trainer_problem::open({.problem = "/taste.py:Taste", .interpreter = program.string()});
    BOOST_REQUIRE(!opened);
    return opened.error();
  };
  const captured_lines captured;
  auto why = says("ModuleNotFoundError: No module named 'numpy.linalg'");
  BOOST_TEST(why.place == "python.interpreter");
  BOOST_TEST(why.reason == "the trainer ended at its start: " + program.string() +
                               " ended with status 1, last line: ModuleNotFoundError: No module named 'numpy.linalg'");
  BOOST_TEST(why.fix == "install numpy for it (" + program.string() +
                            " -m pip install numpy), or name another interpreter in python.interpreter");
  BOOST_TEST(says("Error (ModuleNotFoundError: No module named 'furlong')").fix.starts_with("install the package"));
  why = says("Killed");
  BOOST_TEST(why.reason.ends_with("last line: Killed"));
  BOOST_TEST(why.fix.find("-m furlong.check /taste.py:Taste") != std::string::npos);
}

// As Python's faulthandler writes them.
BOOST_AUTO_TEST_CASE(the_place_of_a_crash_is_that_of_the_users_code) {
  const auto place_of = [](const std::vector<std::string>& said) {
    scenarios::crash_place place;
    for (const auto& line : said) place.read(line);
    return place.text();
  };
  const std::vector<std::string> crash{"Fatal Python error: Segmentation fault",
                                       "",
                                       "Thread 0x00007f1 (most recent call first):",
                                       "  File \"/home/me/other.py\", line 3 in wait",
                                       "",
                                       "Current thread 0x00007f2 [python] (most recent call first):",
                                       "  File \"/usr/lib/python3/dist-packages/numpy/core/x.py\", line 9 in dot",
                                       "  File \"/home/me/taste.py\", line 12 in gradient",
                                       "  File \"/home/me/furlong/python/furlong/trainer.py\", line 60 in serve",
                                       "  File \"<frozen runpy>\", line 88 in _run_code"};
  BOOST_TEST(place_of(crash) == "/home/me/taste.py:12");
  auto exit = crash;  // shown before os._exit()
  exit[5] = "Stack (most recent call first):";
  BOOST_TEST(place_of({exit.begin() + 5, exit.end()}) == "/home/me/taste.py:12");
  auto with_modules = crash;
  with_modules.insert(with_modules.end(), {"", "Extension modules: numpy.core._multiarray_umath (total: 1)"});
  BOOST_TEST(place_of(with_modules) == "/home/me/taste.py:12");
  auto going_on = crash;  // the stack of a call that took too long
  going_on.emplace_back("epoch 2");
  BOOST_TEST(place_of(going_on) == "");
  BOOST_TEST(place_of({crash.begin(), crash.begin() + 5}) == "");
}

BOOST_AUTO_TEST_SUITE_END()
