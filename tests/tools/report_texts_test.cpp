// What the report says of models of texts: their figures, FedAtt's protocol of 2018 and its attention.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/tools/reports.hpp"

BOOST_AUTO_TEST_SUITE(texts)

using namespace furlong::tests;
using namespace furlong::tools;

// A run of a language model, and what its page and a comparison say of its figures.
BOOST_AUTO_TEST_CASE(figures_of_texts_come_first_and_are_explained) {
  const scratch run;
  const std::string eval =
      R"({"unseen":{"accuracy":0.25,"accuracy_words":0.2,"accuracy_no_end":0.3,"perplexity":81.5,"loss":4.4,"clients":1,"examples":9}})";
  run.write("summary.json", R"({"algorithm":"fedavg","eval":)" + eval + "}");
  run.write("metrics.jsonl", R"({"round":1,"bytes_up":5,"bytes_down":5,"eval":)" + eval + "}\n" +
                                 R"({"round":2,"bytes_up":5,"bytes_down":5,"eval":)" + eval + "}\n");
  const auto record = read(run.at);
  const auto html = page(record);
  const auto data = data_of(record);
  BOOST_TEST(card_of(data, "Perplexity, unseen").starts_with("81.5"));
  BOOST_TEST(has(html, "Accuracy before the end"));
  BOOST_TEST(charts_of(data)[0]["title"] == "Perplexity");
  for (const auto& text : {html, report_html(std::vector<run_record>{record, read(golden / "fedavg")})}) {
    BOOST_TEST(count(text, "exp of the mean loss per predicted token; only comparable with the same vocabulary.") ==
               2U);
    BOOST_TEST(count(text, "without the tokens that are unknown or end a sentence; before the end") == 2U);
    BOOST_TEST(count(text, "Unseen: clients never asked to train.") == 2U);
  }
  const auto ratings = page(read(golden / "fedavg"));
  BOOST_TEST(has(ratings, "Unseen: clients never asked to train."));
  BOOST_TEST(!has(ratings, "Perplexity:"));
  BOOST_TEST(!has(ratings, "Accuracy of words:"));
  BOOST_TEST(!has(ratings, "Seen:"));  // its runs score none
}

// A protocol whose figures are called perplexities and are not.
BOOST_AUTO_TEST_CASE(the_protocol_of_2018_is_said_loudly_and_never_best) {
  const auto run_of = [](const std::string& name, double perplexity, const std::string& protocol) {
    const scratch run;
    run.write("summary.json", R"({"scenario":")" + name + R"(","algorithm":"fedavg","eval":{"unseen":{"perplexity":)" +
                                  std::to_string(perplexity) + R"(,"clients":1,"examples":9}}})");
    run.write("metrics.jsonl", "");
    if (!protocol.empty()) run.write("scenario.toml", "[model]\nkind = \"gru-lm\"\nprotocol = \"" + protocol + "\"\n");
    return read(run.at);
  };
  const std::string loud = "what is called perplexity is not that of a language model";
  const std::string apart = "Runs of this protocol cannot be compared with the others";
  const auto old = run_of("old", 5.0, "fedatt-2018");
  BOOST_TEST(count(page(old), loud) == 3U);  // among the notes, below the table, and in the text
  BOOST_TEST(has(data_of(old)["main"]["warning"].dump(), "Protocol fedatt-2018: "));
  BOOST_TEST(has(data_of(old)["runs"][0]["notes"].dump(), loud));
  BOOST_TEST(!has(page(old), apart));

  const std::vector<run_record> all{old, run_of("good", 80.0, "language-model"), run_of("bad", 90.0, "")};
  for (const auto& model : {all[1], all[2]}) BOOST_TEST(!has(page(model), loud));
  const auto table = comparison_table(over_seeds(all));
  BOOST_TEST(has(table, "old (fedatt-2018)"));
  BOOST_TEST(has(table, "80.00 +-   0.00*"));
  BOOST_TEST(!has(table, "5.0000*"));
  BOOST_TEST(has(table, loud));
  BOOST_TEST(has(table, apart));
  const auto html = report_html(over_seeds(all));
  BOOST_TEST(has(html, "old (fedatt-2018)"));
  BOOST_TEST(has(main_table(data_of(over_seeds(all))), " | 80.00 \u00B10.00*"));
  BOOST_TEST(count(html, apart) == 2U);  // in the page and in the text

  // One language model beside it has nobody to be better than; two of the protocol have each other.
  BOOST_TEST(!has(comparison_table(over_seeds({all[0], all[1]})), "*"));
  const std::vector<run_record> alike{old, run_of("older", 6.0, "fedatt-2018")};
  BOOST_TEST(has(comparison_table(over_seeds(alike)), "5.0000 +- 0.0010*"));
  BOOST_TEST(has(comparison_table(alike), loud));
  BOOST_TEST(!has(comparison_table(alike), apart));
  BOOST_TEST(!has(comparison_table({all.data() + 1, 2}), loud));
}

// How far the weights of a round's updates lie apart, tensor by tensor; 1 is an equal share.
BOOST_AUTO_TEST_CASE(attention_is_read_and_drawn) {
  const scratch run;
  run.write("summary.json", R"({"scenario":"attends","algorithm":"fedavg"})");
  const std::string of = R"(,"attention":{"clients":[3,5],"tensors":[{"tensor":"user","min":)";
  run.write("metrics.jsonl", R"({"round":1)" + of + R"(0.5,"max":1.5,"weights":[0.5,1.5]},)" +
                                 R"({"tensor":"item","min":1,"max":1,"weights":[1,1]}]}})" + "\n" + R"({"round":2)" +
                                 of + R"(0.75,"max":1.25,"weights":[1.25,0.75]},)" +
                                 R"({"tensor":"item","min":0.9,"max":1.1,"weights":[0.9,1.1]}]}})" + "\n");
  const auto record = read(run.at);
  BOOST_REQUIRE(record.rounds.size() == 2U);
  BOOST_REQUIRE(record.rounds[1].attention.size() == 2U);
  BOOST_TEST(record.rounds[1].attention[0].tensor == "user");
  BOOST_TEST(record.rounds[1].attention[0].least == 0.75);
  BOOST_TEST(record.rounds[1].attention[0].most == 1.25);

  const auto html = page(record);
  const auto data = data_of(record);
  BOOST_TEST(has(section_of(data, "Attention")["note"], "1 is what a plain mean gives to all."));
  BOOST_TEST(!chart_of(data, "Weight of an update in item").is_null());
  const auto chart = chart_of(data, "Weight of an update in user");
  BOOST_TEST(series_of(chart, "largest")["y"] == (page_json{1.5, 1.25}));
  BOOST_TEST(series_of(chart, "smallest")["y"] == (page_json{0.5, 0.75}));

  const std::string elsewhere = "is drawn in the report of a single run.";
  BOOST_TEST(!has(html, elsewhere));
  const auto beside = report_html(std::vector<run_record>{record, read(golden / "fedavg")});
  BOOST_TEST(!has(beside, "Weight of an update in"));
  BOOST_TEST(has(beside, elsewhere));
  BOOST_TEST(!has(report_html(both()), elsewhere));

  run.write("metrics.jsonl", R"({"round":1,"attention":{"tensors":[{"tensor":"user","min":1}]}})"
                             "\n");
  BOOST_TEST(has(run.problem(), "has no \"attention.tensors[0].max\""));
}

BOOST_AUTO_TEST_SUITE_END()
