#include "expression/expression.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace assay {
namespace {

using namespace std::string_literals;

const std::map<std::string, Value> a_case = {
    {"seq_len", std::int64_t{256}},          {"model", "small"s}, {"large_model", "2.7B"s},
    {"attention.block_m", std::int64_t{64}}, {"share", 0.25},     {"causal", true},
    {"size", std::int64_t{1048576}},
};

Result<Value> evaluate(std::string_view text) {
  const auto expression = Expression::compile(text);
  if (!expression) return tl::unexpected(expression.error());
  return expression->evaluate([](const std::string& name) {
    const auto found = a_case.find(name);
    return found == a_case.end() ? Value() : found->second;
  });
}

struct Expectation {
  const char* text;
  Value value;
};

void PrintTo(const Expectation& expectation, std::ostream* out) { *out << expectation.text; }

class Evaluates : public testing::TestWithParam<Expectation> {};

TEST_P(Evaluates, AsWorkedOutByHand) {
  const auto value = evaluate(GetParam().text);
  ASSERT_TRUE(value) << value.error().text();
  EXPECT_EQ(*value, GetParam().value) << to_text(*value);
}

constexpr auto whole = [](std::int64_t number) { return Value(number); };
const Value nothing;

INSTANTIATE_TEST_SUITE_P(
    Arithmetic, Evaluates,
    testing::Values(Expectation{"1 + 2 * 3", whole(7)}, Expectation{"(1 + 2) * 3", whole(9)},
                    Expectation{"10 - 4 - 3", whole(3)}, Expectation{"12 / 4 / 3", 1.0},
                    Expectation{"7 / 2", 3.5}, Expectation{"2 ^ 3 ^ 2", 512.0},
                    Expectation{"-2 ^ 2", -4.0}, Expectation{"2 ^ -1", 0.5},
                    Expectation{"--3", whole(3)}, Expectation{"seq_len * seq_len", whole(65536)},
                    Expectation{"attention.block_m * 2", whole(128)}, Expectation{"share * 4", 1.0},
                    Expectation{"1e3 + .5", 1000.5}, Expectation{"1.5e-1 * 10", 1.5},
                    Expectation{"9223372036854775807 + 1", 9223372036854775808.0}));

INSTANTIATE_TEST_SUITE_P(
    Functions, Evaluates,
    testing::Values(Expectation{"min(3, 1, 2)", whole(1)}, Expectation{"max(1, share)", whole(1)},
                    Expectation{"ceil(7 / 2)", whole(4)}, Expectation{"floor(-0.5)", whole(-1)},
                    Expectation{"sqrt(16)", 4.0}, Expectation{"log2(8)", 3.0},
                    Expectation{"if(causal, 1, 2)", whole(1)},
                    Expectation{"if(seq_len > 1000, 'long', 'short')", "short"s}));

INSTANTIATE_TEST_SUITE_P(
    Comparisons, Evaluates,
    testing::Values(
        Expectation{"seq_len == 256", true}, Expectation{"seq_len != 256", false},
        Expectation{"seq_len <= 256 && seq_len >= 256", true},
        Expectation{"seq_len < 256 || seq_len > 256", false}, Expectation{"seq_len == 256.0", true},
        Expectation{"!causal", false}, Expectation{"!seq_len == 1", true},
        Expectation{"causal == true", true}, Expectation{"model == small", true},
        Expectation{"small == model", true}, Expectation{"model != medium", true},
        Expectation{"model == \"small\"", true}, Expectation{"model in [tiny, small]", true},
        Expectation{"seq_len in [128, 256]", true}, Expectation{"seq_len in [128, 512]", false},
        Expectation{"large_model == 2.7B", true}, Expectation{"large_model == '2.7B'", true},
        Expectation{"model == 5", false}, Expectation{"model != 5", true},
        Expectation{"size == 1 MiB", true}, Expectation{"size >= 1MB && size < 2 MB", true},
        Expectation{"0.25 s == share", true}, Expectation{"1 < 2 && 2 < 3 || 1 > 2", true},
        Expectation{"true || false && false", true}));

INSTANTIATE_TEST_SUITE_P(
    MissingValues, Evaluates,
    testing::Values(Expectation{"unknown", nothing}, Expectation{"unknown * 2", nothing},
                    Expectation{"max(1, unknown)", nothing}, Expectation{"unknown < 3", false},
                    Expectation{"unknown == 3", false}, Expectation{"unknown != 3", false},
                    Expectation{"unknown == other", false},
                    Expectation{"attention.block_n != '64'", false},
                    Expectation{"if(unknown, 1, 2)", nothing}, Expectation{"!unknown", true},
                    Expectation{"1 / 0", nothing}, Expectation{"sqrt(-1)", nothing},
                    Expectation{"log2(0)", nothing}, Expectation{"10 ^ 1000", nothing}));

struct Refusal {
  const char* text;
  const char* phrase;
};

void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.text; }

