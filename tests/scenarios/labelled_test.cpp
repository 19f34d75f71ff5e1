// The source "labelled-text".
#include <cmath>
#include <set>

#include "scenarios/data/labelled_file.hpp"
#include "scenarios/data/vocabulary.hpp"
#include "tests/scenarios/text_support.hpp"

BOOST_AUTO_TEST_SUITE(labelled_text)

using namespace furlong;
using namespace furlong::scenarios;
using federated::part;
using testing::has_real_data;
using testing::labels_of;
using testing::temporary_directory;
using testing::texts_of;
using names = std::vector<std::string>;
using numbers = std::vector<float>;

namespace {

dataset load(const std::vector<setting_override>& options, const std::filesystem::path& root) {
  return testing::good_data("labelled-text", options, root);
}

const std::vector<setting_override> whole = {{"path", "t.tsv"}, {"split", "1,0,0"}, {"order", "time"}};

std::vector<setting_override> with(std::vector<setting_override> more) {
  more.insert(more.end(), whole.begin(), whole.end());
  return more;
}

}  // namespace

BOOST_AUTO_TEST_CASE(labels_that_are_one_number_are_noted) {
  temporary_directory root;
  const auto notes = [&](const std::string& rows, std::vector<setting_override> more = {}) {
    root.write("t.tsv", "user\ttext\tlabel\n" + rows);
    return load(with(std::move(more)), root.path()).notes;
  };
  BOOST_TEST((notes("ann\ta\t1\nann\tb\t01\nann\tc\t1.0\nann\td\t2\nann\te\tx\n") ==
              names{"the labels \"1\", \"01\", \"1.0\" are one number and 3 different classes"}));
  BOOST_TEST((notes("ann\ta\t1\nann\tb\t2\nann\tc\tnan\nann\td\tnan(1)\n") == names{}));
  // How many users an option leaves out.
  const std::string users = "ann\ta\t1\nann\tb\t2\nbob\ta\t1\ncid\ta\t2\n";
  BOOST_TEST((notes(users) == names{}));
  BOOST_TEST((notes(users, {{"min_texts", "2"}}) ==
              names{"2 of the 3 users are left out by data.min_texts and data.max_users"}));
}

BOOST_AUTO_TEST_CASE(utf16_is_told_from_other_bytes) {
  temporary_directory root;
  const std::string little("\xFF\xFEu\0s\0", 6);
  const std::string big("\xFE\xFF\0u\0s", 6);
  for (const auto& bytes : {little, big}) {
    const auto message = [&](const char* source, const std::string& file, std::vector<setting_override> options) {
      root.write(file, bytes);
      options.push_back({"path", file});
      return testing::text_of(testing::build_data(source, options, root.path()));
    };
    const std::string why =
        ": has a UTF-16 byte order mark; texts must be UTF-8; convert it, for example "
        "with iconv -f UTF-16 -t UTF-8";
    BOOST_TEST(message("labelled-text", "t.tsv", {}).ends_with("t.tsv" + why));
    BOOST_TEST(message("text", "t.txt", {{"clients", "1"}}).ends_with("t.txt" + why));
    BOOST_TEST(message("leaf", "t.json", {}).ends_with("t.json" + why));
  }
}

BOOST_AUTO_TEST_CASE(blanks_are_part_of_a_users_name_and_not_of_a_label) {
  temporary_directory root;
  const auto clients_of = [&](const std::string& file, const std::string& text) {
    root.write(file, text);
    const auto data = load({{"path", file}, {"split", "1,0,0"}}, root.path());
    BOOST_TEST(data.classes.size() == 2U);
    names all;
    for (std::uint32_t client = 0; client < data.clients->facts().clients; ++client)
      all.push_back(data.clients->client_name(client));
    return all;
  };
  const names kept = {"ann", "ann ", " ann"};
  BOOST_TEST((clients_of("a.csv", "user,text,label\nann,a,x\n\"ann \",b,y\n ann,c, x\n") == kept));
  BOOST_TEST((clients_of("a.tsv", "user\ttext\tlabel\nann\ta\tx\nann \tb\ty\n ann\tc\tx \n") == kept));
  BOOST_TEST((clients_of("a.jsonl",
                         "{\"user\": \"ann\", \"text\": \"a\", \"label\": \"x\"}\n"
                         "{\"user\": \"ann \", \"text\": \"b\", \"label\": \"y\"}\n"
                         "{\"user\": \" ann\", \"text\": \"c\", \"label\": \"x\"}\n") == kept));
}

