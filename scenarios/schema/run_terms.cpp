#include "scenarios/schema/run_terms.hpp"

#include <algorithm>
#include <array>

#include "base/parse_number.hpp"
#include "scenarios/schema/draft.hpp"
#include "scenarios/schema/node_scenario.hpp"
#include "scenarios/schema/toml_document.hpp"

namespace furlong::scenarios {

namespace {

constexpr const char* option = "--require";

/// Keys of sources, models, algorithms and rules depend on the scenario: whether it has them is checked with it.
constexpr std::array<std::string_view, 4> by_kind = {"data.", "model.", "python.", "algorithm."};

result<void> check_key(const std::string& text, const std::string& key) {
  std::vector<std::string> known;
  for (const auto& spec : schema_keys(nullptr, nullptr)) known.push_back(spec.option.name);
  const bool named = std::ranges::find(known, key) != known.end();
  if (!named && std::ranges::none_of(by_kind, [&](auto prefix) { return key.starts_with(prefix); })) {
    const auto near = nearest_key(key, known);
    return fail(error::kind::usage, option, "\"" + text + "\": scenarios have no key " + key,
                near.empty() ? "name a key of docs/scenario-reference.md" : "perhaps " + near);
  }
  if (is_told_to_nodes(key)) return {};
  return fail(error::kind::usage, option, "\"" + text + "\": servers do not tell nodes " + key,
              "leave it out: a node could not check it");
}

/// As scenarios write it: texts without their quotes.
std::string plain_text(const option_value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : value_text(value);
}

bool holds(const run_term& term, const option_value& value) {
  const auto is = plain_text(value);
  const auto number = parse_number<double>(is);
  const auto demanded = parse_number<double>(term.value);
  if (term.demands == run_term::relation::equal)
    return is == term.value || (number && demanded && *number == *demanded);
  if (!number || !demanded) return false;
  return term.demands == run_term::relation::at_least ? *number >= *demanded : *number <= *demanded;
}

}  // namespace

result<run_term> read_term(const std::string& text) {
  using relation = run_term::relation;
  const auto place = text.find_first_of("<>=");
  const auto next = place == std::string::npos ? 0 : place + (text[place] == '=' ? 1 : 2);
  const bool written =
      place != std::string::npos && place > 0 && next < text.size() && (text[place] == '=' || text[place + 1] == '=');
  const auto trimmed = [](std::string_view part) {
    const auto first = part.find_first_not_of(' ');
    if (first == std::string_view::npos) return std::string();
    return std::string(part.substr(first, part.find_last_not_of(' ') - first + 1));
  };
  run_term made{text, {}, relation::equal, {}};
  if (written) {
    made.key = trimmed(std::string_view(text).substr(0, place));
    made.value = trimmed(std::string_view(text).substr(next));
    if (text[place] != '=') made.demands = text[place] == '>' ? relation::at_least : relation::at_most;
  }
  const bool numeric = made.demands != relation::equal;
  if (made.key.empty() || made.value.empty() || (numeric && !parse_number<double>(made.value)))
    return fail(error::kind::usage, option, "\"" + text + "\" is no term",
                "write KEY=VALUE, KEY>=NUMBER or KEY<=NUMBER, such as \"participation.min_reports>=60\"");
  if (auto known = check_key(text, made.key); !known) return tl::unexpected(known.error());
  return made;
}

result<void> check_terms(const std::vector<run_term>& terms, const scenario& offered) {
  for (const auto& term : terms) {
    const auto place = offered.values.all().find(term.key);
    if (place != offered.values.all().end() && holds(term, place->second)) {
      const auto idle = std::ranges::find_if(offered.notes,
                                             [&](const auto& note) { return note.starts_with(term.key + " has no "); });
      if (idle == offered.notes.end()) continue;
      return fail(error::kind::usage, option, "\"" + term.text + "\" promises nothing: in the run " + *idle,
                  "demand the value of that key too, or leave it out");
    }
    const auto is = place == offered.values.all().end() ? "the run has no " + term.key
                                                        : "in the run " + term.key + " is " + value_text(place->second);
    return fail(error::kind::usage, option, "\"" + term.text + "\" does not hold: " + is,
                "ask the operator of the server for a run that keeps this term, or leave it out");
  }
  return {};
}

}  // namespace furlong::scenarios
