#include "wire/check_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "wire/messages.h"

namespace assay::wire {
namespace {

// As sent: one line of text.
nlohmann::json travelled(const nlohmann::json& message) {
  const std::string line = dump(message);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  return *parse_json(line);
}

TEST(CheckMessages, ARequestArrivesAsItWasSent) {
  const CheckRequest sent = {
      "norm",   "mine", "cuda",        {{"block", std::int64_t{64}}, {"exact", true}},
      {"rows"}, 3,      {"/a/mine.so"}};
  const auto request = check_request_from_json(travelled(to_json(sent)));
  ASSERT_TRUE(request) << request.error().text();
  EXPECT_EQ(request->kind, "norm");
  EXPECT_EQ(request->name, "mine");
  EXPECT_EQ(request->device, "cuda");
  EXPECT_EQ(request->options, sent.options);
  EXPECT_EQ(request->checks, sent.checks);
  EXPECT_EQ(request->skip, 3u);
  EXPECT_EQ(request->plugin_files, sent.plugin_files);
}

TEST(CheckMessages, AnInfiniteErrorAndAComplaintOfSeveralLinesArrive) {
  CheckResult sent;
  sent.check = "forward";
  sent.passed = 4;
  sent.failed = 2;
  sent.declined = 1;
  sent.reasons = {"no fp16"};
  sent.error = std::numeric_limits<double>::infinity();
  sent.tolerance = 1e-4;
  sent.smallest = "seq 17";
  sent.complaint = "out is\nnot finite";
  const auto json = travelled(to_json(sent));
  EXPECT_EQ(message_type(json), "check_result");
  const auto result = check_result_from_json(json);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->failed, 2);
  EXPECT_EQ(result->error, sent.error);
  EXPECT_EQ(result->tolerance, 1e-4);
  EXPECT_EQ(result->reasons, sent.reasons);
  EXPECT_EQ(result->complaint, sent.complaint);
}

TEST(CheckMessages, WhatIsMalformedIsNamed) {
  const auto result = check_result_from_json({{"type", "check_result"}, {"check", 5}});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().text(), ::testing::HasSubstr("'check_result'"));
}

}  // namespace
}  // namespace assay::wire