BOOST_AUTO_TEST_CASE(labels_that_are_not_trained_on_are_noted) {
  temporary_directory root;
  root.write("t.tsv", "user\ttext\tlabel\na\t1\tx\na\t2\ty\na\t3\tx\na\t4\tz\nb\t1\tx\nb\t2\ty\nb\t3\tz\nb\t4\tz\n");
  const auto notes = [&](const char* split, std::vector<setting_override> more = {}) {
    more.insert(more.end(), {{"path", "t.tsv"}, {"split", split}, {"split_by", "time"}});
    return load(more, root.path()).notes;
  };
  BOOST_TEST((notes("1,0,0") == names{}));
  BOOST_TEST((notes("0.5,0.25,0.25") ==
              names{"3 of the 4 examples for validation and test have a label that no training example has"}));
  BOOST_TEST((notes("0.75,0,0.25") == names{}));  // z is among what b trains on
  BOOST_TEST((notes("0.5,0.25,0.25", {{"positive", "y"}}) == names{}));
  BOOST_TEST((notes("0.5,0.25,0.25", {{"positive", "z"}}) ==
              names{"3 of the 4 examples for validation and test have a label that no training example has"}));
}

BOOST_AUTO_TEST_CASE(texts_of_a_user_are_gathered_and_classes_numbered) {
  temporary_directory root;
  root.write("t.tsv", "user\ttext\tlabel\nann\tab\t10\nbob\tb\t9\nann\t\xC3\xA4\t9\nbob\tbaz\tx\n");
  const auto data = load(whole, root.path());
  const auto& clients = *data.clients;
  const auto facts = clients.facts();
  BOOST_TEST((facts.labels == models::objective::categorical));
  BOOST_TEST(facts.classes == 3U);
  BOOST_TEST(facts.clients == 2U);
  BOOST_TEST(facts.words == models::first_word + 4U);  // b, a, ä, z
  BOOST_TEST(clients.feature_name(models::first_word) == "b");
  BOOST_TEST((texts_of(clients, 0, part::train) == names{"a b", "\xC3\xA4"}));
  BOOST_TEST((labels_of(clients, 0, part::train) == numbers{1.0F, 0.0F}));
  BOOST_TEST((labels_of(clients, 1, part::train) == numbers{0.0F, 2.0F}));
  BOOST_TEST(clients.client_name(1) == "bob");
  BOOST_TEST(clients.taste(1) == 0.0);

  const auto binary = load(with({{"positive", "9"}, {"tokens", "words"}}), root.path());
  BOOST_TEST((binary.clients->facts().labels == models::objective::logistic));
  BOOST_TEST(binary.clients->facts().classes == 0U);
  BOOST_TEST((labels_of(*binary.clients, 0, part::train) == numbers{0.0F, 1.0F}));
  BOOST_TEST((texts_of(*binary.clients, 0, part::train) == names{"ab", "\xC3\xA4"}));
  const auto few = load(with({{"vocabulary", "1"}, {"max_tokens", "2"}}), root.path());
  BOOST_TEST((texts_of(*few.clients, 1, part::train) == names{"b", "b <unknown>"}));
}

