#include "tools/dashboard/metrics.hpp"

#include <boost/test/unit_test.hpp>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>

#include "tests/dashboard/sample.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(metrics_suite)

using namespace tools::dashboard;

namespace {

using label_set = std::map<std::string, std::string>;

struct metric {
  std::string help;
  std::string type;
  std::map<label_set, double> series;
};

/// Reads text format 0.0.4 as written by this program, strictly: any deviation fails the test.
class metrics_reader {
 public:
  explicit metrics_reader(const std::string& text) : text_(text) {
    while (at_ < text_.size()) text_[at_] == '#' ? read_comment() : read_sample();
  }
  std::map<std::string, metric> found;

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void expect(const std::string& what) {
    BOOST_REQUIRE_MESSAGE(text_.compare(at_, what.size(), what) == 0,
                          "expected " << what << " at: " << text_.substr(at_, 80));
    at_ += what.size();
  }
  std::string name() {
    const auto begin = at_;
    while (std::isalnum(static_cast<unsigned char>(peek())) != 0 || peek() == '_') ++at_;
    BOOST_REQUIRE_MESSAGE(at_ > begin && std::isdigit(static_cast<unsigned char>(text_[begin])) == 0,
                          "no name at: " << text_.substr(begin, 80));
    return text_.substr(begin, at_ - begin);
  }
  std::string rest_of_line() {
    const auto end = text_.find('\n', at_);
    BOOST_REQUIRE(end != std::string::npos);
    const auto line = text_.substr(at_, end - at_);
    at_ = end + 1;
    return line;
  }
  void read_comment() {
    expect("# HELP ");
    const auto what = name();
    BOOST_REQUIRE_MESSAGE(!found.contains(what), what << " comes twice");
    expect(" ");
    found[what].help = rest_of_line();
    expect("# TYPE " + what + " ");
    found[what].type = rest_of_line();
    current_ = what;
  }
  std::string quoted() {
    expect("\"");
    std::string value;
    for (; peek() != '"'; ++at_) {
      BOOST_REQUIRE(peek() != '\0');
      BOOST_REQUIRE(peek() != '\n');
      if (peek() != '\\') {
        value += peek();
        continue;
      }
      ++at_;
      BOOST_REQUIRE(peek() == '\\' || peek() == '"' || peek() == 'n');
      value += peek() == 'n' ? '\n' : peek();
    }
    expect("\"");
    return value;
  }
  void read_sample() {
    BOOST_REQUIRE_EQUAL(name(), current_);
    label_set of;
    if (peek() == '{') {
      ++at_;
      for (bool first = true; peek() != '}'; first = false) {
        if (!first) expect(",");
        const auto label = name();
        expect("=");
        BOOST_REQUIRE(of.emplace(label, quoted()).second);
      }
      ++at_;
    }
    expect(" ");
    const auto number = rest_of_line();
    double value = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
    BOOST_REQUIRE_MESSAGE(read.ec == std::errc() && read.ptr == number.data() + number.size(), number);
    BOOST_REQUIRE_MESSAGE(found[current_].series.emplace(of, value).second, current_ << " has a series twice");
  }

