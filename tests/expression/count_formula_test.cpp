#include "expression/count_formula.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

Value rows_only(const std::string& name) {
  return name == "rows" ? Value(std::int64_t{10}) : Value();
}

TEST(CountFormula, KnowsWhatAPassRuns) {
  const char* formula = "rows * (runs_forward + 2 * runs_backward + 4 * runs_train_step)";
  EXPECT_EQ(counted_by_formula(formula, "inference", rows_only), 10);
  EXPECT_EQ(counted_by_formula(formula, "forward", rows_only), 10);
  EXPECT_EQ(counted_by_formula(formula, "backward", rows_only), 20);
  EXPECT_EQ(counted_by_formula(formula, "forward_backward", rows_only), 30);
  EXPECT_EQ(counted_by_formula(formula, "train_step", rows_only), 70);
  EXPECT_EQ(counted_by_formula("if(pass == reduce, 3, 4)", "reduce", rows_only), 3);
}

TEST(CountFormula, ASentenceAndAnUnknownNameGiveNothing) {
  EXPECT_FALSE(counted_by_formula("", "forward", rows_only));
  EXPECT_FALSE(counted_by_formula("forward: 2 tensors", "forward", rows_only));
  EXPECT_FALSE(counted_by_formula("rows * columns", "forward", rows_only));
}

}  // namespace
}  // namespace assay
