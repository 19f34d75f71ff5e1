#include "base/options.hpp"

#include <boost/test/unit_test.hpp>
#include <stdexcept>

#include "models/model.hpp"

BOOST_AUTO_TEST_SUITE(options)

using namespace furlong;

BOOST_AUTO_TEST_CASE(values_are_read_by_their_type_and_integers_as_numbers_too) {
  option_values values;
  values.set("flag", true);
  values.set("count", std::int64_t{3});
  values.set("rate", 0.5);
  values.set("text", std::string("abc"));
  values.set("names", std::vector<std::string>{"a", "b"});
  values.set("grid", std::vector<double>{1.0, 2.0});
  BOOST_TEST(values.flag("flag"));
  BOOST_TEST(values.integer("count") == 3);
  BOOST_TEST(values.number("count") == 3.0);
  BOOST_TEST(values.number("rate") == 0.5);
  BOOST_TEST(values.text("text") == "abc");
  BOOST_TEST(values.list("names").size() == 2U);
  BOOST_TEST(values.numbers("grid").back() == 2.0);
  values.set("rate", 0.25);
  BOOST_TEST(values.number("rate") == 0.25);
}

BOOST_AUTO_TEST_CASE(a_programming_error_names_the_key) {
  option_values values;
  values.set("rate", 0.5);
  const auto names = [](const char* key) {
    return [key](const std::logic_error& why) { return std::string(why.what()).find(key) != std::string::npos; };
  };
  BOOST_CHECK_EXCEPTION(static_cast<void>(values.flag("absent")), std::logic_error, names("\"absent\""));
  BOOST_CHECK_EXCEPTION(static_cast<void>(values.integer("rate")), std::logic_error, names("\"rate\""));
  BOOST_CHECK_EXCEPTION(static_cast<void>(values.number("absent")), std::logic_error, names("\"absent\""));
}

BOOST_AUTO_TEST_CASE(defaults_are_the_fallbacks_and_nothing_else) {
  const std::vector<option_spec> specs = {
      {.name = "rate", .type = option_type::number, .fallback = 0.1, .doc = ""},
      {.name = "path", .type = option_type::text, .doc = "", .required = true},
  };
  const auto values = defaults(specs);
  BOOST_TEST(values.number("rate") == 0.1);
  BOOST_TEST(!values.has("path"));
  BOOST_TEST(values.all().size() == 1U);
}

// What scenarios are checked and documented from must hold together for every model.
BOOST_AUTO_TEST_CASE(every_registered_model_describes_its_options_soundly) {
  BOOST_TEST(!models::registered_models().empty());
  for (const auto& entry : models::registered_models()) {
    BOOST_TEST_CONTEXT(entry.kind) {
      BOOST_TEST(models::find_model(entry.kind) == &entry);
      BOOST_TEST(!entry.doc.empty());
      for (const auto& option : entry.options) {
        BOOST_TEST_CONTEXT(option.name) {
          BOOST_TEST(option.doc.ends_with('.'));
          BOOST_TEST(option.required != option.fallback.has_value());
          if (option.fallback) BOOST_TEST(fault_of(option, *option.fallback) == "");
        }
      }
    }
  }
  BOOST_TEST(models::find_model("no-such-model") == nullptr);
}

BOOST_AUTO_TEST_CASE(a_model_that_the_data_contradicts_says_so) {
  const auto* factorization = models::find_model("matrix-factorization");
  const auto* classes = models::find_model("logistic-regression");
  const auto of = [](const models::model_entry* entry, models::data_facts facts) {
    return entry->build(defaults(entry->options), facts);
  };
  BOOST_TEST((of(factorization, {10, 2, models::objective::logistic}).error().what == error::kind::usage));
  BOOST_TEST((of(factorization, {0, 2, models::objective::squared_error}).error().what == error::kind::data));
  BOOST_TEST((of(classes, {10, 2, models::objective::squared_error}).error().what == error::kind::usage));
  BOOST_TEST(of(classes, {10, 2, models::objective::logistic}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
