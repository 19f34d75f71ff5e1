// The source "text": files with a sentence a line.
#include <map>
#include <set>

#include "scenarios/data/text_files.hpp"
#include "scenarios/data/vocabulary.hpp"
#include "tests/scenarios/text_support.hpp"

BOOST_AUTO_TEST_SUITE(text_source)

using namespace furlong;
using namespace furlong::scenarios;
using federated::part;
using testing::temporary_directory;
using testing::texts_of;
using names = std::vector<std::string>;

namespace {

dataset load(const std::vector<setting_override>& options, const std::filesystem::path& root) {
  return testing::good_data("text", options, root);
}

/// A folder in the layout of PTB: ten sentences to train, "s0 common" to "s9 common", three and two held out.
struct small_ptb : temporary_directory {
  small_ptb() {
    std::string train;
    for (int i = 0; i < 10; ++i) train += " s" + std::to_string(i) + " common \n\n";
    write("ptb/ptb.train.txt", train);
    write("ptb/ptb.valid.txt", " = Heading = \ncommon v0\ncommon v1 <unk>\nv2\n");
    write("ptb/ptb.test.txt", "t0 common t0\n t1");
    write("ptb/.hidden", "not looked at");
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(sentences_are_dealt_and_the_parts_of_the_data_kept) {
  const small_ptb root;
  const auto data = load({{"clients", "3"}}, root.path());
  const auto& clients = *data.clients;
  const auto facts = clients.facts();
  BOOST_TEST((facts.labels == models::objective::next_token));
  // s0 to s9, common, v0 to v2, t0, t1
  BOOST_TEST(facts.words == models::first_word + 16U);
  BOOST_TEST(facts.features == facts.words);
  BOOST_TEST(facts.clients == 3U + 3U + 2U);
  BOOST_TEST(clients.training().size() == 3U);
  BOOST_TEST((std::ranges::equal(clients.unseen_validation(), std::vector<std::uint32_t>{3, 4, 5})));
  BOOST_TEST((std::ranges::equal(clients.unseen_test(), std::vector<std::uint32_t>{6, 7})));
  std::set<std::string> dealt;
  for (const auto client : clients.training()) {
    const auto own = texts_of(clients, client, part::train);
    BOOST_TEST(own.size() == 3U);
    dealt.insert(own.begin(), own.end());
  }
  BOOST_TEST(dealt.size() == 9U);
  for (const auto& text : dealt) BOOST_TEST((text.starts_with("<start> s") && text.ends_with(" common <end>")), text);
  BOOST_TEST((data.notes == names{"1 of the 10 training sentences are left out, so that all clients have the same "
                                  "number"}));
  BOOST_TEST((texts_of(clients, 4, part::train) == names{"<start> common v1 <unknown> <end>"}));
  BOOST_TEST((texts_of(clients, 7, part::train) == names{"<start> t1 <end>"}));
  BOOST_TEST(clients.client_name(4) == "validation 1");
  BOOST_TEST(clients.client_name(0) == "shard 0");
  BOOST_TEST((testing::labels_of(clients, 0, part::train) == std::vector<float>{0.0F, 0.0F, 0.0F}));
  BOOST_TEST(clients.count(0, part::train) == 3U);
  BOOST_TEST(clients.count(0, part::test) == 0U);
  BOOST_TEST(texts_of(*load({{"clients", "3"}, {"skip_headings", "false"}}, root.path()).clients, 3, part::train)[0] ==
             "<start> = Heading = <end>");
}

BOOST_AUTO_TEST_CASE(paragraphs_are_cut_into_sentences) {
  const temporary_directory root;
  root.write("wiki/wiki.train.tokens", " = Title = \n \n One . Two ! \t Is it 3.5 ? . and a rest\n alone \n last .\n");
  const auto of = [&](const char* cut) {
    const auto data =
        load({{"path", "wiki"}, {"clients", "1"}, {"order", "time"}, {"cut_sentences", cut}}, root.path());
    const auto all = texts_of(*data.clients, 0, part::train);
    return std::multiset<std::string>(all.begin(), all.end());
  };
  BOOST_TEST(
      (of("true") == std::multiset<std::string>{"<start> . <end>", "<start> Is it 3.5 ? <end>", "<start> One . <end>",
                                                "<start> Two ! <end>", "<start> alone <end>",
                                                "<start> and a rest <end>", "<start> last . <end>"}));
  BOOST_TEST((of("false") == std::multiset<std::string>{"<start> One . Two ! Is it 3.5 ? . and a rest <end>",
                                                        "<start> alone <end>", "<start> last . <end>"}));

  root.write("chat.txt", "ann\tHi . You ?\nbob\tYes .\nann\tBye\n");
  const auto users =
      load({{"path", "chat.txt"}, {"user_column", "true"}, {"order", "time"}, {"cut_sentences", "true"}}, root.path());
  BOOST_TEST((texts_of(*users.clients, 0, part::train) ==
              names{"<start> Hi . <end>", "<start> You ? <end>", "<start> Bye <end>"}));
  BOOST_TEST((texts_of(*users.clients, 1, part::train) == names{"<start> Yes . <end>"}));
}

BOOST_AUTO_TEST_CASE(sentences_are_dealt_by_the_seed) {
  const small_ptb root;
  const auto of = [&](const char* seed) {
    return texts_of(*load({{"clients", "2"}, {"split_seed", seed}}, root.path()).clients, 0, part::train);
  };
  BOOST_TEST((of("1") == of("1")));
  BOOST_TEST((of("1") != of("2")));
}

BOOST_AUTO_TEST_CASE(held_out_sentences_are_divided_over_few_clients_and_none_is_cut) {
  const small_ptb root;
  const auto data = load({{"clients", "5"}, {"held_out_clients", "2"}, {"max_examples", "1"}}, root.path());
  const auto& clients = *data.clients;
  BOOST_TEST(clients.unseen_validation().size() == 2U);
  BOOST_TEST(texts_of(clients, 5, part::train).size() == 2U);
  BOOST_TEST(texts_of(clients, 6, part::train).size() == 1U);
  for (const auto client : clients.training()) BOOST_TEST(texts_of(clients, client, part::train).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_vocabulary_is_of_the_training_sentences_and_others_go_into_buckets) {
  const small_ptb root;
  const auto data = load({{"clients", "2"}, {"vocabulary", "1"}, {"buckets", "4"}, {"max_tokens", "2"}}, root.path());
  const auto facts = data.clients->facts();
  BOOST_TEST(facts.words == models::first_word + 1U);
  BOOST_TEST(facts.features == facts.words + 4U);
  BOOST_TEST(data.clients->feature_name(models::first_word) == "common");
  BOOST_TEST((data.notes == names{"the vocabulary has 1 of 11 different tokens: 50.0 % of those trained on"}));
  BOOST_TEST(texts_of(*data.clients, 5, part::train)[0] ==
             "<start> unknown words " + std::to_string(word_hash("t0") % 4) + " common <end>");
  const auto plain = load({{"clients", "2"}, {"vocabulary", "1"}}, root.path());
  BOOST_TEST(texts_of(*plain.clients, 5, part::train)[0] == "<start> <unknown> common <unknown> <end>");
  BOOST_TEST(plain.clients->facts().features == plain.clients->facts().words);
}

BOOST_AUTO_TEST_CASE(a_typed_text_is_read_as_those_of_the_data) {
  const small_ptb root;
  const auto data = load({{"clients", "2"}, {"vocabulary", "1"}, {"buckets", "4"}, {"max_tokens", "2"}}, root.path());
  const auto facts = data.clients->facts();
  const auto bucket = [&](const char* word) { return facts.words + static_cast<std::uint32_t>(word_hash(word) % 4); };
  const auto read = data.texts->read(" common new  <unk> Common");  // to go on with: not cut
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST((read->features == std::vector<std::uint32_t>{models::start_token, models::first_word, bucket("new"),
                                                           models::unknown_token, bucket("Common")}));
  BOOST_TEST((read->offsets == std::vector<std::uint32_t>{0, 5}));
  BOOST_TEST(read->labels.size() == 1U);
  const auto lower = load({{"clients", "2"}, {"lower_case", "true"}}, root.path());
  BOOST_TEST(lower.clients->feature_name(lower.texts->read("COMMON")->features[1]) == "common");

  temporary_directory table;
  table.write("t.tsv", "user\ttext\tlabel\nu\tab\tx\nu\tba\ty\n");
  const auto letters = testing::good_data(
      "labelled-text", {{"path", "t.tsv"}, {"tokens", "characters"}, {"max_tokens", "2"}}, table.path());
  BOOST_TEST((letters.classes == names{"x", "y"}));
  const auto cut = letters.texts->read("  abc ");  // as the data are
  BOOST_REQUIRE(cut.has_value());
  BOOST_TEST(cut->features.size() == 2U);
  BOOST_TEST(letters.clients->feature_name(cut->features[1]) == "b");
  BOOST_TEST(!letters.texts->read("  ").has_value());
}

BOOST_AUTO_TEST_CASE(a_text_that_is_too_long_to_predict_is_refused) {
  temporary_directory root;
  const auto words = [](std::size_t count) {
    std::string line;
    for (std::size_t i = 0; i < count; ++i) line += "a ";
    return line + '\n';
  };
  root.write("book.txt", "a b\n" + words(100'000) + words(100'001));
  const std::vector<setting_override> options{{"path", "book.txt"}, {"clients", "1"}};
  const auto why = testing::text_of(testing::build_data("text", options, root.path()));
  BOOST_TEST(why.ends_with("book.txt: a text of \"shard 0\" has 100001 tokens, and at most 100000 can be predicted one "
                           "after the other; cut texts with data.max_tokens, or split this text"),
             why);
  auto cut = options;
  cut.push_back({"max_tokens", "100000"});
  BOOST_TEST(texts_of(*load(cut, root.path()).clients, 0, part::train).size() == 3U);
}

// Whether there is anybody to score is known once the files are read.
BOOST_AUTO_TEST_CASE(a_file_without_parts_has_nobody_to_score) {
  temporary_directory root;
  root.write("book.txt", "a b\nc d\ne f\ng h\n");
  for (const char* part : {"train", "valid"}) root.write(std::string("parts/x.") + part + ".txt", "a b\nc d\n");
  const std::string text =
      "[scenario]\nname = \"t\"\nrounds = 2\n[data]\nsource = \"text\"\npath = \"book.txt\"\nclients = 1\n"
      "[model]\nkind = \"gru-lm\"\n[algorithm]\nkind = \"fedavg\"\n[participation]\nper_round = 1\n"
      "[evaluation]\nevery = 1\n";
  const auto fitted = [&](const std::vector<setting_override>& overrides) {
    auto read = parse_scenario_text(text, "t.toml", overrides);
    BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
    const auto data = load_data(*read, root.path());
    BOOST_REQUIRE(data.has_value());
    const auto outcome = fit(*read, *data);
    if (!outcome) return outcome.error().text();
    return read->notes.empty() ? std::string() : read->notes.front();
  };
  const setting_override best{"evaluation.select", "best"};
  const setting_override divided{"data.split", "[0.5, 0.25, 0.25]"};
  const setting_override parts{"data.path", "parts"};
  const std::string nobody = "and the data has nobody in it to score; set data.unseen_users or data.split, ";
  BOOST_TEST(fitted({}).starts_with("nothing is scored: nobody has examples for it; set data.split = [0.8, 0.1, 0.1]"));
  BOOST_TEST(fitted({best}).find("evaluation.select: looks at the group validation, " + nobody) != std::string::npos);
  for (const auto& enough : {divided, parts}) {
    BOOST_TEST(fitted({enough}) == "");
    BOOST_TEST(fitted({enough, best}) == "");
  }
  const setting_override halved{"evaluation.split", "true"};  // the only sentence of an unseen client is support
  BOOST_TEST(fitted({parts, halved, best}).find("data.split, or choose \"last\"") != std::string::npos);
  const setting_override metric{"evaluation.target.metric", "unseen.perplexity"};
  const setting_override at_most{"evaluation.target.at_most", "9"};
  BOOST_TEST(fitted({parts, metric, at_most}).find("looks at the group unseen, " + nobody) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(dividing_data_that_have_parts_of_their_own_is_noted) {
  const small_ptb root;
  const auto notes = [&](std::vector<setting_override> options) {
    options.push_back({"clients", "5"});
    return load(options, root.path()).notes;
  };
  BOOST_TEST((notes({}) == names{}));
  BOOST_TEST((notes({{"split", "0.5,0.5,0"}}) ==
              names{"data.split takes a validation share of what is trained on, which is not used for evaluation: "
                    "validation is the data's own part"}));
  BOOST_TEST((notes({{"split", "0.5,0,0.5"}}) ==
              names{"data.split takes a test share of what is trained on: the group seen is scored on it, and unseen "
                    "on the data's own test part"}));
  BOOST_TEST((notes({{"unseen_users.validation", "0.2"}, {"unseen_users.test", "0.2"}}) ==
              names{"data.unseen_users.validation holds out clients that would train: they are scored together with "
                    "the data's own validation part",
                    "data.unseen_users.test holds out clients that would train: they are scored together with the "
                    "data's own test part"}));
  temporary_directory plain;
  plain.write("a.txt", "a\nb\nc\nd\n");
  const std::vector<setting_override> divided{
      {"path", "a.txt"}, {"clients", "2"}, {"split", "0.5,0,0.5"}, {"unseen_users.test", "0.5"}};
  BOOST_TEST((load(divided, plain.path()).notes == names{}));
}

BOOST_AUTO_TEST_CASE(other_folders_are_one_text_that_is_split) {
  temporary_directory root;
  root.write("books/a.txt", "a b\nc d\n");
  root.write("books/b.txt", "e f\r\ng h");
  root.write("books/notes.md", "not looked at");
  const auto data = load({{"path", "books"}, {"clients", "1"}, {"split", "0.5,0.25,0.25"}}, root.path());
  const auto& clients = *data.clients;
  BOOST_TEST(clients.facts().clients == 1U);
  BOOST_TEST(texts_of(clients, 0, part::train).size() == 2U);
  BOOST_TEST(texts_of(clients, 0, part::validation).size() == 1U);
  BOOST_TEST(texts_of(clients, 0, part::test).size() == 1U);
  const auto letters =
      load({{"path", "books/a.txt"}, {"clients", "1"}, {"tokens", "characters"}, {"order", "time"}}, root.path());
  BOOST_TEST(letters.clients->facts().words == models::first_word + 5U);
  const auto held_out = load({{"path", "books"}, {"clients", "4"}, {"unseen_users.test", "0.5"}}, root.path());
  BOOST_TEST(held_out.clients->unseen_test().size() == 2U);
}

BOOST_AUTO_TEST_CASE(users_of_a_column_are_clients) {
  temporary_directory root;
  root.write("chat/chat.train.txt", "ann\tHello there\nbob\thi\nann\tBye\ncid\tx\nbob\t \n");
  root.write("chat/chat.test.txt", "dan\thello bob\n");
  const auto data =
      load({{"path", "chat"}, {"user_column", "true"}, {"order", "time"}, {"lower_case", "true"}}, root.path());
  const auto& clients = *data.clients;
  BOOST_TEST(clients.client_name(0) == "ann");
  BOOST_TEST((texts_of(clients, 0, part::train) == names{"<start> hello there <end>", "<start> bye <end>"}));
  BOOST_TEST((texts_of(clients, 1, part::train) == names{"<start> hi <end>"}));
  BOOST_TEST((std::ranges::equal(clients.unseen_test(), std::vector<std::uint32_t>{3})));
  const auto few = load({{"path", "chat"}, {"user_column", "true"}, {"max_users", "1"}}, root.path());
  BOOST_TEST(few.clients->training().size() == 1U);
  BOOST_TEST(few.clients->client_name(1) == "dan");
  const auto often = load({{"path", "chat/chat.train.txt"}, {"user_column", "true"}, {"min_texts", "2"}}, root.path());
  BOOST_TEST(often.clients->facts().clients == 1U);
}

BOOST_AUTO_TEST_CASE(blanks_are_part_of_a_users_name) {
  temporary_directory root;
  root.write("a.txt", "ann\thi\n ann\thi\nann \thi\nann\tyou\n");
  const auto data = load({{"path", "a.txt"}, {"user_column", "true"}}, root.path());
  BOOST_REQUIRE(data.clients->facts().clients == 3U);
  BOOST_TEST(data.clients->client_name(1) == " ann");
  BOOST_TEST(data.clients->client_name(2) == "ann ");
}

BOOST_AUTO_TEST_CASE(a_byte_order_mark_is_no_part_of_a_name_or_a_word) {
  temporary_directory root;
  root.write("a.txt", "\xEF\xBB\xBFhello you\nhello\n");
  root.write("b.txt",
             "\xEF\xBB\xBF"
             "ann\thello\nann\tyou\n");
  const auto plain = load({{"path", "a.txt"}, {"clients", "1"}}, root.path());
  BOOST_TEST(plain.clients->facts().words == models::first_word + 2U);
  const auto named = load({{"path", "b.txt"}, {"user_column", "true"}}, root.path());
  BOOST_TEST(named.clients->facts().clients == 1U);
  BOOST_TEST(named.clients->client_name(0) == "ann");
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_told_with_its_place) {
  temporary_directory root;
  root.write("bytes/a.train.txt", "fine\nfi\xFFne\n");
  root.write("empty/a.train.txt", "\n \n= only a heading =\n");
  root.write("twice/a.train.txt", "a\n");
  root.write("twice/b.train.txt", "a\n");
  root.write("none/a.csv", "a\n");
  root.write("names/a.train.txt", "a\xFF\thello\n");
  root.write("both/a.train.txt", "ann\thello\n");
  root.write("both/a.test.txt", "ann\thello\n");
  const auto message = [&](std::vector<setting_override> options) {
    const auto all = testing::text_of(testing::build_data("text", options, root.path()));
    const auto at = all.find(root.path().string());
    return at == std::string::npos ? all : all.substr(at + root.path().string().size() + 1);
  };
  const setting_override two{"clients", "2"};
  const setting_override column{"user_column", "true"};
  BOOST_TEST(message({two, {"path", "bytes"}}).starts_with("bytes/a.train.txt:2: is not UTF-8; convert the file"));
  BOOST_TEST(message({two, {"path", "empty"}}).starts_with("empty/a.train.txt: has no sentences; "));
  BOOST_TEST(
      message({two, {"path", "twice"}}).starts_with("twice/b.train.txt: is the same part of the data as a.train"));
  BOOST_TEST(message({two, {"path", "none"}}).starts_with("none: has no text files; name one text file"));
  BOOST_TEST(message({two, {"path", "missing"}}).starts_with("missing: the file or folder does not exist; "));
  for (const char* told : {"FURLONG_DATA", "https://"})
    BOOST_TEST(message({two, {"path", "missing"}}).find(told) != std::string::npos, told);
  BOOST_TEST(message({two, {"path", "twice/a.train.txt"}}).starts_with("twice/a.train.txt: has 1 sentences for 2 "));
  for (const char* bad : {"hello", "\thello", " \r\thello"}) {
    root.write("users/a.train.txt", "ann\thello\n" + std::string(bad) + "\n");
    BOOST_TEST(message({column, {"path", "users"}}).starts_with("users/a.train.txt:2: found \""), bad);
    BOOST_TEST(message({column, {"path", "users"}}).find("without a user before a tab; ") != std::string::npos, bad);
  }
  BOOST_TEST(
      message({column, {"path", "both"}}).starts_with("both/a.test.txt:1: user \"ann\" has sentences in another"));
  BOOST_TEST(message({}).starts_with("clients: is missing: the owners of the sentences are unknown"));
  const auto negative = parse_scenario("scenarios/ptb-fedatt.toml", {{"data.clients", "-5"}});
  BOOST_REQUIRE(!negative);
  BOOST_TEST(negative.error().size() == 1U);
  BOOST_TEST(message({two, column}).starts_with("clients: says how many clients there are"));
  BOOST_TEST(message({two, {"max_users", "3"}}).starts_with("max_users: is about users"));
  BOOST_TEST(message({column, {"held_out_clients", "3"}}).starts_with("held_out_clients: divides sentences over"));
}

BOOST_AUTO_TEST_CASE(ptb_has_the_published_numbers, *boost::unit_test::precondition(testing::has_real_data("ptb"))) {
  const auto root = testing::real_data("ptb");
  const auto data = load({{"clients", "100"}, {"lower_case", "true"}}, *root);
  const auto& clients = *data.clients;
  // start, end, unknown and 9,998 words: FedAtt's 10,001 types.
  BOOST_TEST(clients.facts().words == 10001U);
  std::size_t sentences = 0;
  const auto count = [&](std::span<const std::uint32_t> of) {
    std::size_t words = 0;
    sentences = 0;
    models::examples scratch;
    for (const auto client : of) {
      const auto view = clients.load(client, part::train, scratch);
      sentences += view.size();
      words += view.features.size() - 2 * view.size();
    }
    return words;
  };
  BOOST_TEST(count(clients.unseen_validation()) == 70390U);
  BOOST_TEST(sentences == 3370U);
  BOOST_TEST(count(clients.unseen_test()) == 78669U);
  BOOST_TEST(sentences == 3761U);
  count(clients.training());
  BOOST_TEST(sentences == 42000U);
  BOOST_TEST(clients.count(99, part::train) == 420U);
  const auto one = load({{"clients", "1"}}, *root);
  models::examples scratch;
  const auto all = one.clients->load(0, part::train, scratch);
  BOOST_TEST(all.size() == 42068U);
  BOOST_TEST(all.features.size() - 2 * all.size() == 887521U);
}

BOOST_AUTO_TEST_SUITE_END()
