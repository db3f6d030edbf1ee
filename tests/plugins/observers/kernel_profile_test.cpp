// The analysis of a profile: events with times by hand.

#include <gmock/gmock.h>

#include <algorithm>

#include "observer/kernels/classes.h"
#include "observer/kernels/families.h"
#include "observer/kernels/flame_svg.h"
#include "observer/kernels/flops.h"
#include "observer/kernels/host_tree.h"
#include "observer/kernels/intervals.h"
#include "observer/kernels/profile.h"

namespace assay::kernels {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = HostEvent::Kind;

constexpr double tiny = 1e-15;

// On the program's thread.
HostEvent event(std::string name, Kind kind, Nanoseconds begin, Nanoseconds end) {
  HostEvent made;
  made.name = std::move(name);
  made.kind = kind;
  made.time = {begin, end};
  made.thread = 1;
  return made;
}

HostEvent numbered(HostEvent event, std::uint64_t id, std::int64_t sequence = -1) {
  event.id = id;
  event.sequence = sequence;
  return event;
}

DeviceEvent kernel(std::string name, Nanoseconds begin, Nanoseconds end, std::uint64_t correlation,
                   std::uint64_t operation, std::int64_t stream = 7) {
  return {std::move(name), DeviceEvent::Kind::kernel, {begin, end}, 0, stream, correlation,
          operation};
}

HostEvent step(Nanoseconds begin, Nanoseconds end) {
  return event(std::string(step_range), Kind::range, begin, end);
}

const OfClass& of_class(const Profile& profile, const std::string& name) {
  return *std::ranges::find(profile.classes, name, &OfClass::name);
}

RangeTotal of_range(const Profile& profile, const std::string& name) {
  const auto found = std::ranges::find(profile.ranges, name, &RangeTotal::name);
  return found == profile.ranges.end() ? RangeTotal{"missing"} : *found;
}

// Two streams: 0–10, 5–20 | 30–40 launched at 22 | 43–50 launched at 1 | 1000–1010 launched at 2,
// with a handover of at most 5.
TEST(KernelProfile, SplitsIdleTimeByWhatTheDeviceWaitsFor) {
  const Occupation found = occupation({{{0, 10}, {-5, -4}, true},
                                       {{5, 20}, {-3, -2}, true},
                                       {{30, 40}, {22, 23}, true},
                                       {{43, 50}, {1, 2}, true},
                                       {{1000, 1010}, {2, 3}, true}},
                                      5);
  EXPECT_EQ(found.span.begin, 0);
  EXPECT_EQ(found.span.end, 1010);
  EXPECT_EQ(found.busy, 20 + 10 + 7 + 10);
  EXPECT_EQ(found.idle.host, 10);
  EXPECT_EQ(found.idle.kernel, 3);
  EXPECT_EQ(found.idle.other, 950);
  EXPECT_EQ(found.busy + found.idle.total(), found.span.length());
}

// A kernel that lies within another one leaves no gap and adds no time.
TEST(KernelProfile, BusyIsTheUnionOverStreams) {
  const Occupation found = occupation({{{0, 100}, {}, false}, {{20, 30}, {}, false}}, 5);
  EXPECT_EQ(found.busy, 100);
  EXPECT_EQ(found.idle.total(), 0);
  EXPECT_EQ(occupation({}, 5).span.length(), 0);
}

TEST(KernelProfile, TakesWhatTwoSetsHaveInCommon) {
  const auto a = united({{0, 10}, {20, 30}, {5, 12}});
  const auto b = united({{11, 25}});
  EXPECT_EQ(total(a), 22);
  EXPECT_EQ(common(a, b), 1 + 5);
  EXPECT_EQ(common(b, a), 6);
}

TEST(KernelProfile, CommunicationOverlapsWhatOtherStreamsCompute) {
  Events events;
  events.host = {step(0, 100), numbered(event("aten::mm", Kind::operation, 1, 5), 1),
                 numbered(event("nccl:all_reduce", Kind::operation, 6, 9), 2)};
  events.device = {kernel("gemm", 10, 30, 1, 1), kernel("ncclDevKernel", 20, 60, 2, 2, 9),
                   kernel("gemm", 50, 55, 3, 1)};
  const Profile profile = profile_of(events);
  ASSERT_TRUE(profile.overlap);
  EXPECT_DOUBLE_EQ(*profile.overlap, (10 + 5) / 40.0);
  EXPECT_NEAR(of_class(profile, "communication").s, 40e-9, tiny);
  EXPECT_NEAR(of_class(profile, "gemm").s, 25e-9, tiny);
}

// forward { block 0 { softmax makes node 3 } block 1 { mm makes node 4 } }, then a backward on
// autograd's own thread, whose kernels are to be found under the forward's ranges.
Events trained() {
  Events events;
  events.host = {step(0, 1000),
                 event("forward", Kind::range, 1, 400),
                 event("block 0", Kind::range, 2, 100),
                 numbered(event("softmax", Kind::range, 3, 90), 0, 3),
                 numbered(event("aten::softmax", Kind::operation, 10, 80), 1, 3),
                 numbered(event("aten::_softmax", Kind::operation, 20, 70), 2, 3),
                 event("block 1", Kind::range, 110, 200),
                 numbered(event("aten::mm", Kind::operation, 120, 150), 3, 4),
                 event("backward", Kind::range, 500, 900)};
  HostEvent engine =
      numbered(event("autograd::engine::evaluate_function: X", Kind::operation, 510, 700), 4);
  HostEvent node = numbered(event("MmBackward0", Kind::backward, 520, 600), 5, 4);
  HostEvent product = numbered(event("aten::mm", Kind::operation, 530, 590), 6);
  HostEvent sum = numbered(event("aten::add_", Kind::operation, 610, 640), 7);
  HostEvent other = numbered(event("SoftmaxBackward0", Kind::backward, 710, 800), 8, 3);
  for (HostEvent* each : {&engine, &node, &product, &sum, &other}) {
    each->thread = 2;
    each->forward_thread = 1;
    events.host.push_back(*each);
  }
  events.device = {kernel("softmax_forward", 100, 110, 1, 2),
                   kernel("ampere_sgemm_128x64_tn", 200, 230, 2, 3),
                   kernel("ampere_sgemm_128x64_tn", 600, 660, 3, 6), kernel("add", 660, 665, 4, 7),
                   kernel("softmax_warp_backward", 850, 857, 5, 8)};
  return events;
}

TEST(KernelProfile, KernelsOfABackwardBelongToTheRangesOfTheirForward) {
  const Profile profile = profile_of(trained());
  const RangeTotal softmax = of_range(profile, "softmax"), block = of_range(profile, "block");
  EXPECT_NEAR(softmax.s, (10 + 7) * 1e-9, tiny);
  EXPECT_EQ(softmax.calls, 1);
  EXPECT_NEAR(block.s, (10 + 30 + 60 + 5 + 7) * 1e-9, tiny) << "the sum of gradients too";
  EXPECT_EQ(block.calls, 2);
  EXPECT_NEAR(of_range(profile, "forward").s, 40e-9, tiny);
  EXPECT_NEAR(of_range(profile, "backward").s, 72e-9, tiny);
  std::vector<std::string> stacks;
  for (const StackTotal& stack : profile.range_stacks) {
    stacks.push_back(folded({stack}));
  }
  EXPECT_THAT(stacks, ElementsAre("backward;block 0;softmax 7\n", "backward;block 1 65\n",
                                  "forward;block 0;softmax 10\n", "forward;block 1 30\n"));
}

TEST(KernelProfile, AKernelHasTheClassOfItsOperatorOrElseOfItsName) {
  const Profile profile = profile_of(trained());
  EXPECT_NEAR(of_class(profile, "gemm").s, 90e-9, tiny);
  EXPECT_NEAR(of_class(profile, "softmax").s, 17e-9, tiny) << "one by operator, one by name";
  EXPECT_NEAR(of_class(profile, "elementwise").s, 5e-9, tiny);
  double sum = 0;
  for (const OfClass& each : profile.classes) sum += each.s;
  EXPECT_NEAR(sum, profile.work_s, tiny);

  Events events;
  events.host = {step(0, 100)};
  events.device = {kernel("mystery", 10, 20, 1, 0), kernel("Memset", 20, 25, 2, 0)};
  events.device.back().kind = DeviceEvent::Kind::fill;
  const Profile unknown = profile_of(events);
  EXPECT_NEAR(of_class(unknown, "unclassified").s, 10e-9, tiny);
  EXPECT_NEAR(of_class(unknown, "memory").s, 5e-9, tiny);
}

TEST(KernelProfile, OperatorsHaveTheirOwnAndTheirCalleesTime) {
  const Profile profile = profile_of(trained());
  const auto row = [&](const std::string& name) {
    return *std::ranges::find(profile.operators, name, &Operator::name);
  };
  EXPECT_NEAR(row("aten::softmax").cpu_s, 70e-9, tiny);
  EXPECT_NEAR(row("aten::softmax").self_cpu_s, 20e-9, tiny);
  EXPECT_NEAR(row("aten::softmax").device_s, 10e-9, tiny);
  EXPECT_NEAR(row("aten::softmax").self_device_s, 0, tiny);
  EXPECT_EQ(row("aten::mm").calls, 2);
  EXPECT_NEAR(row("aten::mm").self_device_s, 90e-9, tiny);
}

// What runs between the steps, such as a forward ahead of a backward, is not counted.
TEST(KernelProfile, TakesTheMeanOfTheStepsAfterTheFirst) {
  Events events;
  events.host = {step(0, 100), step(200, 300), step(400, 500)};
  events.device = {kernel("a", 0, 90, 1, 0), kernel("a", 210, 220, 2, 0),
                   kernel("a", 230, 240, 3, 0), kernel("b", 350, 390, 4, 0),
                   kernel("a", 410, 440, 5, 0)};
  const Profile profile = profile_of(events);
  ASSERT_EQ(profile.steps.size(), 2u);
  ASSERT_EQ(profile.kernels.size(), 1u);
  EXPECT_EQ(profile.kernels[0].calls, 1.5);
  EXPECT_NEAR(profile.kernels[0].s, 25e-9, tiny);
  EXPECT_NEAR(profile.steps[0].span_s, 30e-9, tiny);
  EXPECT_FALSE(profile.cut);
}

TEST(KernelProfile, ACutStepIsLeftOutUnlessItIsAllThereIs) {
  Events events;
  events.host = {step(0, 100), step(200, 900)};
  events.device = {kernel("a", 0, 90, 1, 0), kernel("a", 210, 220, 2, 0)};
  events.cut = 300;
  EXPECT_FALSE(profile_of(events).cut);
  EXPECT_NEAR(profile_of(events).work_s, 90e-9, tiny);
  events.host = {step(200, 900)};
  EXPECT_TRUE(profile_of(events).cut);
  EXPECT_NEAR(profile_of(events).work_s, 10e-9, tiny);
}

TEST(KernelProfile, OnACpuOperatorsAreTheWork) {
  Events events;
  events.host = {step(0, 100), event("aten::linear", Kind::operation, 10, 50),
                 event("aten::mm", Kind::operation, 20, 45),
                 event("aten::add", Kind::operation, 60, 80)};
  const Profile profile = profile_of(events);
  EXPECT_FALSE(profile.on_device);
  ASSERT_EQ(profile.steps.size(), 1u);
  EXPECT_NEAR(profile.steps[0].busy_s, 60e-9, tiny);
  EXPECT_NEAR(profile.steps[0].idle_host_s, 40e-9, tiny);
  EXPECT_NEAR(of_class(profile, "gemm").s, 25e-9, tiny);
  EXPECT_NEAR(of_class(profile, "unclassified").s, 15e-9, tiny) << "what linear does itself";
}

TEST(KernelProfile, KnowsFamilies) {
  EXPECT_EQ(family_of("ampere_sgemm_128x64_tn"), "ampere_sgemm");
  EXPECT_EQ(family_of("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NTN"), "nvjet_tst");
  EXPECT_EQ(family_of("sm80_xmma_gemm_f32f32_tn_n_tilesize128x128x8_stage3"),
            "sm80_xmma_gemm_f32f32_tn_n");
  EXPECT_EQ(family_of("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor<"
                      "float>, std::array<char*, 3ul> >(int, at::native::X, Y)"),
            "vectorized_elementwise_kernel");
  EXPECT_EQ(family_of("void (anonymous namespace)::softmax_warp_forward<float, 8>(float*)"),
            "softmax_warp_forward");
  EXPECT_EQ(family_of("void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(Params)"),
            "cutlass_80_simt_sgemm");
}

TEST(KernelProfile, CountsFlopsFromShapes) {
  EXPECT_EQ(flops_of("aten::mm", {{3, 5}, {5, 7}}), 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of("aten::bmm", {{2, 3, 5}, {2, 5, 7}}), 2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of("aten::addmm", {{7}, {3, 5}, {5, 7}}), 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of("aten::_softmax", {{4, 6}}), 5 * 24);
  EXPECT_EQ(flops_of("aten::mul", {{4, 1}, {6}}), 24);
  EXPECT_EQ(flops_of("aten::transpose", {{4, 6}}), 0);
}

TEST(KernelProfile, AFlameGraphEscapesItsNames) {
  const std::string svg =
      flame_svg({{{"forward", "f<a>(\"b\" & c)"}, 2e-3}, {{"forward"}, 1e-3}}, "A <pass>");
  EXPECT_THAT(svg, HasSubstr("A &lt;pass&gt;"));
  EXPECT_THAT(svg, HasSubstr("data-n=\"f&lt;a&gt;(&quot;b&quot; &amp; c)\" data-x=\"0.000000000\" "
                             "data-w=\"0.666666667\" data-d=\"2\""));
  std::vector<StackTotal> many;
  for (int i = 0; i < 50'000; ++i)
    many.push_back({{"f", "g" + std::to_string(i)}, 1e-6 * (i % 97)});
  EXPECT_LT(flame_svg(many, "many").size(), 4u << 20);
}

}  // namespace
}  // namespace assay::kernels