  std::string text_;
  std::string current_;
  std::size_t at_ = 0;
};

std::map<std::string, metric> read(const status_board& board) {
  return metrics_reader(metrics_text(board.snapshot())).found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(names_types_and_units_follow_the_conventions) {
  const sample_board filled(140);
  const auto found = read(filled.board);
  BOOST_TEST(found.size() > 30);
  for (const auto& [name, one] : found) {
    BOOST_TEST(name.starts_with("furlong_"), name);
    BOOST_TEST(!one.help.empty(), name);
    BOOST_TEST((one.type == "counter" || one.type == "gauge"), name);
    BOOST_TEST((one.type == "counter") == name.ends_with("_total"), name);
    BOOST_TEST(!one.series.empty(), name);
    for (const char* unit : {"_ms", "_kb", "_mb", "_percent", "_minutes"}) BOOST_TEST(!name.ends_with(unit), name);
  }
}

BOOST_AUTO_TEST_CASE(help_texts_name_what_is_measured) {
  const sample_board filled(140);
  auto found = read(filled.board);
  BOOST_TEST(found.at("furlong_tasks_selected_total").help == "Tasks assigned to clients.");
  BOOST_TEST(found.at("furlong_connections_refused_total").help == "Connections refused, by reason.");
  BOOST_TEST(found.at("furlong_round_duration_seconds").help == "Duration of the last round.");
}

BOOST_AUTO_TEST_CASE(values_are_those_of_the_status) {
  const sample_board filled(140);
  auto found = read(filled.board);
  const auto value = [&](const std::string& name, const label_set& of = {}) {
    return found.at("furlong_" + name).series.at(of);
  };
  BOOST_TEST(value("round") == 141);
  BOOST_TEST(value("rounds_planned") == 200);
  BOOST_TEST(value("phase", {{"phase", "training"}}) == 1);
  BOOST_TEST(value("phase", {{"phase", "done"}}) == 0);
  BOOST_TEST(value("clients", {{"state", "at-work"}}) == 58);
  BOOST_TEST(value("nodes_connected") == 15);
  BOOST_TEST(value("tasks_folded_total") == 7911);
  BOOST_TEST(value("tasks_rejected_total", {{"reason", "norm-bound"}}) == 5);
  BOOST_TEST(value("tasks_rejected_total", {{"reason", "wrong-shape"}}) == 0);  // a counter is there before it counts
  BOOST_TEST(value("tasks_dropped_total", {{"stage", "train"}}) == 102);
  BOOST_TEST(value("updates_unasked_total", {{"reason", "stale-version"}}) == 3);
  BOOST_TEST(value("connections_refused_total", {{"reason", "untrusted"}}) == 11);
  BOOST_TEST(value("checkpoint_timestamp_seconds") == sample_now - 12);
  BOOST_TEST(value("resident_memory_bytes") == 148e6);
  BOOST_TEST(value("node_updates_total", {{"node", "rack-1-node-2"}, {"clients", "25-49"}, {"outcome", "folded"}}) ==
             317);
  BOOST_TEST(value("evaluation", {{"group", "seen"}, {"metric", "rmse"}}) == *sample_evaluation(140).seen->rmse);
}

BOOST_AUTO_TEST_CASE(all_of_them_are_documented) {
  std::ifstream file("docs/operation.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  BOOST_REQUIRE(!page.empty());
  const sample_board filled(140);
  for (const auto& [name, one] : read(filled.board)) {
    const auto quoted = "`" + name.substr(std::string("furlong_").size()) + "`";
    BOOST_TEST((page.find(quoted) != std::string::npos), quoted << " is not in docs/operation.md");
    for (const auto& [labels, value] : one.series)
      for (const auto& [label, text] : labels) BOOST_TEST((page.find(label) != std::string::npos), label);
  }
}

BOOST_AUTO_TEST_CASE(a_board_that_knows_nothing_has_metrics) {
  still_clocks time;
  const auto found = read(status_board(time.clocks()));
  BOOST_TEST(found.contains("furlong_published_age_seconds"));
  BOOST_TEST(!found.contains("furlong_round_loss"));
  BOOST_TEST(!found.contains("furlong_node_tasks"));
}

BOOST_AUTO_TEST_CASE(hostile_names_stay_labels) {
  const sample_board filled(5, true);
  auto found = read(filled.board);
  BOOST_TEST(found.at("furlong_node_tasks").series.contains({{"node", hostile_name}, {"clients", "50-74"}}));
  const std::string replaced = "caf\xC3\xA9 \uFFFD\uFFFD broken \x1B[2J";
  BOOST_TEST(found.at("furlong_node_tasks").series.contains({{"node", replaced}, {"clients", "75-99"}}));
  BOOST_TEST(found.at("furlong_connections_refused_total").series.contains({{"reason", "<b>bold\"\n"}}));
}

BOOST_AUTO_TEST_CASE(the_number_of_series_is_bounded) {
  still_clocks time;
  status_board board(time.clocks());
  auto live = sample_live(sample_now, false);
  live.nodes.resize(5000);
  for (std::uint32_t i = 0; i < 5000; ++i) live.nodes[i].clients = {i, i};
  board.publish(std::move(live));
  BOOST_TEST(read(board).at("furlong_node_tasks").series.size() == most_node_series);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
