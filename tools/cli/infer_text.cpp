// Answers about texts: their class, or how they go on.
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "base/exact_math.hpp"
#include "base/plain_text.hpp"
#include "base/random.hpp"
#include "base/utf8.hpp"
#include "federated/client/inference.hpp"
#include "scenarios/data/labelled_file.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "scenarios/data/text_files.hpp"
#include "tools/cli/infer.hpp"

namespace furlong::tools {

namespace {

using models::objective;

constexpr std::size_t shown_next = 5;
constexpr std::uint32_t draw_of_tokens = 4;  // in addition to the draws of evaluation groups and pictures

result<federated::inference> ask(const trained_run& run, const subject& target, const models::examples& text) {
  return federated::predict_examples(run.prepared.experiment, run.model, run.store.get(), target.client,
                                     target.known.view(), text.view(), true);
}

std::string class_name(const trained_run& run, std::uint32_t number) {
  const auto& names = run.prepared.data.classes;
  return number < names.size() ? names[number] : std::to_string(number);
}

/// The most likely ones first, those of equal probability in their order.
std::vector<std::uint32_t> likeliest(const std::vector<float>& probabilities, std::size_t most) {
  std::vector<std::uint32_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto count = std::min(most, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), [&](auto a, auto b) {
    return std::pair(-probabilities[a], a) < std::pair(-probabilities[b], b);
  });
  order.resize(count);
  return order;
}

/// Draws a token with a probability in proportion to p^(1 / temperature); never a start.
std::uint32_t draw_token(const std::vector<float>& probabilities, double temperature, random_stream& stream) {
  std::vector<double> up_to;
  const double most = *std::max_element(probabilities.begin() + 1, probabilities.end());
  double sum = 0.0;
  for (std::size_t token = 0; token < probabilities.size(); ++token) {
    if (token != models::start_token) sum += exact::pow(probabilities[token] / most, 1.0 / temperature);
    up_to.push_back(sum);
  }
  const double threshold = std::ldexp(static_cast<double>(stream()), -32) * sum;
  const auto drawn = std::ranges::upper_bound(up_to, threshold) - up_to.begin();
  return static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(drawn, std::ssize(up_to) - 1));
}

/// The next tokens, one after the other, up to the end.
/// @param next what the model says of the one after the text
result<json> go_on(const trained_run& run, const subject& target, models::examples text, federated::inference next,
                   const text_settings& settings) {
  random_stream stream(settings.seed, purpose::scored_clients, 0, draw_of_tokens);
  json tokens = json::array();
  while (tokens.size() < settings.top) {
    const auto token = settings.temperature > 0 ? draw_token(next.probabilities, settings.temperature, stream)
                                                : static_cast<std::uint32_t>(next.predictions.front());
    if (token == models::end_token) break;
    tokens.push_back(run.prepared.data.clients->feature_name(token));
    text.features.push_back(token);
    ++text.offsets.back();
    auto inferred = ask(run, target, text);
    if (!inferred) return tl::unexpected(inferred.error());
    next = std::move(*inferred);
  }
  return tokens;
}

/// True if the model predicts a token from the previous tokens; fedatt-2018 does not.
bool is_language_model(const scenarios::scenario& scenario) {
  return !scenario.model.has("protocol") || scenario.model.text("protocol") != "fedatt-2018";
}

/// The name of the label that became 1.
std::string positive_label(const scenarios::scenario& scenario) {
  return scenario.data.has("positive") ? scenario.data.text("positive") : "1";
}

std::size_t count_unknown(const models::examples& text, const models::data_facts& facts) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text.features, [&](auto token) { return token == models::unknown_token || token >= facts.words; }));
}

void add_classes(const trained_run& run, const federated::inference& said, std::size_t top, json& out) {
  const auto best = static_cast<std::uint32_t>(said.predictions.front());
  out["class"] = best;
  out["name"] = class_name(run, best);
  if (said.probabilities.empty()) return;
  out["probability"] = said.probabilities[best];
  for (const auto candidate : likeliest(said.probabilities, top))
    out["classes"].push_back(
        {{"class", candidate}, {"name", class_name(run, candidate)}, {"probability", said.probabilities[candidate]}});
}

