// The rows of a file of labelled texts, in each format.
#include <string>

#include "scenarios/data/labelled_file.hpp"
#include "tests/scenarios/text_support.hpp"

BOOST_AUTO_TEST_SUITE(labelled_rows)

using namespace furlong;
using namespace furlong::scenarios;

namespace {

/// The rows of a text as "user|text|label|time", a line each, or what is wrong with it.
std::string rows_of(std::string_view text, labelled_format format,
                    const by_column<std::string>& columns = {"user", "text", "label", ""}) {
  std::string rows;
  const auto read = read_rows(text, "f", format, columns, [&](const auto& row, const auto& place) -> result<void> {
    rows += place;
    for (const auto value : row) rows += "|" + std::string(value);
    rows += "\n";
    return {};
  });
  return read ? rows : read.error().text();
}

}  // namespace

BOOST_AUTO_TEST_CASE(formats_say_the_same) {
  const std::string rows = "f:2|ann|a b, c|x|\nf:3|bob|d|y|\n";
  BOOST_TEST(rows_of("label\tuser\ttext\nx\tann\ta b, c\r\ny\tbob\td\n", labelled_format::tsv) == rows);
  BOOST_TEST(rows_of("\xEF\xBB\xBFlabel,user,text\nx,ann,\"a b, c\"\ny,bob,d", labelled_format::csv) == rows);
  const auto* const json = R"(
{"user": "ann", "text": "a b, c", "label": "x", "more": [1]}
{"label": "y", "text": "d", "user": "bob"})";
  BOOST_TEST(rows_of(json, labelled_format::json_lines) == rows);
  BOOST_TEST(rows_of(R"({"user": 7, "text": "d", "label": true, "at": 12})", labelled_format::json_lines,
                     {"user", "text", "label", "at"}) == "f:1|7|d|true|12\n");
}

BOOST_AUTO_TEST_CASE(csv_fields_may_stand_in_quotes) {
  const std::string header = "user,text,label\n";
  const auto rows = [&](const std::string& text) { return rows_of(header + text, labelled_format::csv); };
  BOOST_TEST(rows("a,\"he said \"\"no\"\"\",x\n") == "f:2|a|he said \"no\"|x|\n");
  BOOST_TEST(rows("a,\"two\nlines\",x\nb,one,y\n") == "f:2|a|two\nlines|x|\nf:4|b|one|y|\n");
  BOOST_TEST(rows("\"a\",\"\",\"x\"\n") == "f:2|a||x|\n");
  BOOST_TEST(rows("a,6\" pipe,x\n") == "f:2|a|6\" pipe|x|\n");
  BOOST_TEST(rows("a,,\n") == "f:2|a|||\n");
  BOOST_TEST(rows("a,b,x\nb,\"open,y\nc,d,z\n") ==
             "f:3: has a quote that is not closed; close it, or double quotes inside of fields");
  BOOST_TEST(rows("a,\"b\" c,x\n").starts_with("f:2: has \" c,x\" after a closing quote; "));
  BOOST_TEST(rows_of("user\ttext\tlabel\na\t\"b\tx\n", labelled_format::tsv) == "f:2|a|\"b|x|\n");  // no quotes there
}

BOOST_AUTO_TEST_CASE(what_is_wrong_in_a_file_is_shown_as_it_stands_there) {
  const auto found = [](const std::string& line) {
    const auto why = rows_of(line, labelled_format::json_lines);
    return why.substr(0, why.find(';'));
  };
  BOOST_TEST(found("Zo\xC3\xAB\thello") == "f:1: found \"Zo\xC3\xAB\\thello\"");
  BOOST_TEST(found("\xE6\x97\xA5\xF0\x9F\x98\x80") == "f:1: found \"\xE6\x97\xA5\xF0\x9F\x98\x80\"");
  // Nothing that is an order to a terminal, nor what is no text.
  BOOST_TEST(found("a\x1B[2J\xC2\x9B\xE2\x80\xAE\xFF\xC3") == "f:1: found \"a?[2J????\"");
  std::string longer;
  for (int i = 0; i < 61; ++i) longer += "\xC3\xAB";
  BOOST_TEST(found(longer) == "f:1: found \"" + longer.substr(2) + "...\"");
  BOOST_TEST(found(longer.substr(2)) == "f:1: found \"" + longer.substr(2) + "\"");
}

BOOST_AUTO_TEST_CASE(what_is_wrong_in_a_file_is_told_with_its_line) {
  BOOST_TEST(rows_of("", labelled_format::tsv) == "f: the file is empty; expected a header and one row per line");
  BOOST_TEST(rows_of("user,text\n", labelled_format::csv)
                 .starts_with("f:1: the header \"user,text\" has no column \"label\"; name the columns in data.user"));
  BOOST_TEST(rows_of("user\ttext\tlabel\na\tb\tc\na\tb\n", labelled_format::tsv) ==
             "f:3: has 2 fields, but the header has 3; give every row one field for each column");
  for (const char* line : {"[1]", "{\"user\": ", "text", "{\"user\": \"\xFF\"}"})
    BOOST_TEST(rows_of(line, labelled_format::json_lines).ends_with("expected one JSON object per line, in UTF-8"),
               line);
  BOOST_TEST(rows_of("\n{\"user\": \"a\", \"text\": \"b\"}", labelled_format::json_lines)
                 .starts_with("f:2: has no \"label\"; "));
  BOOST_TEST(rows_of(R"({"user": "a", "text": ["b"], "label": 1})", labelled_format::json_lines)
                 .starts_with("f:1: has neither a text nor a whole number in \"text\"; "));
  BOOST_TEST(rows_of(R"({"user": "a", "text": "b", "label": 0, "label": 1})", labelled_format::json_lines) ==
             "f:1: has \"label\" twice: only the last would be used; remove one of them");
  BOOST_TEST(rows_of(R"({"n": 1e999})", labelled_format::json_lines).starts_with("f:1: has a number that no double"));
  BOOST_TEST(testing::text_of(format_of("a/b.txt")) ==
             "a/b.txt: the format cannot be derived from the file name; set data.format");
  BOOST_TEST((*format_of("x.csv") == labelled_format::csv));
}

BOOST_AUTO_TEST_CASE(a_column_that_is_used_stands_once_in_the_header) {
  BOOST_TEST(rows_of("user,text,label,text\na,b,x,c\n", labelled_format::csv) ==
             "f:1: the header \"user,text,label,text\" has the column \"text\" twice; rename one of them");
  BOOST_TEST(rows_of("user\tmore\ttext\tlabel\tmore\na\t1\tb\tx\t2\n", labelled_format::tsv) == "f:2|a|b|x|\n");
}

BOOST_AUTO_TEST_SUITE_END()
