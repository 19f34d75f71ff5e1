#include "tools/cli/progress.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <string>
#include <unistd.h>

#include "tools/cli/figure_text.hpp"

namespace furlong::tools {

namespace {

constexpr auto redraw_every = std::chrono::milliseconds(100);
constexpr auto line_every = std::chrono::milliseconds(1000);
constexpr int bar_width = 24;
// What `until` without a number of rounds stands for.
constexpr std::uint64_t open_end = UINT32_MAX;

std::string span_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

/// What cannot be shown is not worth stopping a run for: errors of stderr are ignored.
void show(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

void append_group(std::string& line, const char* name, const std::optional<federated::group_metrics>& group) {
  if (!group) return;
  line += fmt::format("  {}", name);
  if (group->rmse) line += fmt::format(" rmse {:.4f}", *group->rmse);
  if (group->auc) line += fmt::format(" auc {:.4f}", *group->auc);
  if (group->perplexity) line += " perplexity " + figure_text(*group->perplexity, 2);
  line += fmt::format(" accuracy {:.1f}%", 100.0 * group->accuracy);
}

/// Empty where nothing was folded: there is no loss then.
std::string loss_text(const federated::round_report& report) {
  return report.applied ? fmt::format("  loss {:.4f}", report.loss) : "";
}

}  // namespace

progress::progress(std::uint64_t done, std::uint64_t total)
    : terminal_(::isatty(STDERR_FILENO) != 0), first_(done), total_(total), begun_(clock::now()), drawn_(begun_) {}

void progress::draw(const federated::round_report& report, double seconds) const {
  const auto rate = rate_text(static_cast<double>(clients_) / seconds);
  if (total_ == open_end) {
    show(fmt::format("{}round {}{}  {} clients/s{}", terminal_ ? "\r\033[K" : "", report.version, loss_text(report),
                     rate, terminal_ ? "" : "\n"));
    return;
  }
  const double rounds = static_cast<double>(report.version - first_);
  const double left = seconds / rounds * static_cast<double>(total_ - report.version);
  if (!terminal_) {
    show(fmt::format("round {}/{}{}  {} clients/s  {} left\n", report.version, total_, loss_text(report), rate,
                     span_text(left)));
    return;
  }
  const auto filled = static_cast<int>(bar_width * report.version / total_);
  show(fmt::format("\r\033[K[{:=<{}}{: <{}}] round {}/{}{}  {} clients/s  {} left", "", filled, "", bar_width - filled,
                   report.version, total_, loss_text(report), rate, span_text(left)));
}

void progress::on_round(const federated::round_report& report) {
  clients_ += report.selected;
  const auto now = clock::now();
  if (now - drawn_ < (terminal_ ? redraw_every : line_every)) return;
  drawn_ = now;
  draw(report, std::chrono::duration<double>(now - begun_).count());
}

void progress::on_evaluation(const federated::evaluation_report& report) {
  std::string line;
  append_group(line, "validation", report.validation);
  append_group(line, "seen", report.seen);
  append_group(line, "unseen", report.unseen);
  show(fmt::format("{}evaluated version {}:{}\n", terminal_ ? "\r\033[K" : "", report.version,
                   line.empty() ? "  nothing to score" : line));
}

void progress::finish() {
  if (terminal_) show(fmt::format("\r\033[K"));
}

}  // namespace furlong::tools
