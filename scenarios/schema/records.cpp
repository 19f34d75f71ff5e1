#include "scenarios/schema/records.hpp"

#include <algorithm>
#include <cmath>

#include "federated/settings/events.hpp"
#include "federated/settings/settings.hpp"
#include "scenarios/data/mapped_file.hpp"

namespace furlong::scenarios {

namespace {

/// A number without a sign.
template <class Number>
std::optional<Number> unsigned_number(std::string_view text) {
  return text.starts_with('-') ? std::nullopt : parse_number<Number>(text);
}

std::string_view trim_left(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

}  // namespace

std::optional<event_time> parse_event_time(std::string_view text) {
  if (text.starts_with("round ")) {
    const auto round = unsigned_number<std::uint64_t>(trim_left(text.substr(6)));
    if (!round || *round == 0) return std::nullopt;
    return event_time{true, *round, 0.0};
  }
  const auto digits = std::min(text.find_first_not_of("0123456789.e"), text.size());
  const auto number = unsigned_number<double>(text.substr(0, digits));
  const auto unit = trim_left(text.substr(digits));
  if (!number || !std::isfinite(*number)) return std::nullopt;
  if (unit == "s") return event_time{false, 0, *number};
  if (unit == "min") return event_time{false, 0, *number * 60.0};
  if (unit == "h") return event_time{false, 0, *number * 3600.0};
  if (unit == "d") return event_time{false, 0, *number * 86400.0};
  return std::nullopt;
}

std::optional<event_subjects> parse_subjects(std::string_view text) {
  using federated::event_target;
  auto target = event_target::clients;
  for (const auto& [word, named] :
       {std::pair("node", event_target::nodes), std::pair("aggregator", event_target::aggregators)})
    if (text.starts_with(word)) {
      text.remove_prefix(std::string_view(word).size());
      if (text.starts_with('s')) text.remove_prefix(1);
      if (!text.starts_with(' ')) return std::nullopt;
      text = trim_left(text);
      target = named;
      break;
    }
  const auto dash = text.find('-');
  const auto first = unsigned_number<std::uint32_t>(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : unsigned_number<std::uint32_t>(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return event_subjects{target, *first, *last};
}

const std::vector<std::string>& event_words() {
  static const std::vector<std::string> words = {"join",      "leave", "kill",        "restart",
                                                 "partition", "heal",  "unresponsive"};
  return words;
}

std::vector<std::string> happenings(const option_values& event) {
  std::vector<std::string> found;
  std::ranges::copy_if(event_words(), std::back_inserter(found), [&](const auto& word) { return event.has(word); });
  return found;
}

void apply_events(federated::run_settings& settings, const std::vector<option_values>& events) {
  for (const auto& event : events) {
    const auto when = *parse_event_time(event.text("at"));
    const auto word = happenings(event).front();
    federated::event_settings made;
    made.at_round = when.at_round;
    made.round = when.round;
    made.seconds = when.seconds;
    made.what = static_cast<federated::event_kind>(std::ranges::find(event_words(), word) - event_words().begin());
    if (const auto* share = std::get_if<double>(&event.all().find(word)->second)) {
      made.share = *share;
    } else {
      const auto subjects = *parse_subjects(event.text(word));
      made.target = subjects.target;
      made.first = subjects.first;
      made.last = subjects.last;
    }
    made.erase = event.flag("erase");
    settings.events->push_back(made);
  }
}

}  // namespace furlong::scenarios
