// The source "text": which files of a folder are its parts.
#include "tests/scenarios/text_support.hpp"

BOOST_AUTO_TEST_SUITE(text_source_parts)

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

}  // namespace

BOOST_AUTO_TEST_CASE(parts_are_found_in_names_of_any_case) {
  temporary_directory root;
  root.write("mine/my.Train.txt", "a b\nc d\n");
  root.write("mine/my.VALID.txt", "v\n");
  root.write("mine/My_Test.txt", "t\n");
  const auto data = load({{"path", "mine"}, {"clients", "2"}}, root.path());
  BOOST_TEST(data.clients->training().size() == 2U);
  BOOST_REQUIRE(data.clients->facts().clients == 4U);
  BOOST_TEST((texts_of(*data.clients, 2, part::train) == names{"<start> v <end>"}));
  BOOST_TEST((std::ranges::equal(data.clients->unseen_test(), std::vector<std::uint32_t>{3})));
}

BOOST_AUTO_TEST_CASE(parts_to_score_on_are_not_trained_on) {
  temporary_directory root;
  const auto message = [&](const char* path) {
    const auto why = testing::text_of(testing::build_data("text", {{"path", path}, {"clients", "1"}}, root.path()));
    return why.substr(std::min(why.size(), root.path().string().size() + 1));
  };
  const std::string fix =
      ", but no file for training; put train between dots, dashes or underscores into the name of one, as in "
      "ptb.train.txt, or name a single file in data.path";
  root.write("held/my.valid.txt", "v\n");
  root.write("held/my.test.txt", "t\n");
  BOOST_TEST(message("held") == "held: has my.valid.txt and my.test.txt for evaluation" + fix);
  root.write("held/mine.txt", "a b\n");
  BOOST_TEST(message("held") == "held: has my.valid.txt and my.test.txt for evaluation" + fix);
  root.write("tokens/wiki.Test.tokens", "t\n");
  BOOST_TEST(message("tokens") == "tokens: has wiki.Test.tokens for evaluation" + fix);
  BOOST_TEST(message("held/my.test.txt") == "");  // a file that is named is all there is
  root.write("both/train-test.txt", "a\n");
  BOOST_TEST(message("both").starts_with("both/train-test.txt: names two parts of the data; "));
}

BOOST_AUTO_TEST_CASE(usual_names_are_parts_and_other_files_are_named) {
  temporary_directory root;
  for (const auto* train : {"train", "training"})
    for (const auto* valid : {"val", "valid", "validation", "dev"})
      for (const auto* test : {"test", "testing"}) {
        const auto folder = std::string(train) + valid + test;
        for (const auto* part : {train, valid, test}) root.write(folder + "/" + part + ".txt", "a b\n");
        root.write(folder + "/train2.txt", "c\n");
        root.write(folder + "/more.txt", "c\n");
        const auto data = load({{"path", folder}, {"clients", "1"}, {"held_out_clients", "1"}}, root.path());
        BOOST_TEST(data.clients->training().size() == 1U, folder);
        BOOST_TEST(data.clients->unseen_validation().size() == 1U, folder);
        BOOST_TEST(data.clients->unseen_test().size() == 1U, folder);
        BOOST_TEST((data.notes == names{"data.path has 2 files that are not read: more.txt, train2.txt"}), folder);
      }
  root.write("some/a1.txt", "a\n");
  root.write("some/a2.txt", "b\n");
  root.write("some/notes.md", "c\n");
  BOOST_TEST((load({{"path", "some"}, {"clients", "1"}}, root.path()).notes ==
              names{"data.path has 1 file that is not read: notes.md"}));
}

BOOST_AUTO_TEST_CASE(a_part_for_evaluation_is_not_trained_on) {
  temporary_directory root;
  const auto refusal = [&](const std::string& folder) {
    const auto data = testing::build_data("text", {{"path", folder}, {"clients", "1"}}, root.path());
    return data ? "" : data.error().text();
  };
  for (const auto* name : {"test2.txt", "val_1.txt"}) {
    root.write(std::string(name) + "/train1.txt", "a b\n");
    root.write(std::string(name) + "/" + name, "a b\n");
  }
  BOOST_TEST(refusal("test2.txt").find("test2.txt: would be trained on, and its name is that of a part") !=
             std::string::npos);
  BOOST_TEST(refusal("val_1.txt").find("has val_1.txt for evaluation, but no file for training") != std::string::npos);
  root.write("both/train.txt", "a b\n");
  root.write("both/training.txt", "a b\n");
  BOOST_TEST(refusal("both").find("training.txt: is the same part of the data as train.txt") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_files_of_wikitext_are_read_by_their_names) {
  temporary_directory root;
  root.write("wikitext-2/wiki.train.tokens", " \n = Title = \n \n a b <unk> \n a c \n");
  root.write("wikitext-2/wiki.valid.tokens", " = = Section = = \n b a \n");
  root.write("wikitext-2/wiki.test.tokens", " c b \n");
  const auto data = load({{"path", "wikitext-2"}, {"clients", "1"}, {"held_out_clients", "1"}}, root.path());
  const auto& clients = *data.clients;
  BOOST_TEST(clients.facts().words == models::first_word + 3U);  // a, b, c
  const auto trained = texts_of(clients, 0, part::train);
  BOOST_TEST((std::set(trained.begin(), trained.end()) ==
              std::set<std::string>{"<start> a b <unknown> <end>", "<start> a c <end>"}));
  BOOST_REQUIRE(clients.unseen_validation().size() == 1U);
  BOOST_REQUIRE(clients.unseen_test().size() == 1U);
  BOOST_TEST((texts_of(clients, clients.unseen_validation()[0], part::train) == names{"<start> b a <end>"}));
  BOOST_TEST((texts_of(clients, clients.unseen_test()[0], part::train) == names{"<start> c b <end>"}));
}

BOOST_AUTO_TEST_SUITE_END()
