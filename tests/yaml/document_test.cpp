#include "yaml/document.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/text.h"
#include "yaml/values.h"

namespace assay::yaml {
namespace {

using nlohmann::json;

std::string where(const Node& node) {
  return fmt::format("{}:{}", node.where.line, node.where.column);
}

TEST(Parse, KeepsOrderAndPlaces) {
  const auto root = parse("b: 1\na:\n  - x\n  - {k: 'v'}\n", "f.yaml");
  ASSERT_TRUE(root) << root.error().text();
  ASSERT_EQ(root->entries.size(), 2u);
  EXPECT_EQ(root->entries[0].first.text, "b");
  EXPECT_EQ(where(root->entries[0].first), "1:1");
  EXPECT_EQ(where(root->entries[0].second), "1:4");
  const Node* list = root->find("a");
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(where(list->items[0]), "3:5");
  EXPECT_EQ(where(*list->items[1].find("k")), "4:9");
  EXPECT_EQ(list->items[1].find("k")->where.file, "f.yaml");
  EXPECT_EQ(root->find("c"), nullptr);
}

TEST(Parse, CountsColumnsInCharactersNotBytes) {
  const auto root = parse("größe: [µ, x]\n", "f.yaml");
  ASSERT_TRUE(root) << root.error().text();
  EXPECT_EQ(where(root->find("größe")->items[1]), "1:12");
  const auto marked = parse(
      "\xEF\xBB\xBF"
      "a: 1\n",
      "f.yaml");
  ASSERT_TRUE(marked);
  EXPECT_EQ(where(*marked->find("a")), "1:4");
}

TEST(Parse, TellsQuotedFromPlain) {
  const auto root = parse("[1, '1', \"1\", ~, '~', null, !!str 1]", "f.yaml");
  ASSERT_TRUE(root) << root.error().text();
  EXPECT_EQ(to_json(*root), json({1, "1", "1", nullptr, "~", nullptr, "1"}));
}

TEST(Parse, ExpandsAliasesWhereTheyStand) {
  const auto root = parse("a: &x {b: [1, 2]}\nc: *x\nd: [*x, *x]\n", "f.yaml");
  ASSERT_TRUE(root) << root.error().text();
  EXPECT_EQ(to_json(*root), json::parse(R"({"a": {"b": [1, 2]}, "c": {"b": [1, 2]},
                                            "d": [{"b": [1, 2]}, {"b": [1, 2]}]})"));
  EXPECT_EQ(where(*root->find("c")), "2:4");
  EXPECT_EQ(where(*root->find("c")->find("b")), "1:11");
}

TEST(Parse, OfNothingIsNull) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n...\n"}) {
    const auto root = parse(text, "f.yaml");
    ASSERT_TRUE(root) << text;
    EXPECT_TRUE(root->is_null());
    EXPECT_EQ(where(*root), "1:1");
  }
}

TEST(Parse, KeepsBlockText) {
  const auto root = parse("a: |\n  one\n  two\nb: >\n  three\n  four\n", "f.yaml");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->find("a")->text, "one\ntwo\n");
  EXPECT_EQ(root->find("b")->text, "three four\n");
}

TEST(Parse, DoesNotNeedALastNewline) {
  const auto root = parse("a: b", "f.yaml");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->find("a")->text, "b");
}

TEST(Values, FollowTheCoreSchema) {
  const auto root = parse(
      "[true, False, yes, 12, -3, +4, 0x1F, 0o17, 010, 1.5, 1e3, .5, 1., 12 MiB, 1_000, nan, "
      "99999999999999999999, -]",
      "f.yaml");
  ASSERT_TRUE(root) << root.error().text();
  std::vector<Value> values;
  for (const Node& item : root->items) values.push_back(to_value(item));
  const auto integer = [](std::int64_t number) { return Value(number); };
  const auto text = [](const char* word) { return Value(std::string(word)); };
  const std::vector<Value> expected = {
      true,        false,          text("yes"),   integer(12), integer(-3), integer(4),
      integer(31), integer(15),    integer(10),   1.5,         1000.0,      0.5,
      1.0,         text("12 MiB"), text("1_000"), text("nan"), 1e20,        text("-")};
  EXPECT_EQ(values, expected);
}

TEST(Values, InfinitiesStayTextInJson) {
  const auto root = parse("[.inf, -.inf, .nan]", "f.yaml");
  ASSERT_TRUE(root);
  EXPECT_EQ(to_json(*root), json({".inf", "-.inf", ".nan"}));
  EXPECT_TRUE(std::holds_alternative<double>(to_value(root->items[0])));
}

struct Bad {
  const char* name;
  std::string text;
  const char* place;  // line:column
  const char* phrase;
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }

class Malformed : public testing::TestWithParam<Bad> {};

