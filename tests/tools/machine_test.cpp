// The furlong command on a machine that cannot do what was asked for.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/tools/command.hpp"

BOOST_AUTO_TEST_SUITE(command_machine)

using namespace furlong::tests;

// Before anything is begun, by whatever command: it would throw in a thread else.
BOOST_AUTO_TEST_CASE(a_wrong_kernel_level_is_told_at_once) {
  const scratch_folder folder;
  ::setenv("FURLONG_KERNEL_LEVEL", "x86-64-v9", 1);
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"aggregate", "--server", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--insecure", "--give-up", "1"},
           {"sweep", small_scenario(folder, "furl").string(), "--out", (folder / "sweep").string()}}) {
    const auto done = run_furlong(folder, words);
    BOOST_TEST(done.code == 2);
    BOOST_TEST(done.err.starts_with("furlong: FURLONG_KERNEL_LEVEL=x86-64-v9 is not a level; choose one of "),
               done.err);
    BOOST_TEST(std::count(done.err.begin(), done.err.end(), '\n') == 1, done.err);
  }
  ::unsetenv("FURLONG_KERNEL_LEVEL");
}

BOOST_AUTO_TEST_CASE(a_name_that_no_server_takes_is_refused) {
  const scratch_folder folder;
  for (const auto& name :
       {std::string("rack\n1"), std::string("\x1b[31m"), std::string("\xff"), std::string(257, 'a')}) {
    const auto done = run_furlong(folder, {"aggregate", "--server", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--name",
                                           name, "--insecure", "--give-up", "1"});
    BOOST_TEST(done.code == 2);
    BOOST_TEST(done.err.starts_with("furlong: --name: "), done.err);
  }
}

// Names that were typed come back in messages, and a terminal must not obey them.
BOOST_AUTO_TEST_CASE(names_in_messages_have_no_control_characters) {
  const scratch_folder folder;
  const auto odd = (folder / "\x1b[31mgone").string();
  for (const auto& words : std::vector<std::vector<std::string>>{{"report", odd},
                                                                 {"status", "--server", "\x1b[31m"},
                                                                 {"sweep", odd},
                                                                 {"certs", "show", odd},
                                                                 {"store", "ls", odd},
                                                                 {"trace", "show", odd}}) {
    const auto done = run_furlong(folder, words);
    BOOST_TEST(done.code != 0, words[0]);
    BOOST_TEST(done.err.find("?[31m") != std::string::npos, done.err);
    BOOST_TEST(done.err.find('\x1b') == std::string::npos, words[0]);
  }
}

// Opening a pipe without a writer would block the command.
BOOST_AUTO_TEST_CASE(a_pipe_in_place_of_a_file_is_refused) {
  const scratch_folder folder;
  const auto pipe = (folder / "pipe").string();
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto texts = folder / "texts.toml";
  std::ofstream(texts) << "[scenario]\nname = \"texts\"\nrounds = 1\n[data]\nsource = \"text\"\npath = \"" << pipe
                       << "\"\nclients = 2\n[model]\nkind = \"gru-lm\"\nembedding = 4\nhidden = 4\n"
                          "[algorithm]\nkind = \"fedavg\"\n[participation]\nper_round = 2\n";
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"validate", pipe},
           {"run", texts.string(), "--out", (folder / "texts").string()},
           {"run", small_scenario(folder, "furl").string(), "--out", (folder / "traced").string(), "--set",
            "devices.availability={kind='trace', trace='" + pipe + "'}"},
           {"trace", "show", pipe},
           {"trace", "import", "fedscale", pipe, "--out", (folder / "imported.csv").string()}}) {
    const auto done = run_furlong(folder, words);
    BOOST_TEST(done.code != 0, words[0]);
    BOOST_TEST(done.err.find(pipe) != std::string::npos, done.err);
  }
}

namespace {

/// A soft limit of this process, and of those that it starts, for as long as it lives.
class soft_limit {
 public:
  soft_limit(__rlimit_resource what, rlim_t most) : what_(what) {
    ::getrlimit(what_, &before_);
    const rlimit tight{most, before_.rlim_max};
    ::setrlimit(what_, &tight);
  }
  ~soft_limit() { ::setrlimit(what_, &before_); }
  soft_limit(const soft_limit&) = delete;
  soft_limit& operator=(const soft_limit&) = delete;

