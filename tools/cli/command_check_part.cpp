// furlong check-part
#include <fmt/format.h>

#include "tools/cli/command_line.hpp"
#include "tools/cli/part_trial.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/messages.hpp"

namespace furlong::tools {

namespace {

const std::map<std::string, part_kind> part_kinds = {
    {"algorithm", part_kind::algorithm},       {"rule", part_kind::rule},   {"policy", part_kind::policy},
    {"availability", part_kind::availability}, {"model", part_kind::model}, {"dataset", part_kind::dataset}};

int check_part_command(const part_request& request) {
  const auto made = examine_part(request);
  if (!made) return report_failure(made.error());
  for (const auto& described : made->listed()) fmt::print("{}\n", for_people(text_of(described)));
  using conformance::outcome;
  const auto broken = made->count(outcome::broken);
  fmt::print("{} {}: {} laws kept, {} broken, {} skipped\n", kind_name(request.kind), for_people(request.name),
             made->count(outcome::kept), broken, made->count(outcome::skipped));
  return broken == 0 ? done : expectation_failed;
}

}  // namespace

void add_check_part(CLI::App& app, command& chosen) {
  const auto [sub, options] =
      add_command(app, chosen, "check-part",
                  "examine a part that this program registers by the laws of its kind; exit code 1 if it breaks one",
                  check_part_command);
  sub->add_option("kind", options->kind, "algorithm, rule, policy, availability, model or dataset")
      ->required()
      ->transform(one_of(part_kinds))
      ->option_text("KIND");
  sub->add_option("name", options->name, "name of the part, such as fedavg")->required()->option_text("NAME");
  sub->add_option("scenario", options->scenario,
                  "scenario in which the part takes the place of another one (default: a small one of generated data)")
      ->option_text("SCENARIO");
  add_overrides(sub, options->overrides);
}

}  // namespace furlong::tools
