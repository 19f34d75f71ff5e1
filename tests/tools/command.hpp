// Runs the furlong command as a user does: as a process.
#pragma once

#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#ifndef FURLONG_COMMAND
#define FURLONG_COMMAND "furlong"  // the build says where it is
#endif

namespace furlong::tests {

inline std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A folder of one test, gone when the test ends.
class scratch_folder {
 public:
  scratch_folder() {
    static std::atomic<int> number = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("furlong-command-" + std::to_string(::getpid()) + "-" + std::to_string(number++));
    std::filesystem::create_directories(path_);
  }
  ~scratch_folder() { std::filesystem::remove_all(path_); }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A furlong process, its output in files of `folder`.
class furlong_process {
 public:
  furlong_process(const scratch_folder& folder, const std::vector<std::string>& arguments)
      : out_(folder / "stdout"), err_(folder / "stderr") {
    std::vector<std::string> words = {FURLONG_COMMAND};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    redirect(out_, STDOUT_FILENO);
    redirect(err_, STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }

  void send(int signal) const { ::kill(pid_, signal); }
  /// Waits for the end: the exit code, or 128 + the signal that ended it.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  [[nodiscard]] std::string out() const { return read_file(out_); }
  [[nodiscard]] std::string err() const { return read_file(err_); }

 private:
  static void redirect(const std::filesystem::path& to, int descriptor) {
    const int fd = ::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(fd, descriptor);
    ::close(fd);
  }
  std::filesystem::path out_;
  std::filesystem::path err_;
  pid_t pid_ = -1;
};

/// What a finished command printed and returned.
struct command_result {
  int code = 0;
  std::string out;
  std::string err;
};
inline command_result run_furlong(const scratch_folder& folder, const std::vector<std::string>& arguments) {
  furlong_process process(folder, arguments);
  const int code = process.wait();
  return {code, process.out(), process.err()};
}

inline nlohmann::json summary_of(const std::filesystem::path& run) {
  return nlohmann::json::parse(read_file(run / "summary.json"));
}

/// A scenario that takes a fraction of a second; `more` is appended to it.
inline std::filesystem::path small_scenario(const scratch_folder& folder, const std::string& kind, int rounds = 20) {
  const auto file = folder / ("small-" + kind + ".toml");
  std::ofstream(file) << "[scenario]\nname = \"small\"\nrounds = " << rounds
                      << "\n[data]\nsource = \"synthetic-ratings\"\nusers = 120\nitems = 60\nrank = 2\n"
                         "ratings_per_user = 20\nsplit = [0.8, 0.1, 0.1]\n"
                         "unseen_users = {validation = 0.1, test = 0.1}\n"
                         "[model]\nkind = \"matrix-factorization\"\nrank = 4\nuser_bias = true\nitem_bias = true\n"
                         "mean = true\ninitial_mean = 3.5\nprivate = [\"user\", \"user_bias\"]\n"
                         "[algorithm]\nkind = \""
                      << kind
                      << "\"\nclient = {lr = 0.05, batch_size = 4}\nreconstruction = {lr = 0.1, epochs = 2}\n"
                         "[private]\ncold_start = \"reconstruct\"\n"
                         "[participation]\nper_round = 20\n[evaluation]\nevery = 5\n[checkpoint]\nevery = 3\n";
  return file;
}

}  // namespace furlong::tests
