// furlong infer
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iostream>

#include "base/exact_math.hpp"
#include "base/parse_number.hpp"
#include "base/plain_text.hpp"
#include "federated/client/inference.hpp"
#include "federated/ranking/metrics.hpp"
#include "scenarios/data/own_interactions.hpp"
#include "scenarios/data/own_ratings.hpp"
#include "scenarios/python/algorithm.hpp"
#include "scenarios/python/problem.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/cli/infer.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/json.hpp"

namespace furlong::tools {

namespace {

bool ranks_items(const trained_run& run) {
  return run.prepared.experiment.model->objective() == models::objective::ranking;
}

/// Predictions are for single features that are items, not for tokens of texts or elements of vectors.
result<void> check_items(const trained_run& run) {
  const auto facts = run.prepared.data.clients->facts();
  if (run.prepared.data.item_ids.empty() && run.prepared.data.item_names.empty() && run.prepared.data.texts == nullptr)
    return fail(error::kind::usage, "infer", "predicts ratings of items, or for texts, but the run's data are vectors",
                "see what the run scores instead: furlong report");
  const bool predicts_classes =
      facts.labels == models::objective::categorical || facts.labels == models::objective::next_token;
  if (facts.words == 0 && !predicts_classes) return {};
  return fail(error::kind::usage, "infer", "predicts ratings of items, but the run's data are texts",
              "give one: --text TEXT");
}

/// The client with this name in the data.
result<std::uint32_t> client_named(const trained_run& run, const std::string& name) {
  const auto& clients = *run.prepared.data.clients;
  for (std::uint32_t client = 0; client < clients.facts().clients; ++client)
    if (clients.client_name(client) == name) return client;
  return fail(error::kind::usage, "--user", "\"" + name + "\" is no client's name in the data",
              "name a client by its number: --client ID");
}

result<subject> find_subject(const trained_run& run, const infer_options& options) {
  if (options.client) return subject_of(run, *options.client);
  if (!options.user.empty()) {
    const auto client = client_named(run, options.user);
    if (!client) return tl::unexpected(client.error());
    return subject_of(run, *client);
  }
  subject target;
  if (!options.texts.empty()) {
    auto own = read_own_texts(run, options.texts);
    if (!own) return tl::unexpected(own.error());
    target.known = std::move(*own);
  }
  if (options.ratings.empty()) return target;
  if (ranks_items(run)) {
    auto own = scenarios::read_own_interactions(options.ratings, run.prepared.data);
    if (!own) return tl::unexpected(own.error());
    target.known = std::move(own->table);
    target.unknown_items = std::move(own->unknown);
  } else {
    auto own = scenarios::read_own_ratings(options.ratings, run.prepared.data);
    if (!own) return tl::unexpected(own.error());
    target.known = std::move(own->table);
    for (const auto id : own->unknown) target.unknown_items.push_back(std::to_string(id));
  }
  target.left_out = target.known.features;
  return target;
}

/// Of each held-out item its place among the items that the client does not know, ties counted half.
json held_out_places(const trained_run& run, const models::examples_view& test, const subject& person,
                     const std::vector<float>& predictions) {
  json places = json::array();
  for (const auto item : test.features) {
    double place = 1.0;
    for (std::uint32_t candidate = 0; candidate < predictions.size(); ++candidate)
      if (candidate != item && std::ranges::find(person.left_out, candidate) == person.left_out.end())
        place += predictions[candidate] > predictions[item]    ? 1.0
                 : predictions[candidate] == predictions[item] ? 0.5
                                                               : 0.0;
    places.push_back({{"feature", item}, {"name", run.prepared.data.clients->feature_name(item)}, {"place", place}});
  }
  return places;
}

/// The client's held-out examples with their predictions as they are shown.
json held_out_json(const trained_run& run, const subject& person, const std::vector<float>& predictions,
                   const label_scale& scale) {
  models::examples scratch;
  const auto test = run.prepared.data.clients->load(*person.client, federated::part::test, scratch);
  json out = {{"examples", test.size()}};
  if (ranks_items(run)) {
    out["items"] = held_out_places(run, test, person, predictions);
    return out;
  }
  double squared = 0.0;
  for (std::size_t i = 0; i < test.size(); ++i) {
    const double miss = static_cast<double>(test.labels[i]) - scale(predictions[test.features[i]]);
    squared += miss * miss;
  }
  const bool ratings = run.prepared.experiment.model->objective() == models::objective::squared_error;
  if (test.size() > 0 && ratings) out["rmse"] = std::sqrt(squared / static_cast<double>(test.size()));
  return out;
}

void print_text(const json& out) {
  fmt::print("{}: {} {} known, personal parameters: {}\n", for_terminal(out["who"].get<std::string>()),
             out["known"].get<std::size_t>(), out["scale"] == "score" ? "interactions" : "ratings",
             out["personal"].get<std::string>());
  if (out.contains("unknown_items")) fmt::print("left out, not in the data: {} items\n", out["unknown_items"].size());
  if (out.contains("held_out") && out["held_out"].contains("rmse"))
    fmt::print("own held-out ratings: {}, rmse {:.3f}\n", out["held_out"]["examples"].get<std::size_t>(),
               out["held_out"]["rmse"].get<double>());
  if (out.contains("held_out") && out["held_out"].contains("items"))
    for (const auto& item : out["held_out"]["items"])
      fmt::print("own held-out item: place {}, {}\n", item["place"].get<double>(),
                 for_terminal(item["name"].get<std::string>()));
  for (const auto& item : out["top"])
    fmt::print("{:>7.3f}  {}\n", item["prediction"].get<double>(), for_terminal(item["name"].get<std::string>()));
}

result<json> infer_items(const trained_run& run, const subject& target, std::size_t top) {
  const auto& experiment = run.prepared.experiment;
  auto inferred =
      federated::predict_all_features(experiment, run.model, run.store.get(), target.client, target.known.view());
  if (!inferred) return tl::unexpected(inferred.error());
  const label_scale scale(run);
  json out = {{"personal", federated::to_string(inferred->source)}, {"scale", scale.name()}};
  if (const auto& range = scale.range()) out["range"] = {range->first, range->second};
  out["top"] = json::array();
  for (const auto& id : target.unknown_items) {
    const auto number = run.prepared.data.item_names.empty() ? parse_number<std::uint32_t>(id) : std::nullopt;
    out["unknown_items"].push_back(number ? json(*number) : json(id));
  }
  if (target.client) out["held_out"] = held_out_json(run, target, inferred->predictions, scale);
  for (const auto feature : best_features(inferred->predictions, target, top))
    out["top"].push_back({{"feature", feature},
                          {"name", run.prepared.data.clients->feature_name(feature)},
                          {"prediction", scale(inferred->predictions[feature])}});
  return out;
}

/// What a problem of another program predicts for a client's test examples, or for all of an unseen client.
result<json> infer_problem(const trained_run& run, const subject& target) try {
  using federated::part;
  const auto& clients = *run.prepared.data.clients;
  const bool seen = std::ranges::binary_search(clients.training(), *target.client);
  models::examples questions;
  json out = {{"predictions", json::array()}};
  for (const auto which : {part::train, part::validation, part::test}) {
    if (seen && which != part::test) continue;
    models::examples scratch;
    questions.append(clients.load(*target.client, which, scratch));
    // As the class numbers them.
    std::sort(questions.features.end() - clients.count(*target.client, which), questions.features.end());
    const auto* name = which == part::train ? "train" : which == part::test ? "test" : "validation";
    for (std::uint32_t i = 0; i < clients.count(*target.client, which); ++i)
      out["predictions"].push_back({{"part", name}, {"example", i}});
  }
  if (questions.labels.empty())
    return fail(error::kind::usage, "client " + std::to_string(*target.client), "has no test examples to predict",
                "name another");
  const auto say = [&](auto& task, const auto& kind, const models::examples_view&, const models::examples_view& asked) {
    const auto said = json::parse(scenarios::predict(*run.prepared.data.problem, task, kind, asked.features));
    for (std::size_t i = 0; i < said.size(); ++i) out["predictions"][i]["prediction"] = said[i];
  };
  auto source = federated::with_personal_model(run.prepared.experiment, run.model, run.store.get(), target.client,
                                               target.known.view(), questions.view(), say);
  if (!source) return tl::unexpected(source.error());
  out["personal"] = federated::to_string(*source);
  return out;
} catch (const models::model_failure& failed) {
  return tl::unexpected(failed.why);
}

void print_predictions(const json& out) {
  fmt::print("{}: {} examples known, personal parameters: {}\n", for_terminal(out["who"].get<std::string>()),
             out["known"].get<std::size_t>(), out["personal"].get<std::string>());
  for (const auto& prediction : out["predictions"])
    fmt::print("{:>10} {:>6}  {}\n", prediction["part"].get<std::string>(), prediction["example"].get<std::size_t>(),
               for_terminal(prediction["prediction"].dump()));
}

result<json> infer_for(const trained_run& run, const subject& target, const infer_options& options) {
  if (options.text) return infer_text(run, target, *options.text, {options.top, options.temperature, options.seed});
  return run.prepared.data.problem != nullptr ? infer_problem(run, target) : infer_items(run, target, options.top);
}

bool names_client(const infer_options& options) { return options.client || !options.user.empty(); }

/// Options that do not go together with the run.
result<void> check_options(const infer_options& options, const trained_run& run) {
  // A problem's examples are its own: nobody can give others.
  const bool problem = run.prepared.data.problem != nullptr;
  if (problem && (!names_client(options) || options.text))
    return fail(error::kind::usage,
                options.text            ? "--text"
                : options.batch.empty() ? "--ratings"
                                        : "--batch",
                "the run's examples are those of its Python class", "name a client: --client ID");
  if (options.text || problem || (!options.batch.empty() && run.prepared.data.texts != nullptr)) return {};
  if (options.temperature > 0)
    return fail(error::kind::usage, "--temperature", "the run predicts items, which are not drawn", "leave it out");
  return check_items(run);
}

result<json> infer(const infer_options& options, const trained_run& run) {
  auto target = find_subject(run, options);
  if (!target) return tl::unexpected(target.error());
  auto out = infer_for(run, *target, options);
  if (!out) return out;
  (*out)["who"] = target->name;
  if (target->client) (*out)["client"] = *target->client;
  (*out)["known"] = target->known.labels.size();
  return out;
}

int answer(const infer_options& options, const trained_run& run) {
  if (!options.batch.empty()) {
    const auto table = infer_batch(run, options);
    if (!table) return report_failure(table.error());
    std::cout << *table;
    return done;
  }
  const auto out = infer(options, run);
  if (!out) return report_failure(out.error());
  if (options.format == output_format::json)
    std::cout << json_text(*out) << '\n';
  else if (options.text)
    print_inferred_text(*out);
  else if (out->contains("predictions"))
    print_predictions(*out);
  else
    print_text(*out);
  return done;
}

}  // namespace

result<subject> subject_of(const trained_run& run, std::uint32_t client) {
  const auto& clients = *run.prepared.data.clients;
  if (client >= clients.facts().clients)
    return fail(error::kind::usage, "--client", std::to_string(client) + " is not a client",
                "choose a number below " + std::to_string(clients.facts().clients));
  if (auto complete = check_private_values(run, client); !complete) return tl::unexpected(complete.error());
  subject target;
  target.client = client;
  target.name = clients.client_name(client);
  models::examples scratch;
  target.known.append(clients.load(client, federated::part::train, scratch));
  target.left_out = target.known.features;
  if (!ranks_items(run)) return target;
  scratch.clear();
  const auto validation = clients.load(client, federated::part::validation, scratch).features;
  target.left_out.insert(target.left_out.end(), validation.begin(), validation.end());
  return target;
}

label_scale::label_scale(const trained_run& run)
    : ranks_(ranks_items(run)),
      probability_(run.prepared.experiment.model->objective() == models::objective::logistic) {
  const auto& data = run.prepared.data;
  if (run.prepared.experiment.model->objective() == models::objective::squared_error && std::isfinite(data.label_low) &&
      std::isfinite(data.label_high))
    range_.emplace(data.label_low, data.label_high);
}

double label_scale::operator()(float said) const {
  if (probability_) return 1.0 / (1.0 + exact::exp(-static_cast<double>(said)));
  return range_ ? std::clamp(said, range_->first, range_->second) : said;
}

std::vector<std::uint32_t> best_features(const std::vector<float>& predictions, const subject& person,
                                         std::size_t top) {
  std::vector<std::uint8_t> taken(predictions.size());
  for (const auto feature : person.left_out) taken[feature] = 1;
  std::vector<std::uint32_t> best;
  federated::ranking::find_best(predictions, taken, top, best);
  return best;
}

namespace {

int infer_command(const infer_options& options) {
  if (!names_client(options) && options.ratings.empty() && !options.text && options.batch.empty())
    return report_failure({error::kind::usage, "infer", "has no client, ratings or text to predict for",
                           "add --client ID, --ratings FILE or --text TEXT, or --batch FILE"});
  auto run = open_trained_run(run_directory(options.run), clients_are::without_devices);
  if (!run) return report_failure(run.error());
  if (auto fits = check_options(options, *run); !fits) return report_failure(fits.error());
  return answer(options, *run);
}

}  // namespace

void add_infer(CLI::App& app, command& chosen) {
  const auto [sub, options] =
      add_command(app, chosen, "infer", "predict for a client of a run, or for somebody new", infer_command);
  sub->add_option("run", options->run, "run directory")->required()->option_text("RUN");
  auto* group = sub->add_option_group("who")->require_option(0, 1);
  group->add_option("--client", options->client, "a client, by its number")
      ->transform(client_number())
      ->option_text("ID");
  group->add_option("--user", options->user, "a client, by its name in the data")->option_text("NAME");
  auto* ratings =
      group->add_option("--ratings", options->ratings,
                        "a file of one person's ratings within the range of the data, one item,rating per line; of a "
                        "run on interactions of one person's items, one per line");
  ratings->option_text("FILE");
  auto* texts = group->add_option("--texts", options->texts,
                                  "with --text: a file of one person's texts, CSV with columns text and label, or one "
                                  "per line; the model is adapted to them");
  texts->option_text("FILE");
  auto* batch =
      group->add_option("--batch", options->batch,
                        "a table of questions, CSV with columns client or user, item or text, and id; prints CSV");
  batch->option_text("FILE");
  auto* text =
      sub->add_option("--text", options->text, "a text to classify or to continue; for a new person without --client");
  text->option_text("TEXT")->excludes(ratings)->excludes(batch);
  texts->needs(text);
  sub->add_option("--top", options->top,
                  "number of items to recommend, of classes to list, or of tokens to add: 1 to 1000 (default 10)")
      ->transform(whole_number(1, 1000))
      ->option_text("N");
  auto* temperature = sub->add_option(
      "--temperature", options->temperature,
      "temperature at which the next tokens of a text are sampled, up to 100; 1: the model's probabilities "
      "(default 0: the most likely token)");
  temperature->check(number_between(0.0, 100.0))->option_text("T");
  sub->add_option("--seed", options->seed, "of the draws (default 1)")
      ->transform(whole_number(0, UINT64_MAX))
      ->option_text("N")
      ->needs(temperature);
  add_format(sub, options->format);
  batch->excludes(sub->get_option("--format"));
}

}  // namespace furlong::tools
