#include "run/cases/resolve.h"

#include "run/cases/memory_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::run {
namespace {

using ::testing::HasSubstr;

class ResolveTest : public ::testing::Test {
 protected:
  ResolveTest() {
    catalogue::PluginInfo workload;
    workload.kind = "workload";
    workload.name = "w";
    workload.file = "w.so";
    workload.default_clock = "cuda_event";
    workload.memory_estimate = "batch * d_model * element_size + attention_memory";
    workload.parameters = {config_parameter("model", "small", "models", "The model.")};
    catalogue::PluginInfo attention;
    attention.kind = "attention";
    attention.name = "a";
    attention.file = "a.so";
    attention.memory_estimate = "batch * 100";
    catalogue::PluginInfo peer;
    peer.kind = "compile";
    peer.name = "peer";
    peer.command = {"peer"};
    catalogue_ = *catalogue::assemble("f", {workload, attention, peer});
    experiment_.passes = {"forward"};
    experiment_.presets["model/small"] = {{"d_model", 768}};
    parameters_ = {{"workload", std::string("w")},        {"attention", std::string("a")},
                   {"model", std::string("small")},       {"batch", std::int64_t{2}},
                   {"device", std::string("auto")},       {"backend", std::string("auto")},
                   {"world_size", std::int64_t{1}},       {"nodes", std::int64_t{1}},
                   {"measure.clock", std::string("auto")}};
  }

  ResolvedCase resolved(bool cuda_build) {
    return resolve({catalogue_, experiment_, machine_, cuda_build}, 0, parameters_);
  }
  std::string parameter(const ResolvedCase& resolved, const char* name) {
    return to_text(resolved.request.parameters.at(name));
  }

  catalogue::Catalogue catalogue_;
  config::Experiment experiment_;
  Machine machine_;
  store::Parameters parameters_;
};

TEST_F(ResolveTest, RanksThatCouldNotEvenStartAreLeftOut) {
  machine_.memory_bytes = std::int64_t{16} << 30;
  parameters_["world_size"] = std::int64_t{8};
  EXPECT_FALSE(resolved(true).skipped);
  parameters_["world_size"] = std::int64_t{4096};
  const ResolvedCase large = resolved(true);
  ASSERT_TRUE(large.skipped);
  EXPECT_THAT(*large.skipped, HasSubstr("world_size 4096 needs at least 256.00 GiB"));
  machine_.no_place = [](int, int, bool) { return std::nullopt; };  // on nodes of their own
  EXPECT_FALSE(resolved(true).skipped);
}

TEST_F(ResolveTest, NorMoreThanTheLimitOnHostMemoryHasRoomFor) {
  machine_.memory_bytes = std::int64_t{16} << 30;
  parameters_["world_size"] = std::int64_t{32};
  EXPECT_FALSE(resolved(true).skipped);
  ::setenv("ASSAY_HOST_MEMORY_LIMIT", "500 MiB", 1);
  const ResolvedCase limited = resolved(true);
  ::unsetenv("ASSAY_HOST_MEMORY_LIMIT");
  ASSERT_TRUE(limited.skipped);
  EXPECT_EQ(*limited.skipped,
            "world_size 32 needs at least 2.00 GiB for its worker processes, "
            "ASSAY_HOST_MEMORY_LIMIT leaves 500.00 MiB");
}

// What a case of `include` names is never silently replaced, either.
TEST_F(ResolveTest, PinsWhatAnEntryOfIncludeNamesInItsCaseAlone) {
  experiment_.pinned = {"precision"};
  experiment_.include = {{{"norm", std::string("mine")},
                          {"batch", std::int64_t{2}},
                          {"attention", std::string("naive")},
                          {"dropped_default", std::int64_t{0}}}};
  experiment_.include_named = {{"norm", "batch"}};
  parameters_["attention"] = std::string("naive");
  parameters_["norm"] = std::string("mine");
  parameters_["batch"] = std::int64_t{1};
  EXPECT_THAT(resolved(true).request.pinned, ::testing::ElementsAre("precision"));
  parameters_["batch"] = std::int64_t{2};
  EXPECT_THAT(resolved(true).request.pinned, ::testing::ElementsAre("batch", "norm", "precision"));
}

TEST_F(ResolveTest, WithoutAGpuEverythingGoesToTheCpuAndTheWallClock) {
  const ResolvedCase on_cpu = resolved(true);
  EXPECT_EQ(parameter(on_cpu, "device"), "cpu");
  EXPECT_EQ(parameter(on_cpu, "measure.clock"), "wall");
  EXPECT_EQ(parameter(on_cpu, "backend"), "none");
  EXPECT_FALSE(on_cpu.skipped);
}

TEST_F(ResolveTest, WithAGpuTheWorkloadsClockIsUsed) {
  machine_.gpus = {{"GPU", std::int64_t{80} << 30, "9.0"}};
  const ResolvedCase on_gpu = resolved(true);
  EXPECT_EQ(parameter(on_gpu, "device"), "cuda");
  EXPECT_EQ(parameter(on_gpu, "measure.clock"), "cuda_event");
  EXPECT_EQ(parameter(resolved(false), "device"), "cpu") << "a build without CUDA cannot use it";
}

TEST_F(ResolveTest, SeveralRanksGetTheBackendOfTheDevice) {
  parameters_["world_size"] = std::int64_t{2};
  EXPECT_EQ(parameter(resolved(true), "backend"), "gloo");
  machine_.gpus = {{"GPU", 1, "9.0"}, {"GPU", 1, "9.0"}};
  EXPECT_EQ(parameter(resolved(true), "backend"), "nccl");
  EXPECT_FALSE(resolved(true).skipped);
}

TEST_F(ResolveTest, MoreRanksThanGpusAreSkippedSayingSo) {
  machine_.gpus = {{"GPU", 1, "9.0"}};
  parameters_["world_size"] = std::int64_t{4};
  const ResolvedCase large = resolved(true);
  ASSERT_TRUE(large.skipped);
  EXPECT_THAT(*large.skipped, HasSubstr("needs 4 GPUs, this machine has 1"));
}

TEST_F(ResolveTest, AVariantOfAnotherDeviceIsSkippedNamingBoth) {
  catalogue_.plugins[1].devices = {"cuda"};
  ASSERT_TRUE(resolved(true).skipped);
  EXPECT_EQ(*resolved(true).skipped, "attention a runs on cuda only, this case is on cpu");
  machine_.gpus = {{"GPU", 1, "9.0"}};
  EXPECT_FALSE(resolved(true).skipped);
  parameters_["device"] = std::string("cpu");
  EXPECT_TRUE(resolved(true).skipped);
}

TEST_F(ResolveTest, AClockOfAnotherDeviceIsSkippedNamingBoth) {
  parameters_["measure.clock"] = std::string("cuda_event");
  ASSERT_TRUE(resolved(true).skipped);
  EXPECT_EQ(*resolved(true).skipped,
            "the clock cuda_event measures on cuda only, this case is on cpu");
  machine_.gpus = {{"GPU", 1, "9.0"}};
  EXPECT_FALSE(resolved(true).skipped);
}

TEST_F(ResolveTest, AnExternalVariantIsFoundAndIsNoLibrary) {
  parameters_["compile"] = std::string("peer");
  const ResolvedCase external = resolved(true);
  ASSERT_NE(external.external, nullptr);
  EXPECT_EQ(external.external->name, "peer");
  EXPECT_THAT(external.request.plugin_files, ::testing::ElementsAre("w.so", "a.so"));
}

class ResolveCompiledTest : public ResolveTest {
 protected:
  ResolveCompiledTest() {
    for (catalogue::PluginInfo& plugin : catalogue_.plugins) {
      if (plugin.name == "a") {
        plugin.parameters = {compiled_parameter("tile", 16, {8, 16, 32}, "Rows at a time.")};
      }
    }
  }

