#include "scenarios/python/trainer_setup.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unistd.h>

namespace furlong::scenarios {

namespace {

int calling_trainer = -1;

/// The folder of the package in a checkout; empty: the interpreter has it, as with the command of a wheel, which is in
/// the package itself.
std::string package_folder() {
  std::error_code failed;
  const auto command = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (std::filesystem::exists(command.parent_path().parent_path() / "trainer.py")) return {};
  for (auto folder = command.parent_path(); !failed && folder.has_relative_path(); folder = folder.parent_path())
    if (std::filesystem::exists(folder / "python" / "furlong" / "trainer.py")) return (folder / "python").string();
  return {};
}

/// Where a program is that is looked up in PATH, as posix_spawnp() does.
std::string interpreter_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/bin:/usr/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto place = std::filesystem::path(folder) / program;
    if (access(place.c_str(), X_OK) == 0 && !std::filesystem::is_directory(place)) return place.string();
  }
  return program;
}

/// The lines of a text, their indentation left out.
std::string in_one_line(const std::string& text) {
  std::string joined;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto begin = line.find_first_not_of(" \t");
    if (begin != std::string::npos) joined += (joined.empty() ? "" : " | ") + line.substr(begin);
  }
  return joined;
}

constexpr std::string_view gpu = "cuda:";

/// Workers have the devices of python.devices by turns.
std::string named_device(const problem_settings& settings, std::uint32_t number) {
  return settings.devices.empty() ? std::string() : settings.devices[number % settings.devices.size()];
}

/// The GPU of this number among those that the process may see.
std::string visible_gpu(const std::string& number) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return number;
  std::istringstream names(visible);
  std::string name;
  for (auto left = std::stoul(number) + 1; left > 0; --left)
    if (!std::getline(names, name, ',')) return {};
  return name;
}

}  // namespace

void set_calling_trainer(int socket) { calling_trainer = socket; }

bool has_calling_trainer() { return calling_trainer >= 0; }

std::string device_of(const problem_settings& settings, std::uint32_t number) {
  const auto device = named_device(settings, number);
  return device.starts_with(gpu) && !has_calling_trainer() ? "cuda" : device;
}

trainer_command command_for(const problem_settings& settings, int memory, std::uint32_t number) {
  trainer_command command;
  command.caller = calling_trainer;
  command.ends_itself = !settings.profile.empty();
  const char* caller = std::getenv("FURLONG_PYTHON");
  command.arguments = {!settings.interpreter.empty() ? settings.interpreter
                       : caller != nullptr           ? caller
                                                     : "python3",
                       "-m", "furlong.trainer"};
  const auto threads = std::to_string(settings.threads);
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"})
    command.variables.emplace_back(name, threads);
  command.variables.emplace_back("FURLONG_TRAINER", "1");
  command.variables.emplace_back("PYTHONHASHSEED", "0");
  command.variables.emplace_back("PYTHONUNBUFFERED", "1");
  // A step frees what the next one allocates: glibc would return it to the system and have each page cleared again,
  // which doubled the time of a step of 100,000 parameters.
  for (const auto& [name, bytes] :
       {std::pair("MALLOC_TRIM_THRESHOLD_", "268435456"), std::pair("MALLOC_MMAP_THRESHOLD_", "33554432")})
    if (std::getenv(name) == nullptr) command.variables.emplace_back(name, bytes);
  // What the user names comes first, what is installed last.
  const char* path = std::getenv("PYTHONPATH");
  if (const auto folder = package_folder(); !folder.empty())
    command.variables.emplace_back("PYTHONPATH", path == nullptr || *path == '\0' ? folder : path + (":" + folder));
  if (const auto device = named_device(settings, number); device.starts_with(gpu)) {
    command.variables.emplace_back("CUDA_VISIBLE_DEVICES", visible_gpu(device.substr(gpu.size())));
    if (std::getenv("CUBLAS_WORKSPACE_CONFIG") == nullptr)  // else its sums depend on what else it computes
      command.variables.emplace_back("CUBLAS_WORKSPACE_CONFIG", ":4096:8");
  }
  command.memory = memory;
  return command;
}

error ended_at_start(const trainer_command& command, const problem_settings& settings, const std::string& end,
                     const std::string& last_line) {
  const auto path = interpreter_path(command.arguments.front());
  const bool named = !settings.interpreter.empty();
  const std::string fix = named ? "name another interpreter in python.interpreter"
                                : "name another interpreter in python.interpreter or FURLONG_PYTHON";
  error why{error::kind::data, named ? "python.interpreter" : "python.problem",
            "the trainer ended at its start: " + path + " ended with " + end,
            "run " + path + " -m furlong.check " + settings.problem + ", or " + fix};
  if (last_line.empty()) return why;
  why.reason += ", last line: " + last_line;
  constexpr std::string_view missing = "No module named '";
  const auto found = last_line.find(missing);
  if (found == std::string::npos) return why;
  auto module = last_line.substr(found + missing.size());
  module.resize(std::min(module.find_first_of(".'"), module.size()));
  why.fix = "install " + module + " for it (" + path + " -m pip install " + module + "), or " + fix;
  if (module == "furlong") why.fix = "install the package furlong for it (docs/python.md), or " + fix;
  return why;
}

error failure_of(std::span<const std::byte> body) {
  const auto said = nlohmann::json::parse(reinterpret_cast<const char*>(body.data()),
                                          reinterpret_cast<const char*>(body.data()) + body.size(), nullptr, false);
  error why{error::kind::runtime, "python.problem", "the trainer's answer is not understood",
            "use the package furlong of this version"};
  if (!said.is_object()) return why;
  why.place = said.value("file", "python.problem");
  if (said.contains("line") && said["line"].is_number_integer())
    why.place += ":" + std::to_string(said["line"].get<int>());
  why.reason = said.value("error", "failed");
  why.fix = said.value("fix", "");
  if (const auto trace = in_one_line(said.value("traceback", "")); !trace.empty())
    why.fix += (why.fix.empty() ? "traceback: " : "; traceback: ") + trace;
  return why;
}

error not_understood(const std::string& text) {
  return {error::kind::data, "python.problem", text, "python3 -m furlong.check FILE.py:CLASS says more"};
}

}  // namespace furlong::scenarios
