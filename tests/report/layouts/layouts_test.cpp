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

const char* const floor_figures =
    "workload,device,model,compile,precision,pass,time.samples [ms],flops.value "
    "[TFLOP],parameters.value [count],peak_memory.value [GB]\n"
    "model_step,cuda,small,fused_graph,bf16,inference,20 20 20,7,1000000000,50\n"
    "model_step,cuda,small,fused_graph,bf16,train_step,25 25 25,7,1000000000,50\n";
const char* const floor_ceilings =
    "workload,device,size,dtype,pass,time.samples [ms],bytes.value [GB],flops.value [TFLOP]\n"
    "copy,cuda,1073741824,,copy,1 1 1,3,\nmatmul,cuda,,bf16,matmul,1 1 1,,0.7\n";

// 7 TFLOP at 700 TFLOP/s take 10 ms, 30 bytes of each of a billion parameters at 3 TB/s another 10
// in a training step, 34 bytes 11.333; 7 TFLOP in 25 ms are 280 TFLOP/s, 40 % of 700; 10 of 25 ms
// are 40 %, too.
TEST_F(ShippedLayout, StepFloor) {
  const std::string report = rendered({floor_figures}, "step_floor", floor_ceilings);
  EXPECT_EQ(
      cells_of(report),
      (Rows{{"Pass", "Size", "compile", "time [ms]", "products [ms]", "optimizer [ms]",
             "floor [ms]", "with clipping [ms]", "time / floor", "MFU [%]", "copy [%]", "both [%]"},
            {"inference", "small", "fused_graph", "20.000", "10.000", "0.000", "10.000", "10.000",
             "2.00", "50.0", "0.0", "50.0"},
            {"train_step", "small", "fused_graph", "25.000", "10.000", "10.000", "20.000", "21.333",
             "1.25", "40.0", "40.0", "80.0"}}))
      << report;
}

// 11.333 of 25 ms are 45.3 %.
TEST_F(ShippedLayout, StepFloorWithClipping) {
  const std::string report = rendered({floor_figures}, "step_floor_clipped", floor_ceilings);
  EXPECT_EQ(cells_of(report),
            (Rows{{"Size", "compile", "time [ms]", "products [ms]", "optimizer [ms]", "floor [ms]",
                   "time / floor", "MFU [%]", "copy [%]", "both [%]"},
                  {"small", "fused_graph", "25.000", "10.000", "11.333", "21.333", "1.17", "40.0",
                   "45.3", "85.3"}}))
      << report;
}

// 0 is the default, whose real size depends on pass and head.
TEST_F(ShippedLayout, TileSizes) {
  const char* const columns =
      "attention,attention.tile_queries,attention.tile_keys,d_head,pass,time.mean "
      "[ms],outcome,reason\n";
  const std::string tiles =
      "flash_portable,0,0,64,forward,1.5,,\nflash_portable,16,16,64,forward,4.25,,\n"
      "flash_portable,256,256,64,forward,,unsupported,\"bytes of shared memory a block: it needs "
      "233472, the limit is 232448\"\nflash_portable,0,0,64,backward,3.5,,\n"
      "flash_portable,0,0,64,forward_backward,5,,\nflash,,,64,forward,1,,\n";
  EXPECT_EQ(rendered({columns + tiles}, "tile_sizes"),
            "### forward\n\n```\n"
            "tile_size=128 x 64 (default), results=1.5 ms\n"
            "tile_size=16, results=4.25 ms\n"
            "tile_size=256, bytes of shared memory a block: it needs 233472, the limit is 232448\n"
            "```\n\n### backward\n\n```\n"
            "tile_size=128 x 32 (default), results=3.5 ms\n"
            "```\n\n### forward_backward\n\n```\n"
            "tile_size=128 x 64 forward and 128 x 32 backward (default), results=5.0 ms\n"
            "```\n");
  EXPECT_EQ(
      rendered({columns + std::string("flash_portable,0,0,128,forward,1.5,,\n")}, "tile_sizes"),
      "### forward\n\n```\ntile_size=auto (default), results=1.5 ms\n```\n");
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

// 1 s of 4 s of communication overlaps the backward in the overlapping case, none in the other.
TEST_F(ShippedLayout, OverlapTimeline) {
  std::string text;
  for (const auto& [communication, start] :
       std::vector<std::pair<std::string, int>>{{"overlapped", 3}, {"flat", 4}}) {
    const std::string of = R"({"communication":")" + communication + R"("})";
    const auto span = [&](const char* part, const char* lane, int begin, int end) {
      for (const auto& [metric, at] :
           {std::pair("span_start", begin), std::pair("span_end", end)}) {
        text +=
            series(of, R"("unit":"s","metric":")" + std::string(metric) + R"(","part":")" + part +
                           R"(","lane":")" + lane + R"(","samples":[)" + std::to_string(at) + "]");
      }
    };
    span("forward", "phases", 0, 2);
    span("backward", "phases", 2, 4);
    span("all_reduce", "world", start, start + 4);
  }
  const std::string report = rendered({text}, "overlap_timeline");
  const Rows rows = cells_of(report);
  EXPECT_THAT(rows, Contains(std::vector<std::string>{"rank", "communication [s]",
                                                      "during backward [s]", "overlap [%]"}))
      << report;
  EXPECT_THAT(rows, Contains(std::vector<std::string>{"0", "4", "1", "25.0"})) << report;
  EXPECT_THAT(rows, Contains(std::vector<std::string>{"0", "4", "0", "0.0"})) << report;
}

}  // namespace
}  // namespace assay::report
