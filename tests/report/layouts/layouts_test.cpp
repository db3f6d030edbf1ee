#include <gmock/gmock.h>

#include "shipped_layout.h"

// Shipped layouts without a golden table, over small figures.
namespace assay::report {
namespace {

using ::testing::Contains;
using testing_support::cells_of;
using testing_support::Rows;
using testing_support::shown;
using testing_support::Shown;

// 25 − 10 ms; 0.5 of 10 is 5 %, 0.5 of 25 is 2 %.
TEST_F(ShippedLayout, PassDifference) {
  EXPECT_EQ(rendered({"model,pass,time.mean [ms],time.std [ms]\n"
                      "small,forward,10,0.5\nsmall,forward_backward,25,0.5\n"},
                     "pass_difference"),
            "```\n"
            "small: forward 10.00 ms (standard deviation 5.0 % of the mean), with backward\n"
            "  25.00 ms (2.0 %), so 15.00 ms for the backward pass by subtraction.\n"
            "```\n");
}

// 4 byte · 8 · 1 · 16384² = 8 GiB, half of 16.
TEST_F(ShippedLayout, AttentionProbabilities) {
  EXPECT_EQ(
      shown(rendered({"attention,batch,heads,d_head,seq_len,precision,pass,peak_memory.max [GiB]\n"
                      "naive,8,1,64,16384,fp32,forward,16\n"},
                     "attention_probabilities")),
      (Shown{{{"attention", "d_head", "seq_len", "probabilities (GiB)", "peak (GiB)", "share (%)"},
              {"naive", "64", "16384", "8", "16", "50.0"}},
             {}}));
}

// 7 TFLOP at 700 TFLOP/s take 10 ms, 30 bytes of each of a billion parameters at 3 TB/s another 10;
// 7 TFLOP in 25 ms are 280 TFLOP/s, 40 % of 700.
TEST_F(ShippedLayout, StepFloor) {
  const std::string report = rendered(
      {"workload,device,model,compile,precision,pass,time.samples [ms],flops.value "
       "[TFLOP],parameters.value [count],peak_memory.value [GB]\n"
       "model_step,cuda,small,fused_graph,bf16,train_step,25 25 25,7,1000000000,50\n"},
      "step_floor",
      "workload,device,size,dtype,pass,time.samples [ms],bytes.value [GB],flops.value [TFLOP]\n"
      "copy,cuda,1073741824,,copy,1 1 1,3,\nmatmul,cuda,,bf16,matmul,1 1 1,,0.7\n");
  EXPECT_EQ(
      cells_of(report),
      (Rows{{"Size", "compile", "time [ms]", "products [ms]", "optimizer [ms]", "floor [ms]",
             "time / floor", "MFU [%]"},
            {"small", "fused_graph", "25.000", "10.000", "10.000", "20.000", "1.25", "40.0"}}))
      << report;
}

// 13.5 − 11.25 and 20 − 11.25 µs; out of place c10d has nothing to subtract from.
TEST_F(ShippedLayout, CollectiveLayers) {
  EXPECT_EQ(cells_of(rendered(
                {"layer,placement,size,pass,rank,time.samples [us]\n"
                 "nccl,in_place,1024,all_reduce,0,11\nnccl,in_place,1024,all_reduce,1,11.5\n"
                 "c10d,in_place,1024,all_reduce,0,13\nc10d,in_place,1024,all_reduce,1,14\n"
                 "c10d_async,in_place,1024,all_reduce,0,20\n"
                 "c10d_async,in_place,1024,all_reduce,1,20\n"
                 "nccl,out_of_place,1024,all_reduce,0,12\n"},
                "collective_layers")),
            (Rows{{"collective", "placement", "size [KiB]", "nccl", "c10d", "c10d_async",
                   "excess of c10d", "excess of c10d_async"},
                  {"all_reduce", "in_place", "1", "11.25", "13.50", "20.00", "+2.25", "+8.75"},
                  {"all_reduce", "out_of_place", "1", "12.00", "", "", "N/A", "N/A"}}));
}

TEST_F(ShippedLayout, TimeOverLengthOfTwoMachines) {
  rendered({"seq_len,attention,pass,time.mean [ms],time.std [ms]\n"
            "128,naive,forward,1,0.5\n256,naive,forward,4,0.5\n128,flash,forward,2,0.25\n",
            "seq_len,attention,pass,time.mean [ms],time.std [ms]\n128,naive,forward,8,1\n"},
           "time_over_length");
  EXPECT_EQ(data("plot-1"),
            "seq_len,line,time [ms],low,high\n"
            "128,\"naive, machine0\",1,0.5,1.5\n256,\"naive, machine0\",4,3.5,4.5\n"
            "128,\"naive, machine1\",8,7,9\n128,\"flash, machine0\",2,1.75,2.25\n");
}

std::string series(const std::string& of, const std::string& rest) {
  return R"({"case":)" + of + R"(,"pass":"train_step",)" + rest + "}\n";
}

TEST_F(ShippedLayout, MemoryTimeline) {
  const std::string of = R"({"model":"small"})";
  std::string text = series(of, R"("metric":"sample_time","unit":"s","samples":[0,1,3])");
  text += series(of, R"("metric":"allocated_memory","unit":"byte","samples":[1024,3072,2048])");
  text += series(of, R"("metric":"reserved_memory","unit":"byte","samples":[4096,4096,4096])");
  double start = 0;
  for (const char* phase : {"forward", "backward", "optimizer"}) {
    const std::string part = R"("unit":"s","part":")" + std::string(phase) + R"(","samples":[)";
    text += series(of, R"("metric":"span_start",)" + part + std::to_string(start) + "]");
    text += series(of, R"("metric":"span_end",)" + part + std::to_string(++start) + "]");
  }
  rendered({text}, "memory_timeline");
  EXPECT_EQ(data("timeline-1"),
            "line,start time [s],end time [s],[KiB]\n"
            "allocated,0,1,1\nallocated,1,3,3\nallocated,3,3,2\n"
            "reserved,0,1,4\nreserved,1,3,4\nreserved,3,3,4\n"
            "forward,0,1,\nbackward,1,2,\noptimizer,2,3,\n");
}

// 1 s of 4 s of communication overlaps compute in the overlapping case, none in the other.
TEST_F(ShippedLayout, OverlapTimeline) {
  std::string text;
  for (const auto& [communication, start] :
       std::vector<std::pair<std::string, int>>{{"overlapped", 3}, {"flat", 4}}) {
    const std::string of = R"({"communication":")" + communication + R"("})";
    const auto spans = [&](const char* metric, const char* part, int at) {
      return series(of, R"("unit":"s","metric":")" + std::string(metric) + R"(","part":")" + part +
                            R"(","samples":[)" + std::to_string(at) + "]");
    };
    text += spans("span_start", "compute", 0) + spans("span_end", "compute", 4) +
            spans("span_start", "communication", start) +
            spans("span_end", "communication", start + 4);
  }
  const std::string report = rendered({text}, "overlap_timeline");
  const Rows rows = cells_of(report);
  EXPECT_THAT(rows, Contains(std::vector<std::string>{"0", "4", "1", "25.0"})) << report;
  EXPECT_THAT(rows, Contains(std::vector<std::string>{"0", "4", "0", "0.0"})) << report;
}

}  // namespace
}  // namespace assay::report
