#include "tools/runs/scored_on.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace furlong::tools {

namespace {

// With all its digits: two targets may differ in the last one.
std::string value_text(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

void add_figure(scored_facts& facts, const run_summary& summary, const std::string& key, std::string name,
                bool of_seed) {
  if (const auto value = summary.figure(key)) facts.push_back({std::move(name), value_text(*value), of_seed});
}

void add_text(scored_facts& facts, const run_summary& summary, const std::string& key, std::string name, bool of_seed) {
  if (auto text = summary.text(key); !text.empty()) facts.push_back({std::move(name), std::move(text), of_seed});
}

// A text is as long in words as in characters. A model of any tokens gives a probability to each text, unless some are
// unknown: then it is that of another text, which is the more likely the fewer words are known.
void add_characters(scored_facts& facts, const run_summary& summary, const std::string& group) {
  for (const auto* name : {"characters", "clients"}) add_figure(facts, summary, group + name, name, true);
  const auto tokens = summary.text("scored_on.tokens") + " with a vocabulary of " +
                      std::to_string(summary.count("scored_on.vocabulary"));
  facts.push_back({"unknown tokens", summary.count(group + "unknown_tokens") == 0 ? "none" : tokens, true});
}

// "client_groups.north." of a figure of some clients alone; else empty.
std::string evaluation_before(const std::string& figure) {
  const auto found = figure.rfind(".eval.");
  return figure.starts_with(groups_key) && found != std::string::npos ? figure.substr(0, found + 1) : "";
}

}  // namespace

bool chooses_scored(std::string_view key) {
  constexpr std::array<std::string_view, 6> stated{"data.path",    "data.tokens",  "data.vocabulary",
                                                   "data.buckets", "data.clients", "data.generate"};
  return (key.starts_with("data.") && std::ranges::find(stated, key) == stated.end()) || key == "python.problem";
}

std::string group_of(const run_record& run, const std::string& figure) {
  const auto& summary = summary_of(run);
  const auto first_part = [](const std::string& text) { return text.substr(0, text.find('.')); };
  if (const auto rest = figure.substr(evaluation_before(figure).size()); rest.starts_with("eval."))
    return first_part(rest.substr(5));
  if (figure == "best.value") return "validation";
  return figure.starts_with("time_to_target.") ? first_part(summary.text("time_to_target.metric")) : "";
}

scored_facts facts_about(const run_record& run, const std::string& figure) {
  const auto& summary = summary_of(run);
  scored_facts facts;
  add_text(facts, summary, "scored_on.problem", "problem", false);
  if (!run.protocol.empty()) facts.push_back({"protocol", run.protocol});
  add_figure(facts, summary, "scored_on.classes", "classes", false);
  add_figure(facts, summary, "scored_on.candidates", "drawn candidates", false);
  add_text(facts, summary, "scored_on.data", "data", true);
  if (figure.ends_with(".bits_per_character")) {
    add_characters(facts, summary, figure.substr(0, figure.rfind('.') + 1));
    return facts;
  }
  add_text(facts, summary, "scored_on.tokens", "tokens", false);
  add_figure(facts, summary, "scored_on.vocabulary", "vocabulary", true);
  if (figure == "best.value") add_text(facts, summary, "best.metric", "metric", false);
  if (figure.starts_with("time_to_target.")) {
    add_text(facts, summary, "time_to_target.metric", "target", false);
    add_figure(facts, summary, "time_to_target.value", "target value", false);
  }
  const auto before = evaluation_before(figure);
  if (!before.empty()) add_text(facts, summary, "scored_on.client_groups", "client groups", true);
  if (const auto group = group_of(run, figure); !group.empty())
    for (const auto* name : {"examples", "clients"})
      add_figure(facts, summary, before + "eval." + group + "." + name, name, true);
  return facts;
}

bool same_scored(const scored_facts& a, const scored_facts& b) {
  return std::ranges::all_of(a, [&](const scored_fact& fact) {
    const auto* counterpart = value_of_fact(b, fact.name);
    return counterpart == nullptr || *counterpart == fact.value;
  });
}

const std::string* value_of_fact(const scored_facts& facts, std::string_view name) {
  const auto found = std::ranges::find(facts, name, &scored_fact::name);
  return found == facts.end() ? nullptr : &found->value;
}

}  // namespace furlong::tools
