// furlong infer
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iostream>
#include <numeric>

#include "federated/client/inference.hpp"
#include "scenarios/data/own_ratings.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/failure.hpp"
#include "tools/cli/json.hpp"
#include "tools/cli/trained_run.hpp"
#include "tools/dashboard/plain_text.hpp"

namespace furlong::tools {

namespace {

using dashboard::for_terminal;

/// Predictions are for single features that are items, not for tokens of texts or elements of vectors.
result<void> check_items(const trained_run& run) {
  const auto facts = run.of.data.clients->facts();
  if (run.of.data.item_ids.empty() && run.of.data.texts == nullptr)
    return fail(error::kind::usage, "furlong infer",
                "predicts ratings of items, or for texts, but the run's data are vectors",
                "see what the run scores instead: furlong report");
  const bool predicts_classes =
      facts.labels == models::objective::categorical || facts.labels == models::objective::next_token;
  if (facts.words == 0 && !predicts_classes) return {};
  return fail(error::kind::usage, "furlong infer", "predicts ratings of items, but the run's data are texts",
              "give one: --text TEXT");
}

/// The subject of the predictions, and its known examples.
struct subject {
  std::string name;
  std::optional<std::uint32_t> client;
  models::examples known;
  std::vector<std::uint32_t> unknown_items;
};

result<subject> find_subject(const trained_run& run, const infer_options& options) {
  subject who;
  if (!options.client && options.ratings.empty()) {
    who.name = "somebody new";
    return who;
  }
  if (!options.client) {
    auto own = scenarios::read_own_ratings(options.ratings, run.of.data);
    if (!own) return tl::unexpected(own.error());
    who.name = "somebody new";
    who.known = std::move(own->table);
    who.unknown_items = std::move(own->unknown);
    return who;
  }
  const auto& clients = *run.of.data.clients;
  if (*options.client >= clients.facts().clients)
    return fail(error::kind::usage, "--client", std::to_string(*options.client) + " is not a client",
                "choose a number below " + std::to_string(clients.facts().clients));
  who.client = options.client;
  who.name = clients.client_name(*options.client);
  models::examples scratch;
  who.known.append(clients.load(*options.client, federated::part::train, scratch));
  return who;
}

/// Features by predicted value, highest first, without known ones.
std::vector<std::uint32_t> best_features(const std::vector<float>& predictions, const models::examples& known,
                                         std::size_t top) {
  std::vector<bool> taken(predictions.size(), false);
  for (const auto feature : known.features) taken[feature] = true;
  std::vector<std::uint32_t> order;
  for (std::uint32_t f = 0; f < predictions.size(); ++f)
    if (!taken[f]) order.push_back(f);
  const auto count = std::min(top, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count),
                            [&](auto a, auto b) { return predictions[a] > predictions[b]; });
  order.resize(count);
  return order;
}

/// The client's held-out examples with their predictions.
json held_out_json(const trained_run& run, std::uint32_t client, const std::vector<float>& predictions) {
  models::examples scratch;
  const auto test = run.of.data.clients->load(client, federated::part::test, scratch);
  json out = {{"examples", test.size()}};
  double squared = 0.0;
  for (std::size_t i = 0; i < test.size(); ++i) {
    const double miss = static_cast<double>(test.labels[i]) - predictions[test.features[i]];
    squared += miss * miss;
  }
  const bool ratings = run.of.experiment.model->objective() == models::objective::squared_error;
  if (test.size() > 0 && ratings) out["rmse"] = std::sqrt(squared / static_cast<double>(test.size()));
  return out;
}

void print_text(const json& out) {
  fmt::print("{}: {} ratings known, personal parameters: {}\n", for_terminal(out["who"].get<std::string>()),
             out["known"].get<std::size_t>(), out["personal"].get<std::string>());
  if (out.contains("unknown_items")) fmt::print("left out, not in the data: {} items\n", out["unknown_items"].size());
  if (out.contains("held_out") && out["held_out"].contains("rmse"))
    fmt::print("own held-out ratings: {}, rmse {:.3f}\n", out["held_out"]["examples"].get<std::size_t>(),
               out["held_out"]["rmse"].get<double>());
  for (const auto& item : out["top"])
    fmt::print("{:>7.3f}  {}\n", item["prediction"].get<double>(), for_terminal(item["name"].get<std::string>()));
}

result<json> infer_items(const trained_run& run, const subject& who, std::size_t top) {
  const auto& e = run.of.experiment;
  auto inferred = federated::predict_all_features(e, run.model, run.store.get(), who.client, who.known.view());
  if (!inferred) return tl::unexpected(inferred.error());
  json out = {{"personal", federated::to_string(inferred->source)}, {"top", json::array()}};
  if (!who.unknown_items.empty()) out["unknown_items"] = who.unknown_items;
  if (who.client) out["held_out"] = held_out_json(run, *who.client, inferred->predictions);
  for (const auto feature : best_features(inferred->predictions, who.known, top))
    out["top"].push_back({{"feature", feature},
                          {"name", run.of.data.clients->feature_name(feature)},
                          {"prediction", inferred->predictions[feature]}});
  return out;
}

result<json> infer(const infer_options& options) {
  if (!options.client && options.ratings.empty() && !options.text)
    return fail(error::kind::usage, "furlong infer", "has no client, ratings or text to predict for",
                "add --client ID, --ratings FILE or --text TEXT");
  auto run = open_trained_run(run_directory(options.run));
  if (!run) return tl::unexpected(run.error());
  if (!options.text)
    if (auto fits = check_items(*run); !fits) return tl::unexpected(fits.error());
  auto who = find_subject(*run, options);
  if (!who) return tl::unexpected(who.error());
  auto out = options.text ? infer_text(*run, {*options.text, who->client, who->known, options.top})
                          : infer_items(*run, *who, options.top);
  if (!out) return out;
  (*out)["who"] = who->name;
  (*out)["known"] = who->known.labels.size();
  return out;
}

}  // namespace

int infer_command(const infer_options& options) {
  const auto out = infer(options);
  if (!out) return report_failure(out.error());
  if (options.format == output_format::json)
    std::cout << json_text(*out) << '\n';
  else if (options.text)
    print_inferred_text(*out);
  else
    print_text(*out);
  return done;
}

}  // namespace furlong::tools
