#include "tools/sweep/sweep_folder.hpp"

#include <csignal>
#include <fmt/format.h>

#include "scenarios/schema/parts.hpp"
#include "scenarios/traces/device_file.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/figures_json.hpp"
#include "tools/runs/stop_signal.hpp"

namespace furlong::tools {

namespace {

/// Left behind by a run that was killed before it wrote its scenario.
void remove_false_start(const std::filesystem::path& run) {
  std::error_code ignored;
  for (const char* name : {"log.txt", "scenario.toml.new"}) std::filesystem::remove(run / name, ignored);
}

/// The summary of an ended run.
void judge(sweep_row& row) {
  row.why = row.summary.value("failed", "");
  row.status = row.why.empty() ? run_status::done : run_status::failed;
}

/// The last non-empty line of a text.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const auto found = text.rfind('\n');
  return found == std::string::npos ? text : text.substr(found + 1);
}

}  // namespace

result<sweep_folder> sweep_folder::open(const std::filesystem::path& root, kind purpose) {
  sweep_folder made(root);
  const auto mark = purpose == kind::sweep ? made.json_file() : made.tune_file();
  if (!std::filesystem::exists(mark))
    if (auto created =
            made.lock_.create("; only that of an earlier " + std::string(purpose == kind::sweep ? "sweep" : "tuning") +
                              " is continued, which has a " + mark.filename().string());
        !created)
      return tl::unexpected(created.error());
  if (auto locked = made.lock_.lock(); !locked) return tl::unexpected(locked.error());
  std::error_code why;
  std::filesystem::create_directories(root / "logs", why);
  if (why) return fail(error::kind::runtime, (root / "logs").string(), "cannot be made: " + why.message());
  return made;
}

void sweep_folder::read_summary(sweep_run& entry) const {
  entry.row.summary = read_object(run(entry) / "summary.json");
}

result<void> sweep_folder::recall(sweep_run& entry, known_data& data, bool accepts_code) const {
  wait_for_earlier(log(entry, ".stderr"), [&] {
    fmt::print(stderr, "note: {}: waiting until a process of an earlier sweep has stopped\n", entry.row.run);
  });
  const run_directory folder(run(entry));
  if (!folder.vacant() && !std::filesystem::exists(folder.scenario())) remove_false_start(folder.root());
  if (folder.vacant()) return {};
  const auto there = scenarios::parse_scenario(folder.scenario());
  if (!there || scenarios::resolved_toml(*there) != entry.resolved)
    return fail(error::kind::usage, folder.root().string(), "holds something else than this run of the sweep",
                "choose another --out, or remove the folder");
  read_summary(entry);
  if (entry.row.summary.is_null()) return {};
  judge(entry.row);
  const auto* source = scenarios::find_dataset(there->data_source);
  auto code = source->code ? source->code(there->data) : scenarios::source_code();
  code.merge(scenarios::parts_of(*there));
  auto recorded_code = entry.row.summary.value("code", scenarios::source_code());
  recorded_code.erase(scenarios::fixed_values);
  recorded_code.merge(entry.row.summary.value("parts", scenarios::source_code()));
  if (auto same = check_same_code(code, scenarios::code_text(recorded_code), folder.root(),
                                  accepts_code ? code_change::accepted : code_change::offered);
      !same)
    return same;
  const auto recorded = entry.row.summary.value("data_sha256", "");
  if (recorded.empty()) return {};
  const auto here = data.current_digest(*there);
  if (!here) return tl::unexpected(here.error());
  return check_same_data(*here, recorded, folder.root());
}

result<child_run> sweep_folder::child_of(const sweep_run& entry, std::size_t threads, bool accepts_code,
                                         std::uint64_t stop_after) const {
  const auto scenario = log(entry, ".toml");
  if (auto written = write_atomically(scenario, entry.resolved); !written) return tl::unexpected(written.error());
  std::vector<std::string> words = {
      "run", scenario.string(), "--out", run(entry).string(), "--format", "json", "--threads", std::to_string(threads)};
  if (stop_after > 0) words.insert(words.end(), {"--stop-after", std::to_string(stop_after)});
  if (!run_directory(run(entry)).vacant()) words.emplace_back("--resume");
  if (accepts_code) words.emplace_back("--accept-changed-code");
  return child_run{std::move(words), log(entry, ".stdout"), log(entry, ".stderr")};
}

void sweep_folder::take(sweep_run& entry, int code) const {
  read_summary(entry);
  entry.row.why.clear();
  entry.row.code = code;
  // By a signal before it was handled.
  if (code == interrupted || code == 128 + SIGINT || code == 128 + SIGTERM || code == 128 + parent_ended) {
    entry.row.status = run_status::waiting;
    entry.row.why = "was stopped";
  } else if (!entry.row.summary.is_null() && (code == done || entry.row.summary.contains("failed"))) {
    judge(entry.row);
  } else {
    entry.row.status = run_status::failed;
    const auto said = last_line(text_of(log(entry, ".stderr")));
    entry.row.why = fmt::format("exit code {}{}{}", code, said.empty() ? "" : ": ", said);
  }
}

result<void> sweep_folder::write_tables(const std::vector<grid_axis>& axes, const std::vector<sweep_row>& rows) const {
  if (auto written = write_atomically(json_file(), json_text(sweep_json(axes, rows))); !written) return written;
  return write_atomically(csv_file(), sweep_csv(axes, rows));
}

result<data_digest> known_data::current_digest(const scenarios::scenario& scenario) {
  auto options = scenario.data.all();
  options.erase("split_seed");  // differs with every seed, and does not change the files
  const key which{scenario.data_source, std::move(options), scenarios::device_files(*scenario.settings.devices)};
  if (const auto found = known_.find(which); found != known_.end()) return found->second;
  const auto data = scenarios::load_data(scenario);
  if (!data) return tl::unexpected(data.error());
  auto digest = digest_of(*data, scenario.settings);
  if (digest) known_.emplace(which, *digest);
  return digest;
}

}  // namespace furlong::tools
