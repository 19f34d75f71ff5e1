#include "tools/runs/progress.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/runs/figures_json.hpp"
#include "tools/runs/ranking_names.hpp"

namespace furlong::tools {

namespace {

constexpr auto redraw_every = std::chrono::milliseconds(100);
constexpr auto line_every = std::chrono::milliseconds(1000);
constexpr int bar_width = 24;
constexpr std::size_t curve_width = 16;
// The maximum for `until` without a number of rounds.
constexpr std::uint64_t open_end = UINT32_MAX;

std::string span_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

/// Errors of stderr are ignored: progress output must not stop a run.
void show(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

/// Of rankings, which have dozens of figures, those that are shown; else all.
std::vector<federated::named_figure> shown_figures(const std::vector<federated::named_figure>& figures) {
  std::vector<std::string> names;
  for (const auto& figure : figures) names.push_back(figure.name);
  const auto places = shown_places(names);
  if (!places) return figures;
  std::vector<federated::named_figure> chosen;
  std::ranges::copy_if(figures, std::back_inserter(chosen),
                       [&](const auto& figure) { return is_shown(figure.name, *places); });
  return chosen;
}

void append_group(std::string& line, const char* name, const std::optional<federated::group_metrics>& group) {
  if (!group) return;
  const auto before = (line += fmt::format("  {}", name)).size();
  if (group->rmse) line += fmt::format(" rmse {:.4f}", *group->rmse);
  if (group->auc) line += fmt::format(" auc {:.4f}", *group->auc);
  if (group->perplexity) line += " perplexity " + figure_text(*group->perplexity, 2);
  if (group->accuracy) line += fmt::format(" accuracy {:.1f}%", 100.0 * *group->accuracy);
  for (const auto& figure : shown_figures(group->custom)) {
    line += fmt::format(" {} {}", figure.name, figure_text(figure.value, 4));
    if (figure.standard_error) line += " +- " + figure_text(*figure.standard_error, 4);
  }
  if (line.size() == before) line += " loss " + figure_text(group->loss, 4);
}

/// Empty if nothing was aggregated: there is no loss then.
std::string loss_text(const federated::round_report& report) {
  return report.has_loss() ? fmt::format("  loss {:.4f}", report.loss) : "";
}

/// Columns of the terminal; 80 if it does not say.
std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// True if the locale of the environment is one of UTF-8.
bool is_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
      const std::string_view locale = value;
      return locale.find("UTF-8") != std::string_view::npos || locale.find("utf8") != std::string_view::npos;
    }
  return false;
}

/// Adds a value; of a long list every second one is dropped, so that it stays short and covers the whole run.
void add(double value, std::vector<double>& values) {
  constexpr std::size_t most = 4096;
  values.push_back(value);
  if (values.size() < most) return;
  for (std::size_t i = 0; i < most / 2; ++i) values[i] = values[2 * i + 1];
  values.resize(most / 2);
}

/// The first figure that a report has: of the group that settings are selected by, if there is one.
std::string first_metric(const federated::evaluation_report& report) {
  for (const auto group : federated::group_names)
    for (const auto* figure : {"rmse", "perplexity", "auc", "accuracy", "full_mrr", "sampled_mrr", "loss"})
      if (const auto name = fmt::format("{}.{}", group, figure); federated::metric_of(report, name)) return name;
  return {};
}

}  // namespace

std::string curve_text(const std::vector<double>& values, std::size_t most, bool unicode) {
  constexpr std::size_t levels = 8;
  double least = std::numeric_limits<double>::infinity();
  double greatest = -least;
  for (const auto value : values)
    if (std::isfinite(value)) {
      least = std::min(least, value);
      greatest = std::max(greatest, value);
    }
  std::string text;
  const auto count = std::min(values.size(), most);
  for (std::size_t i = 1; i <= count; ++i) {
    const auto value = values[i * values.size() / count - 1];
    const auto share = greatest > least ? (value - least) / (greatest - least) : 0.0;
    const auto level = std::min(static_cast<std::size_t>(share * levels), levels - 1);
    if (!std::isfinite(value))
      text += ' ';
    else if (unicode)
      text += std::string("\u2581").replace(2, 1, 1, static_cast<char>('\x81' + level));  // lower block of 1/8 to 8/8
    else
      text += static_cast<char>('0' + level);
  }
  return text;
}

progress::progress(std::uint64_t done, std::uint64_t total, std::string metric)
    : terminal_(::isatty(STDERR_FILENO) != 0),
      first_(done),
      total_(total),
      metric_(std::move(metric)),
      begun_(clock::now()),
      drawn_(begun_) {}

std::string progress::curve(std::size_t room) const {
  const auto& values = figures_.empty() ? losses_ : figures_;
  if (values.size() < 2) return {};
  const auto label = figures_.empty() ? std::string() : fmt::format("  {} {}", metric_, figure_text(values.back(), 4));
  if (label.size() + 2 + curve_width > room) return {};
  return label + "  " + curve_text(values, curve_width, is_unicode());
}

void progress::draw(const federated::round_report& report, double seconds) const {
  const auto rate = rate_text(static_cast<double>(clients_) / seconds);
  const auto put = [&](const std::string& line) {
    const auto width = terminal_width();
    show(terminal_ ? "\r\033[K" + line + curve(width - std::min(width, line.size() + 1)) : line + "\n");
  };
  if (total_ == open_end) return put(fmt::format("round {}{}  {} clients/s", report.version, loss_text(report), rate));
  const double rounds = static_cast<double>(report.version - first_);
  const double left = seconds / rounds * static_cast<double>(total_ - report.version);
  const auto filled = static_cast<int>(bar_width * report.version / total_);
  const auto bar = fmt::format("[{:=<{}}{: <{}}] ", "", filled, "", bar_width - filled);
  put(fmt::format("{}round {}/{}{}  {} clients/s  {} left", terminal_ ? bar : "", report.version, total_,
                  loss_text(report), rate, span_text(left)));
}

void progress::on_round(const federated::round_report& report) {
  clients_ += report.selected;
  if (terminal_ && report.has_loss() && figures_.empty()) add(report.loss, losses_);
  const auto now = clock::now();
  if (now - drawn_ < (terminal_ ? redraw_every : line_every)) return;
  drawn_ = now;
  draw(report, std::chrono::duration<double>(now - begun_).count());
}

void progress::on_evaluation(const federated::evaluation_report& report) {
  if (terminal_) {
    if (metric_.empty()) metric_ = first_metric(report);
    if (const auto figure = federated::metric_of(report, metric_)) add(*figure, figures_);
  }
  std::string line;
  append_group(line, "validation", report.validation);
  append_group(line, "seen", report.seen);
  append_group(line, "unseen", report.unseen);
  append_group(line, "train", report.train);
  show(fmt::format("{}evaluated version {}:{}\n", terminal_ ? "\r\033[K" : "", report.version,
                   line.empty() ? "  nothing to score" : line));
}

void progress::finish() {
  if (terminal_) show(fmt::format("\r\033[K"));
}

}  // namespace furlong::tools
