#include "tools/cli/trained_run.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "federated/client/inference.hpp"
#include "federated/round.hpp"
#include "federated/settings/private_values.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "scenarios/data/text_files.hpp"
#include "storage/checkpoint.hpp"
#include "tools/cli/failure.hpp"
#include "tools/cli/session.hpp"
#include "tools/dashboard/plain_text.hpp"

namespace furlong::tools {

namespace {

/// A diverged model makes no predictions.
result<void> check_sound(const federated::protocol::server_state& state, const std::filesystem::path& run) {
  const auto values = state.chosen().model.values();
  const bool finite = std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
  if (finite && state.losses.diverged.empty()) return {};
  return fail(error::kind::runtime, run.string(),
              std::string(divergence_text) + ": " + (finite ? state.losses.diverged : "the model is not finite"),
              "train with a lower algorithm.client.lr or algorithm.server.lr");
}

using dashboard::for_terminal;
using models::objective;

result<federated::inference> ask(const trained_run& run, const text_question& question, const models::examples& text) {
  return federated::predict_examples(run.of.experiment, run.model, run.store.get(), question.client,
                                     question.known.view(), text.view());
}

std::string class_name(const trained_run& run, std::uint32_t number) {
  const auto& names = run.of.data.classes;
  return number < names.size() ? names[number] : std::to_string(number);
}

/// The most likely next tokens, one after the other, up to the end.
/// @param first prediction of the one after the text
result<json> go_on(const trained_run& run, const text_question& question, models::examples text, float first) {
  json tokens = json::array();
  auto next = static_cast<std::uint32_t>(first);
  while (next != models::end_token && tokens.size() < question.most) {
    tokens.push_back(run.of.data.clients->feature_name(next));
    text.features.push_back(next);
    ++text.offsets.back();
    const auto inferred = ask(run, question, text);
    if (!inferred) return tl::unexpected(inferred.error());
    next = static_cast<std::uint32_t>(inferred->predictions.front());
  }
  return tokens;
}

/// True if the model predicts a token from the previous tokens; fedatt-2018 does not.
bool is_language_model(const scenarios::scenario& of) {
  return !of.model.has("protocol") || of.model.text("protocol") != "fedatt-2018";
}

/// The name of the label that became 1.
std::string positive_label(const scenarios::scenario& of) {
  return of.data.has("positive") ? of.data.text("positive") : "1";
}

std::size_t count_unknown(const models::examples& text, const models::data_facts& facts) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text.features, [&](auto token) { return token == models::unknown_token || token >= facts.words; }));
}

}  // namespace

result<trained_run> open_trained_run(const run_directory& folder) {
  auto scenario = scenarios::parse_scenario(folder.scenario());
  if (!scenario) return fail(error::kind::data, "", scenario.error().front().text(), "name the folder of a run");
  auto ready = open_session(std::move(*scenario));
  if (!ready) return tl::unexpected(ready.error());
  const auto is_right = [&](const storage::checkpoint_origin& from) {
    return check_same_data(*ready, from.data_sha256, folder.root());
  };
  auto state = storage::read_checkpoint(folder.checkpoint(), ready->experiment.parts, is_right);
  if (!state) return tl::unexpected(state.error());
  const auto& chosen = state->chosen();
  if (auto sound = check_sound(*state, folder.root()); !sound) return tl::unexpected(sound.error());
  auto sent = federated::sent_model(ready->experiment, chosen);
  trained_run run{std::move(*ready), std::move(sent), std::move(state->best ? state->best->model : state->model),
                  nullptr};
  if (!std::filesystem::exists(folder.private_store())) return run;
  if (!std::filesystem::exists(folder.summary()))  // stored values may be newer than the checkpoint's model
    return fail(error::kind::usage, folder.root().string(), "the run has not ended", "let it end with run --resume");
  auto store = storage::rocks_store::inspect(folder.private_store(), storage::store_access::read,
                                             run.of.experiment.settings.own->key_file);
  if (!store) return tl::unexpected(store.error());
  if (auto fits = (*store)->check_fits(state->version, state->private_save); !fits) return tl::unexpected(fits.error());
  run.store = std::move(*store);
  return run;
}

result<json> infer_text(const trained_run& run, const text_question& question) {
  if (!run.of.data.texts)
    return fail(error::kind::usage, "--text", "the run's data are not texts",
                "leave it out, and name a client (--client ID) or give ratings (--ratings FILE)");
  if (!is_language_model(run.of.scenario))
    return fail(
        error::kind::usage, "--text",
        "the run's model.protocol is \"fedatt-2018\", by which no text goes on: it predicts a word from those at "
        "its place in other texts",
        "use a run with model.protocol = \"language-model\"");
  const auto text = run.of.data.texts->read(question.text);
  if (!text) return tl::unexpected(text.error());
  const auto inferred = ask(run, question, *text);
  if (!inferred) return tl::unexpected(inferred.error());
  const auto facts = run.of.data.clients->facts();
  const bool sequence = facts.labels == objective::next_token;
  json out = {{"text", question.text},
              {"tokens", text->features.size() - (sequence ? 1 : 0)},
              {"unknown", count_unknown(*text, facts)},
              {"personal", federated::to_string(inferred->source)}};
  const auto prediction = inferred->predictions.front();
  if (facts.labels == objective::categorical) {
    out["class"] = static_cast<std::uint32_t>(prediction);
    out["name"] = class_name(run, static_cast<std::uint32_t>(prediction));
  } else if (sequence) {
    auto tokens = go_on(run, question, *text, prediction);
    if (!tokens) return tokens;
    out["goes_on"] = std::move(*tokens);
    out["separator"] = run.of.data.texts->separator();
  } else {
    out["label"] = positive_label(run.of.scenario);
    out["probability"] = 1.0 / (1.0 + std::exp(-static_cast<double>(prediction)));
  }
  return out;
}

void print_inferred_text(const json& from) {
  fmt::print("{}: {} texts known, personal parameters: {}\n", for_terminal(from["who"].get<std::string>()),
             from["known"].get<std::size_t>(), from["personal"].get<std::string>());
  if (from["unknown"] != 0)
    fmt::print("{} of {} tokens are not in the vocabulary\n", from["unknown"].get<std::size_t>(),
               from["tokens"].get<std::size_t>());
  if (from.contains("name")) fmt::print("class {}\n", for_terminal(from["name"].get<std::string>()));
  if (from.contains("probability"))
    fmt::print("probability {:.3f} of the label \"{}\"\n", from["probability"].get<double>(),
               for_terminal(from["label"].get<std::string>()));
  if (!from.contains("goes_on")) return;
  const auto between = from["separator"].get<std::string>();
  std::string line = from["text"].get<std::string>();
  for (const auto& token : from["goes_on"]) line += between + token.get<std::string>();
  if (from["goes_on"].empty()) line += " (end)";
  // Line by line: a character model may have learnt line ends.
  for (std::string_view rest = line; !rest.empty();) {
    const auto one = scenarios::next_line(rest);
    fmt::print("{}\n", for_terminal(one, one.size()));
  }
}

}  // namespace furlong::tools
