#include "tools/report/detail/timeline.hpp"

#include <algorithm>
#include <cmath>

#include "tools/report/detail/html.hpp"
#include "tools/report/detail/svg_frame.hpp"

namespace furlong::tools {

namespace {

constexpr double line = 19.0;    // of a moment's name
constexpr double thick = 16.0;   // of a bar where there are few
constexpr double least = 160.0;  // of the plot's inside
constexpr double most = 400.0;

double top_of(const timeline& of) { return 12.0 + line * static_cast<double>(of.moments.size()); }

double height_of(const timeline& of) {
  return top_of(of) + std::clamp(static_cast<double>(of.tasks.size()) * thick, least, most) + plot_bottom;
}

// The value that one in ten exceeds.
double most_reach(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() * 9 / 10);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// From the first start to the last end. Stragglers may take a hundred times as long as the others: where a few bars
// would reach further from the round than twice its length, they are cut off.
axis axis_of(const timeline& of) {
  double length = 0.0;
  for (const auto& mark : of.moments) length = std::max(length, mark.at);
  std::vector<double> before;
  std::vector<double> after;
  for (const auto& task : of.tasks) {
    before.push_back(-task.started);
    after.push_back(task.ended);
  }
  const double back = std::max({0.0, *std::max_element(before.begin(), before.end())});
  const double ahead = std::max(length, *std::max_element(after.begin(), after.end()));
  const double low = std::min(back, std::max(2.0 * length, most_reach(before)));
  const double high = std::min(ahead, std::max(3.0 * length, most_reach(after)));
  return length > 0.0 ? make_axis(-low, high, number_style::seconds, 6, false)
                      : make_axis(-back, ahead, number_style::seconds, 6, false);
}

std::size_t not_whole(const timeline& of, const axis& x) {
  return static_cast<std::size_t>(std::count_if(of.tasks.begin(), of.tasks.end(), [&](const task_figures& task) {
    return task.started < x.low || task.ended > x.high;
  }));
}

std::string told(double seconds) { return (seconds < 0.0 ? "-" : "") + duration(std::abs(seconds)); }

// A round that has what it needs does not wait to see how the others end.
std::string note_of(const timeline& of, const axis& x) {
  std::string note;
  if (std::any_of(of.tasks.begin(), of.tasks.end(), [](const auto& task) { return task.at_work; }))
    note = "Tasks still at work when the round ends are drawn up to its end.";
  if (const auto cut = not_whole(of, x); cut > 0)
    note += (note.empty() ? "" : " ") + counted(cut, "bar") + " cut off at the edge: the table tells the whole times.";
  return note.empty() ? "" : "<p class=\"hint\">" + note + "</p>";
}

std::string tasks_of(const timeline& of, const frame& in, double height) {
  const double top = top_of(of);
  const double row = (height - top - plot_bottom) / static_cast<double>(of.tasks.size());
  const double gap = std::min(2.0, row * 0.25);
  std::string out;
  for (std::size_t i = 0; i < of.tasks.size(); ++i) {
    const auto& task = of.tasks[i];
    const double from = in.px(std::clamp(task.started, in.x.low, in.x.high));
    const double to = in.px(std::clamp(task.ended, in.x.low, in.x.high));
    out += "<rect x=\"" + fixed(from, 1) + "\" y=\"" + fixed(top + static_cast<double>(i) * row + gap / 2, 1) +
           "\" width=\"" + fixed(std::max(1.0, to - from), 1) + "\" height=\"" + fixed(row - gap, 1) + "\"" +
           fill_of(colour_of(task.outcome)) + "><title>" +
           escape("client " + grouped(task.client) + ", " + task.outcome + ": " + told(task.started) + " to " +
                  (task.at_work ? "after the round" : told(task.ended))) +
           "</title></rect>";
  }
  return out;
}

// Each name on a line of its own, the first moment's lowest, on the side that has more room. The names come last, so
// that no line runs through them.
std::string moments_of(const timeline& of, const frame& in, double height) {
  std::string lines;
  std::string names;
  double y = top_of(of) - line + 4.0;
  for (const auto& mark : of.moments) {
    const double x = in.px(mark.at);
    const bool left = x > plot_width / 2;
    const auto at = fixed(x, 1);
    lines += "<line class=\"moment\" x1=\"" + at + "\" x2=\"" + at + "\" y1=\"" + fixed(y - 9, 0) + "\" y2=\"" +
             fixed(height - plot_bottom, 0) + "\"/>";
    names += "<text class=\"off halo\" x=\"" + fixed(x + (left ? -5 : 5), 1) + "\" y=\"" + fixed(y, 0) +
             "\" text-anchor=\"" + (left ? "end" : "start") + "\">" +
             escape(mark.at == 0.0 ? mark.name : mark.name + ", " + duration(mark.at)) + "</text>";
    y -= line;
  }
  return lines + names;
}

// How many tasks stand there, counted from the top.
std::string y_labels(const timeline& of, double height) {
  const double top = top_of(of);
  const double row = (height - top - plot_bottom) / static_cast<double>(of.tasks.size());
  std::string out = "<g class=\"grid\">";
  const auto label = [&](std::size_t number) {
    out += "<text x=\"" + fixed(plot_left - 8, 0) + "\" y=\"" +
           fixed(top + (static_cast<double>(number) - 0.5) * row, 1) + "\" dy=\".32em\" text-anchor=\"end\">" +
           grouped(number) + "</text>";
  };
  const auto ticks = make_axis(1.0, static_cast<double>(of.tasks.size()), number_style::count, 5, false).ticks;
  label(1);
  for (const auto& mark : ticks)
    if (mark.at >= 2.0 && (mark.at - 1.0) * row > 20.0 && mark.at <= static_cast<double>(of.tasks.size()))
      label(static_cast<std::size_t>(std::llround(mark.at)));
  return out + "</g>";
}

named_counts counts_of(const timeline& of) {
  named_counts counts;
  for (const auto& named : outcome_colours) counts.emplace_back(named.outcome, 0);
  for (const auto& task : of.tasks) {
    const auto found =
        std::find_if(counts.begin(), counts.end(), [&](const auto& count) { return count.first == task.outcome; });
    if (found == counts.end())
      counts.emplace_back(task.outcome, 1);
    else
      ++found->second;
  }
  std::erase_if(counts, [](const auto& count) { return count.second == 0; });
  return counts;
}

std::string legend(const timeline& of) {
  std::string out;
  for (const auto& [name, count] : counts_of(of)) out += filled_entry(colour_of(name), name, grouped(count));
  return "<ul class=\"legend\">" + out + "</ul>";
}

std::string describe(const timeline& of) {
  std::string text = counted(of.tasks.size(), "task") + ", from start to end, the first to end on top. ";
  for (const auto& [name, count] : counts_of(of)) text += grouped(count) + " " + name + ". ";
  for (const auto& mark : of.moments) text += mark.name + " at " + duration(mark.at) + ". ";
  return text;
}

std::string values(const timeline& of) {
  std::vector<table_row> rows;
  for (const auto& task : of.tasks)
    rows.push_back({{text_cell(grouped(task.client)), text_cell(task.outcome), number_cell(told(task.started)),
                     number_cell(task.at_work ? "at work" : told(task.ended)),
                     number_cell(task.at_work ? "" : duration(task.ended - task.started))},
                    ""});
  return values_table(
      {{"client", "", false}, {"outcome", "", false}, {"start", "", true}, {"end", "", true}, {"took", "", true}},
      rows);
}

}  // namespace

std::size_t colour_of(std::string_view outcome) {
  for (const auto& named : outcome_colours)
    if (named.outcome == outcome) return named.colour;
  return palette - 1;
}

timeline timeline_of(const round_figures& round, std::optional<double> deadline) {
  timeline made{"Round " + grouped(round.round) + ", task by task", {}, {}};
  const double began = round.began.value_or(0.0);
  for (auto task : round.spans) {
    task.started -= began;
    task.ended -= began;
    if (std::isfinite(task.started) && std::isfinite(task.ended)) made.tasks.push_back(std::move(task));
  }
  std::stable_sort(made.tasks.begin(), made.tasks.end(),
                   [](const auto& a, const auto& b) { return a.ended < b.ended; });
  const double length = round.ended.value_or(began) - began;
  // A round that its deadline closed has one line for both.
  const bool at_deadline = deadline && std::abs(*deadline - length) <= 0.005 * *deadline;
  // Tasks of an asynchronous run began before.
  const bool early = std::any_of(made.tasks.begin(), made.tasks.end(), [](const auto& t) { return t.started < 0.0; });
  if (early) made.moments.push_back({"the round begins", 0.0});
  if (length > 0.0) made.moments.push_back({at_deadline ? "deadline: the round ends" : "the round ends", length});
  if (deadline && !at_deadline) made.moments.push_back({"deadline", *deadline});
  std::sort(made.moments.begin(), made.moments.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  return made;
}

std::string render(const timeline& of, std::size_t id) {
  const double height = height_of(of);
  frame in{axis_of(of), {}};
  thin_out(in.x);
  const std::string x_label = "time since the round began";
  std::string out = open_figure({of.title, of.title + " over " + x_label, describe(of), x_label, legend(of)}, id,
                                height, top_of(of)) +
                    y_labels(of, height) + x_axis(in, x_label, height) + tasks_of(of, in, height) +
                    moments_of(of, in, height) + "</svg>";
  return out + note_of(of, in.x) + values(of) + "</figure>\n";
}

}  // namespace furlong::tools
