// The keys of [devices] and [dropout], and the repeated tables.
#include "federated/settings/devices.hpp"
#include "federated/settings/settings.hpp"
#include "federated/world/availability.hpp"
#include "scenarios/schema/records.hpp"
#include "scenarios/schema/schema_fields.hpp"
#include "scenarios/schema/schema_parts.hpp"

namespace furlong::scenarios {

namespace {

using namespace fields;
using namespace federated;

constexpr option_range correlation{-1.0, 1.0};

void add_availability(std::vector<key_spec>& keys) {
  const auto add = [&](key_spec spec) { keys.push_back(std::move(spec)); };
  add(plain(choice_option(std::string(availability_kind_key), registered_availabilities().front().kind,
                          "The model of availability.", kinds_of(registered_availabilities()))));
  add(key("devices.availability.rate", FURLONG_AT(devices->availability.rate),
          "bernoulli, markov, diurnal: share of the rounds or of the time that a client is available.",
          {0.0, 1.0, true}));
  add(key("devices.availability.mean_online", FURLONG_AT(devices->availability.mean_online),
          "markov: mean seconds of an available spell; the others follow from rate.", above_zero));
  add(key("devices.availability.step", FURLONG_AT(devices->availability.step), "markov: seconds of a slot.",
          above_zero));
  add(key("devices.availability.swing", FURLONG_AT(devices->availability.swing),
          "diurnal: ratio of available clients between the best and the worst hour.", at_least_one));
  add(key("devices.availability.peak_hour", FURLONG_AT(devices->availability.peak_hour),
          "diurnal: local hour of the highest availability.", {0.0, 24.0}));
  add(key("devices.availability.dwell", FURLONG_AT(devices->availability.dwell), "diurnal: minimum seconds of a state.",
          above_zero));
  add(key("devices.availability.zones", FURLONG_AT(devices->availability.zones),
          "diurnal: time zones, an hour apart, over which the clients are spread.", {1.0, 24.0}));
  add(beside_file(
      optional(key("devices.availability.trace", FURLONG_AT(devices->availability.trace),
                   "trace: file of intervals, lines of client,start,end in seconds. A relative path starts at the "
                   "scenario's folder."))));
}

void apply_classes(run_settings& settings, const std::vector<option_values>& classes) {
  const auto rate = [](const option_values& options, const char* name) {
    return options.has(name) ? std::optional(options.number(name)) : std::nullopt;
  };
  for (const auto& entry : classes)
    settings.devices->classes.push_back({entry.number("share"), entry.number("ms_per_example"), entry.number("mbit"),
                                         rate(entry, "download"), rate(entry, "train"), rate(entry, "upload")});
}

record_spec class_record() {
  const federated::device_class fresh;
  record_spec spec;
  spec.name = "devices.classes";
  spec.after = "devices.correlation";
  spec.doc =
      "A class of devices, one table per class; also `classes = [{...}, {...}]` in `[devices]`. Replaces the medians "
      "and sigmas of speed and network.";
  spec.options = {
      number_option("share", fresh.share, "Share of the clients, relative to the other classes.", above_zero),
      number_option("ms_per_example", fresh.ms_per_example,
                    "Milliseconds per example, forward; training takes three times as long.", above_zero),
      number_option("mbit", fresh.mbit, "Bandwidth, each way, in 10^6 bits a second.", above_zero),
      number_option("download", std::nullopt, "In place of `dropout.download`, for this class.", zero_to_one),
      number_option("train", std::nullopt, "In place of `dropout.train`, for this class.", zero_to_one),
      number_option("upload", std::nullopt, "In place of `dropout.upload`, for this class.", zero_to_one)};
  spec.apply = apply_classes;
  return spec;
}

record_spec event_record() {
  record_spec spec;
  spec.name = "event";
  spec.after = "dropout";
  spec.doc =
      "An event in the life of clients or processes; one table per event. It has `at` and exactly one of the six event "
      "keys, whose value is the target: clients by number, `\"0-99\"` or `\"17\"`; a share of all clients, such as "
      "`0.3`, drawn for the event; or, with `topology.nodes`, processes by number from 0, `\"node 2\"` or "
      "`\"aggregators 0-1\"`.";
  spec.options = {required(
      text_option("at", std::nullopt,
                  "Before a round, `\"round 10\"`, or at a time: `\"120s\"`, `\"30min\"`, `\"2h\"`, `\"1.5d\"`."))};
  const auto happens = [&](const char* name, const char* doc) {
    spec.options.push_back(
        {.name = name, .type = option_type::text, .doc = doc, .at_least = 0, .at_most = 1, .above = true});
    spec.or_share.emplace_back(name);
  };
  happens("join", "They join. A client whose first such event is a join is absent before it.");
  happens("leave", "They leave, until they join.");
  happens("kill", "They crash, and are down until they restart.");
  happens("restart", "They run again, with their stored state.");
  happens("partition", "They are unreachable until they are healed.");
  happens("heal", "They are reachable again.");
  happens(
      "unresponsive",
      "They do not respond any more: the server selects them as before, and each of their tasks ends in the download "
      "at once. They are left out of evaluations.");
  spec.options.push_back(flag_option("erase", false, "leave: their private values are erased."));
  spec.apply = apply_events;
  return spec;
}

}  // namespace

void add_device_keys(std::vector<key_spec>& keys) {
  const auto add = [&](key_spec spec) { keys.push_back(std::move(spec)); };
  add(key("devices.speed.ms_per_example", FURLONG_AT(devices->ms_per_example),
          "Median milliseconds per example, forward; training takes three times as long.", above_zero));
  add(key("devices.speed.sigma", FURLONG_AT(devices->speed_sigma),
          "Standard deviation of its logarithm over the clients; 0: all equal.", {0.0, 5.0}));
  add(key("devices.network.mbit", FURLONG_AT(devices->mbit), "Median bandwidth, each way, in 10^6 bits a second.",
          above_zero));
  add(key("devices.network.sigma", FURLONG_AT(devices->network_sigma),
          "Standard deviation of its logarithm over the clients; 0: all equal.", {0.0, 5.0}));
  add(key("devices.network.latency", FURLONG_AT(devices->latency), "Seconds per message."));
  add(key("devices.stragglers.share", FURLONG_AT(devices->straggler_share),
          "Share of tasks that take longer; drawn per task.", zero_to_one));
  add(key("devices.stragglers.factor", FURLONG_AT(devices->straggler_factor), "Factor of their duration.",
          at_least_one));
  add(beside_file(optional(key("devices.table", FURLONG_AT(devices->table),
                               "File of recorded devices: client, and any of ms_per_example, mbit, download, train and "
                               "upload (in place of `[dropout]`). Client c has row c modulo the number of rows; what "
                               "it does not say is as the other keys say. A relative path starts at the scenario's "
                               "folder."))));
  add_availability(keys);
  add(key("devices.correlation.speed_availability", FURLONG_AT(devices->speed_availability),
          "Fast devices are available more often.", correlation));
  add(key("devices.correlation.speed_taste", FURLONG_AT(devices->speed_taste),
          "Clients whose labels are high have fast devices.", correlation));
  add(key("devices.correlation.availability_taste", FURLONG_AT(devices->availability_taste),
          "Clients whose labels are high are available more often.", correlation));
}

void add_dropout_keys(std::vector<key_spec>& keys) {
  const auto add = [&](key_spec spec) { keys.push_back(std::move(spec)); };
  add(key("dropout.download", FURLONG_AT(dropout->download),
          "Probability that a client is interrupted while it receives its task.", zero_to_one));
  add(key("dropout.train", FURLONG_AT(dropout->train), "The same while it trains.", zero_to_one));
  add(key("dropout.upload", FURLONG_AT(dropout->upload), "The same while it sends its update.", zero_to_one));
  add(key("dropout.policy", FURLONG_AT(dropout->policy),
          words<dropout_policy>{{"abort", dropout_policy::abort}, {"pause", dropout_policy::pause}},
          "What a client does when it is interrupted or becomes unavailable: abandon the task, or continue later."));
  add(key("dropout.mean_pause", FURLONG_AT(dropout->mean_pause),
          "pause: mean seconds until an interrupted client continues (exponential).", above_zero));
}

const std::vector<record_spec>& schema_records() {
  static const std::vector<record_spec> records = {class_record(), event_record()};
  return records;
}

}  // namespace furlong::scenarios