 private:
  __rlimit_resource what_;
  rlimit before_{};
};

}  // namespace

#if !defined(__SANITIZE_ADDRESS__)  // which takes more addresses than there are allowed here
BOOST_AUTO_TEST_CASE(a_model_that_does_not_fit_is_told) {
  const scratch_folder folder;
  const soft_limit tight(RLIMIT_AS, rlim_t{1} << 30U);
  const auto done =
      run_furlong(folder, {"run", small_scenario(folder, "fedavg").string(), "--out", (folder / "run").string(),
                           "--set", "data.items=260000", "--set", "model.rank=512"});
  BOOST_TEST(done.code == 4);
  BOOST_TEST(done.err.starts_with("furlong: out of memory: the limit on address space (ulimit -v) is 1048576 kB"),
             done.err);
  BOOST_TEST(done.err.find("make the model smaller (model.*)") != std::string::npos, done.err);
}

// Of libraries that do not look whether they have got memory.
BOOST_AUTO_TEST_CASE(no_memory_for_a_library_ends_the_run) {
  const scratch_folder folder;
  const soft_limit wide(RLIMIT_AS, rlim_t{1} << 40U);
  ::setenv("LD_PRELOAD", NO_MEMORY_LIBRARY, 1);
  for (const char* function : {"posix_memalign", "__cxa_thread_atexit_impl"}) {
    ::setenv("NO_MEMORY", function, 1);
    const auto done =
        run_furlong(folder, {"run", small_scenario(folder, "furl").string(), "--out", (folder / function).string()});
    BOOST_TEST(done.code == 4, function);
    BOOST_TEST(done.err.find("furlong: out of memory: the limit on address space (ulimit -v) is ") != std::string::npos,
               function << ": " << done.err);
  }
  ::unsetenv("LD_PRELOAD");
  ::unsetenv("NO_MEMORY");
}

// Threads of libraries too: this one is RocksDB's, or one of CAF's.
BOOST_AUTO_TEST_CASE(a_thread_that_cannot_be_started_ends_the_run) {
  const scratch_folder folder;
  const soft_limit tight(RLIMIT_AS, rlim_t{60} << 20U);
  const auto done =
      run_furlong(folder, {"run", small_scenario(folder, "furl").string(), "--out", (folder / "run").string()});
  BOOST_TEST(done.code == 4, done.err);
  BOOST_TEST(done.err.find("(ulimit -v) is 61440 kB: raise it") != std::string::npos, done.err);
  BOOST_TEST(read_file(folder / "run/log.txt").find("(ulimit -v) is 61440 kB") != std::string::npos);
}
#endif

// In place of the signal SIGXFSZ, which would end it without a word.
BOOST_AUTO_TEST_CASE(a_file_that_grows_beyond_the_limit_is_named) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl").string();
  const soft_limit tight(RLIMIT_FSIZE, 2048);
  const auto done = run_furlong(folder, {"run", scenario, "--out", (folder / "run").string()});
  BOOST_TEST(done.code == 4, done.err);
  BOOST_TEST(done.err.find("run/scenario.toml") != std::string::npos, done.err);
  BOOST_TEST(done.err.find("File too large") != std::string::npos, done.err);
  BOOST_TEST(done.err.find("the limit on the size of a file (ulimit -f) is 2 kB: raise it") != std::string::npos,
             done.err);
}

BOOST_AUTO_TEST_CASE(a_model_that_no_checkpoint_holds_is_refused_before_it_is_begun) {
  const scratch_folder folder;
  const auto validate = [&](const std::string& items) {  // 512 parameters for each, and 513 more
    return run_furlong(folder, {"validate", small_scenario(folder, "furl").string(), "--set", "model.rank=511", "--set",
                                "data.items=" + items});
  };
  const auto refused = validate("262143");
  BOOST_TEST(refused.code == 2, refused.err);
  BOOST_TEST(refused.err.find("the model has 134217729 parameters, and a checkpoint holds at most 134217727") !=
                 std::string::npos,
             refused.err);
  const auto fits = validate("262142");
  BOOST_TEST(fits.code == 0, fits.err);
}

BOOST_AUTO_TEST_SUITE_END()
