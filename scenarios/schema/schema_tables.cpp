#include "scenarios/schema/schema.hpp"

namespace furlong::scenarios {

namespace {

const char* const expect_doc =
    "Conditions on the run's `summary.json`, checked by `furlong test`. They do not affect the run. A key is a dotted "
    "key of the summary in quotes, its value a table of bounds, all of which must "
    "hold:\n\n"
    "| bound | value | meaning |\n|---|---|---|\n"
    "| `at_most` | number | The figure is no greater. |\n"
    "| `at_least` | number | The figure is no smaller. |\n"
    "| `equals` | number, text, true or false | The figure is the same. |\n"
    "| `is` | the same, or one for each level of the kernels: `{x86-64-v3 = \"77ad...\", portable = \"3134...\"}` | "
    "The "
    "same as `equals`; runs of a level that is not named are not judged. |\n"
    "| `within`, `baseline` | number at least 0, text | The figure differs from that of the scenario `baseline` by at "
    "most `within` times the latter's size; a relative path starts at this file's folder. |\n\n"
    "```toml\n[expect]\n\"eval.unseen.rmse\" = {at_least = 0.5, at_most = 0.91}\n"
    "\"late\" = {equals = 0}\n\"bytes_up\" = {within = 0.02, baseline = \"other.toml\"}\n```";

const char* const smoke_doc =
    "Makes the scenario small for tests: dotted keys as `--set` takes them, in quotes or as tables. In the smoke "
    "variant they replace values of the file and are replaced by `--set`; `[[smoke.event]]` replaces all events. "
    "`[smoke.expect]` replaces `[expect]`; without it the small run has no expectations.\n\n"
    "```toml\n[smoke]\n\"scenario.rounds\" = 5\n\"data.users\" = 50\n```";

}  // namespace

const std::vector<table_spec>& schema_tables() {
  static const std::vector<table_spec> tables = {
      {"scenario", "What is run, from which seed, for how long."},
      {"scenario.until",
       "The first condition that holds ends the run. At least one replaces rounds and epochs. Without rounds their "
       "number is unlimited, which client.schedule = \"linear\" does not allow."},
      {"data", "The clients and their examples. Further keys depend on the source."},
      {"data.unseen_users", "Users held out from training."},
      {"python", "The Python class that model and data come from; with `data.source = \"python\"`."},
      {"model", "What is learned and which part of it is private. Further keys depend on the kind."},
      {"algorithm", "How it is learned."},
      {"algorithm.client", "Local training."},
      {"algorithm.reconstruction", "How private tensors are reconstructed, and personal ones at evaluation."},
      {"algorithm.server", "The server optimizer."},
      {"algorithm.aggregation", "How updates are aggregated."},
      {"private", "The private part that is kept from round to round."},
      {"participation",
       "Which clients are selected, and when a round ends. Keys of the mode sync have no effect in async, and vice "
       "versa. Times are in seconds."},
      {"devices", "What the clients' devices are like; needs virtual time. All draws are keyed by the seed."},
      {"devices.speed", "How fast they compute: lognormal over the clients."},
      {"devices.network", "How fast they communicate: lognormal over the clients."},
      {"devices.stragglers", "Tasks that take much longer."},
      {"devices.availability",
       "When a device can be selected and continues working. `availability = \"always\"` in `[devices]` is short for "
       "the kind, `availability = \"file.csv\"` for a trace."},
      {"devices.correlation",
       "Correlations of standard normal scores of the clients; a matrix that is not positive semidefinite is "
       "rejected."},
      {"dropout", "Clients are interrupted in the middle of a task; needs virtual time."},
      {"attack", "Bad clients in simulations; needs virtual time."},
      {"topology", "The tree between clients and server."},
      {"network", "What is sent, and how long processes wait for each other."},
      {"privacy", "Clipping, noise and secure aggregation."},
      {"evaluation", "When and how the model is scored."},
      {"evaluation.target", "A figure to reach; when it was first reached is reported."},
      {"checkpoint", "When the run's state is made durable."},
      {"expect", expect_doc},
      {"smoke", smoke_doc},
  };
  return tables;
}

}  // namespace furlong::scenarios
