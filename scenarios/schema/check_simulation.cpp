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

bool has_until(const draft& of) {
  return of.is_set("scenario.until") || std::ranges::any_of(until_keys, [&](auto key) { return of.is_set(key); });
}

/// True if a group of the evaluation has clients, as far as the data's options determine this.
bool has_group(const draft& of, std::string_view group) {
  if (of.source != nullptr && of.source->has_own_parts) return true;
  const auto none = [&](std::string_view key) { return of.good({key}) && !(of.values.number(key) > 0.0); };
  const auto no_part = [&](std::size_t part) {
    if (of.is("data.split_by", "leave-one-out")) return false;
    return of.good({"data.split"}) && of.values.numbers("data.split").size() == 3 &&
           !(of.values.numbers("data.split")[part] > 0.0);
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

example_figure example_for(const draft& of) {
  const auto options = of.source == nullptr ? option_values() : options_of(of, of.source->table + ".");
  const bool ratings = of.source == nullptr || !of.source->facts;
  const auto labels = ratings ? models::objective::squared_error : of.source->facts(options).labels;
  const std::string group = !has_group(of, "unseen") && has_group(of, "seen") ? "seen." : "unseen.";
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
std::string example_target(const draft& of) {
  const auto example = example_for(of);
  return "{metric = " + example.name + ", " + example.bound + "}";
}

/// Exactly one of rounds, epochs and until.
void check_one_length(draft& of) {
  std::vector<std::string> given;
  for (const char* key : {"scenario.rounds", "scenario.epochs"})
    if (of.is_set(key)) given.emplace_back(key);
  if (has_until(of)) given.emplace_back("scenario.until");
  if (given.empty())
    return of.report("scenario.rounds", "is missing, and scenario.epochs and scenario.until too",
                     "add rounds = 500 to [scenario]");
  for (std::size_t i = 1; i < given.size(); ++i)
    of.report(given[i], "cannot be combined with " + given[0], "remove one of them");
}

void check_until(draft& of) {
  if (!has_until(of)) return;
  const bool timed = of.is_set("scenario.until.virtual_seconds");
  const bool counted = of.is_set("scenario.until.rounds");
  const bool aimed = of.is_set("scenario.until.target") &&
                     (!of.good({"scenario.until.target"}) || of.values.flag("scenario.until.target"));
  const bool patient = of.is_set("scenario.until.patience");
  if (!timed && !counted && !aimed && !patient)
    of.report("scenario.until", "names nothing that ends the run",
              "write until = {virtual_seconds = 86400}, {rounds = 500}, {target = true} or {patience = 50}");
  if (!counted && of.is("algorithm.client.schedule", "linear"))
    of.report("scenario.until", "leaves the number of rounds open, and client.schedule = \"linear\" needs to know it",
              "add rounds = 500 to it");
  const bool targeted = of.is_on("scenario.until.target");
  if (targeted && !of.is_set("evaluation.target.metric"))
    return of.report("scenario.until.target", "asks for a target, and there is none",
                     "write target = " + example_target(of) + " in [evaluation]");
  if (!of.good({"evaluation.every"}) || of.values.integer("evaluation.every") > 0) return;
  for (const auto& [key, asked] :
       {std::pair("scenario.until.target", targeted), std::pair("scenario.until.patience", patient)})
    if (asked)
      of.report(key, "is looked at in evaluations, and there is none before the end", "set evaluation.every above 0");
}

/// True if a group is not scored because evaluation.groups does not name it.
bool leaves_out(const draft& of, const std::string& group) {
  const std::string groups = "evaluation.groups";
  return of.good({groups}) && std::ranges::find(of.values.list(groups), group) == of.values.list(groups).end();
}

/// Keys that look at a group need clients in it.
void check_group_of(draft& of, const std::string& key, const std::string& group, const std::string& otherwise) {
  if (!has_group(of, group))
    of.report(key, "is about a group with nobody in it: [data] leaves none for " + group,
              "set data.unseen_users or data.split, or " + otherwise);
}

/// And its scores, to compare models by them.
void check_validation(draft& of, const std::string& key, const std::string& otherwise) {
  check_group_of(of, key, "validation", otherwise);
  if (leaves_out(of, "validation"))
    of.report(key, "is about the group validation, which evaluation.groups leaves out",
              "add it there, or " + otherwise);
}

/// The figures of a model that comes with the data are its own, and those of rankings follow from keys: check_model()
/// knows them.
bool has_own_figures(const draft& of) { return of.source != nullptr && (of.source->model || ranks_items(of)); }

void check_target(draft& of) {
  const std::string metric = "evaluation.target.metric";
  const std::string most = "evaluation.target.at_most";
  const std::string least = "evaluation.target.at_least";
  if (!of.is_set(metric) && !of.is_set(most) && !of.is_set(least)) {
    if (of.is_set("evaluation.target"))
      of.report("evaluation.target", "names no figure", "write " + example_target(of));
    return;
  }
  if (!of.is_set(metric)) of.report(metric, "is missing", "add metric = " + example_for(of).name);
  if (of.is_set(most) && of.is_set(least)) of.report(least, "cannot be combined with " + most, "remove one of them");
  if (!of.is_set(most) && !of.is_set(least))
    of.report(most, "is missing, and " + least + " too", "add at_most = ... or at_least = ...");
  if (!of.good({metric})) return;
  const auto& name = of.values.text(metric);
  const bool own_figures = has_own_figures(of);
  if (!own_figures && !federated::valid_metric(name))
    return of.report(metric, "is " + toml_string(name) + ", which is no figure of an evaluation",
                     "write validation, seen, unseen or train, a point, and " + federated::figure_names());
  const auto group = name.substr(0, name.find('.'));
  check_group_of(of, metric, group, "choose another group");
  if (!leaves_out(of, group)) return;
  if (of.is_on("scenario.until.target"))
    of.report("scenario.until.target", "is never reached: evaluation.groups leaves out " + group, "add it there");
  else
    of.notes.push_back("evaluation.target has no effect: evaluation.groups leaves out " + group);
}

void check_groups_key(draft& of) {
  const std::string key = "evaluation.groups";
  if (!of.good({key})) return;
  const auto& names = of.values.list(key);
  const auto known = "write some of " + listed({federated::group_names.begin(), federated::group_names.end()}, "and");
  if (names.empty()) of.report(key, "is empty: nothing would be scored", known);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::ranges::find(federated::group_names, names[i]) == federated::group_names.end())
      of.report_item(key, i, "is " + toml_string(names[i]) + ", which is no group of clients that are scored", known);
    else if (std::find(names.begin(), names.end(), names[i]) < names.begin() + static_cast<std::ptrdiff_t>(i))
      of.report_item(key, i, "is repeated", "remove it");
    else if (names[i] == "train" && of.exceeds("topology.nodes"))
      of.report_item(key, i, "is \"train\", which federations do not score", "remove it, or topology.nodes");
    else if (of.is_changed(key))
      check_group_of(of, key, names[i], "choose other groups");
}

/// The keys that compare models by a figure of the validation clients.
void check_comparison(draft& of) {
  const std::string select = "evaluation.select";
  const std::string metric = "evaluation.metric";
  if (of.is(select, "best")) {
    check_validation(of, select, "choose \"last\"");
    if (of.good({"evaluation.every"}) && of.values.integer("evaluation.every") == 0)
      of.notes.push_back(select + " has no effect: evaluation.every = 0, so that only the last model is evaluated");
  }
  if (of.is_set("scenario.until.patience")) check_validation(of, "scenario.until.patience", "remove it");
  if (!of.is_set(metric) || !of.good({metric}) || of.values.text(metric).empty()) return;
  const bool own_figures = has_own_figures(of);
  const auto& figure = of.values.text(metric);
  if (!own_figures && !federated::valid_metric("validation." + figure))
    return of.report(metric, "is " + toml_string(figure) + ", which is no figure of an evaluation",
                     "write " + federated::figure_names());
  check_validation(of, metric, "remove it");
}

/// The keys in use that only a simulation supports; of [devices] the first one.
std::vector<std::string> simulated_keys(const draft& of) {
  std::vector<std::string> found;
  const auto add_if = [&](bool asked, const char* key) {
    if (asked) found.emplace_back(key);
  };
  add_if(of.is_set("scenario.until.virtual_seconds"), "scenario.until.virtual_seconds");
  const bool async = of.is("participation.mode", "async");
  add_if(async, "participation.mode");
  add_if(!async && of.exceeds("participation.deadline"), "participation.deadline");
  add_if(!async && of.exceeds("participation.over_selection", 1.0), "participation.over_selection");
  add_if(!async && of.exceeds("participation.selection_timeout"), "participation.selection_timeout");
  const std::string reconnect = "participation.reconnect";
  add_if(of.good({reconnect}) && std::ranges::any_of(of.values.numbers(reconnect), [](double s) { return s > 0.0; }),
         "participation.reconnect");
  const auto keys = schema_keys(of.source, of.kind, of.algorithm, of.rule);
  const auto device = std::ranges::find_if(keys, [&](const key_spec& spec) {
    return spec.option.name.starts_with("devices.") && of.is_changed(spec.option.name);
  });
  if (device != keys.end())
    found.push_back(device->option.name);
  else
    add_if(of.records.contains("devices.classes"), "devices.classes");
  for (const char* rate : {"dropout.download", "dropout.train", "dropout.upload"}) add_if(of.exceeds(rate), rate);
  add_if(of.good({"attack.kind"}) && !of.is("attack.kind", "none"), "attack.kind");
  add_if(of.exceeds("topology.nodes"), "topology.nodes");
  add_if(of.records.contains("event"), "event");
  add_if(of.exceeds("checkpoint.keep"), "checkpoint.keep");
  return found;
}

void check_clock(draft& of) {
  if (!of.good({"scenario.clock"}) || of.algorithm == nullptr) return;
  const bool real = of.values.text("scenario.clock") == "real";
  if (of.algorithm->traits.sends && !real) return;
  for (const auto& key : simulated_keys(of))
    if (!of.algorithm->traits.sends)
      report_unsent(of, key, "no client is selected");
    else
      of.report(key, "needs virtual time, and scenario.clock is \"real\"",
                "write clock = \"virtual\" in [scenario], or remove it");
}

void check_availability(draft& of) {
  const std::string table = "devices.availability.";
  if (!of.good({table + "kind"})) return;
  const auto kind = of.values.text(table + "kind");
  if (of.availability != nullptr && of.availability->check) of.availability->check(of);
  if (kind == "trace" || kind == "always")
    note_unused(
        of, "devices.correlation", {"speed_availability", "availability_taste"},
        kind == "trace" ? "the trace says when a client is available" : "devices.availability.kind is \"always\"");
  if (kind == "trace" && !of.is_set(table + "trace"))
    of.report(table + "trace", "is missing", "add trace = \"file.csv\"");
  if (kind == "trace" && of.good({table + "trace"}) && of.values.text(table + "trace").empty())
    of.report(table + "trace", "is empty", "write trace = \"file.csv\"");
  if (kind == "markov" && of.good({table + "mean_online", table + "step"}) &&
      of.values.number(table + "mean_online") < of.values.number(table + "step"))
    of.report(table + "mean_online", "is shorter than a slot, and a spell lasts one slot at least",
              "raise it to devices.availability.step, or lower that");
  const double rate = of.good({table + "rate"}) ? of.values.number(table + "rate") : 1.0;
  if (kind == "markov" && rate < 1.0 && of.good({table + "mean_online", table + "step"}))
    if (const double shortest = of.values.number(table + "step") * rate / (1.0 - rate);
        of.values.number(table + "mean_online") < shortest * (1.0 - 1e-9))
      of.notes.push_back(table + "mean_online has no effect: unavailable spells last a slot (" + table +
                         "step) at least, so that available ones last " + number_text(shortest) + " s on average");
  if (kind == "diurnal" && of.good({table + "rate", table + "swing"}))
    if (const double swing = of.values.number(table + "swing"); rate * 2.0 * swing / (swing + 1.0) > 1.0)
      of.notes.push_back(
          "devices.availability: rate and swing ask for more than all clients at the best hour; they are cut to all");
}

void check_devices(draft& of) {
  check_availability(of);
  const std::string table = "devices.correlation.";
  if (of.good({table + "speed_availability", table + "speed_taste", table + "availability_taste"})) {
    const double sa = of.values.number(table + "speed_availability");
    const double st = of.values.number(table + "speed_taste");
    const double at = of.values.number(table + "availability_taste");
    if (!federated::can_hold(sa, st, at))
      of.report("devices.correlation", "cannot hold: two that are strong bound the third",
                "bring them closer to 0, or make their signs agree");
  }
  const std::string sigma = "devices.speed.sigma";
  const auto classes = of.records.find("devices.classes");
  if (classes == of.records.end()) {
    if (of.good({sigma}) && of.values.number(sigma) == 0.0)
      note_unused(of, "devices.correlation", {"speed_taste"}, "all devices are equally fast (" + sigma + " is 0)");
    return;
  }
  if (classes->second.size() == 1)
    note_unused(of, "devices.correlation", {"speed_taste"}, "all devices are of one class");
  for (const char* key : {"speed.ms_per_example", "speed.sigma", "network.mbit", "network.sigma"})
    if (const auto name = std::string("devices.") + key; of.is_changed(name))
      of.notes.push_back(name + " has no effect: devices.classes says how fast devices are");
}

void check_dropout(draft& of) {
  const bool aborts = of.is("dropout.policy", "abort");
  if (!aborts || of.is_set("scenario.until.virtual_seconds")) return;
  for (const char* key : {"dropout.download", "dropout.train", "dropout.upload"})
    if (of.good({key}) && of.values.number(key) >= 1.0)
      return of.report(key, "lets no client report, so that no round would ever be done",
                       "lower it, or bound the run by until = {virtual_seconds = ...}");
}

}  // namespace

void check_simulation(draft& of) {
  check_one_length(of);
  check_until(of);
  check_target(of);
  check_groups_key(of);
  check_comparison(of);
  check_clock(of);
  check_devices(of);
  check_dropout(of);
  if (of.good({"checkpoint.keep", "topology.nodes"}) && of.values.integer("checkpoint.keep") > 0 &&
      of.values.integer("topology.nodes") > 0)
    of.report("checkpoint.keep", "is for replays, which simulate clients without nodes only",
              "remove it, or topology.nodes");
}

}  // namespace furlong::scenarios
