// Packed results, beside what the gzip program makes and takes.

#include "store/exchange/gzip.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "store/exchange/import.h"
#include "temporary_folder.h"

namespace assay::store {
namespace {

class Gzip : public testing::TemporaryFolder {};

const std::string figures = "attention,pass,time.mean [ms]\nnaive,forward,2\nflash,forward,1\n";

TEST_F(Gzip, IsWhatTheGzipProgramReads) {
  const std::string text = figures + std::string(1 << 20, 'x');
  const auto packed = write("made.gz", gzip(text));
  const auto unpacked = file("unpacked");
  ASSERT_EQ(std::system(("gzip -dc " + packed.string() + " > " + unpacked.string()).c_str()), 0);
  EXPECT_TRUE(content(unpacked) == text);
}

TEST_F(Gzip, ResultsAreImportedPacked) {
  const auto run = import_file(write("figures.csv.gz", gzip(figures)));
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_EQ(run->cases.size(), 2u);
  EXPECT_EQ(run->info.experiment, "figures");
}

TEST_F(Gzip, WhatIsCutDamagedOrTooLargeIsRefused) {
  const auto refusal = [&](const std::string& bytes, std::size_t limit) {
    const auto run = import_file(write("figures.csv.gz", bytes), {.file_bytes = limit});
    return run ? "" : run.error().text();
  };
  const std::string packed = gzip(figures);
  EXPECT_NE(refusal(packed.substr(0, packed.size() / 2), 1 << 20).find("its end is missing"),
            std::string::npos);
  std::string damaged = packed;
  damaged[packed.size() - 6] ^= 1;  // in the checksum
  EXPECT_NE(refusal(damaged, 1 << 20).find("damaged"), std::string::npos);
  // A megabyte of zeros is a kilobyte.
  const std::string bomb = gzip(std::string(1 << 20, '0'));
  EXPECT_NE(refusal(bomb, 1 << 16).find("unpacks to more than 65536 bytes"), std::string::npos);
}

}  // namespace
}  // namespace assay::store
