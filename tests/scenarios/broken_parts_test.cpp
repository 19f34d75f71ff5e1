// Parts of other libraries that do not keep their contracts are refused when they are registered, when a scenario is
// read, or when they have built something. In an executable of its own: what it registers stays registered.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>
#include <stdexcept>

#include "federated/aggregation/rule.hpp"
#include "federated/experiment/algorithm.hpp"
#include "tests/scenarios/made_dataset.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(broken_parts)

using namespace furlong;
using namespace furlong::scenarios;
using testing::check_says;
using testing::dataset_of;
using testing::valid_scenario;

namespace {

class nothing final : public federated::algorithm {
 public:
  [[nodiscard]] std::uint64_t plan(const federated::run_settings&, std::uint64_t count) const override { return count; }
  void train(federated::local_task&) const override {}
};

federated::algorithm_entry sound_algorithm() {
  return {.kind = "sound",
          .doc = "An algorithm of this test.",
          .options = {text_option("word", "a", "A word.")},
          .build = [](const option_values&) -> result<std::shared_ptr<const federated::algorithm>> {
            return std::make_shared<const nothing>();
          }};
}

/// What is said when it is registered; empty: nothing.
template <class Register, class Entry>
std::string said_of(Register registering, Entry entry) {
  try {
    registering(std::move(entry));
  } catch (const std::invalid_argument& why) {
    return why.what();
  }
  return {};
}

struct broken_options {
  std::vector<option_spec> options;
  std::string says;
};

const option_spec size_option = integer_option("size", 3, "Size.");

const std::vector<broken_options> all_broken_options = {
    {{size_option, size_option}, ".size is a key already: rename it"},
    {{text_option("", "", "Nameless.")}, ". has no proper name: name it by letters, digits, _ and -"},
    {{text_option("a b", "", "Two words.")}, ".a b has no proper name"},
    {{text_option("a..b", "", "A hole.")}, ".a..b has no proper name"},
    {{choice_option("way", std::nullopt, "A way.", {})}, ".way is a choice without choices: list them"},
    {{choice_option("way", "left", "A way.", {"right"})},
     ".way has a fallback that is \"left\", which is none of its choices: correct it"},
    {{{.name = "rate", .type = option_type::number, .fallback = std::int64_t{1}, .doc = "Rate."}},
     ".rate has a fallback that is of another type: correct it"},
    {{{.name = "word", .type = option_type::text, .fallback = true, .doc = "Word."}},
     ".word has a fallback that is of another type"},
    {{integer_option("size", 3, "Size.", {4})}, ".size has a fallback that is beyond its bounds: correct it"},
    {{number_option("rate", 0.0, "Rate.", {0.0, 1.0, true})}, ".rate has a fallback that is beyond its bounds"},
    {{{.name = "rates",
       .type = option_type::number_list,
       .fallback = std::vector<double>{1.0, -1.0},
       .doc = "Rates.",
       .at_least = 0.0}},
     ".rates has a fallback that is beyond its bounds"},
};

models::model_entry sound_model() {
  auto entry = *models::find_model("matrix-factorization");
  entry.kind = "sound-model";
  return entry;
}

}  // namespace

BOOST_AUTO_TEST_CASE(options_that_cannot_be_are_refused_for_every_part) {
  for (const auto& [options, says] : all_broken_options) {
    auto algorithm = sound_algorithm();
    algorithm.options = options;
    check_says(said_of(federated::register_algorithm, algorithm), "the option algorithm.sound" + says);
    auto rule = *federated::find_rule("uniform-mean");
    rule.kind = "sound-rule";
    rule.options = options;
    check_says(said_of(federated::register_rule, rule), "the option algorithm.aggregation" + says);
    auto model = sound_model();
    model.options = options;
    check_says(said_of(models::register_model, model), "the option model" + says);
    auto data = dataset_of(tests::make_ratings(3));
    data.options = options;
    check_says(said_of(register_dataset, data), "the option data" + says);
  }
}