BOOST_AUTO_TEST_CASE(a_format_that_is_named_counts_whatever_the_files_name) {
  temporary_directory root;
  const std::pair<const char*, const char*> files[] = {
      {"tsv", "label\tuser\ttext\nx\tann\t\"a, b\ny\tann\tc\n"},
      {"csv", "label,user,text\nx,ann,\"\"\"a, b\"\ny,ann,c\n"},
      {"json-lines",
       "{\"label\": \"x\", \"user\": \"ann\", \"text\": \"\\\"a, b\"}\n"
       "{\"label\": \"y\", \"user\": \"ann\", \"text\": \"c\"}\n"}};
  for (const auto& [format, text] : files)
    for (const char* file : {"rows.txt", "rows.csv", "rows.tsv"}) {
      root.write(file, text);
      const std::vector<setting_override> options = {
          {"path", file}, {"format", format}, {"tokens", "words"}, {"split", "1,0,0"}, {"order", "time"}};
      BOOST_TEST((texts_of(*load(options, root.path()).clients, 0, part::train) == names{"\"a, b", "c"}), format);
    }
  const auto problem = testing::text_of(testing::build_data("labelled-text", {{"path", "rows.txt"}}, root.path()));
  BOOST_TEST(problem.ends_with("the format cannot be derived from the file name; set data.format"));
}

BOOST_AUTO_TEST_CASE(letters_are_made_small_where_asked) {
  temporary_directory root;
  root.write("t.tsv", "user\ttext\tlabel\nann\tAb AB ab\t1\nann\tab\t0\n");
  const auto data = load(with({{"lower_case", "true"}, {"tokens", "words"}}), root.path());
  BOOST_TEST((texts_of(*data.clients, 0, part::train) == names{"ab ab ab", "ab"}));
  BOOST_TEST(data.clients->facts().words == models::first_word + 1U);
}

