#include <assay/outcome.h>
#include <assay/parameter.h>
#include <assay/value.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>

#include "base/error.h"

namespace assay {
namespace {

TEST(ValueText, IsAsWritten) {
  EXPECT_EQ(to_text(Value()), "");
  EXPECT_EQ(to_text(Value(true)), "true");
  EXPECT_EQ(to_text(Value(false)), "false");
  EXPECT_EQ(to_text(Value(std::int64_t{-42})), "-42");
  EXPECT_EQ(to_text(Value(0.1)), "0.1");
  EXPECT_EQ(to_text(Value(std::string("bf16"))), "bf16");
}

TEST(ValueText, OfRealsReadsBackExactly) {
  for (const double number :
       {1.0 / 3, 1e-300, 123456789.123456789, 5e-324, std::numeric_limits<double>::max()}) {
    EXPECT_EQ(std::strtod(to_text(Value(number)).c_str(), nullptr), number);
  }
}

TEST(OutcomeText, ReadsBackForEveryOutcome) {
  for (const Outcome outcome :
       {Outcome::ok, Outcome::oom, Outcome::unsupported, Outcome::wrong, Outcome::error,
        Outcome::crashed, Outcome::timeout, Outcome::skipped}) {
    EXPECT_EQ(outcome_from_text(to_text(outcome)), outcome);
  }
  EXPECT_EQ(to_text(Outcome::oom), "oom");
  EXPECT_EQ(to_text(Outcome::skipped), "skipped");
  EXPECT_EQ(outcome_from_text("OK"), std::nullopt);
}

TEST(ParameterHelpers, FillInWhatTheyAreGiven) {
  const ParameterInfo size = integer_parameter("block_m", 64, 16, 256, "Rows.");
  EXPECT_EQ(size.type, ParameterType::integer);
  EXPECT_EQ(size.default_value, Value(std::int64_t{64}));
  EXPECT_EQ(size.minimum, 16);
  EXPECT_EQ(size.maximum, 256);
  const ParameterInfo model = config_parameter("model", "small", "models", "Sizes.");
  EXPECT_EQ(model.type, ParameterType::config);
  EXPECT_EQ(model.config_folder, "models");
  const ParameterInfo layout = choice_parameter("layout", "a", {"a", "b"}, "Order.");
  EXPECT_EQ(layout.choices, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(boolean_parameter("causal", true, "Masked.").default_value, Value(true));
  EXPECT_EQ(real_parameter("scale", 0.5, 0, 1, "Scale.").default_value, Value(0.5));
}

TEST(DiagnosticText, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ((Diagnostic{{"a.yaml", 3, 5}, "wrong", "do this"}.text()),
            "a.yaml:3:5: wrong; do this");
  EXPECT_EQ((Diagnostic{{"a.yaml"}, "wrong", ""}.text()), "a.yaml: wrong");
  EXPECT_EQ((Diagnostic{{}, "wrong", ""}.text()), "wrong");
}

}  // namespace
}  // namespace assay
