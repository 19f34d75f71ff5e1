// The source "leaf".
#include "scenarios/data/vocabulary.hpp"
#include "tests/scenarios/text_support.hpp"

BOOST_AUTO_TEST_SUITE(leaf)

using namespace furlong;
using namespace furlong::scenarios;
using federated::part;
using testing::labels_of;
using testing::temporary_directory;
using testing::texts_of;
using names = std::vector<std::string>;
using numbers = std::vector<float>;

namespace {

dataset load(const std::vector<setting_override>& options, const std::filesystem::path& root) {
  return testing::good_data("leaf", options, root);
}

constexpr const char* plays = R"({"users": ["ROMEO", "JULIET"], "num_samples": [2, 1],
  "user_data": {"JULIET": {"x": ["xyz"], "y": ["z"]}, "ROMEO": {"x": ["abc", "bca"], "y": ["a", "b"]}}})";

}  // namespace

BOOST_AUTO_TEST_CASE(texts_and_what_follows_are_sequences_of_characters) {
  temporary_directory root;
  root.write("leaf/all_data.json", plays);
  for (const char* path : {"leaf", "leaf/all_data.json"}) {
    const auto data = load({{"path", path}, {"order", "time"}}, root.path());
    const auto& clients = *data.clients;
    BOOST_TEST((clients.facts().labels == models::objective::next_token));
    BOOST_TEST(clients.facts().clients == 2U);
    BOOST_TEST(clients.client_name(0) == "ROMEO");
    BOOST_TEST((texts_of(clients, 0, part::train) == names{"<start> a b c a <end>", "<start> b c a b <end>"}));
    BOOST_TEST((texts_of(clients, 1, part::train) == names{"<start> x y z z <end>"}));
  }
}

BOOST_AUTO_TEST_CASE(tokens_are_made_as_the_options_say) {
  temporary_directory root;
  const auto romeo = [&](const std::string& text, std::vector<setting_override> options) {
    root.write("leaf/all_data.json", text);
    options.push_back({"order", "time"});
    return texts_of(*load(options, root.path()).clients, 0, part::train);
  };
  BOOST_TEST((romeo(plays, {{"max_tokens", "3"}}) == names{"<start> a b c <end>", "<start> b c a <end>"}));
  const setting_override two{"vocabulary", "2"};
  BOOST_TEST((romeo(plays, {two}) == names{"<start> a b <unknown> a <end>", "<start> b <unknown> a b <end>"}));
  const auto c = " unknown words " + std::to_string(word_hash("c") % 7);
  BOOST_TEST(
      (romeo(plays, {two, {"buckets", "7"}}) == names{"<start> a b" + c + " a <end>", "<start> b" + c + " a b <end>"}));
  const std::string loud = R"({"users": ["ROMEO"], "user_data": {"ROMEO": {"x": ["aBC"], "y": ["A"]}}})";
  BOOST_TEST((romeo(loud, {}) == names{"<start> a B C A <end>"}));
  BOOST_TEST((romeo(loud, {{"lower_case", "true"}}) == names{"<start> a b c a <end>"}));
}

BOOST_AUTO_TEST_CASE(samples_of_the_test_folder_are_their_users_test_part) {
  temporary_directory root;
  root.write("leaf/train/a.json", plays);
  root.write("leaf/test/a.json", R"({"users": ["NURSE", "ROMEO"], "num_samples": [1, 1],
    "user_data": {"NURSE": {"x": ["n"], "y": ["o"]}, "ROMEO": {"x": ["late"], "y": ["r"]}}})");
  const auto data = load({{"order", "time"}, {"split", "0.5,0.5,0"}}, root.path());
  const auto& clients = *data.clients;
  BOOST_TEST(clients.training().size() == 2U);
  BOOST_TEST(texts_of(clients, 0, part::train).size() == 1U);
  BOOST_TEST(texts_of(clients, 0, part::validation).size() == 1U);
  BOOST_TEST((texts_of(clients, 0, part::test) == names{"<start> l a t e r <end>"}));
  BOOST_TEST((std::ranges::equal(clients.unseen_test(), std::vector<std::uint32_t>{2})));
  BOOST_TEST(clients.client_name(2) == "NURSE");
  BOOST_TEST((texts_of(clients, 2, part::train) == names{"<start> n o <end>"}));
  BOOST_TEST((data.notes == names{}));
  BOOST_TEST((load({{"split", "0.5,0,0.5"}, {"unseen_users.test", "0.5"}}, root.path()).notes ==
              names{"data.split takes a test share of what is trained on: the group seen is scored on it together with "
                    "the data's own test part",
                    "data.unseen_users.test holds out clients that would train: they are scored together with the "
                    "data's own test part"}));
}