BOOST_AUTO_TEST_CASE(options_of_a_part_are_no_keys_that_there_are) {
  for (const auto* name : {"kind", "private", "start_from"}) {
    auto model = sound_model();
    model.options.push_back(text_option(name, "", "Taken."));
    check_says(said_of(models::register_model, model), std::string("the option model.") + name + " is a key already");
  }
  auto data = dataset_of(tests::make_ratings(3));
  data.options.push_back(text_option("source", "", "Taken."));
  check_says(said_of(register_dataset, data), "the option data.source is a key already");
  data = dataset_of(tests::make_ratings(3));
  data.table = "network";
  check_says(said_of(register_dataset, data), "its table must be \"data\", or named as its kind");
  data.kind = "network";
  data.options = {text_option("upload", "", "A key of the network.")};
  register_dataset(data);
  auto text = valid_scenario();
  const std::string old = "source = \"synthetic-ratings\"\nusers = 50\nitems = 60\nratings_per_user = 20\n";
  text.replace(text.find(old), old.size(), "source = \"network\"\n");
  check_says(testing::text_of(parse_scenario_text(text, "t.toml")),
             "data.source: is \"network\": its option network.upload is a key already; rename the option");
}

BOOST_AUTO_TEST_CASE(kinds_that_no_scenario_can_name_and_parts_that_cannot_be_built_are_refused) {
  for (const auto* kind : {"", "a b", "a.b", "\"a\""}) {
    auto algorithm = sound_algorithm();
    algorithm.kind = kind;
    BOOST_CHECK_THROW(federated::register_algorithm(algorithm), std::invalid_argument);
    auto model = sound_model();
    model.kind = kind;
    check_says(said_of(models::register_model, model), "cannot be registered: name it by letters, digits, _ and -");
  }
  auto model = sound_model();
  model.build = nullptr;
  check_says(said_of(models::register_model, model), "model \"sound-model\" cannot be built");
  auto data = dataset_of(nullptr);
  data.build = nullptr;
  check_says(said_of(register_dataset, data), "dataset \"broken-data\" cannot be built");
  auto algorithm = sound_algorithm();
  algorithm.tensor_options = {"word"};
  check_says(said_of(federated::register_algorithm, algorithm), "no option \"word\" that is a list of texts");
}

BOOST_AUTO_TEST_CASE(keys_and_values_that_an_entry_states_must_be_those_of_scenarios) {
  struct statement {
    std::function<void(federated::algorithm_entry&)> make;
    std::string says;
  };
  const std::vector<statement> statements = {
      {[](auto& entry) {
         entry.fixed = {{"privacy.nois", "0"}};
       },
       "algorithm.kind: is \"sound\": its fixed value for privacy.nois is for no key of scenarios; correct the entry "
       "of "
       "sound"},
      {[](auto& entry) {
         entry.fixed = {{"privacy.noise", "0"}};
       },
       "for privacy.noise is of another type"},
      {[](auto& entry) {
         entry.fixed = {{"participation.mode", "asink"}};
       },
       "for participation.mode is \"asink\", which is none of its choices"},
      {[](auto& entry) {
         entry.traits.defaults = {{"participation.mod", std::string("async")}};
       },
       "its default for participation.mod is for no key of scenarios"},
      {[](auto& entry) {
         entry.traits.defaults = {{"algorithm.client.epochs", 2.0}};
       },
       "its default for algorithm.client.epochs is of another type"},
      {[](auto& entry) {
         entry.traits.defaults = {{"algorithm.client.epochs", std::int64_t{0}}};
       },
       "its default for algorithm.client.epochs is beyond its bounds"},
      {[](auto& entry) {
         entry.traits.defaults = {{"algorithm.aggregation.rule", std::string("medium")}};
       },
       "its default for algorithm.aggregation.rule"},
      {[](auto& entry) {
         entry.traits.rules = {"mean", "no-such-rule"};
       },
       "whose traits name a rule \"no-such-rule\" that is not registered"},
      {[](auto& entry) {
         entry.build = [](const option_values&) -> result<std::shared_ptr<const federated::algorithm>> {
           return std::shared_ptr<const federated::algorithm>();
         };
       },
       "algorithm.kind: is \"sound\", whose build returns null; let it return an algorithm"},
  };
  const auto read = [] {
    return testing::text_of(parse_scenario_text(valid_scenario(), "t.toml", {{"algorithm.kind", "sound"}}));
  };
  federated::register_algorithm(sound_algorithm());
  BOOST_TEST(read() == "");
  auto other = sound_algorithm();
  other.traits.defaults = {{"model.hidden", std::int64_t{4}}};  // of models that are not chosen
  federated::register_algorithm(other);
  BOOST_TEST(read() == "");
  for (const auto& [make, says] : statements) {
    auto entry = sound_algorithm();
    make(entry);
    federated::register_algorithm(entry);
    check_says(read(), says);
  }
  federated::register_algorithm(sound_algorithm());
  auto data = dataset_of(tests::make_ratings(3));
  data.kind = "defaulting";
  data.defaults = {{"algorithm.client.shufle", true}};
  register_dataset(data);
  check_says(testing::problems_with({{"data", "{source = 'defaulting'}"}}),
             "data.source: is \"defaulting\": its default for algorithm.client.shufle is for no key of scenarios");
}

