#include "tools/cli/usage_error.hpp"

#include <optional>
#include <string>
#include <string_view>

#include "scenarios/schema/nearest.hpp"

namespace furlong::tools {

namespace {

/// The command that the command line selects, and the words that select it: "furlong store ls".
struct selected_command {
  const CLI::App* app = nullptr;
  std::string words;
};

selected_command selected_in(const CLI::App& app) {
  selected_command selection{&app, app.get_name()};
  for (auto below = selection.app->get_subcommands(); !below.empty(); below = selection.app->get_subcommands()) {
    selection.app = below.front();
    selection.words += " " + selection.app->get_name();
  }
  return selection;
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App* parser) { return !parser->get_name().empty(); }))
    names.push_back(command->get_name());
  return names;
}

/// Long names of options, without "--"; also those of option groups.
std::vector<std::string> names_of_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options())
    for (const auto& name : option->get_lnames()) names.push_back(name);
  for (const auto* group : app.get_subcommands([](const CLI::App* parser) { return parser->get_name().empty(); }))
    for (auto& name : names_of_options(*group)) names.push_back(std::move(name));
  return names;
}

/// "SCENARIO" or "--seed N", as --help writes it.
std::string usage_of(const CLI::App& app, const std::string& name) {
  const auto* option = app.get_option_no_throw(name);
  if (option == nullptr) return name;
  const auto& value = option->get_option_text();
  if (!name.starts_with('-')) return value.empty() ? name : value;
  return value.empty() ? name : name + " " + value;
}

/// The selected command without "furlong", which begins every message; empty: no command.
std::string place_of(const selected_command& selection) {
  const auto end = selection.words.find(' ');
  return end == std::string::npos ? "" : selection.words.substr(end + 1);
}

error wrong(std::string place, std::string why, std::string fix) {
  return {error::kind::usage, std::move(place), std::move(why), std::move(fix)};
}

std::string see_help(const std::string& words, const char* verb) { return words + " --help " + verb; }

error unknown_option(const selected_command& selection, const std::string& word) {
  const auto name = word.substr(0, word.find('='));
  const auto letters = name.find_first_not_of('-');
  const auto near =
      letters == std::string::npos ? "" : scenarios::nearest(name.substr(letters), names_of_options(*selection.app));
  return wrong(name, "is not an option of " + selection.words,
               (near.empty() ? "" : "did you mean --" + near + "? ") + see_help(selection.words, "lists the options"));
}

error unknown_command(const selected_command& selection, const std::string& word) {
  const auto near = scenarios::nearest(word, names_of_commands(*selection.app));
  return wrong(word, "is not a command of " + selection.words,
               (near.empty() ? "" : "did you mean " + near + "? ") + see_help(selection.words, "lists the commands"));
}

/// Words before the command that is selected: only options of the command before it are allowed there.
std::optional<error> misplaced_word(const CLI::App& app, const selected_command& selection) {
  auto words = app.get_name();
  for (const auto* before = &app; before != selection.app; before = before->get_subcommands().front()) {
    if (const auto rest = before->remaining(); !rest.empty())
      return wrong(rest.front(), "is not an option of " + words,
                   "write what belongs to " + selection.words + " after it");
    words += " " + before->get_subcommands().front()->get_name();
  }
  return std::nullopt;
}

/// The words that no option has taken. Those after an unknown option may be its value.
std::vector<error> errors_of_rest(const CLI::App& app, const selected_command& selection) {
  if (auto misplaced = misplaced_word(app, selection)) return {*misplaced};
  auto rest = selection.app->remaining();
  std::erase(rest, "--");
  std::vector<error> errors;
  for (const auto& word : rest)
    if (word.size() > 1 && word.front() == '-') errors.push_back(unknown_option(selection, word));
  if (!errors.empty() || rest.empty()) return errors;
  if (!names_of_commands(*selection.app).empty()) return {unknown_command(selection, rest.front())};
  for (const auto& word : rest)
    errors.push_back(wrong(word, "is one argument too many for " + selection.words,
                           see_help(selection.words, "lists the arguments")));
  return errors;
}

/// The part of a text after one text and before another; empty if they do not occur.
std::string between(std::string_view text, std::string_view before, std::string_view after = {}) {
  const auto begin = text.find(before);
  if (begin == std::string_view::npos) return {};
  const auto rest = text.substr(begin + before.size());
  const auto end = after.empty() ? rest.size() : rest.find(after);
  return end == std::string_view::npos ? std::string() : std::string(rest.substr(0, end));
}

error missing(const selected_command& selection, const std::string& text) {
  if (text == "A subcommand is required")
    return wrong(place_of(selection), "a command is missing", see_help(selection.words, "lists the commands"));
  if (auto choice = between(text, "from [", "]"); !choice.empty()) {
    for (auto comma = choice.find(','); comma != std::string::npos; comma = choice.find(',', comma + 1))
      choice.insert(comma + 1, " ");
    return wrong(place_of(selection), "takes only one of " + choice, "leave out the others");
  }
  const auto name = usage_of(*selection.app, between(text, "", " is required"));
  return wrong(place_of(selection), name + " is missing", see_help(selection.words, "describes it"));
}

/// The library's other errors, whose texts are "NAME: what".
error mistaken(const selected_command& selection, const CLI::ParseError& why) {
  const std::string text = why.what();
  const auto name = text.substr(0, text.find_first_of(" :"));
  const auto usage = usage_of(*selection.app, name);
  if (dynamic_cast<const CLI::RequiresError*>(&why) != nullptr) {
    const auto dependency = usage_of(*selection.app, between(text, " requires "));
    return wrong(name, "has no meaning without " + dependency, "add " + dependency + ", or leave out " + name);
  }
  if (dynamic_cast<const CLI::ExcludesError*>(&why) != nullptr)
    return wrong(name, "cannot be combined with " + between(text, " excludes "), "leave out one of them");
  if (dynamic_cast<const CLI::ConversionError*>(&why) != nullptr) {
    const auto valued = between(text, "Could not convert: ", " = ");
    const auto described = usage_of(*selection.app, valued);
    if (described == valued) return wrong(valued, "takes no value", "write " + valued + " alone, or leave it out");
    return wrong(described, "\"" + between(text, " = ") + "\" is not such a value",
                 see_help(selection.words, "describes it"));
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&why) != nullptr && text.ends_with(" missing"))
    return wrong(name, "the value is missing", "write " + usage);
  if (const auto times = between(text, ": At Most 1 required but received "); !times.empty())
    return wrong(name, "is given " + times + " times", "write it once");
  return wrong("", text, "");
}

}  // namespace

std::vector<error> usage_errors(const CLI::App& app, const CLI::ParseError& why) {
  const auto selection = selected_in(app);
  const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&why) != nullptr;
  if (is_missing || dynamic_cast<const CLI::ExtrasError*>(&why) != nullptr) {
    // An option that is missing may have been mistyped.
    if (auto errors = errors_of_rest(app, selection); !errors.empty()) return errors;
  }
  return {is_missing ? missing(selection, why.what()) : mistaken(selection, why)};
}

}  // namespace furlong::tools