result<void> add_continuation(const trained_run& run, const subject& target, const models::examples& text,
                              federated::inference said, const text_settings& settings, json& out) {
  if (settings.temperature > 0 && said.probabilities.empty())
    return fail(error::kind::usage, "--temperature", "the model does not know the probabilities of tokens",
                "leave it out: the most likely tokens follow");
  for (const auto token : likeliest(said.probabilities, shown_next))
    out["next"].push_back(
        {{"token", run.prepared.data.clients->feature_name(token)}, {"probability", said.probabilities[token]}});
  auto tokens = go_on(run, target, text, std::move(said), settings);
  if (!tokens) return tl::unexpected(tokens.error());
  out["goes_on"] = std::move(*tokens);
  out["separator"] = run.prepared.data.texts->separator();
  out["temperature"] = settings.temperature;
  if (settings.temperature > 0) out["seed"] = settings.seed;
  return {};
}

/// The column of a table that the run's data call so, or as everybody does.
std::string column_name(const scenarios::scenario& given, const char* option, std::string otherwise) {
  return given.data_source == "labelled-text" ? given.data.text(option) : std::move(otherwise);
}

/// The label with this name; nothing: the run has none.
std::optional<float> label_named(const trained_run& run, std::string_view name) {
  const auto facts = run.prepared.data.clients->facts();
  const auto& names = run.prepared.data.classes;
  if (run.prepared.scenario.data.has("positive"))
    return name == run.prepared.scenario.data.text("positive") ? 1.0F : 0.0F;
  if (const auto found = std::ranges::find(names, name); found != names.end())
    return static_cast<float>(found - names.begin());
  const auto number = scenarios::parse_number<std::uint32_t>(name);
  const auto classes = facts.labels == objective::logistic ? 2 : facts.classes;
  return names.empty() && number && *number < classes ? std::optional(static_cast<float>(*number)) : std::nullopt;
}

/// Texts with their labels and places.
struct own_texts {
  std::vector<std::string> texts;
  std::vector<float> labels;
  std::vector<std::string> places;

  void add(std::string_view text, float label, std::string place) {
    texts.emplace_back(text);
    labels.push_back(label);
    places.push_back(std::move(place));
  }
};

own_texts read_lines(std::string_view rest, const std::string& name) {
  own_texts own;
  rest = without_byte_order_mark(rest);
  for (std::uint64_t number = 1; !rest.empty(); ++number)
    if (const auto line = scenarios::next_line(rest); !scenarios::trimmed(line).empty())
      own.add(line, 0.0F, fmt::format("{}:{}", name, number));
  return own;
}

result<own_texts> read_labelled(const trained_run& run, std::string_view table, const std::filesystem::path& file,
                                scenarios::labelled_format format) {
  const auto& given = run.prepared.scenario;
  const bool labelled = run.prepared.data.clients->facts().labels != objective::next_token;
  const scenarios::by_column<std::string> wanted = {"", column_name(given, "text_column", "text"),
                                                    labelled ? column_name(given, "label_column", "label") : "", ""};
  own_texts own;
  const auto take = [&](const scenarios::by_column<std::string_view>& row, const std::string& place) -> result<void> {
    const auto label = labelled ? label_named(run, scenarios::trimmed(row[2])) : 0.0F;
    if (!label)
      return fail(error::kind::data, place, "the run has no class " + scenarios::shown(row[2]),
                  "furlong export --classes lists them");
    own.add(row[1], *label, place);
    return {};
  };
  if (auto read = scenarios::read_rows(table, file.string(), format, wanted, take); !read)
    return fail(error::kind::data, read.error().place, read.error().reason,
                "expected the columns " + wanted[1] + (labelled ? " and " + wanted[2] : ""));
  return own;
}

}  // namespace

