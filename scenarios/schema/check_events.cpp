// Checks of [[event]].
#include <algorithm>

#include "federated/settings/events.hpp"
#include "scenarios/schema/draft.hpp"
#include "scenarios/schema/records.hpp"

namespace furlong::scenarios {

namespace {

/// The last round of the run, if the scenario states it.
std::optional<std::int64_t> last_round(const draft& document) {
  for (const char* key : {"scenario.rounds", "scenario.until.rounds"})
    if (document.good({key})) return document.values.integer(key);
  return std::nullopt;
}

void check_event_time(draft& document, const std::string& key, const std::string& text) {
  const auto when = parse_event_time(text);
  if (!when)
    return document.report(key, "is " + toml_string(text) + ", which is neither a round nor a time",
                           "write \"round 10\", \"120s\", \"30min\", \"2h\" or \"1.5d\"");
  const auto last = last_round(document);
  if (when->at_round && last && when->round > static_cast<std::uint64_t>(*last)) {
    const bool cut = document.places()["scenario.rounds"] == "--smoke";
    document.report(
        key, "is after the last round, " + std::to_string(*last) + (cut ? ", at which --smoke ends the run" : ""),
        cut ? "add a [smoke] table with rounds, and with events that fit them" : "choose an earlier round");
  }
  const std::string end = "scenario.until.virtual_seconds";
  if (!when->at_round && document.good({end}) && when->seconds >= document.values.number(end))
    document.report(key, "is after the end of the run, " + number_text(document.values.number(end)) + " s",
                    "choose an earlier time");
}

/// An event about nodes or aggregators needs processes with these numbers; aggregators support kill and restart only.
void check_processes(draft& document, const std::string& key, const std::string& word, const event_subjects& whom) {
  using federated::event_target;
  if (word == "unresponsive" && whom.target != event_target::clients)
    return document.report(key, "is about clients", "name clients, or write partition");
  if (whom.target == event_target::clients || !document.good({"topology.nodes", "topology.aggregators"})) return;
  const auto nodes = document.values.integer("topology.nodes");
  const auto aggregators = nodes > 0 ? document.values.integer("topology.aggregators") : 0;
  if (nodes == 0) return document.report(key, "is about processes, and topology.nodes is 0", "set topology.nodes");
  if (whom.target == event_target::nodes) {
    if (whom.last >= nodes)
      document.report(key,
                      "names node " + std::to_string(whom.last) + ", and topology.nodes is " + std::to_string(nodes),
                      "they are numbered from 0 to " + std::to_string(nodes - 1));
    return;
  }
  if (aggregators < 2)
    return document.report(key, "is about aggregators, and the server's own is the only one",
                           "set topology.aggregators to 2 or more");
  if (whom.last >= aggregators)
    document.report(key,
                    "names aggregator " + std::to_string(whom.last) + ", and topology.aggregators is " +
                        std::to_string(aggregators),
                    "they are numbered from 0 to " + std::to_string(aggregators - 1));
  if (word == "join" || word == "leave")
    document.report(key, "is about aggregators, which neither join nor leave", "write kill or restart");
}

void check_event(draft& document, const std::string& name, const option_values& event) {
  if (event.has("at")) check_event_time(document, name + ".at", event.text("at"));
  std::vector<std::string> words;
  for (const auto& word : event_words())
    if (document.is_set(name + "." + word)) words.push_back(word);
  if (words.empty()) document.report(name, "says when and not what", "add one of " + listed(event_words(), "or"));
  for (std::size_t i = 1; i < words.size(); ++i)
    document.report(name + "." + words[i], "cannot be combined with " + words[0] + " in one event", "write two events");
  for (const auto& word : words) {
    if (!event.has(word) || std::holds_alternative<double>(event.all().find(word)->second)) continue;
    if (const auto whom = parse_subjects(event.text(word)))
      check_processes(document, name + "." + word, word, *whom);
    else
      document.report(name + "." + word,
                      "is " + toml_string(event.text(word)) + ", which names no clients or processes",
                      "write \"17\", \"0-99\", a share such as 0.3, \"node 2\" or \"aggregators 0-1\"");
  }
  if (event.has("erase") && event.flag("erase")) {
    if (std::ranges::find(words, "leave") == words.end())
      document.report(name + ".erase", "belongs to leave", "remove it");
    else if (!std::holds_alternative<double>(event.all().find("leave")->second) &&
             event.text("leave").starts_with("node"))
      document.report(name + ".erase", "is about clients, and the event is about nodes",
                      "name the clients of these nodes");
  }
  if (event.has("unresponsive") && document.exceeds("topology.nodes"))
    document.report(name + ".unresponsive", "is simulated for clients without nodes only",
                    "remove topology.nodes, or write partition");
  for (const auto& word : {"restart", "heal"})
    if (event.has(word) && std::holds_alternative<double>(event.all().find(word)->second) && event.number(word) < 1.0)
      document.notes.push_back(name + "." + word + " = " + number_text(event.number(word)) +
                               " draws its own clients, not those of another event; 1.0 means all");
}

}  // namespace

void check_events(draft& document) {
  const auto events = document.records.find("event");
  if (events == document.records.end()) return;
  const bool heals = std::ranges::any_of(events->second, [](const auto& event) { return event.has("heal"); });
  for (std::size_t i = 0; i < events->second.size(); ++i) {
    check_event(document, record_name("event", i), events->second[i]);
    if (!heals && events->second[i].has("partition"))
      document.notes.push_back(record_name("event", i) +
                               ".partition is never healed: it lasts until the end of the run");
  }
}

}  // namespace furlong::scenarios
