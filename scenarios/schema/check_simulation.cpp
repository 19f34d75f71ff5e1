// Checks of the length of the run, its clock, devices and dropout.
#include <algorithm>
#include <array>
#include <cmath>

#include "federated/evaluation/evaluation.hpp"
#include "federated/world/devices.hpp"
#include "scenarios/schema/draft.hpp"
#include "scenarios/schema/ranking_keys.hpp"

namespace furlong::scenarios {

namespace {

constexpr std::array until_keys = {"scenario.until.rounds", "scenario.until.virtual_seconds", "scenario.until.target",
                                   "scenario.until.patience"};

bool has_until(const draft& document) {
  return document.is_set("scenario.until") ||
         std::ranges::any_of(until_keys, [&](auto key) { return document.is_set(key); });
}

/// True if a group of the evaluation has clients, as far as the data's options determine this.
bool has_group(const draft& document, std::string_view group) {
  if (document.source != nullptr && document.source->has_own_parts) return true;
  const auto none = [&](std::string_view key) { return document.good({key}) && !(document.values.number(key) > 0.0); };
  const auto no_part = [&](std::size_t part) {
    if (document.is("data.split_by", "leave-one-out")) return false;
    return document.good({"data.split"}) && document.values.numbers("data.split").size() == 3 &&
           !(document.values.numbers("data.split")[part] > 0.0);
  };
  if (group == "unseen") return !none("data.unseen_users.test");
  if (group == "seen") return !no_part(2);
  if (group == "train") return !no_part(0);
  return !none("data.unseen_users.validation") || !no_part(1);
}

/// An example figure: of a group with clients, if any, and one that fits the data's labels.
struct example_figure {
  std::string name;   ///< as TOML
  const char* bound;  ///< a reachable bound
};

example_figure example_for(const draft& document) {
  const auto options =
      document.source == nullptr ? option_values() : options_of(document, document.source->table + ".");
  const bool ratings = document.source == nullptr || !document.source->facts;
  const auto labels = ratings ? models::objective::squared_error : document.source->facts(options).labels;
  const std::string group = !has_group(document, "unseen") && has_group(document, "seen") ? "seen." : "unseen.";
  switch (labels) {
    case models::objective::squared_error: return {toml_string(group + "rmse"), "at_most = 0.9"};
    case models::objective::next_token: return {toml_string(group + "perplexity"), "at_most = 100"};
    case models::objective::logistic: return {toml_string(group + "auc"), "at_least = 0.9"};
    case models::objective::custom: return {toml_string(group + "loss"), "at_most = 0.9"};
    case models::objective::ranking: return {toml_string(group + "full_mrr"), "at_least = 0.05"};
    case models::objective::categorical: break;
  }
  return {toml_string(group + "accuracy"), "at_least = 0.9"};
}

/// The example as a value of [evaluation].
std::string example_target(const draft& document) {
  const auto example = example_for(document);
  return "{metric = " + example.name + ", " + example.bound + "}";
}

/// Exactly one of rounds, epochs and until.
void check_one_length(draft& document) {
  std::vector<std::string> given;
  for (const char* key : {"scenario.rounds", "scenario.epochs"})
    if (document.is_set(key)) given.emplace_back(key);
  if (has_until(document)) given.emplace_back("scenario.until");
  if (given.empty())
    return document.report("scenario.rounds", "is missing, and scenario.epochs and scenario.until too",
                           "add rounds = 500 to [scenario]");
  for (std::size_t i = 1; i < given.size(); ++i)
    document.report(given[i], "cannot be combined with " + given[0], "remove one of them");
}

void check_until(draft& document) {
  if (!has_until(document)) return;
  const bool timed = document.is_set("scenario.until.virtual_seconds");
  const bool counted = document.is_set("scenario.until.rounds");
  const bool aimed = document.is_set("scenario.until.target") &&
                     (!document.good({"scenario.until.target"}) || document.values.flag("scenario.until.target"));
  const bool patient = document.is_set("scenario.until.patience");
  if (!timed && !counted && !aimed && !patient)
    document.report("scenario.until", "names nothing that ends the run",
                    "write until = {virtual_seconds = 86400}, {rounds = 500}, {target = true} or {patience = 50}");
  if (!counted && document.is("algorithm.client.schedule", "linear"))
    document.report("scenario.until",
                    "leaves the number of rounds open, and client.schedule = \"linear\" needs to know it",
                    "add rounds = 500 to it");
  const bool targeted = document.is_on("scenario.until.target");
  if (targeted && !document.is_set("evaluation.target.metric"))
    return document.report("scenario.until.target", "asks for a target, and there is none",
                           "write target = " + example_target(document) + " in [evaluation]");
  if (!document.good({"evaluation.every"}) || document.values.integer("evaluation.every") > 0) return;
  for (const auto& [key, asked] :
       {std::pair("scenario.until.target", targeted), std::pair("scenario.until.patience", patient)})
    if (asked)
      document.report(key, "is looked at in evaluations, and there is none before the end",
                      "set evaluation.every above 0");
}

/// True if a group is not scored because evaluation.groups does not name it.
bool leaves_out(const draft& document, const std::string& group) {
  const std::string groups = "evaluation.groups";
  return document.good({groups}) &&
         std::ranges::find(document.values.list(groups), group) == document.values.list(groups).end();
}

/// Keys that look at a group need clients in it.
void check_group_of(draft& document, const std::string& key, const std::string& group, const std::string& otherwise) {
  if (!has_group(document, group))
    document.report(key, "is about a group with nobody in it: [data] leaves none for " + group,
                    "set data.unseen_users or data.split, or " + otherwise);
}

/// And its scores, to compare models by them.
void check_validation(draft& document, const std::string& key, const std::string& otherwise) {
  check_group_of(document, key, "validation", otherwise);
  if (leaves_out(document, "validation"))
    document.report(key, "is about the group validation, which evaluation.groups leaves out",
                    "add it there, or " + otherwise);
}

/// The figures of a model that comes with the data are its own, and those of rankings follow from keys: check_model()
/// knows them.
bool has_own_figures(const draft& of) { return of.source != nullptr && (of.source->model || ranks_items(of)); }

void check_target(draft& document) {
  const std::string metric = "evaluation.target.metric";
  const std::string most = "evaluation.target.at_most";
  const std::string least = "evaluation.target.at_least";
  if (!document.is_set(metric) && !document.is_set(most) && !document.is_set(least)) {
    if (document.is_set("evaluation.target"))
      document.report("evaluation.target", "names no figure", "write " + example_target(document));
    return;
  }
  if (!document.is_set(metric)) document.report(metric, "is missing", "add metric = " + example_for(document).name);
  if (document.is_set(most) && document.is_set(least))
    document.report(least, "cannot be combined with " + most, "remove one of them");
  if (!document.is_set(most) && !document.is_set(least))
    document.report(most, "is missing, and " + least + " too", "add at_most = ... or at_least = ...");
  if (!document.good({metric})) return;
  const auto& name = document.values.text(metric);
  const bool own_figures = has_own_figures(document);
  if (!own_figures && !federated::valid_metric(name))
    return document.report(metric, "is " + toml_string(name) + ", which is no figure of an evaluation",
                           "write validation, seen, unseen or train, a point, and " + federated::figure_names());
  const auto group = name.substr(0, name.find('.'));
  check_group_of(document, metric, group, "choose another group");
  if (!leaves_out(document, group)) return;
  if (document.is_on("scenario.until.target"))
    document.report("scenario.until.target", "is never reached: evaluation.groups leaves out " + group, "add it there");
  else
    document.notes.push_back("evaluation.target has no effect: evaluation.groups leaves out " + group);
}

void check_groups_key(draft& document) {
  const std::string key = "evaluation.groups";
  if (!document.good({key})) return;
  const auto& names = document.values.list(key);
  const auto known = "write some of " + listed({federated::group_names.begin(), federated::group_names.end()}, "and");
  if (names.empty()) document.report(key, "is empty: nothing would be scored", known);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::ranges::find(federated::group_names, names[i]) == federated::group_names.end())
      document.report_item(key, i, "is " + toml_string(names[i]) + ", which is no group of clients that are scored",
                           known);
    else if (std::find(names.begin(), names.end(), names[i]) < names.begin() + static_cast<std::ptrdiff_t>(i))
      document.report_item(key, i, "is repeated", "remove it");
    else if (names[i] == "train" && document.exceeds("topology.nodes"))
      document.report_item(key, i, "is \"train\", which federations do not score", "remove it, or topology.nodes");
    else if (document.is_changed(key))
      check_group_of(document, key, names[i], "choose other groups");
}

/// The keys that compare models by a figure of the validation clients.
void check_comparison(draft& document) {
  const std::string select = "evaluation.select";
  const std::string metric = "evaluation.metric";
  if (document.is(select, "best")) {
    check_validation(document, select, "choose \"last\"");
    if (document.good({"evaluation.every"}) && document.values.integer("evaluation.every") == 0)
      document.notes.push_back(select +
                               " has no effect: evaluation.every = 0, so that only the last model is evaluated");
  }
  if (document.is_set("scenario.until.patience")) check_validation(document, "scenario.until.patience", "remove it");
  if (!document.is_set(metric) || !document.good({metric}) || document.values.text(metric).empty()) return;
  const bool own_figures = has_own_figures(document);
  const auto& figure = document.values.text(metric);
  if (!own_figures && !federated::valid_metric("validation." + figure))
    return document.report(metric, "is " + toml_string(figure) + ", which is no figure of an evaluation",
                           "write " + federated::figure_names());
  check_validation(document, metric, "remove it");
}

/// The keys in use that only a simulation supports; of [devices] the first one.
std::vector<std::string> simulated_keys(const draft& document) {
  std::vector<std::string> found;
  const auto add_if = [&](bool asked, const char* key) {
    if (asked) found.emplace_back(key);
  };
  add_if(document.is_set("scenario.until.virtual_seconds"), "scenario.until.virtual_seconds");
  const bool async = document.is("participation.mode", "async");
  add_if(async, "participation.mode");
  add_if(!async && document.exceeds("participation.deadline"), "participation.deadline");
  add_if(!async && document.exceeds("participation.over_selection", 1.0), "participation.over_selection");
  add_if(!async && document.exceeds("participation.selection_timeout"), "participation.selection_timeout");
  const std::string reconnect = "participation.reconnect";
  add_if(document.good({reconnect}) &&
             std::ranges::any_of(document.values.numbers(reconnect), [](double s) { return s > 0.0; }),
         "participation.reconnect");
  const auto keys = schema_keys(document.source, document.kind, document.algorithm, document.rule);
  const auto device = std::ranges::find_if(keys, [&](const key_spec& spec) {
    return spec.option.name.starts_with("devices.") && document.is_changed(spec.option.name);
  });
  if (device != keys.end())
    found.push_back(device->option.name);
  else
    add_if(document.records.contains("devices.classes"), "devices.classes");
  for (const char* rate : {"dropout.download", "dropout.train", "dropout.upload"}) add_if(document.exceeds(rate), rate);
  add_if(document.good({"attack.kind"}) && !document.is("attack.kind", "none"), "attack.kind");
  add_if(document.exceeds("topology.nodes"), "topology.nodes");
  add_if(document.records.contains("event"), "event");
  add_if(document.exceeds("checkpoint.keep"), "checkpoint.keep");
  return found;
}

void check_clock(draft& document) {
  if (!document.good({"scenario.clock"}) || document.algorithm == nullptr) return;
  const bool real = document.values.text("scenario.clock") == "real";
  if (document.algorithm->traits.sends && !real) return;
  for (const auto& key : simulated_keys(document))
    if (!document.algorithm->traits.sends)
      report_unsent(document, key, "no client is selected");
    else
      document.report(key, "needs virtual time, and scenario.clock is \"real\"",
                      "write clock = \"virtual\" in [scenario], or remove it");
}

void check_availability(draft& document) {
  const std::string table = "devices.availability.";
  if (!document.good({table + "kind"})) return;
  const auto kind = document.values.text(table + "kind");
  if (document.availability != nullptr && document.availability->check) document.availability->check(document);
  if (kind == "trace" || kind == "always")
    note_unused(
        document, "devices.correlation", {"speed_availability", "availability_taste"},
        kind == "trace" ? "the trace says when a client is available" : "devices.availability.kind is \"always\"");
  if (kind == "trace" && !document.is_set(table + "trace"))
    document.report(table + "trace", "is missing", "add trace = \"file.csv\"");
  if (kind == "trace" && document.good({table + "trace"}) && document.values.text(table + "trace").empty())
    document.report(table + "trace", "is empty", "write trace = \"file.csv\"");
  if (kind == "markov" && document.good({table + "mean_online", table + "step"}) &&
      document.values.number(table + "mean_online") < document.values.number(table + "step"))
    document.report(table + "mean_online", "is shorter than a slot, and a spell lasts one slot at least",
                    "raise it to devices.availability.step, or lower that");
  const double rate = document.good({table + "rate"}) ? document.values.number(table + "rate") : 1.0;
  if (kind == "markov" && rate < 1.0 && document.good({table + "mean_online", table + "step"}))
    if (const double shortest = document.values.number(table + "step") * rate / (1.0 - rate);
        document.values.number(table + "mean_online") < shortest * (1.0 - 1e-9))
      document.notes.push_back(table + "mean_online has no effect: unavailable spells last a slot (" + table +
                               "step) at least, so that available ones last " + number_text(shortest) +
                               " s on average");
  if (kind == "diurnal" && document.good({table + "rate", table + "swing"}))
    if (const double swing = document.values.number(table + "swing"); rate * 2.0 * swing / (swing + 1.0) > 1.0)
      document.notes.push_back(
          "devices.availability: rate and swing ask for more than all clients at the best hour; they are cut to all");
}

void check_devices(draft& document) {
  check_availability(document);
  const std::string table = "devices.correlation.";
  if (document.good({table + "speed_availability", table + "speed_taste", table + "availability_taste"})) {
    const double sa = document.values.number(table + "speed_availability");
    const double st = document.values.number(table + "speed_taste");
    const double taste = document.values.number(table + "availability_taste");
    if (!federated::can_hold(sa, st, taste))
      document.report("devices.correlation", "cannot hold: two that are strong bound the third",
                      "bring them closer to 0, or make their signs agree");
  }
  const std::string sigma = "devices.speed.sigma";
  const auto classes = document.records.find("devices.classes");
  if (classes == document.records.end()) {
    if (document.good({sigma}) && document.values.number(sigma) == 0.0)
      note_unused(document, "devices.correlation", {"speed_taste"},
                  "all devices are equally fast (" + sigma + " is 0)");
    return;
  }
  if (classes->second.size() == 1)
    note_unused(document, "devices.correlation", {"speed_taste"}, "all devices are of one class");
  for (const char* key : {"speed.ms_per_example", "speed.sigma", "network.mbit", "network.sigma"})
    if (const auto name = std::string("devices.") + key; document.is_changed(name))
      document.notes.push_back(name + " has no effect: devices.classes says how fast devices are");
}

void check_dropout(draft& document) {
  const bool aborts = document.is("dropout.policy", "abort");
  if (!aborts || document.is_set("scenario.until.virtual_seconds")) return;
  for (const char* key : {"dropout.download", "dropout.train", "dropout.upload"})
    if (document.good({key}) && document.values.number(key) >= 1.0)
      return document.report(key, "lets no client report, so that no round would ever be done",
                             "lower it, or bound the run by until = {virtual_seconds = ...}");
}

}  // namespace

void check_simulation(draft& document) {
  check_one_length(document);
  check_until(document);
  check_target(document);
  check_groups_key(document);
  check_comparison(document);
  check_clock(document);
  check_devices(document);
  check_dropout(document);
  if (document.good({"checkpoint.keep", "topology.nodes"}) && document.values.integer("checkpoint.keep") > 0 &&
      document.values.integer("topology.nodes") > 0)
    document.report("checkpoint.keep", "is for replays, which simulate clients without nodes only",
                    "remove it, or topology.nodes");
}

}  // namespace furlong::scenarios