result<models::examples> read_own_texts(const trained_run& run, const std::filesystem::path& file) {
  const auto& reader = run.prepared.data.texts;
  if (!reader) return fail(error::kind::usage, "--texts", "the run's data are not texts", "leave it out");
  const auto mapped = scenarios::open_text(file);
  if (!mapped) return tl::unexpected(mapped.error());
  const auto format = scenarios::format_of(file);
  const bool sequence = run.prepared.data.clients->facts().labels == objective::next_token;
  if (!format && !sequence)
    return fail(error::kind::data, file.string(), "the format cannot be derived from the file name",
                "name it .csv, .tsv or .jsonl, with the columns text and label");
  auto own = format ? read_labelled(run, mapped->bytes(), file, *format) : read_lines(mapped->bytes(), file.string());
  if (!own) return tl::unexpected(own.error());
  if (own->texts.empty()) return fail(error::kind::data, file.string(), "has no texts", "expected one text per row");
  return reader->read_all(own->texts, own->labels, own->places);
}

result<json> infer_text(const trained_run& run, const subject& target, const std::string& text,
                        const text_settings& settings) {
  if (!run.prepared.data.texts)
    return fail(error::kind::usage, "--text", "the run's data are not texts",
                "leave it out, and name a client (--client ID) or give ratings (--ratings FILE)");
  if (!is_language_model(run.prepared.scenario))
    return fail(
        error::kind::usage, "--text",
        "the run's model.protocol is \"fedatt-2018\", by which no text goes on: it predicts a word from those at "
        "its place in other texts",
        "use a run with model.protocol = \"language-model\"");
  const auto facts = run.prepared.data.clients->facts();
  const bool sequence = facts.labels == objective::next_token;
  if (settings.temperature > 0 && !sequence)
    return fail(error::kind::usage, "--temperature", "the run predicts classes, which are not drawn", "leave it out");
  const auto example = run.prepared.data.texts->read(text);
  if (!example) return tl::unexpected(example.error());
  auto inferred = ask(run, target, *example);
  if (!inferred) return tl::unexpected(inferred.error());
  json out = {{"text", text},
              {"tokens", example->features.size() - (sequence ? 1 : 0)},
              {"unknown", count_unknown(*example, facts)},
              {"personal", federated::to_string(inferred->source)}};
  if (sequence) {
    if (auto added = add_continuation(run, target, *example, std::move(*inferred), settings, out); !added)
      return tl::unexpected(added.error());
  } else if (facts.labels == objective::categorical) {
    add_classes(run, *inferred, settings.top, out);
  } else {
    out["label"] = positive_label(run.prepared.scenario);
    out["probability"] = label_scale(run)(inferred->predictions.front());
  }
  return out;
}

void print_inferred_text(const json& object) {
  fmt::print("{}: {} texts known, personal parameters: {}\n", for_terminal(object["who"].get<std::string>()),
             object["known"].get<std::size_t>(), object["personal"].get<std::string>());
  if (object["unknown"] != 0)
    fmt::print("{} of {} tokens are not in the vocabulary\n", object["unknown"].get<std::size_t>(),
               object["tokens"].get<std::size_t>());
  if (object.contains("name")) fmt::print("class {}\n", for_terminal(object["name"].get<std::string>()));
  if (object.contains("label"))
    fmt::print("probability {:.3f} of the label \"{}\"\n", object["probability"].get<double>(),
               for_terminal(object["label"].get<std::string>()));
  if (object.contains("classes"))
    for (const auto& row : object["classes"])
      fmt::print("{:>7.3f}  {}\n", row["probability"].get<double>(), for_terminal(row["name"].get<std::string>()));
  if (!object.contains("goes_on")) return;
  const auto between = object["separator"].get<std::string>();
  std::string line = object["text"].get<std::string>();
  for (const auto& token : object["goes_on"]) line += between + token.get<std::string>();
  if (object["goes_on"].empty()) line += " (end)";
  // Line by line: a character model may have learnt line ends.
  for (std::string_view rest = line; !rest.empty();) {
    const auto part = scenarios::next_line(rest);
    fmt::print("{}\n", for_terminal(part, part.size()));
  }
}

}  // namespace furlong::tools
