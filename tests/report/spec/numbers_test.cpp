#include "report/spec/numbers.h"

#include <gtest/gtest.h>

namespace assay::report {
namespace {

std::string both(double value, double uncertainty) {
  return figure_text(value, uncertainty, 15) + " ± " + uncertainty_text(uncertainty);
}

TEST(Numbers, HaveTheDigitsOfTheirUncertainty) {
  EXPECT_EQ(both(104.1, 180), "104 ± 180");
  EXPECT_EQ(both(0.73012, 0.0331), "0.730 ± 0.033");
  EXPECT_EQ(both(19.7703, 0.0996), "19.77 ± 0.10");
  EXPECT_EQ(both(123456.7, 2345), "123,457 ± 2300");
  EXPECT_EQ(both(2, 0), "2 ± 0");
}

TEST(Numbers, OnTheirOwnHaveFourDigitsOrLess) {
  EXPECT_EQ(figure_text(15.42884, 0.0042), "15.43");
  EXPECT_EQ(figure_text(15.42884, 0.42), "15.43");
  EXPECT_EQ(figure_text(15.42884, 4.2), "15.4");
  EXPECT_EQ(figure_text(0.0216874), "0.02169");
  EXPECT_EQ(figure_text(1.5), "1.5");
  EXPECT_EQ(figure_text(33144.25), "33,144");
  EXPECT_EQ(figure_text(1e-7), "1e-07");
  EXPECT_EQ(figure_text(-0.25), "-0.25");
}

TEST(Numbers, InSentencesAreRoundedWithoutAnExponent) {
  EXPECT_EQ(rounded_text(1.3456), "1.35");
  EXPECT_EQ(rounded_text(2.0), "2");
  EXPECT_EQ(rounded_text(1234.5), "1230");
  EXPECT_EQ(rounded_text(12345.6), "12,300");
}

TEST(Numbers, ThatAreWholeHaveNoExponent) {
  EXPECT_EQ(number_text(1048576), "1,048,576");
  EXPECT_EQ(number_text(139584), "139,584");
  EXPECT_EQ(number_text(4096), "4096");
  EXPECT_EQ(number_text(-65536), "-65,536");
  EXPECT_EQ(number_text(0.25), "0.25");
  EXPECT_EQ(figure_text(1048576), "1,048,576");
}

}  // namespace
}  // namespace assay::report
