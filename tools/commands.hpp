// The commands behind the command line: options in, exit code out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/scenario.hpp"

namespace furlong::tools {

enum class output_format : std::uint8_t { text, json };
enum class engine_kind : std::uint8_t { actors, reference };

struct run_options {
  std::filesystem::path scenario;
  std::vector<scenarios::setting_override> overrides;
  std::optional<std::uint64_t> seed;
  std::filesystem::path out;  ///< empty: runs/NAME-SEED
  std::size_t threads = 0;    ///< 0: one per core
  bool resume = false;
  engine_kind engine = engine_kind::actors;
  output_format format = output_format::text;
  std::string log_level = "info";
};
int run_command(const run_options& options);

struct validate_options {
  std::filesystem::path scenario;
  std::vector<scenarios::setting_override> overrides;
  output_format format = output_format::text;
};
int validate_command(const validate_options& options);

struct infer_options {
  std::filesystem::path run;
  std::optional<std::uint32_t> client;
  std::filesystem::path ratings;
  std::size_t top = 10;
  output_format format = output_format::text;
};
int infer_command(const infer_options& options);

enum class store_action : std::uint8_t { list, show, erase, verify };
struct store_options {
  store_action action = store_action::list;
  std::filesystem::path place;  ///< a run directory, or a store in it
  std::optional<std::uint32_t> client;
  output_format format = output_format::text;
};
int store_command(const store_options& options);

struct report_options {
  std::vector<std::filesystem::path> runs;
  std::filesystem::path out;  ///< empty: report.html in the run, or comparison.html beside the first of several
};
int report_command(const report_options& options);

}  // namespace furlong::tools
