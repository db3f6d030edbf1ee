// Layouts of the catalogue's rows without a workload, over small imported figures computed by hand.
#include <fmt/format.h>

#include "shipped_layout.h"

namespace assay::report {
namespace {

using testing_support::cells_of;
using testing_support::Rows;

TEST_F(ShippedLayout, ProfilerAndTimer) {
  EXPECT_EQ(cells_of(rendered({"model,seq_len,pass,time.mean [ms],profiled_time.value "
                               "[ms],busy_time.value [ms],host_time.value [ms]\n"
                               "small,128,forward,20,15,12,18\nsmall,128,backward,40,39,38,41\n"},
                              "profiler_and_timer")),
            (Rows{{"model", "seq_len", "timer_ms", "profiler_ms", "device_ms", "cpu_ms",
                   "10 steps (ms)", "profiler / timer"},
                  {"small", "128", "20", "15", "12", "18", "150.0", "0.75"}}));
}

const char* const kernels =
    "pass,part,kernel_time.value [ms],kernel_share.value [%],kernel_calls.value "
    "[],kernel_family.words [text],family_share.value [%]\n"
    "forward,gemm_a,6,60,24,gemm,60\nforward,softmax,4,40,12,softmax,40\n"
    "forward_backward,gemm_b,9,30,48,gemm,100\nforward_backward,gemm_a,21,70,72,gemm,100\n";

// The same kernel leads in both passes.
TEST_F(ShippedLayout, TopKernel) {
  const std::string report = rendered({kernels}, "top_kernel");
  const std::vector<std::string> header = {"Name",  "Time",   "Share",
                                           "Calls", "Family", "Family's share"};
  EXPECT_EQ(cells_of(report), (Rows{header,
                                    {"gemm_a", "6.00 ms", "60.0%", "24", "gemm", "60.0%"},
                                    header,
                                    {"gemm_a", "21.0 ms", "70.0%", "72", "gemm", "100.0%"}}));
  EXPECT_NE(report.find("### forward_backward\n"), std::string::npos);
}

const char* const classes =
    "pass,part,class_share.value [%]\n"
    "inference,gemm,80\ninference,softmax,15\ninference,elementwise,5\n"
    "train_step,gemm,60\ntrain_step,softmax,10\ntrain_step,elementwise,30\n";

TEST_F(ShippedLayout, KernelClasses) {
  EXPECT_EQ(cells_of(rendered({classes}, "kernel_classes")),
            (Rows{{"class", "inference", "train_step"},
                  {"softmax", "15.0%", "10.0%"},
                  {"elementwise", "5.0%", "30.0%"}}));
}

TEST_F(ShippedLayout, MatmulShare) {
  EXPECT_EQ(cells_of(rendered({classes}, "matmul_share")),
            (Rows{{"class", "inference", "train_step", "difference"},
                  {"gemm", "80.0", "60.0", "-20.0"},
                  {"softmax", "15.0", "10.0", "-5.0"},
                  {"elementwise", "5.0", "30.0", "+25.0"}}));
}

// Two calls each: 30 of 60 + 60 µs, 5 of 2 · 400 FLOPs.
TEST_F(ShippedLayout, AttentionRanges) {
  EXPECT_EQ(cells_of(rendered({"seq_len,pass,part,range_time.value [us],range_flops.value "
                               "[FLOP],range_calls.value []\n"
                               "256,forward,scores,60,400,2\n256,forward,softmax,30,5,2\n"
                               "256,forward,values,60,400,2\n"},
                              "attention_ranges")),
            (Rows{{"seq_len", "calls", "q kᵀ (µs)", "softmax (µs)", "p v (µs)", "q kᵀ (ms)",
                   "softmax (ms)", "p v (ms)", "ratio of times", "ratio of FLOPs"},
                  {"256", "2", "30", "15", "30", "0.060", "0.030", "0.060", "0.250", "0.006"}}));
}

// Two norms of 3 µs and a softmax of 4 µs, of 20 µs.
TEST_F(ShippedLayout, NormAndSoftmax) {
  EXPECT_EQ(cells_of(rendered({"pass,part,range_time.value [us],range_calls.value "
                               "[],profiled_work.value [us]\n"
                               "train_step,norm,6,2,\ntrain_step,softmax,4,1,\ntrain_step,,,,20\n"},
                              "norm_and_softmax")),
            (Rows{{"norms", "a norm (µs)", "a norm (%)", "all norms (%)", "softmaxes",
                   "a softmax (µs)", "a softmax (%)", "all softmaxes (%)"},
                  {"2", "3.0", "15.000", "30.00", "1", "4.0", "20.000", "20.00"}}));
}

TEST_F(ShippedLayout, RangesHaveWhatTheyAchieve) {
  EXPECT_EQ(cells_of(rendered({"pass,part,range_time.value [ms],range_flops.value "
                               "[GFLOP],range_calls.value [],range_share.value [%]\n"
                               "forward,scores,2,6,12,25\n"},
                              "ranges")),
            (Rows{{"range", "calls", "time", "share", "gflop", "TFLOP/s"},
                  {"scores", "12", "2.00 ms", "25.0%", "6.000", "3.000"}}));
}

TEST_F(ShippedLayout, Operators) {
  EXPECT_EQ(cells_of(rendered({"pass,part,calls.value [],self_cpu_time.value [us],cpu_time.value "
                               "[us],self_device_time.value [us],device_time.value [us]\n"
                               "forward,aten::linear,12,50,400,0,900\n"
                               "forward,aten::mm,12,350,350,900,900\n"},
                              "operators")),
            (Rows{{"Operator", "Calls", "Self CPU", "CPU total", "Self device", "Device total"},
                  {"aten::mm", "12", "350 µs", "350 µs", "900 µs", "900 µs"},
                  {"aten::linear", "12", "50.0 µs", "400 µs", "0.00 s", "900 µs"}}));
}

TEST_F(ShippedLayout, DtypeTrace) {
  const std::string report =
      rendered({"precision,part,dtype.words [text],element_size.value [byte],taken.words [text]\n"
                "fp16,parameters,torch.float32,4,stored\n"
                "fp16,fc1 output,torch.float16,2,inside autocast\n"
                "bf16,fc1 output,torch.bfloat16,2,inside autocast\n"},
               "dtype_trace");
  EXPECT_EQ(cells_of(report), (Rows{{"Tensor", "Dtype", "Bytes", "Taken"},
                                    {"parameters", "torch.float32", "4", "stored"},
                                    {"fc1 output", "torch.float16", "2", "inside autocast"},
                                    {"Tensor", "Dtype", "Bytes", "Taken"},
                                    {"fc1 output", "torch.bfloat16", "2", "inside autocast"}}));
}

// fp16: 5 exponent bits, largest (2 − 2⁻¹⁰) · 2¹⁵ = 65504, smallest normal 2⁻¹⁴, epsilon 2⁻¹⁰.
TEST_F(ShippedLayout, NormSensitivity) {
  const char* const figures =
      "precision,n_cols,magnitude,part,error.value [],range.words [text],exponent_bits.value "
      "[count],mantissa_bits.value [count],largest.value [],smallest_normal.value "
      "[],epsilon.value [],largest_squared.value [],eps_error.value []\n"
      "fp16,1024,1,mean,0.002,fits,,,,,,,\n"
      "fp16,1024,1,variance,,overflows,,,,,,,\n"
      "fp32,1024,1,mean,0.0000003,fits,,,,,,,\n"
      "fp32,1024,1,variance,0.000001,fits,,,,,,,\n"
      "fp16,1024,1,,,,5,10,65504,0.00006103515625,0.0009765625,255.875,0.00136\n";
  EXPECT_EQ(
      cells_of(rendered({figures}, "norm_sensitivity")),
      (Rows{{"n_cols", "magnitude", "mean, fp16", "mean, fp32", "variance, fp32"},
            {"1024", "1", "2.0e-03", "3.0e-07", "1.0e-06"},
            {"n_cols", "magnitude", "mean, fp16", "mean, fp32", "variance, fp16", "variance, fp32"},
            {"1024", "1", "fits", "fits", "overflows", "fits"},
            {"precision", "exponent bits", "mantissa bits", "largest", "smallest normal", "epsilon",
             "largest with finite square", "error of eps 1e-5"},
            {"fp16", "5", "10", "6.550e+04", "6.104e-05", "9.766e-04", "255.875", "1.4e-03"}}));
}

TEST_F(ShippedLayout, NumberFormats) {
  EXPECT_EQ(
      cells_of(rendered(
          {"part,bits.value [count],exponent_bits.value [count],mantissa_bits.value [count],"
           "dynamic_range.value [],precision_digits.value [],largest.value [],"
           "smallest_normal.value [],smallest_subnormal.value [],epsilon.value [],"
           "largest_squared.value [],eps_range.words [text],eps_error.value []\n"
           "fp16,16,5,10,9.0308,3.3113,65504,0.00006103515625,5.9604644775390625e-8,0.0009765625,"
           "255.875,subnormal,0.00136\n"},
          "number_formats")),
      (Rows{{"Format", "bits", "exponent bits", "mantissa bits", "decades", "digits", "largest",
             "smallest normal", "smallest subnormal", "epsilon", "largest with finite square",
             "eps 1e-5", "error of eps"},
            {"fp16", "16", "5", "10", "9.0", "3.3", "6.55e+04", "6.104e-05", "5.960e-08",
             "9.766e-04", "255.875", "subnormal", "1.4e-03"}}));
}

// 20 ms against 10 ms: twice as fast.
TEST_F(ShippedLayout, PrecisionPolicies) {
  EXPECT_EQ(cells_of(rendered(
                {"model,precision,pass,time.samples [ms],peak_memory.value [MiB]\n"
                 "small,fp32,train_step,20 20 20,4000\nsmall,bf16,train_step,10 10 10,3000\n",
                 "model,precision,pass,last_loss.value [],last_loss_error.value [],"
                 "loss_error.samples [],first_gradient_error.value [],gradient_error.samples [],"
                 "compared_skips.value [count]\n"
                 "small,fp32,against_fp32,2.5,0.0000001,0.0000001 0.0000001,0.000001,0.000001 "
                 "0.000001,0\n"
                 "small,bf16,against_fp32,2.51,0.004,0.001 0.008,0.002,0.002 0.01 0.03,3\n"},
                "precision_policies")),
            (Rows{{"Precision", "Step", "Speed", "Peak", "Loss", "Loss error", "largest",
                   "Gradient error, first step", "median of all", "Skipped"},
                  {"fp32", "20.00", "1.00x", "4000.0", "2.5000", "1.0e-07", "1.0e-07", "1.0e-06",
                   "1.0e-06", "0"},
                  {"bf16", "10.00", "2.00x", "3000.0", "2.5100", "4.0e-03", "8.0e-03", "2.0e-03",
                   "1.0e-02", "3"}}));
}

// 4 · 4 · 512 · 2560 byte = 20 MiB.
TEST_F(ShippedLayout, ResidualStream) {
  EXPECT_EQ(
      cells_of(rendered({"model,batch,seq_len,model.d_model,part,tensor_size.value [MiB]\n"
                         "2.7B,4,512,2560,residual_stream,20\n"},
                        "residual_stream")),
      (Rows{{"model", "batch", "seq_len", "d_model", "4 · batch · seq_len · d_model", "allocated"},
            {"2.7B", "4", "512", "2560", "20.00 MiB", "20.00 MiB"}}));
}

// Ten of eleven are shown, the largest first.
TEST_F(ShippedLayout, LargestAllocations) {
  std::string figures =
      "part,allocation_size.value [MiB],allocation_count.value,allocation_sum.value [MiB]\n";
  for (int i = 1; i <= 11; ++i) {
    figures += fmt::format("aten::mm at blocks.{0},{0},3,{1}\n", i, 3 * i);
  }
  const Rows rows = cells_of(rendered({figures}, "largest_allocations"));
  ASSERT_EQ(rows.size(), 11u);
  EXPECT_EQ(rows[1],
            (std::vector<std::string>{"11.00 MiB", "3", "33.00 MiB", "aten::mm at blocks.11"}));
  EXPECT_EQ(rows[10],
            (std::vector<std::string>{"2.00 MiB", "3", "6.00 MiB", "aten::mm at blocks.2"}));
}

// 2 + 2 + 4 + 3 = 11 GiB, 10 % more than 10.
TEST_F(ShippedLayout, TrainingState) {
  EXPECT_EQ(
      cells_of(
          rendered({"model,batch,seq_len,pass,part,predicted_memory.value "
                    "[GiB],peak_memory.value [GiB]\n"
                    "small,4,128,train_step,parameters,2,\nsmall,4,128,train_step,gradients,2,\n"
                    "small,4,128,train_step,optimizer,4,\n"
                    "small,4,128,train_step,activations,3,\nsmall,4,128,train_step,,11,10\n"},
                   "training_state")),
      (Rows{{"model", "batch", "seq_len", "parameters", "gradients", "optimizer", "activations",
             "predicted", "measured", "error"},
            {"small", "4", "128", "2.00", "2.00", "4.00", "3.00", "11.00", "10.00", "+10.0 %"}}));
}

TEST_F(ShippedLayout, Checkpointing) {
  const std::string report =
      rendered({"model,checkpoint_every,pass,part,saved_for_backward.value [MiB],time.mean "
                "[ms],peak_memory.value [GiB]\n"
                "small,1,backward,aten::mm,8,,\nsmall,1,backward,aten::softmax,24,,\n"
                "small,4,backward,aten::mm,2,,\n"
                "small,1,train_step,,,40,2\nsmall,4,train_step,,,32,4\n"},
               "checkpointing");
  EXPECT_EQ(cells_of(report), (Rows{{"operator", "every 1", "every 4"},
                                    {"aten::mm", "8.00 MiB", "2.00 MiB"},
                                    {"aten::softmax", "24.00 MiB", ""}}));
  EXPECT_EQ(data("plot-1"),
            "checkpoint_every,line,train_step peak_memory [GiB],low,high\n1,small,2,2,2\n"
            "4,small,4,4,4\n");
  EXPECT_EQ(data("plot-2"),
            "checkpoint_every,line,train_step time [ms],low,high\n1,small,40,40,40\n"
            "4,small,32,32,32\n");
}

// s = 1e9 byte; o = 1e-5 s and w = 1e10 byte/s, of all-reduces of 20 µs for 100 kB, 110 µs for 1 MB
// and 1.01 ms for 10 MB: √(s/(w·o)) = 100, √(s·o·w) = 1e7 byte = 9.54 MiB, 2·√(s·o/w) = 2 ms.
TEST_F(ShippedLayout, BucketModel) {
  const std::string steps =
      "workload,backend,model,world_size,communication.bucket_size,pass,part,time.samples [ms],"
      "sent_bytes.samples [byte]\n"
      "model_step,gloo,xl,2,5242880,train_step,,31,\n"
      "model_step,gloo,xl,2,5242880,train_step,all_reduce,,1000000000\n"
      "model_step,gloo,xl,2,10485760,train_step,,30,\n"
      "model_step,gloo,xl,2,10485760,train_step,communication,2.5,\n"
      "model_step,gloo,xl,2,10485760,train_step,all_reduce,,1000000000\n"
      "model_step,gloo,xl,2,104857600,train_step,,35,\n"
      "model_step,gloo,xl,2,104857600,train_step,all_reduce,,1000000000\n";
  const std::string collectives =
      "workload,backend,world_size,layer,size,pass,rank,time.samples [us]\n"
      "collective,gloo,2,c10d,100000,all_reduce,0,20 20\n"
      "collective,gloo,2,c10d,1000000,all_reduce,0,110 110\n"
      "collective,gloo,2,c10d,10000000,all_reduce,0,1010 1010\n";
  EXPECT_EQ(cells_of(rendered({steps, collectives}, "bucket_model")),
            (Rows{{"backend", "model", "overhead", "bandwidth (GB/s)", "buckets", "predicted",
                   "measured", "predicted overhead", "measured overhead"},
                  {"gloo", "xl", "10.0 µs", "10", "100.0", "9.54 MiB", "10.00 MiB", "2.00 ms",
                   "2.50 ms"}}));
}

TEST_F(ShippedLayout, ShardedMemoryPeaks) {
  const std::string figures =
      "model,world_size,communication,rank,pass,part,peak_memory.value [GiB],state_memory.value "
      "[GiB],predicted_state_memory.value [GiB]\n"
      "xl,2,none,0,train_step,after_init,4,,\nxl,2,none,0,train_step,before_step,8,,\n"
      "xl,2,none,0,train_step,after_step,16,,\nxl,2,sharded,1,train_step,after_init,4,,\n"
      "xl,2,sharded,1,train_step,before_step,8,,\nxl,2,sharded,1,train_step,after_step,11,,\n"
      "xl,2,sharded,0,train_step,after_init,4,,\nxl,2,sharded,0,train_step,before_step,8,,\n"
      "xl,2,sharded,0,train_step,after_step,12,,\nxl,2,sharded,0,train_step,parameters,,4,4\n"
      "xl,2,sharded,0,train_step,gradients,,4,4\nxl,2,sharded,0,train_step,optimizer,,4,3\n";
  EXPECT_EQ(
      cells_of(rendered({figures}, "sharded_memory_peaks")),
      (Rows{{"model", "world_size", "communication", "rank", "after initialisation",
             "before the step", "after the step"},
            {"xl", "2", "none", "0", "4.00 GiB", "8.00 GiB", "16.00 GiB"},
            {"xl", "2", "sharded", "0", "4.00 GiB", "8.00 GiB", "12.00 GiB"},
            {"xl", "2", "sharded", "1", "4.00 GiB", "8.00 GiB", "11.00 GiB"},
            {"model", "world_size", "communication", "rank", "parameters", "gradients", "optimizer",
             "parameters, predicted", "gradients, predicted", "optimizer, predicted"},
            {"xl", "2", "sharded", "0", "4.00 GiB", "4.00 GiB", "4.00 GiB", "4.00 GiB", "4.00 GiB",
             "3.00 GiB"}}));
}

TEST_F(ShippedLayout, ShardingVolume) {
  EXPECT_EQ(
      cells_of(rendered({"model,communication,world_size,pass,part,state_memory.value "
                         "[GiB],predicted_state_memory.value [GiB],peak_memory.value "
                         "[GiB],communication_volume.value [GiB]\n"
                         "xl,zero_1,2,train_step,,10,9,14,\nxl,zero_1,2,train_step,counted,,,,2\n"
                         "xl,zero_1,2,train_step,measured,,,,2.5\n"},
                        "sharding_volume")),
      (Rows{{"model", "communication", "world_size", "state counted", "state measured",
             "peak measured", "volume counted", "volume measured"},
            {"xl", "zero_1", "2", "9.00 GiB", "10.00 GiB", "14.00 GiB", "2.00 GiB", "2.50 GiB"}}));
}

TEST_F(ShippedLayout, FullySharded) {
  EXPECT_EQ(
      cells_of(rendered({"model,world_size,communication,pass,time.mean [ms],peak_memory.value "
                         "[GiB]\nxl,2,ddp,train_step,400,32\nxl,2,fsdp,train_step,500,18\n"},
                        "fully_sharded")),
      (Rows{{"model", "world_size", "ddp time", "fsdp time", "ddp peak", "fsdp peak"},
            {"xl", "2", "400 ms", "500 ms", "32.00 GiB", "18.00 GiB"}}));
}

// 16 · 219,848,638,464 byte = 3517.578 GB, in 80 GB 43.97 times.
TEST_F(ShippedLayout, StateAccounting) {
  const std::string report =
      rendered({"model,batch,parameters.value [],saved_for_backward.value [GiB]\n"
                "xxl,1,219848638464,512\nxxl,2,219848638464,1024\n"},
               "state_accounting");
  EXPECT_NE(report.find("xxl: 219,848,638,464 parameters;"), std::string::npos) << report;
  EXPECT_NE(report.find("16 byte each, 3,517.58 GB in all: 44 GPUs of 80 GB."), std::string::npos)
      << report;
  EXPECT_EQ(cells_of(report),
            (Rows{{"batch", "saved for backward"}, {"1", "512.00 GiB"}, {"2", "1.00 TiB"}}));
}

TEST_F(ShippedLayout, MemoryByShards) {
  EXPECT_EQ(cells_of(rendered({"shards,device_memory.value [GB]\n16,190\n32,95\n64,47.5\n"},
                              "memory_by_shards")),
            (Rows{{"shards", "memory (GB)", "fits 95 GB"},
                  {"16", "190.0", "no"},
                  {"32", "95.0", "yes"},
                  {"64", "47.5", "yes"}}));
  EXPECT_NE(data("plot-1").find("32,,95,95,95\n"), std::string::npos) << data("plot-1");
}

TEST_F(ShippedLayout, ComputeBoundBatch) {
  EXPECT_EQ(rendered({"shards,tensor_parallel,part,link_bandwidth.value [GB/s],peak_flops.value "
                      "[TFLOP/s],bound_batch.value [token]\n"
                      "16,4,,180,460,\n16,4,device,,,800\n16,4,overall,,,51200\n"},
                     "compute_bound_batch"),
            "```\n16 shards of data, 4 of tensors; links of 180 GB/s, 460 TFLOP/s a device:\n"
            "  compute bound from 800 tokens a device, 51200 in all.\n```\n");
}

TEST_F(ShippedLayout, BatchReductions) {
  EXPECT_EQ(cells_of(rendered({"means,part,bound_batch.value [token]\nplain,device,800\n"
                               "two mesh axes,device,400\n"},
                              "batch_reductions")),
            (Rows{{"means", "tokens a device", "of the plain one"},
                  {"plain", "800", "1.00x"},
                  {"two mesh axes", "400", "0.50x"}}));
}

TEST_F(ShippedLayout, ParallelismBounds) {
  rendered({"parallelism,batch,part,bound_time.value [ms]\nfsdp,1024,compute,2\n"
            "fsdp,1024,communication,8\nfsdp,8192,compute,16\nfsdp,8192,communication,8\n"
            "tensor,1024,compute,2\n"},
           "parallelism_bounds");
  EXPECT_EQ(data("plot-1"),
            "batch,line,bound_time [ms],low,high\n1024,compute,2,2,2\n8192,compute,16,16,16\n"
            "1024,communication,8,8,8\n8192,communication,8,8,8\n");
  EXPECT_EQ(data("plot-2"), "batch,line,bound_time [ms],low,high\n1024,compute,2,2,2\n");
}

}  // namespace
}  // namespace assay::report