BOOST_AUTO_TEST_CASE(labels_of_vectors_that_are_not_trained_on_are_noted) {
  temporary_directory root;
  root.write("leaf/train/a.json", R"({"users": ["u"], "user_data": {"u": {"x": [[1], [2]], "y": [0, 0]}}})");
  root.write("leaf/test/a.json", R"({"users": ["u", "v"], "user_data": {"u": {"x": [[1]], "y": [1]},
    "v": {"x": [[2], [3]], "y": [0, 1]}}})");
  BOOST_TEST((load({{"task", "vectors"}}, root.path()).notes ==
              names{"2 of the 3 examples for validation and test have a label that no training example has"}));
}

BOOST_AUTO_TEST_CASE(labelled_texts_stand_alone_or_in_lists) {
  temporary_directory root;
  root.write("leaf/a.json", R"({"users": ["u"], "num_samples": [3], "user_data": {"u": {
    "x": [["1", "so good"], ["2", "bad"], "plain"], "y": [4, 0, 4]}}})");
  const auto options = [](std::vector<setting_override> more) {
    more.insert(more.end(), {{"task", "classes"}, {"tokens", "words"}, {"order", "time"}});
    return more;
  };
  const auto data = load(options({{"text_field", "1"}}), root.path());
  BOOST_TEST(data.clients->facts().classes == 2U);
  BOOST_TEST((texts_of(*data.clients, 0, part::train) == names{"so good", "bad", "plain"}));
  BOOST_TEST((labels_of(*data.clients, 0, part::train) == numbers{1, 0, 1}));
  const auto binary = load(options({{"positive", "0"}}), root.path());
  BOOST_TEST((binary.clients->facts().labels == models::objective::logistic));
  BOOST_TEST((labels_of(*binary.clients, 0, part::train) == numbers{0, 1, 0}));
  BOOST_TEST((texts_of(*binary.clients, 0, part::train) == names{"1", "2", "plain"}));
}

BOOST_AUTO_TEST_CASE(vectors_are_sparse) {
  temporary_directory root;
  root.write("leaf/a.json", R"({"users": ["u", "v"], "num_samples": [2, 1], "user_data": {
    "u": {"x": [[0, 1.5, 0], [2, 0, -1]], "y": [1, 0]}, "v": {"x": [[0, 0, 0]], "y": [1.0]}}})");
  const auto data = load({{"task", "vectors"}, {"order", "time"}}, root.path());
  const auto facts = data.clients->facts();
  BOOST_TEST((facts.labels == models::objective::logistic));
  BOOST_TEST(facts.features == 3U);
  BOOST_TEST(facts.words == 0U);
  models::examples scratch;
  const auto view = data.clients->load(0, part::train, scratch);
  BOOST_TEST((std::ranges::equal(view.features, std::vector<std::uint32_t>{1, 0, 2})));
  BOOST_TEST((std::ranges::equal(view.values, numbers{1.5F, 2.0F, -1.0F})));
  BOOST_TEST((std::ranges::equal(view.offsets, std::vector<std::uint32_t>{0, 1, 3})));
  BOOST_TEST((std::ranges::equal(view.labels, numbers{1.0F, 0.0F})));
  BOOST_TEST(data.clients->load(1, part::train, scratch).features.empty());
  BOOST_TEST(data.clients->count(1, part::train) == 1U);
  BOOST_TEST(data.clients->feature_name(2) == "feature 2");
}

