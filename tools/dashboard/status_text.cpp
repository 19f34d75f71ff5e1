#include "tools/dashboard/status_text.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fmt/format.h>
#include <iterator>

#include "base/plain_text.hpp"

namespace furlong::tools::dashboard {

namespace {

constexpr std::size_t most_nodes = 50;
constexpr std::size_t most_events = 10;

std::string name_of(const json& object, const char* key, std::size_t longest = 60) {
  return for_terminal(object.at(key).get<std::string>(), longest);
}

double number(const json& object, const char* key) {
  const auto& value = object.at(key);
  return value.is_null() ? std::nan("") : value.get<double>();
}

std::uint64_t count(const json& object, const char* key) { return object.at(key).get<std::uint64_t>(); }

std::uint64_t total(const json& counts) {
  std::uint64_t sum = 0;
  for (const auto& count : counts) sum += count.get<std::uint64_t>();
  return sum;
}

std::string figure(double value) { return std::isfinite(value) ? fmt::format("{:.4f}", value) : "-"; }

std::string span(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds < 10) return fmt::format("{:.1f} s", std::max(0.0, seconds));
  const auto whole = static_cast<std::int64_t>(std::min(seconds, 1e15) + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  return fmt::format("{} d {} h", whole / 86400, whole / 3600 % 24);
}

std::string bytes(double value) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
  std::size_t index = 0;
  for (; value >= 1000 && index + 1 < std::size(units); ++index) value /= 1000;
  return fmt::format("{:.{}f} {}", value, index == 0 || value >= 100 ? 0 : 1, units[index]);
}

std::string clock_text(double when) {
  if (!(when > 0 && when < 1e11)) return "-";
  const auto seconds = static_cast<std::time_t>(when);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// "norm-bound 3, late 1", or nothing.
std::string reasons(const json& counts) {
  std::string out;
  for (const auto& [why, times] : counts.items())
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", for_terminal(why, 40), times.get<std::uint64_t>());
  return out;
}

class page {
 public:
  explicit page(const json& status) : status_(status) {}

  std::string write() {
    head();
    clients();
    tasks();
    last_round();
    learning();
    nodes();
    events();
    return std::move(out_);
  }

 private:
  template <class... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
    out_ += '\n';
  }

  void head() {
    line("{}  ({}, {}, run {}, furlong {})", name_of(status_, "scenario"), name_of(status_, "algorithm"),
         name_of(status_, "model"), name_of(status_, "run"), name_of(status_, "furlong"));
    const auto rounds = count(status_, "rounds");
    line("phase       {}, round {}{}", name_of(status_, "phase"), count(status_, "round"),
         rounds > 0 ? fmt::format(" of {}", rounds) : std::string());
    const double age = number(status_, "published_age");
    line("up          {}{}", span(number(status_, "uptime")),
         age > 30 ? fmt::format("; its state is {} old: the federation may hang", span(age)) : std::string());
    const auto& last = status_.at("checkpoint");
    line("checkpoint  {}", last.is_null()
                               ? "none"
                               : fmt::format("version {}, {} ago", count(last, "version"), span(number(last, "age"))));
    if (const auto privacy = status_.find("privacy"); privacy != status_.end())
      line("privacy     {} for delta {:.4g}, {}{}",
           privacy->at("epsilon").is_null() ? "no epsilon" : fmt::format("epsilon {:.4g}", number(*privacy, "epsilon")),
           number(*privacy, "delta"), privacy->at("relation").get<std::string>(),
           privacy->at("simulated").get<bool>() ? ", simulated privacy" : "");
    const auto& memory = status_.at("memory");
    line("memory      {}, peak {}", bytes(number(memory, "resident")), bytes(number(memory, "peak")));
  }

  void clients() {
    const auto& object = status_.at("clients");
    line("clients     {} of {} reached: {} at work, {} idle; {} adrift, {} away", count(object, "reached"),
         count(object, "training"), count(object, "at_work"), count(object, "idle"), count(object, "adrift"),
         count(object, "away"));
  }

  void tasks() {
    const auto& object = status_.at("tasks");
    line("tasks       {} selected: {} folded, {} rejected, {} late, {} surplus, {} dropped, {} abandoned, {} in flight",
         count(object, "selected"), count(object, "folded"), total(object.at("rejected")), count(object, "late"),
         count(object, "surplus"), total(object.at("dropped")), count(object, "abandoned"), count(object, "in_flight"));
    if (const auto why = reasons(object.at("rejected")); !why.empty()) line("rejected    {}", why);
    if (const auto why = reasons(status_.at("unasked")); !why.empty()) line("unasked     {}", why);
    if (const auto why = reasons(status_.at("refused_connections")); !why.empty()) line("refused     {}", why);
    if (const auto lost = count(status_, "state_lost"); lost > 0)
      line("state lost  of {} clients: their nodes had not the private values of before", lost);
    line("updates     {} up, {} down", bytes(number(object, "bytes_up")), bytes(number(object, "bytes_down")));
  }

  void last_round() {
    const auto& last = status_.at("last_round");
    if (last.is_null()) return;
    line("last round  {}: {} of {} folded, loss {}, {}", count(last, "last"), count(last, "folded"),
         count(last, "selected"), figure(number(last, "loss")), span(number(last, "seconds")));
  }

  void learning() {
    const auto& points = status_.at("learning");
    if (points.empty()) return;
    const auto& last = points.back();
    std::string figures;
    for (const char* group : {"validation", "seen", "unseen"}) {
      if (!last.contains(group)) continue;
      figures += fmt::format("{}{}", figures.empty() ? "" : "; ", group);
      for (const auto& [metric, value] : last.at(group).items())
        if (metric != "examples" && metric != "clients")
          figures += fmt::format(" {} {}", metric, figure(number(last.at(group), metric.c_str())));
    }
    line("evaluation  after round {}: {}", count(last, "version"), figures);
  }

  static const char* state_of(const json& node) {
    if (!node.at("connected").get<bool>()) return "gone";
    return count(node, "at_work") > 0 ? "at work" : "idle";
  }

  void nodes() {
    const auto& rows = status_.at("nodes");
    const auto& between = status_.at("aggregators");
    if (rows.empty() && between.empty()) return;
    line("");
    for (const auto& row : between)
      line("aggregator {}  at {}, via {}, {}, {} clients", name_of(row, "name"), name_of(row, "address"),
           row.at("via").get<std::string>().empty() ? "server" : name_of(row, "via"),
           row.at("connected").get<bool>() ? "connected" : "gone", count(row, "clients"));
    if (rows.empty()) return;
    line("{:<24} {:<8} {:>15} {:<16} {:>8} {:>8} {:>8} {:>8} {:>10}", "node", "state", "clients", "via", "tasks",
         "folded", "rejected", "late", "seen");
    const double now = number(status_, "now");
    for (std::size_t i = 0; i < std::min(rows.size(), most_nodes); ++i) {
      const auto& node = rows.at(i);
      const auto via = name_of(node, "via", 13);
      line("{:<24} {:<8} {:>15} {:<16} {:>8} {:>8} {:>8} {:>8} {:>10}", name_of(node, "name", 21), state_of(node),
           fmt::format("{}-{}", count(node, "first"), count(node, "last")), via.empty() ? "server" : via,
           count(node, "at_work"), count(node, "folded"), count(node, "rejected"), count(node, "late"),
           span(now - number(node, "last_seen")));
    }
    if (rows.size() > most_nodes) line("and {} more", rows.size() - most_nodes);
  }

  void events() {
    const auto& rows = status_.at("events");
    if (rows.empty()) return;
    line("");
    for (std::size_t i = rows.size() - std::min(rows.size(), most_events); i < rows.size(); ++i) {
      const auto& event = rows.at(i);
      std::string text = fmt::format("{}  {:<8} {}", clock_text(number(event, "at")), name_of(event, "level"),
                                     name_of(event, "event"));
      if (event.contains("round")) text += fmt::format(", round {}", count(event, "round"));
      for (const char* key : {"who", "detail"})
        if (event.contains(key)) text += ": " + name_of(event, key, 120);
      line("{}", text);
    }
  }

  const json& status_;
  std::string out_;
};

}  // namespace

result<std::string> status_text(const json& status) {
  try {
    return page(status).write();
  } catch (const json::exception& why) {
    return fail(error::kind::data, "/api/status", std::string("the answer is not as expected: ") + why.what(),
                "the server may be of another version: see `furlong --version`");
  }
}

}  // namespace furlong::tools::dashboard