  ResolvedCase with_tile(std::int64_t tile) {
    parameters_["attention.tile"] = tile;
    return resolve({catalogue_, experiment_, machine_, false, &compiled_}, 0, parameters_);
  }
  CompiledNeed need(std::int64_t tile) {
    return {catalogue_.find("attention", "a"), {{"tile", tile}}};
  }

  CompiledLibraries compiled_;
};

TEST_F(ResolveCompiledTest, ACaseNamesTheLibraryOfItsValue) {
  compiled_.add(need(32), {"a-32.so", Outcome::ok});
  EXPECT_THAT(with_tile(32).request.plugin_files, ::testing::ElementsAre("w.so", "a-32.so"));
  EXPECT_THAT(with_tile(16).request.plugin_files, ::testing::ElementsAre("w.so", "a.so"))
      << "the default needs no library of its own";
}

TEST_F(ResolveCompiledTest, AValueThatDoesNotBuildIsTheCasesOutcome) {
  compiled_.add(need(8), {"", Outcome::unsupported, "the tile is too small", {"a.cpp"}});
  const ResolvedCase refused = with_tile(8);
  ASSERT_TRUE(refused.not_built);
  EXPECT_EQ(refused.not_built->outcome, Outcome::unsupported);
  EXPECT_EQ(refused.not_built->reason, "the tile is too small");
  EXPECT_FALSE(refused.skipped);
  EXPECT_THAT(refused.request.plugin_files, ::testing::ElementsAre("w.so", "a.so", "a.cpp"))
      << "an edited source makes it another build";
}

TEST_F(ResolveCompiledTest, WithoutACompilerTheCaseIsSkipped) {
  compiled_.add(need(8), {"", Outcome::skipped, "there is no compiler"});
  EXPECT_EQ(with_tile(8).skipped, "there is no compiler");
  EXPECT_TRUE(with_tile(32).skipped) << "nothing was built for it";
}

TEST_F(ResolveTest, MemoryIsEstimatedFromTheModelThePrecisionAndTheAttention) {
  const Surroundings around = {catalogue_, experiment_, machine_, true};
  MemoryEstimator estimator(around);
  const auto parameters = [&](const std::string& name) {
    const auto found = parameters_.find(name);
    return found == parameters_.end() ? Value() : found->second;
  };
  EXPECT_EQ(estimator.estimate(parameters), 2 * 768 * 4 + 2 * 100);
  parameters_["precision"] = std::string("bf16");
  EXPECT_EQ(estimator.estimate(parameters), 2 * 768 * 2 + 2 * 100);
  EXPECT_FALSE(estimator.estimate_of_look(parameters)) << "the workload declares none";
  catalogue_.plugins[0].look_memory_estimate = "batch * d_model * 3";
  EXPECT_EQ(estimator.estimate_of_look(parameters), 2 * 768 * 3);
}

}  // namespace
}  // namespace assay::run
