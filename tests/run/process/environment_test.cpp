#include "run/process/environment.h"

#include <gtest/gtest.h>

namespace assay::run {
namespace {

nlohmann::json recorded(std::vector<const char*> variables) {
  variables.push_back(nullptr);
  return measuring_environment(variables.data()).variables;
}

TEST(MeasuringEnvironment, HoldsWhatMayChangeAMeasurement) {
  EXPECT_EQ(
      recorded({"CUDA_VISIBLE_DEVICES=0,1", "NCCL_ALGO=Ring", "OMP_NUM_THREADS=4",
                "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:64",
                "TORCH_CUDNN_V8_API_DISABLED=1", "CUBLAS_WORKSPACE_CONFIG=:4096:8",
                "CUDA_LAUNCH_BLOCKING=", "NVIDIA_TF32_OVERRIDE=0", "NVIDIA_VISIBLE_DEVICES=all",
                "NVIDIA_REQUIRE_CUDA=cuda>=13.0 brand=tesla", "ASSAY_CACHE=cache",
                "ASSAY_HOST_MEMORY_LIMIT=3GiB", "HOME=/home/ann", "LANG=C", "cuda_lower=1",
                "MY_CUDA_X=1"}),
      (nlohmann::json{{"CUDA_VISIBLE_DEVICES", "0,1"},
                      {"NCCL_ALGO", "Ring"},
                      {"OMP_NUM_THREADS", "4"},
                      {"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True,max_split_size_mb:64"},
                      {"TORCH_CUDNN_V8_API_DISABLED", "1"},
                      {"CUBLAS_WORKSPACE_CONFIG", ":4096:8"},
                      {"CUDA_LAUNCH_BLOCKING", ""},
                      {"NVIDIA_TF32_OVERRIDE", "0"},
                      {"NVIDIA_VISIBLE_DEVICES", "all"},
                      {"ASSAY_HOST_MEMORY_LIMIT", "3GiB"}}));
}

TEST(MeasuringEnvironment, HoldsWhatChoosesKernelsAndCompilesThem) {
  EXPECT_EQ(recorded({"ATEN_CPU_CAPABILITY=default", "ATEN_OTHER=1", "DNNL_MAX_CPU_ISA=AVX2",
                      "ONEDNN_PRIMITIVE_CACHE_CAPACITY=0", "TORCHINDUCTOR_MAX_AUTOTUNE=1",
                      "TORCHINDUCTOR_CACHE_DIR=/home/ann/inductor", "TORCHDYNAMO_DISABLE=1",
                      "LD_LIBRARY_PATH=/home/ann/lib:/usr/local/cuda/lib64/"}),
            (nlohmann::json{{"ATEN_CPU_CAPABILITY", "default"},
                            {"DNNL_MAX_CPU_ISA", "AVX2"},
                            {"ONEDNN_PRIMITIVE_CACHE_CAPACITY", "0"},
                            {"TORCHINDUCTOR_MAX_AUTOTUNE", "1"},
                            {"TORCHINDUCTOR_CACHE_DIR", "inductor"},
                            {"TORCHDYNAMO_DISABLE", "1"},
                            {"LD_LIBRARY_PATH", "lib:lib64"}}));
}

TEST(MeasuringEnvironment, HoldsNoFoldersAndNoSecrets) {
  const auto found =
      recorded({"LD_PRELOAD=/home/ann/lib/libjemalloc.so:/opt/x/y.so", "CUDA_HOME=/home/ann/cuda/",
                "TORCH_HUB_TOKEN=abc", "NVIDIA_API_KEY=abc", "ASSAY_DB_PASSWORD=abc",
                "NCCL_SECRET=abc", "NCCL_TOPO_FILE=/home/ann/topo.xml", "no equals sign"});
  EXPECT_EQ(found, (nlohmann::json{{"LD_PRELOAD", "libjemalloc.so:y.so"},
                                   {"CUDA_HOME", "cuda"},
                                   {"NCCL_TOPO_FILE", "topo.xml"}}));
}

TEST(MeasuringEnvironment, SaysWhichValuesItDoesNotHoldWhole) {
  const char* variables[] = {"OMP_NUM_THREADS=4", "LD_PRELOAD=/opt/x/y.so", "CUDA_HOME=cuda",
                             nullptr};
  EXPECT_EQ(measuring_environment(variables).shortened, std::vector<std::string>{"LD_PRELOAD"});
}

TEST(MeasuringEnvironment, IsRepeatedWithoutWhatTheMachineSaysOfItself) {
  for (const char* name :
       {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "NVIDIA_TF32_OVERRIDE", "LD_PRELOAD",
        "ASSAY_HOST_MEMORY_LIMIT", "ASSAY_PYTHON", "ATEN_CPU_CAPABILITY", "DNNL_X"}) {
    EXPECT_TRUE(changes_measurements(name)) << name;
  }
  for (const char* name : {"CUDA_VERSION", "NVIDIA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "HOME",
                           "LD_PRELOADED", "OMP_X=1"}) {
    EXPECT_FALSE(changes_measurements(name)) << name;
  }
}

}  // namespace
}  // namespace assay::run
