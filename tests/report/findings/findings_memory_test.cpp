#include <gmock/gmock.h>

#include "rendering.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::markdown;

std::string found(const std::string& figures) { return markdown(figures, "- findings: [memory]"); }

// 100 + S² / 1024 MiB and 50 + S / 2: what grows is a square and a line.
TEST(MemoryFindings, NameTheExponentOfWhatGrows) {
  const std::string text = found(
      "model,seq_len,pass,precision,peak_memory.value [MiB]\n"
      "small,128,train_step,fp32,116\nsmall,256,train_step,fp32,164\n"
      "small,512,train_step,fp32,356\nsmall,1024,train_step,fp32,1124\n"
      "small,128,forward,fp32,114\nsmall,256,forward,fp32,178\n"
      "small,512,forward,fp32,306\nsmall,1024,forward,fp32,562\n");
  EXPECT_THAT(text,
              HasSubstr("**memory over seq_len**: train_step, fp32: the peak is 9.69 times as "
                        "large from 128 to 1024; what grows does so as seq_len^2.00."));
  EXPECT_THAT(text, HasSubstr("forward, fp32: the peak is 4.93 times as large from 128 to 1024; "
                              "what grows does so as seq_len^1.00."));
}

TEST(MemoryFindings, SayWhereInferenceIsFlat) {
  const char* const head = "model,seq_len,pass,peak_memory.value [MiB]\n";
  EXPECT_THAT(found(std::string(head) + "a,128,inference,100\na,512,inference,104\n"
                                        "b,128,inference,200\nb,512,inference,201\n"),
              HasSubstr("**memory over seq_len**: inference: flat, within 4.0 % from 128 to 512 in "
                        "2 cases."));
  EXPECT_THAT(found(std::string(head) + "a,128,inference,100\na,512,inference,150\n"
                                        "b,128,inference,200\nb,512,inference,201\n"),
              HasSubstr("inference: the peak is 1.00 to 1.50 times as large from 128 to 512 in 2 "
                        "cases, flat in 1 of them; most at model a."));
  EXPECT_THAT(found(std::string(head) + "a,128,inference,100\na,192,inference,150\n"),
              Not(HasSubstr("memory over")))
      << "less than twice the context says little";
}

// small 100 → 110 and 100 → 90: geometric mean 0.995; large 100 → 50.
TEST(MemoryFindings, SayWhatSixteenBitSavesBySize) {
  const std::string text = found(
      "model,seq_len,pass,precision,peak_memory.value [MiB]\n"
      "small,1,train_step,fp32,100\nsmall,1,train_step,bf16,110\n"
      "small,3,train_step,fp32,100\nsmall,3,train_step,bf16,90\n"
      "large,1,train_step,fp32,100\nlarge,1,train_step,bf16,50\n"
      "large,1,inference,fp32,1000\nlarge,1,inference,bf16,1500\n"
      "small,1,inference,fp32,100\nsmall,1,inference,bf16,90\n");
  EXPECT_THAT(text, HasSubstr("**mixed precision**: train_step, bf16 saves of the peak, by size: "
                              "small 0.5 %, large 50.0 % (negative: needs more; 3 pairs)."));
  EXPECT_THAT(text, HasSubstr("inference, bf16 saves of the peak, by size: small 10.0 %, large "
                              "-50.0 %"));
  EXPECT_THAT(text, HasSubstr("train_step, bf16: the peak is 0.82 times as large from 1 to 3."));
  EXPECT_THAT(text, HasSubstr("**autocast's copies**: inference, bf16 needs up to so much more, "
                              "having no activations to save on: large 500.00 MiB (50 %)."));
}

// 16 GB less 1 GiB are 13.9 GiB, 24 GB 21.35, 40 GB 36.25.
TEST(MemoryFindings, SayWhatOtherCardsWouldHold) {
  const std::string text = found(
      "model,pass,peak_memory.value [GiB]\n"
      "small,train_step,10\nmedium,train_step,20\nlarge,train_step,36\nhuge,forward,500\n");
  EXPECT_THAT(text,
              HasSubstr("**a card of 16 GB** would hold 1 of 3 cases of train_step, with 1 GiB "
                        "left for the context: up to model small (10.00 GiB), not model "
                        "medium (20.00 GiB)."));
  EXPECT_THAT(text, HasSubstr("**a card of 24 GB** would hold 2 of 3 cases"));
  EXPECT_THAT(text,
              HasSubstr("**a card of 40 GB** would hold every case of train_step: at most 36.00 "
                        "GiB."));
  EXPECT_THAT(text, Not(HasSubstr("80 GB")));
}

}  // namespace
}  // namespace assay::report