class Refuses : public testing::TestWithParam<Refusal> {};

TEST_P(Refuses, WithAReason) {
  const auto value = evaluate(GetParam().text);
  ASSERT_FALSE(value) << to_text(*value);
  EXPECT_NE(value.error().text().find(GetParam().phrase), std::string::npos)
      << value.error().text();
}

INSTANTIATE_TEST_SUITE_P(
    Syntax, Refuses,
    testing::Values(Refusal{"", "column 1 of '': a value is missing"},
                    Refusal{"1 +", "column 4 of '1 +': a value is missing"},
                    Refusal{"(1", "')' is missing"}, Refusal{"1 2", "'2' is not expected"},
                    Refusal{"a = 1", "write '==' to compare"},
                    Refusal{"a $ 1", "'$' means nothing"}, Refusal{"'abc", "not closed"},
                    Refusal{"1 < 2 < 3", "join them with &&"},
                    Refusal{"mix(1, 2)", "unknown function 'mix'; did you mean 'min'?"},
                    Refusal{"sqrt(1, 2)", "takes 1 values, not 2"},
                    Refusal{"a in 3", "'[' is missing"}, Refusal{"* 2", "'*' stands where"}));

INSTANTIATE_TEST_SUITE_P(
    Senseless, Refuses,
    testing::Values(Refusal{"'a' * 2", "cannot calculate with the text 'a'"},
                    Refusal{"causal + 1", "cannot calculate with true"},
                    Refusal{"model < 3", "cannot order"}, Refusal{"causal < 3", "cannot order"},
                    Refusal{"seq_len && causal", "256 is neither true nor false"},
                    Refusal{"if(3, 1, 2)", "neither true nor false"}));

TEST(Expression, RefusesWhatIsTooDeepOrTooLong) {
  EXPECT_FALSE(Expression::compile(std::string(50'000, '(') + "1"));
  EXPECT_FALSE(Expression::compile(std::string(100'000, '1')));
  std::string tower = "2";
  for (int i = 0; i < 10'000; ++i) tower += "^2";
  EXPECT_FALSE(Expression::compile(tower));
}

TEST(Expression, TakesLongChains) {
  std::string sum = "1";
  for (int i = 0; i < 10'000; ++i) sum += "+1";
  EXPECT_EQ(*evaluate(sum), Value(std::int64_t{10'001}));
  std::string list = "seq_len in [0";
  for (int i = 1; i < 1'000; ++i) list.append(",").append(std::to_string(i));
  EXPECT_EQ(*evaluate(list + "]"), Value(true));
  EXPECT_EQ(*evaluate(std::string(10'001, '!') + "causal"), Value(false));
}

TEST(Expression, NamesAreDistinctAndInOrder) {
  const auto expression = Expression::compile("b * a + b > c && min(a, d) < 2");
  ASSERT_TRUE(expression);
  EXPECT_EQ(expression->names(), (std::vector<std::string>{"b", "a", "c", "d"}));
}

TEST(Expression, UsesTellWhatStandsBesideAName) {
  const auto expression = Expression::compile("model == small && seq > 2 && kind in [a, b]");
  ASSERT_TRUE(expression);
  std::vector<std::pair<std::string, std::string>> uses;
  for (const auto& use : expression->uses()) uses.emplace_back(use.name, use.beside);
  EXPECT_EQ(uses, (std::vector<std::pair<std::string, std::string>>{{"model", "small"},
                                                                    {"small", "model"},
                                                                    {"seq", ""},
                                                                    {"kind", ""},
                                                                    {"a", "kind"},
                                                                    {"b", "kind"}}));
}

// Both sides of each comparison for a = 2, b = 3, c = 5.
TEST(Expression, ComparisonsAreTakenApart) {
  const auto expression = Expression::compile(
      "if(a + 1 > b * 2 && !(c == -a), min(a, b, c) <= sqrt(b ^ 2), c in [1, a])");
  ASSERT_TRUE(expression);
  std::vector<std::pair<Value, Value>> sides;
  for (const auto& [left, right] : expression->comparisons()) {
    const std::vector<Value> values{2.0, 3.0, 5.0};
    sides.emplace_back(*left.evaluate(values), *right.evaluate(values));
  }
  EXPECT_EQ(sides, (std::vector<std::pair<Value, Value>>{{3.0, 6.0}, {5.0, -2.0}, {2.0, 3.0}}));
  EXPECT_TRUE(Expression::compile("a + b")->comparisons().empty());
}

TEST(Expression, TakesValuesInTheOrderOfItsNames) {
  const auto expression = Expression::compile("a - b * a");
  ASSERT_TRUE(expression);
  EXPECT_EQ(*expression->evaluate({std::int64_t{5}, std::int64_t{3}}), Value(std::int64_t{-10}));
}

}  // namespace
}  // namespace assay