BOOST_AUTO_TEST_CASE(a_folder_has_one_file) {
  temporary_directory root;
  root.write("labelled-text/README", "not looked at");
  BOOST_TEST(testing::text_of(find_labelled_file(root.path() / "labelled-text")).find("has 0 files") !=
             std::string::npos);
  root.write("labelled-text/a.csv", "user,text,label\na,b,1\na,c,2\n");
  BOOST_TEST(load({}, root.path()).clients->facts().classes == 2U);
  root.write("labelled-text/b.tsv", "");
  BOOST_TEST(testing::text_of(find_labelled_file(root.path() / "labelled-text")).find("has 2 files") !=
             std::string::npos);
  BOOST_TEST(testing::text_of(find_labelled_file(root.path() / "none")).find("the file or folder does not exist") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(tastes_follow_binary_labels) {
  temporary_directory root;
  root.write("t.tsv", "user\ttext\tlabel\na\tt\tno\nb\tt\tyes\nb\tt\tno\nc\tt\tyes\n");
  const auto data = load(with({{"positive", "yes"}}), root.path());
  BOOST_TEST(data.clients->taste(0) < -0.5);
  BOOST_TEST(std::abs(data.clients->taste(1)) < 1e-6);
  BOOST_TEST(data.clients->taste(2) > 0.5);
}

BOOST_AUTO_TEST_CASE(times_order_the_texts_of_a_user) {
  temporary_directory root;
  root.write("t.csv", "who,what,kind,when\na,late,1,30\na,early,0,10\na,middle,1,20\n");
  const auto data = load({{"path", "t.csv"},
                          {"user_column", "who"},
                          {"text_column", "what"},
                          {"label_column", "kind"},
                          {"time_column", "when"},
                          {"tokens", "words"},
                          {"vocabulary", "0"},
                          {"split", "0.34,0.33,0.33"},
                          {"split_by", "time"}},
                         root.path());
  BOOST_TEST((texts_of(*data.clients, 0, part::train) == names{"early"}));
  BOOST_TEST((texts_of(*data.clients, 0, part::validation) == names{"middle"}));
  BOOST_TEST((texts_of(*data.clients, 0, part::test) == names{"late"}));
}

BOOST_AUTO_TEST_CASE(every_text_is_in_one_part_and_users_may_be_left_out) {
  temporary_directory root;
  std::string text = "user\ttext\tlabel\n";
  for (int user = 0; user < 20; ++user)
    for (int i = 0; i < 5 + user; ++i)
      text += "u" + std::to_string(user) + "\t" + std::to_string(user) + "-" + std::to_string(i) + "\t" +
              std::to_string(i % 3) + "\n";
  root.write("t.tsv", text);
  const auto data =
      load({{"path", "t.tsv"}, {"tokens", "words"}, {"vocabulary", "0"}, {"unseen_users.test", "0.2"}}, root.path());
  const auto& clients = *data.clients;
  BOOST_TEST(clients.unseen_test().size() == 4U);
  for (std::uint32_t client = 0; client < 20; ++client) {
    names all;
    for (const auto which : {part::train, part::validation, part::test})
      for (auto& own : texts_of(clients, client, which)) all.push_back(std::move(own));
    std::ranges::sort(all);
    names expected;
    for (std::uint32_t i = 0; i < 5 + client; ++i) expected.push_back(std::to_string(client) + "-" + std::to_string(i));
    std::ranges::sort(expected);
    BOOST_TEST((all == expected));
    const bool unseen = std::ranges::count(clients.unseen_test(), client) > 0;
    BOOST_TEST(clients.count(client, part::train) ==
               (unseen ? 5 + client : static_cast<std::uint32_t>(std::lround(0.8 * (5 + client)))));
  }
  const auto some = load(with({{"min_texts", "10"}, {"max_users", "3"}}), root.path());
  BOOST_TEST(some.clients->facts().clients == 3U);
  BOOST_TEST(some.clients->client_name(0) == "u5");
  BOOST_TEST(some.clients->count(2, part::train) == 12U);
}

BOOST_AUTO_TEST_CASE(the_next_token_needs_no_labels) {
  temporary_directory root;
  const std::string texts = "user\ttext\nann\ta b a\nann\tb zeta\nbob\ta c a\nbob\tb c\n";
  root.write("t.tsv", texts);
  const auto next = with({{"task", "next-token"}, {"tokens", "words"}, {"vocabulary", "2"}, {"buckets", "50"}});
  const auto data = load(next, root.path());
  const auto& clients = *data.clients;
  const auto facts = clients.facts();
  BOOST_TEST((facts.labels == models::objective::next_token));
  BOOST_TEST(facts.classes == 0U);
  BOOST_TEST(facts.words == models::first_word + 2U);  // a, b
  BOOST_TEST(facts.features == facts.words + 50U);
  const auto bucket = [](const char* word) { return "unknown words " + std::to_string(word_hash(word) % 50); };
  BOOST_TEST(
      (texts_of(clients, 0, part::train) == names{"<start> a b a <end>", "<start> b " + bucket("zeta") + " <end>"}));
  BOOST_TEST((texts_of(clients, 1, part::train) ==
              names{"<start> a " + bucket("c") + " a <end>", "<start> b " + bucket("c") + " <end>"}));

  // The same texts with a label column that is not looked at, even where it is empty.
  root.write("t.tsv", "user\tlabel\ttext\nann\t\ta b a\nann\t1\tb zeta\n");
  BOOST_TEST((texts_of(*load(next, root.path()).clients, 0, part::train) == texts_of(clients, 0, part::train)));

  const auto message = [&](const setting_override& option) {
    return testing::text_of(testing::build_data("labelled-text", with({{"task", "next-token"}, option}), root.path()));
  };
  BOOST_TEST(message({"positive", "1"}) == "positive: is about classes, and task = \"next-token\" has none; remove it");
  BOOST_TEST(message({"label_column", "text"}).starts_with("label_column: is about classes"));
}

BOOST_AUTO_TEST_CASE(only_texts_to_train_on_make_the_vocabulary) {
  temporary_directory root;
  std::string text = "user\ttext\n";
  for (int user = 0; user < 20; ++user)
    for (int i = 0; i < 10; ++i) {
      const auto own = std::to_string(user);
      text += own + "\tall u" + own + " u" + own + "t" + std::to_string(i) + "\n";
    }
  root.write("t.tsv", text);
  const auto data = load({{"path", "t.tsv"},
                          {"task", "next-token"},
                          {"tokens", "words"},
                          {"vocabulary", "1000"},
                          {"buckets", "10"},
                          {"unseen_users.validation", "0.1"},
                          {"unseen_users.test", "0.2"}},
                         root.path());
  const auto& clients = *data.clients;
  std::set<std::string> known;
  for (std::uint32_t word = models::first_word; word < clients.facts().words; ++word)
    known.insert(clients.feature_name(word));
  std::set<std::string> expected = {"all"};
  for (const auto user : clients.training()) {
    expected.insert("u" + clients.client_name(user));
    for (const auto& sentence : texts_of(clients, user, part::train)) {
      const auto end = sentence.rfind(" <end>");
      const auto begin = sentence.rfind(' ', end - 1) + 1;
      expected.insert(sentence.substr(begin, end - begin));
    }
  }
  BOOST_TEST((clients.training().size() == 14U && clients.unseen_test().size() == 4U));
  BOOST_TEST(expected.size() == 1U + 14U + 14U * 8U);
  BOOST_TEST((known == expected));
}

BOOST_AUTO_TEST_CASE(rows_that_cannot_be_used_are_told) {
  temporary_directory root;
  const auto message = [&](const std::string& rows, const std::vector<setting_override>& options = {}) {
    root.write("t.tsv", "user\ttext\tlabel\n" + rows);
    const auto all = testing::text_of(testing::build_data("labelled-text", with(options), root.path()));
    return all.substr(std::min(all.size(), root.path().string().size() + 1));
  };
  BOOST_TEST(message("a\tb\t1\n \tb\t1\n").starts_with("t.tsv:3: names no user; remove the row"));
  BOOST_TEST(message("a\tb\t\n").starts_with("t.tsv:2: has no label; "));
  BOOST_TEST(message("a\t \t1\n").starts_with("t.tsv:2: has an empty text; "));
  for (const char* row : {"a\t\xFF\t1\n", "a\xFF\tb\t1\n", "a\tb\t\xFF\n"})
    BOOST_TEST(message(row).starts_with("t.tsv:2: is not UTF-8; "));
  BOOST_TEST(message("a\tb\t1\na\tc\t1\n") ==
             "t.tsv: all texts have the label \"1\"; at least two classes are required");
  BOOST_TEST(message("a\tb\t1\na\tc\t2\n", {{"positive", "3"}}).starts_with("t.tsv: no text has the label \"3\"; "));
  BOOST_TEST(message("a\tb\t1\na\tc\t1\nd\te\t2\n", {{"min_texts", "2"}}) ==
             "t.tsv: all texts of the users that are kept have the same label; lower data.min_texts, or raise "
             "data.max_users");
  BOOST_TEST(message("") == "t.tsv: has no texts; expected one text per row");
  BOOST_TEST(message("a\tb\tx\n", {{"time_column", "label"}}).starts_with("t.tsv:2: has the time \"x\"; expected a "));
}

BOOST_AUTO_TEST_CASE(openstack_has_its_numbers, *boost::unit_test::precondition(has_real_data("furl-openstack"))) {
  const auto root = testing::real_data("furl-openstack");
  const auto data = load({{"path", "furl-openstack"}, {"label_column", "class"}}, *root);
  const auto& clients = *data.clients;
  const auto facts = clients.facts();
  BOOST_TEST(facts.clients == 746U);
  BOOST_TEST(facts.classes == 49U);
  BOOST_TEST(facts.words < models::first_word + 256U);
  std::size_t texts = 0;
  std::size_t trained = 0;
  for (std::uint32_t client = 0; client < facts.clients; ++client) {
    for (const auto which : {part::train, part::validation, part::test}) texts += clients.count(client, which);
    trained += clients.count(client, part::train);
  }
  BOOST_TEST(texts == 117078U);
  BOOST_TEST(std::abs(static_cast<double>(trained) - 0.8 * 117078.0) < 0.5 * 746.0);
}

BOOST_AUTO_TEST_SUITE_END()