BOOST_AUTO_TEST_CASE(users_for_the_test_may_be_the_files_own) {
  const auto problems = [](const std::string& data) {
    return testing::text_of(parse_scenario_text("[scenario]\nname = \"leaf\"\nrounds = 9\n[data]\n" + data +
                                                    "[model]\nkind = \"logistic-regression\"\n[algorithm]\nkind = "
                                                    "\"fedavg\"\n[participation]\nper_round = 1\n[evaluation]\nevery "
                                                    "= 1\ntarget = {metric = \"unseen.accuracy\", at_least = 0.5}\n",
                                                "leaf.toml"));
  };
  BOOST_TEST(problems("source = \"leaf\"\ntask = \"vectors\"\n") == "");
  BOOST_TEST(problems("source = \"synthetic-texts\"\nclasses = 2\n").find("a group with nobody in it") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_nests_deeper_than_a_stack_is_told_like_anything_else) {
  temporary_directory root;
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  const auto message = [&](const std::string& text, const std::vector<setting_override>& options = {}) {
    root.write("leaf/a.json", text);
    return testing::text_of(testing::build_data("leaf", options, root.path()));
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  BOOST_TEST(has(message(R"({"users": [)" + deep + R"(], "user_data": {}})"), "has a list in users"));
  const std::string one = R"({"users": ["u"], "user_data": {"u": {"x": ["a"], "y": ["b"]}}, "num_samples": [)";
  BOOST_TEST(has(message(one + deep + "]}"), "has 1 samples, and a list by num_samples"));
  const std::string vector = R"({"users": ["u"], "user_data": {"u": {"x": [[1]], "y": [)";
  BOOST_TEST(has(message(vector + deep + "]}}}", {{"task", "vectors"}}), "y is a list, neither 0 nor 1"));
}

BOOST_AUTO_TEST_CASE(a_user_is_in_one_file_of_a_part) {
  temporary_directory root;
  const std::string text = R"({"users": ["u"], "user_data": {"u": {"x": ["a"], "y": ["b"]}}})";
  root.write("leaf/train/a.json", text);
  root.write("leaf/test/a.json", text);
  BOOST_TEST(testing::text_of(testing::build_data("leaf", {}, root.path())) == "");
  root.write("leaf/train/b.json", text);
  const auto why = testing::text_of(testing::build_data("leaf", {}, root.path()));
  BOOST_TEST(why.find("train/b.json: user \"u\": is in ") != std::string::npos, why);
  BOOST_TEST(why.find("train/a.json too, which may count samples twice") != std::string::npos, why);
}

BOOST_AUTO_TEST_CASE(what_is_not_of_the_layout_is_told) {
  temporary_directory root;
  const auto message = [&](const std::string& text, const std::vector<setting_override>& options = {}) {
    root.write("leaf/a.json", text);
    const auto all = testing::text_of(testing::build_data("leaf", options, root.path()));
    return all.substr(std::min(all.size(), root.path().string().size() + 1));
  };
  const auto user = [](const std::string& data) { return R"({"users": ["u"], "user_data": {"u": )" + data + "}}"; };
  BOOST_TEST(message("{\n\"users\": [}").starts_with("leaf/a.json:2:11: is not JSON in UTF-8; expected {\"users\""));
  BOOST_TEST(message("[1, 2]]").starts_with("leaf/a.json:1:7: is not JSON in UTF-8; "));
  BOOST_TEST(message("{\"users\": [\"u\"").starts_with("leaf/a.json:1:15: is truncated JSON; expected {"));
  BOOST_TEST(message("").starts_with("leaf/a.json:1:1: is truncated JSON; "));
  BOOST_TEST(message("[1e999]").starts_with("leaf/a.json: has a number that no double holds; "));
  for (const char* other : {"[]", "{}", R"({"users": []})", R"({"users": {}, "user_data": {}})", "3"})
    BOOST_TEST(message(other).starts_with("leaf/a.json: does not have the layout of LEAF; "), other);
  BOOST_TEST(message(R"({"users": [], "user_data": {}})").starts_with("leaf/a.json: names no users"));
  BOOST_TEST(message(R"({"users": ["v"], "user_data": {}})").starts_with("leaf/a.json: user \"v\": has no user_data"));
  BOOST_TEST(message(user("[]")).starts_with("leaf/a.json: user \"u\": has no lists x and y; "));
  BOOST_TEST(message(user(R"({"x": ["a"], "y": []})")).starts_with("leaf/a.json: user \"u\": has 1 x and 0 y; "));
  BOOST_TEST(message(user(R"({"x": [], "y": []})")).starts_with("leaf/a.json: user \"u\": has no samples; remove"));
  BOOST_TEST(message(user(R"({"x": ["a", 3], "y": ["b", "c"]})"))
                 .starts_with("leaf/a.json: user \"u\", sample 1: x and y are not both texts; "));
  const auto plays_with = [](const std::string& users, const std::string& more) {
    return R"({"users": [)" + users +
           R"(], "user_data": {"u": {"x": ["a"], "y": ["b"]}, "v": {"x": ["c"], "y": ["d"]}})" + more + "}";
  };
  BOOST_TEST(message(plays_with(R"("u", "v", "u")", "")) ==
             "leaf/a.json: user \"u\": is twice in users, which would count its samples twice; name it once");
  BOOST_TEST(message(plays_with(R"("u")", "")) ==
             "leaf/a.json: user \"v\": is in user_data but not in users; name it there, or remove its samples");
  BOOST_TEST(message(plays_with(R"("u", "v")", R"(, "num_samples": [1, 2])")) ==
             "leaf/a.json: user \"v\": has 1 samples, and \"2\" by num_samples; correct num_samples, or check for "
             "missing samples");
  BOOST_TEST(message(plays_with(R"("u", "v")", R"(, "num_samples": [1])")) ==
             "leaf/a.json: has 2 users, and num_samples has not as many numbers; give it one for each user, or remove "
             "it");
  BOOST_TEST(message(plays_with(R"("u", "v")", R"(, "num_samples": [1, 1])")) == "");
  BOOST_TEST(message(R"({"users": [["u"]], "user_data": {}})") ==
             "leaf/a.json: has a list in users; name users by texts or whole numbers");
  BOOST_TEST(
      message(R"({"users": ["u"], "user_data": {"u": {"x": ["a"], "y": ["b"]}, "u": {"x": ["c"], "y": ["d"]}}})") ==
      "leaf/a.json: has \"u\" twice in one object: only the last would be used; merge them, or remove one");
  BOOST_TEST(message(R"({"users": [""], "user_data": {"": {"x": ["a"], "y": ["b"]}, "": {"x": ["c"], "y": ["d"]}}})")
                 .find("twice in one object") != std::string::npos);
  const setting_override classes{"task", "classes"};
  BOOST_TEST(message(user(R"({"x": ["a"], "y": [" "]})"), {classes}) ==
             "leaf/a.json: user \"u\", sample 0: has no label; remove the sample");
  BOOST_TEST(message(user(R"({"x": [[1]], "y": [0]})"), {classes})
                 .starts_with("leaf/a.json: user \"u\", sample 0: x is neither a text nor a list with a text at 0; "));
  BOOST_TEST(message(user(R"({"x": [" "], "y": [0]})"), {classes}).find("has an empty text; ") != std::string::npos);
  BOOST_TEST(message(user(R"({"x": ["a"], "y": [[0]]})"), {classes}).find("y is no label; ") != std::string::npos);
  const setting_override vectors{"task", "vectors"};
  BOOST_TEST(message(user(R"({"x": [["a"]], "y": [0]})"), {vectors}).find("x is no list of numbers") !=
             std::string::npos);
  BOOST_TEST(message(user(R"({"x": [[1]], "y": [2]})"), {vectors})
                 .ends_with("y is \"2\", neither 0 nor 1; no model supports vectors of several classes"));
  BOOST_TEST(message(user(R"({"x": [[1], [1, 2]], "y": [0, 1]})"), {vectors}).find("has 2 numbers, and others 1") !=
             std::string::npos);
  BOOST_TEST(message(user(R"({"x": [[1e300]], "y": [0]})"), {vectors}).find("more than a float holds") !=
             std::string::npos);
  BOOST_TEST(testing::text_of(testing::build_data("leaf", {vectors, {"positive", "1"}}, root.path()))
                 .starts_with("positive: is about classes, and task = \"vectors\" has none"));
  for (const auto& [name, value] : {std::pair("max_tokens", "1"),
                                    {"vocabulary", "1"},
                                    {"buckets", "1"},
                                    {"lower_case", "true"},
                                    {"text_field", "1"}})
    BOOST_TEST(testing::text_of(testing::build_data("leaf", {vectors, {name, value}}, root.path()))
                   .starts_with(name + std::string(": is about ")));
  BOOST_TEST(testing::text_of(testing::build_data("leaf", {{"path", "none"}}, root.path()))
                 .ends_with("none: the file or folder does not exist; name a file that LEAF's scripts wrote, or the "
                            "folder with them"));
}

BOOST_AUTO_TEST_SUITE_END()
