#include "cli/ceilings.h"

#include <SQLiteCpp/Database.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/exchange/import.h"
#include "store/temporary_folder.h"

namespace assay::cli {
namespace {

class StoredCeilings : public store::testing::TemporaryFolder {
 protected:
  void SetUp() override {
    TemporaryFolder::SetUp();
    auto opened = store::Database::open(file("assay.db"), store::Access::read_write);
    ASSERT_TRUE(opened);
    database_.emplace(std::move(*opened));
  }

  // Stores a calibration that copies 1 GB in this time.
  void calibrate(int milliseconds, std::vector<std::string> overrides) {
    auto run = store::import_text(
        fmt::format("workload,device,size,pass,time.samples [ms],bytes.value [GB]\n"
                    "copy,cuda,1,copy,{},1\n",
                    milliseconds),
        "copy.csv");
    ASSERT_TRUE(run) << run.error().text();
    run->info.name = fmt::format("calibrate_copy-{}", ++runs_);
    run->info.experiment = "calibrate_copy";
    run->info.started = fmt::format("2026-01-0{}T00:00:00Z", runs_);
    run->info.first.machine = machine_;
    run->info.first.overrides = std::move(overrides);
    ASSERT_TRUE(database_->add_run(*run));
  }

  double copies_gb_per_s() { return copies_gb_per_s(machine_); }
  double copies_gb_per_s(const nlohmann::json& machine) {
    const auto ceilings = ceilings_of_machine(*database_, machine);
    if (!ceilings || ceilings->find("copy", {}) == nullptr) return 0;
    return ceilings->find("copy", {})->value / 1e9;
  }

  std::vector<run::DeviceCeilings> of_devices() {
    return device_ceilings_if_readable(*database_, machine_);
  }

  const nlohmann::json machine_ = {{"host", "lab1"}, {"cpu", "EPYC 9354"}, {"cores", 8}};

 private:
  std::optional<store::Database> database_;
  int runs_ = 0;
};

// Ceilings of products of these dtypes and sizes, all of 10 TFLOP/s on a GPU.
report::Ceilings products(const std::string& rows) {
  auto run = store::import_text(
      "workload,device,dtype,m,pass,time.samples [s],flops.value\n" + rows, "matmul.csv");
  report::Ceilings ceilings;
  EXPECT_TRUE(run) << run.error().text();
  if (run) ceilings.add(*run);
  return ceilings;
}

double fastest(const std::string& rows) {
  const auto devices = device_ceilings(products(rows));
  return devices.empty() ? 0 : devices[0].flops_per_s;
}

TEST(DeviceCeilings, OfProductsNeedTheFastestDtypeAtASizeThatFillsTheDevice) {
  const std::string fp32 = "matmul,cuda,fp32,8192,product,1,1e13\n";
  const std::string small = "matmul,cuda,bf16,512,product,1,9e13\n";
  const std::string bf16 = "matmul,cuda,bf16,8192,product,1,1e14\n";
  EXPECT_EQ(fastest(fp32), 0);
  EXPECT_EQ(fastest(fp32 + small), 0);
  EXPECT_DOUBLE_EQ(fastest(fp32 + small + bf16), 1e14);
}

TEST_F(StoredCeilings, AreTheNewestButNarrowedOnesOnlyWhereNoWholeOneIs) {
  calibrate(10, {"--set size=[1]"});
  EXPECT_DOUBLE_EQ(copies_gb_per_s(), 100);
  calibrate(4, {});
  EXPECT_DOUBLE_EQ(copies_gb_per_s(), 250);
  calibrate(5, {});
  EXPECT_DOUBLE_EQ(copies_gb_per_s(), 200);
  calibrate(20, {"--filter size < 2"});
  EXPECT_DOUBLE_EQ(copies_gb_per_s(), 200);
}

TEST_F(StoredCeilings, AreOfTheSameCpuAndAsManyCores) {
  calibrate(10, {});
  EXPECT_DOUBLE_EQ(copies_gb_per_s(), 100);
  for (const char* other : {R"({"host": "lab2"})", R"({"cpu": "Xeon 6430"})", R"({"cores": 4})",
                            R"({"gpus": [{"name": "H100"}]})"}) {
    nlohmann::json machine = machine_;
    machine.update(nlohmann::json::parse(other));
    EXPECT_DOUBLE_EQ(copies_gb_per_s(machine), 0) << other;
  }
}

TEST_F(StoredCeilings, ThatCannotBeReadAreToldAndJudgeNothing) {
  calibrate(10, {});
  SQLite::Database(file("assay.db").string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE cases SET outcome = 'fine'");
  ::testing::internal::CaptureStderr();
  const auto devices = of_devices();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::StartsWith("no time is judged by this machine's ceilings: "));
  EXPECT_TRUE(devices.empty());
}

}  // namespace
}  // namespace assay::cli
