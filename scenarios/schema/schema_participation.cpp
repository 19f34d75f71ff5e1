// The keys of [private] and [participation].
#include "federated/participation/policy.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/settings.hpp"
#include "scenarios/schema/schema_fields.hpp"
#include "scenarios/schema/schema_parts.hpp"

namespace furlong::scenarios {

namespace {

using namespace fields;
using namespace federated;

void add_synchronous(std::vector<key_spec>& keys) {
  const auto add = [&](key_spec spec) { keys.push_back(std::move(spec)); };
  add(key("participation.over_selection", FURLONG_AT(participation->over_selection),
          "sync: clients selected per required report; reports beyond the round's number are discarded.",
          {1.0, 1000.0}));
  add(key("participation.selection_timeout", FURLONG_AT(participation->selection_timeout),
          "sync: seconds to wait for available clients before a round continues with fewer; at most 365 days.",
          {0.0, 31'536'000.0}));
  add(key("participation.retry", FURLONG_AT(participation->retry),
          "Seconds between selections while too few clients are available; with a drawn cohort (rate) the least "
          "duration of a round in which nobody reports.",
          above_zero));
  add(key("participation.deadline", FURLONG_AT(participation->deadline),
          "sync: seconds after which a round ends; later reports are discarded. 0: no deadline."));
  add(key("participation.min_reports", FURLONG_AT(participation->min_reports),
          "sync: a round that ends with fewer reports is abandoned, and one with none. With privacy.noise_at = "
          "\"client\" the noise has so many shares; 0, the default there, is two thirds of the selected clients."));
  add(key("participation.min_separation", FURLONG_AT(participation->min_separation),
          "sync: rounds from a selection of a client to its next one, at least; 0: no limit."));
  key_spec reconnect =
      plain({.name = "participation.reconnect",
             .type = option_type::number_list,
             .fallback = std::vector<double>{0.0, 0.0},
             .doc = "Minimum and maximum seconds, [60, 600], until a selected client reconnects; drawn per client.",
             .at_least = 0.0});
  reconnect.apply = [](run_settings& settings, const option_value& value) {
    const auto& window = std::get<std::vector<double>>(value);
    settings.participation->reconnect_least = window[0];
    settings.participation->reconnect_most = window[1];
  };
  add(std::move(reconnect));
}

void add_asynchronous(std::vector<key_spec>& keys) {
  const auto add = [&](key_spec spec) { keys.push_back(std::move(spec)); };
  add(key("participation.buffer", FURLONG_AT(participation->buffer),
          "async: updates that make a new version (FedBuff: K); with update = \"model\" it is 1. In a federation of "
          "processes, updates that arrive while a version is being completed are included.",
          at_least_one));
  add(key("participation.concurrency", FURLONG_AT(participation->concurrency), "async: clients in training at once.",
          at_least_one));
  add(key("participation.max_staleness", FURLONG_AT(participation->max_staleness),
          "async: updates that started more versions ago are rejected; 0: none is."));
  add(key("participation.weighting", FURLONG_AT(participation->weighting),
          words<staleness_kind>{{"constant", staleness_kind::constant},
                                {"polynomial", staleness_kind::polynomial},
                                {"hinge", staleness_kind::hinge}},
          "async: weight of an update that started t versions ago: 1; (1 + t)^-staleness_exponent; or 1 up to "
          "hinge_from and 1 / (hinge_slope (t - hinge_from) + 1) after it."));
  add(key("participation.staleness_exponent", FURLONG_AT(participation->staleness_exponent),
          "polynomial: the exponent."));
  add(key("participation.hinge_slope", FURLONG_AT(participation->hinge_slope), "hinge: the slope.", above_zero));
  add(key("participation.hinge_from", FURLONG_AT(participation->hinge_from),
          "hinge: staleness up to which an update counts in full."));
  add(key("participation.update", FURLONG_AT(participation->async),
          words<async_kind>{{"change", async_kind::change}, {"model", async_kind::model}},
          "async: the server adds the clients' changes (FedBuff), or moves toward the client's model (FedAsync)."));
  add(key("participation.mixing", FURLONG_AT(participation->mixing),
          "update = \"model\": fraction of the step to the client's model (FedAsync: alpha).", {0.0, 1.0, true}));
}

}  // namespace

void add_private_keys(std::vector<key_spec>& keys) {
  const auto add = [&](key_spec spec) { keys.push_back(std::move(spec)); };
  add(key(
      "private.cold_start", FURLONG_AT(own->cold_start),
      words<cold_start_kind>{{"default", cold_start_kind::initial}, {"reconstruct", cold_start_kind::reconstruct}},
      "Where private values are kept, a client that has none yet: start from the initial ones, or reconstruct them."));
  add(key("private.commit", FURLONG_AT(own->commit),
          words<commit_kind>{{"after-training", commit_kind::after_training}, {"after-ack", commit_kind::after_ack}},
          "When a client commits its trained private values: at the end of training, or once the server has aggregated "
          "its update into a new model."));
  add(may_change(key("private.layout", FURLONG_AT(own->layout),
                     words<layout_kind>{{"per-client", layout_kind::per_client}, {"bucketed", layout_kind::bucketed}},
                     "Column family of the store per client, or per bucket of clients: better beyond some 10,000 "
                     "clients. A store keeps the layout that it was created with.")));
  add(may_change(key("private.open_shards", FURLONG_AT(own->open_shards),
                     "Databases of the store that are held open at once.", {1.0, 4096.0})));
  add(beside_file(may_change(key("private.key_file", FURLONG_AT(own->key_file),
                                 "File of the key that encrypts the store; the run creates it if it is missing. A "
                                 "relative path starts at the scenario's folder. Empty: the store is not "
                                 "encrypted."))));
}

void add_participation_keys(std::vector<key_spec>& keys) {
  const auto add = [&](key_spec spec) { keys.push_back(std::move(spec)); };
  add(plain(
      integer_option("participation.per_round", std::nullopt,
                     "sync: reports that complete a round, and clients selected for them. Either this or fraction.",
                     {1, 4294967295})));
  add(plain(number_option("participation.fraction", std::nullopt,
                          "The same as a share of the training clients. Either this or per_round.", {0, 1, true})));
  add(plain(choice_option("participation.policy", registered_policies().front().kind, "Which clients are selected.",
                          kinds_of(registered_policies()))));
  add(key("participation.candidates", FURLONG_AT(participation->candidates),
          "Policies that choose among candidates: the number of candidates; 0: twice the number of selected clients."));
  add(optional(key("participation.rate", FURLONG_AT(participation->rate),
                   "Probability with which an available client takes part in a round.", {0.0, 1.0, true})));
  add(key("participation.cap", FURLONG_AT(participation->cap),
          "Maximum number of clients in a round; of more drawn ones those with the lowest drawn ranks are selected.",
          at_least_one));
  add(key("participation.mode", FURLONG_AT(participation->mode),
          words<participation_mode>{{"sync", participation_mode::sync}, {"async", participation_mode::async}},
          "Rounds with a cohort each, or a new version whenever buffer updates have arrived."));
  add_synchronous(keys);
  add_asynchronous(keys);
}

}  // namespace furlong::scenarios