// An algorithm of another library may reconstruct in a personalize() of its own, which nobody sees.
BOOST_AUTO_TEST_CASE(no_note_says_that_a_key_has_no_effect_where_that_is_unknown) {
  const auto notes = [](const std::string& kind) {
    const auto made = parse_scenario_text(valid_scenario(), "t.toml",
                                          {{"algorithm.kind", kind}, {"algorithm.reconstruction.lr", "0.25"}});
    BOOST_REQUIRE_MESSAGE(made.has_value(), testing::text_of(made));
    std::string all;
    for (const auto& note : made->notes) all += note + "\n";
    return all;
  };
  federated::register_algorithm(sound_algorithm());
  const std::string idle = "algorithm.reconstruction has no effect";
  BOOST_TEST(notes("sound").find(idle) == std::string::npos);
  check_says(notes("furl"), idle);
}

BOOST_AUTO_TEST_CASE(an_algorithm_that_needs_features_is_refused_for_a_model_without) {
  auto entry = sound_algorithm();
  entry.traits.needs_features = true;
  federated::register_algorithm(entry);
  check_says(testing::problems_with({{"algorithm.kind", "sound"}}),
             "algorithm.kind: is \"sound\", which needs the features that a linear head predicts from, and "
             "matrix-factorization does not offer them; choose another algorithm, or model.kind = \"doc-classifier\"");
  federated::register_algorithm(sound_algorithm());
}

// Updates of equal weight do not bound how far one of them moves the aggregate.
BOOST_AUTO_TEST_CASE(noise_is_refused_for_a_rule_that_does_not_state_its_sensitivity) {
  const auto read = [](double sensitivity) {
    auto rule = *federated::find_rule("uniform-mean");
    rule.kind = "buckets";
    rule.traits.sensitivity = sensitivity;
    federated::register_rule(rule);
    return testing::problems_with(
        {{"algorithm.aggregation.rule", "buckets"}, {"privacy.clip", "1.0"}, {"privacy.noise", "0.1"}});
  };
  BOOST_TEST(read(7.0) == "");
  check_says(read(0.0),
             "privacy.noise: needs a rule that states how far one update moves the aggregate (its sensitivity), and "
             "aggregation.rule is \"buckets\"; set algorithm.aggregation.rule = \"uniform-mean\"");
}

BOOST_AUTO_TEST_CASE(traits_of_a_rule_that_contradict_each_other_are_refused) {
  const auto said = [](const federated::rule_traits& traits) {
    auto rule = *federated::find_rule("uniform-mean");
    rule.kind = "contradictory";
    rule.traits = traits;
    return said_of(federated::register_rule, rule);
  };
  check_says(said({.counts_alike = true, .sensitivity = -1.0}), "has a sensitivity that is no number from 0 on");
  check_says(said({.counts_alike = true, .sensitivity = std::numeric_limits<double>::infinity()}),
             "has a sensitivity that is no number from 0 on");
  check_says(said({.sensitivity = 1.0}), "states a sensitivity, which no update has whose weight differs");
  check_says(said({.weighs_examples = true, .counts_alike = true}), "cannot count updates alike and weigh them");
}

// One file serves a sweep over kinds: a default may be for a key of what is not chosen.
BOOST_AUTO_TEST_CASE(a_default_for_a_key_of_another_part_is_allowed) {
  auto entry = sound_algorithm();
  entry.traits.defaults = {{"model.rank", std::int64_t{3}},
                           {"algorithm.fedrep.head_epochs", std::int64_t{2}},
                           {"algorithm.client.epochs", std::int64_t{2}}};
  const auto* other = federated::find_algorithm("fedrep");
  BOOST_REQUIRE(other != nullptr);
  BOOST_REQUIRE(!other->options.empty());
  entry.traits.defaults[1] = {"algorithm.fedrep." + other->options.front().name, *other->options.front().fallback};
  federated::register_algorithm(entry);
  const auto made = parse_scenario_text(valid_scenario(), "t.toml", {{"algorithm.kind", "sound"}});
  BOOST_TEST(testing::text_of(made) == "");
  federated::register_algorithm(sound_algorithm());
}

BOOST_AUTO_TEST_SUITE_END()