TEST_P(Malformed, IsRefusedAtItsPlace) {
  const auto root = parse(GetParam().text, "f.yaml");
  ASSERT_FALSE(root) << to_json(*root);
  const Diagnostic& diagnostic = root.error().diagnostics.at(0);
  EXPECT_EQ(fmt::format("{}:{}", diagnostic.where.line, diagnostic.where.column), GetParam().place);
  EXPECT_EQ(diagnostic.where.file, "f.yaml");
  EXPECT_NE(diagnostic.text().find(GetParam().phrase), std::string::npos) << diagnostic.text();
  EXPECT_EQ(root.error().exit_code, ExitCode::bad_input);
}

std::string alias_bomb() {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    text += fmt::format("a{}: &a{} [*a{}", i, i, i - 1);
    for (int j = 1; j < 10; ++j) text += fmt::format(", *a{}", i - 1);
    text += "]\n";
  }
  return text;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

INSTANTIATE_TEST_SUITE_P(
    Documents, Malformed,
    testing::Values(
        Bad{"open_list", "a: [1, 2\nb: 3\n", "2:2", "a '[' is not closed"},
        Bad{"open_mapping", "a: {b: 1\n", "1:9", "a '{' is not closed"},
        Bad{"stray_bracket", "a: 1\nb: ]\n", "2:4", "closes nothing"},
        Bad{"open_quote", "a: 'b\nc: d\n", "2:5", "a quoted text is not closed"},
        Bad{"open_quote_before_newline", "a: \"b\n", "1:6", "a quoted text is not closed"},
        Bad{"two_colons", "a: b: c\n", "1:5", "a ':' cannot stand here"},
        Bad{"tab", "a:\n\tb: 1\n", "2:3", "indented with a tab"},
        Bad{"two_documents", "a: 1\n---\nb: 2\n", "2:1", "a file holds one document"},
        Bad{"merge_key", "a: &x {b: 1}\nc: {<<: *x}\n", "2:5", "merge keys"},
        Bad{"unknown_anchor", "a: *x\n", "1:4", "not defined"},
        Bad{"alias_to_itself", "a: &x [1, *x]\n", "1:11", "inside the value it refers to"},
        Bad{"tag", "a: !python/object x\n", "1:4", "'!python/object' means nothing"},
        Bad{"list_as_key", "? [a]\n: b\n", "1:3", "a key must be a name"},
        Bad{"not_utf8", "a: 1\nb: \xff\n", "2:4", "not UTF-8"},
        Bad{"overlong_utf8", "a: \xC0\xAF\n", "1:4", "not UTF-8"},
        Bad{"surrogate", "a: \xED\xA0\x80\n", "1:4", "not UTF-8"},
        Bad{"control_character", "a: b\x01\n", "1:5", "control character (0x01)"},
        Bad{"alias_bomb", alias_bomb(), "6:10", "more than 200000 values"},
        Bad{"bomb_of_text",
            "a: &a '" + std::string(100'000, 'x') + "'\nb: [" + repeated("*a, ", 100) + "]\n",
            "2:41", "bytes of text"},
        Bad{"deep_lists", std::string(1'000, '[') + std::string(1'000, ']'), "1:65",
            "more than 64 levels"},
        Bad{"deep_blocks", repeated("- ", 1'000), "1:129", "more than 64 levels"},
        Bad{"deep_through_aliases",
            "a: &a " + std::string(40, '[') + std::string(40, ']') +
                "\nb: " + std::string(40, '[') + "*a" + std::string(40, ']'),
            "2:44", "more than 64 levels"},
        Bad{"duplicate_key", "a: 1\nb: {c: 1, c: 2}\n", "2:11",
            "the key 'c' is given twice; first at line 2, column 5"}),
    [](const auto& tested) { return tested.param.name; });

TEST(Parse, ReportsDuplicateKeysAllAtOnce) {
  const auto root = parse("a: 1\nb: 2\na: 3\nc: {d: 1, d: 2}\nb: 4\n", "f.yaml");
  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().text(),
            "f.yaml:3:1: the key 'a' is given twice; first at line 1, column 1\n"
            "f.yaml:4:11: the key 'd' is given twice; first at line 4, column 5\n"
            "f.yaml:5:1: the key 'b' is given twice; first at line 2, column 1");
}

TEST(Parse, RefusesWhatIsTooLarge) {
  const auto root = parse(std::string(2'000'000, ' '), "f.yaml");
  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().text(), "f.yaml: larger than 1.00 MiB");
}

TEST(Parse, LimitsCanBeRaised) {
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_FALSE(parse(deep, "f.yaml"));
  Limits limits;
  limits.depth = 100;
  EXPECT_TRUE(parse(deep, "f.yaml", limits));
  limits.nodes = 99;
  EXPECT_FALSE(parse(deep, "f.yaml", limits));
}

TEST(ParseFile, ReadsNoMoreThanItsLimit) {
  const auto endless = parse_file("/dev/zero");
  ASSERT_FALSE(endless);
  EXPECT_NE(endless.error().text().find("larger than"), std::string::npos);
  const auto missing = parse_file("/nonexistent/f.yaml");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text().find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace assay::yaml
