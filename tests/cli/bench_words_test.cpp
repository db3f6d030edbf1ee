#include "cli/bench/bench_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Usage usage() {
  Usage usage{"bench", "", "", "", po::options_description("Options"), {}};
  usage.options.add_options()("export-json", po::value<std::string>(), "")(
      "allow-external", po::bool_switch(), "")("set", po::value<std::vector<std::string>>(), "");
  return usage;
}

TEST(BenchWords, TellParametersFromTheCommandsOwnOptions) {
  const auto words = read_bench_words(
      usage(), {"attention", "naive", "--seq-len", "1024,4096", "mine.cu", "--export-json",
                "out.json", "--precision=bf16", "--allow-external", "flash", "--causal"});
  ASSERT_TRUE(words) << words.error().text();
  EXPECT_EQ(words->kind, "attention");
  EXPECT_THAT(words->subjects, ElementsAre("naive", "mine.cu", "flash"));
  EXPECT_THAT(words->parameters, ElementsAre(Pair("seq_len", "[1024, 4096]"),
                                             Pair("precision", "bf16"), Pair("causal", "true")));
  EXPECT_THAT(words->options, ElementsAre("--export-json", "out.json", "--allow-external"));
}

TEST(BenchWords, TakeDashesAndUnderscoresForTheSame) {
  const auto words = read_bench_words(
      usage(), {"norm", "--d_head", "64", "--block-m", "32", "--export_json", "f"});
  ASSERT_TRUE(words);
  EXPECT_THAT(words->parameters, ElementsAre(Pair("d_head", "64"), Pair("block_m", "32")));
  EXPECT_THAT(words->options, ElementsAre("--export-json", "f"));
  const auto twice = read_bench_words(usage(), {"norm", "--seq-len", "8", "--seq_len", "16"});
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().text(), HasSubstr("--seq_len is given twice"));
}

TEST(BenchWords, SplitAListOnlyAtItsOwnCommas) {
  EXPECT_EQ(as_yaml("16 KiB, 1 MiB"), "[16 KiB, 1 MiB]");
  EXPECT_EQ(as_yaml("[1, 2]"), "[1, 2]");
  EXPECT_EQ(as_yaml("naive,{tiled: {block_m: [16, 32]}}"), "[naive, {tiled: {block_m: [16, 32]}}]");
  EXPECT_EQ(as_yaml("'a,b'"), "'a,b'");
}

}  // namespace
}  // namespace assay::cli
