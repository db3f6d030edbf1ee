// The collective workload over Gloo: what each operation leaves, that a wrong one is noticed, what
// calls in a row do to their buffers, and what lone calls record.

#include <algorithm>
#include <cmath>
#include <map>

#include "collective_case.h"
#include "plugins/described.h"
#include "plugins/recorded.h"
#include "remembering_backend.h"
#include "spoilt_backend.h"

namespace assay {
namespace {

using Values = std::vector<float>;
using ByRank = std::vector<Values>;

using test::collective_case;
using test::on_ranks;

// By hand: element i of rank r is i + 5 r in the first 97. Two ranks, four elements; shares of two.
const std::map<std::string, ByRank> of_two_ranks = {
    {"all_reduce", {{5, 7, 9, 11}, {5, 7, 9, 11}}},
    {"all_gather", {{0, 1, 5, 6}, {0, 1, 5, 6}}},
    {"reduce_scatter", {{5, 7}, {9, 11}}},
    {"broadcast", {{0, 1, 2, 3}, {0, 1, 2, 3}}},
    {"reduce", {{5, 7, 9, 11}, {}}},
    {"all_to_all", {{0, 1, 5, 6}, {2, 3, 7, 8}}},
    {"send_recv", {{5, 6, 7, 8}, {0, 1, 2, 3}}},
};
// Four ranks, four elements; shares of one. Each sum has 0 + 5 + 10 + 15 and four times i.
const std::map<std::string, ByRank> of_four_ranks = {
    {"all_reduce", {{30, 34, 38, 42}, {30, 34, 38, 42}, {30, 34, 38, 42}, {30, 34, 38, 42}}},
    {"all_gather", {{0, 5, 10, 15}, {0, 5, 10, 15}, {0, 5, 10, 15}, {0, 5, 10, 15}}},
    {"reduce_scatter", {{30}, {34}, {38}, {42}}},
    {"broadcast", {{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}}},
    {"reduce", {{30, 34, 38, 42}, {}, {}, {}}},
    {"all_to_all", {{0, 5, 10, 15}, {1, 6, 11, 16}, {2, 7, 12, 17}, {3, 8, 13, 18}}},
    {"send_recv", {{15, 16, 17, 18}, {0, 1, 2, 3}, {5, 6, 7, 8}, {10, 11, 12, 13}}},
};

// The second call starts from the same inputs.
void leaves(const std::map<std::string, ByRank>& expected, int ranks) {
  on_ranks(ranks, [&](const Group& group) {
    const auto tested = collective_case(group, 16);
    const auto program = test::build(tested);
    for (const auto& [pass, values] : expected) {
      for (int call = 0; call < 2; ++call) {
        throw_unless_ok(program->before(pass));
        throw_unless_ok(program->run(pass));
        EXPECT_EQ(test::output(*program, pass), values[static_cast<std::size_t>(group.rank)])
            << pass << " on rank " << group.rank;
      }
    }
  });
}

TEST(CollectiveWorkload, LeavesOnTwoRanksWhatIsWorkedOutByHand) { leaves(of_two_ranks, 2); }
TEST(CollectiveWorkload, LeavesOnFourRanksWhatIsWorkedOutByHand) { leaves(of_four_ranks, 4); }

// Odd sizes, and one beyond the pattern's period of 97 · 97 elements.
TEST(CollectiveWorkload, VerifiesEveryDtypeAndSizeOnThreeRanks) {
  on_ranks(3, [](const Group& group) {
    for (const char* dtype : {"fp32", "fp16", "bf16"}) {
      for (const std::int64_t size : {4, 1000, 100'000}) {
        const auto tested = collective_case(group, size, {{"dtype", std::string(dtype)}});
        for (const auto& pass : test::collectives) {
          const auto verification = test::verify(tested, pass);
          EXPECT_TRUE(verification.checked);
          EXPECT_EQ(verification.error, 0) << pass << " of " << size << " bytes in " << dtype;
        }
      }
    }
  });
}

TEST(CollectiveWorkload, WorksInPlaceWhereTheOperationCan) {
  on_ranks(2, [](const Group& group) {
    const auto tested = collective_case(group, 1000, {{"placement", std::string("in_place")}});
    for (const char* pass : {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"}) {
      const auto verification = test::verify(tested, pass);
      EXPECT_TRUE(verification.checked);
      EXPECT_EQ(verification.error, 0) << pass << " on rank " << group.rank;
    }
  });
}

// One element of one rank's result is off by one; the others are right.
TEST(CollectiveWorkload, AWrongElementIsNoticed) {
  on_ranks(2, [](const Group& group) {
    Group spoilt = group;
    spoilt.backend = c10::make_intrusive<test::SpoiltBackend>(group.backend, group.rank == 0);
    const auto tested = collective_case(spoilt, 100'000);
    for (const auto& pass : test::collectives) {
      const auto verification = test::verify(tested, pass);
      EXPECT_EQ(verification.error > verification.tolerance, group.rank == 0) << pass;
    }
  });
}

struct Refused {
  const char* pass;
  const char* parameter;
  const char* value;
  const char* reason;
};

TEST(CollectiveWorkload, SaysWhatALayerLacks) {
  constexpr Refused all[] = {
      {"all_reduce", "placement", "out_of_place", "c10d's all_reduce works in place only"},
      {"broadcast", "placement", "out_of_place", "c10d's broadcast works in place only"},
      {"all_to_all", "placement", "in_place",
       "all_to_all does not work in place: ranks would overwrite what they still have to send"},
  };
  on_ranks(2, [&](const Group& group) {
    for (const Refused& refused : all) {
      const auto tested =
          collective_case(group, 1000, {{refused.parameter, std::string(refused.value)}});
      Verification verification;
      const Status status = tested.workload->verify(tested.context, refused.pass, verification);
      EXPECT_EQ(status.outcome, Outcome::unsupported);
      EXPECT_EQ(status.reason, refused.reason);
    }
    const auto direct = collective_case(group, 1000, {{"layer", std::string("nccl")}});
    std::unique_ptr<ProgramBoundary> program;
    const Status status = direct.workload->build(direct.context, program);
    EXPECT_EQ(status.outcome, Outcome::unsupported);
    EXPECT_NE(status.reason.find("NCCL"), std::string::npos) << status.reason;
  });
}

TEST(CollectiveWorkload, OneRankIsTooFew) {
  const auto tested = collective_case({}, 1000);
  std::unique_ptr<ProgramBoundary> program;
  const Status status = tested.workload->build(tested.context, program);
  EXPECT_EQ(status.outcome, Outcome::unsupported);
  EXPECT_EQ(status.reason, "a collective needs two ranks or more (world_size)");
}

// Of 1000 bytes on 3 ranks: 250 elements, or shares of 80 (a multiple of 16 bytes), 960 bytes.
// All-reduce 2 · 2/3, shared ones 2/3, the others once.
TEST(CollectiveWorkload, CountsTheBytesOfTheWires) {
  const std::map<std::string, std::pair<double, double>> all = {
      {"all_reduce", {1000, 4000.0 / 3}}, {"all_gather", {960, 640}},
      {"reduce_scatter", {960, 640}},     {"broadcast", {1000, 1000}},
      {"reduce", {1000, 1000}},           {"all_to_all", {960, 640}},
      {"send_recv", {1000, 1000}}};
  on_ranks(3, [&](const Group& group) {
    const auto program = test::build(collective_case(group, 1000));
    for (const auto& [pass, bytes] : all) {
      const auto counted = test::counts(*program, pass);
      EXPECT_EQ(counted.at("bytes"), bytes.first) << pass;
      EXPECT_NEAR(counted.at("bus_bytes"), bytes.second, 1e-9) << pass;
    }
  });
}

// 300 elements in three shares of a multiple of 16 bytes.
TEST(CollectiveWorkload, DerivesWhatItCounts) {
  on_ranks(3, [](const Group& group) {
    test::expect_as_derived(collective_case(group, 1200), "collective", test::collectives,
                            {"bytes", "bus_bytes"});
  });
}

// A sum in place would have left fp32's range after 128 calls on two ranks, had they not buffers of
// their own.
TEST(CollectiveWorkload, CallsInARowStayFinite) {
  on_ranks(2, [](const Group& group) {
    for (const char* placement : {"in_place", "auto"}) {
      const auto tested = collective_case(
          group, 256, {{"calls", test::integer(200)}, {"placement", std::string(placement)}});
      const auto program = test::build(tested);
      for (const char* pass : {"all_reduce", "reduce_scatter", "reduce", "all_gather"}) {
        int calls = 0;
        throw_unless_ok(program->calls_in_a_row(pass, calls));
        EXPECT_EQ(calls, 200);
        throw_unless_ok(program->before(pass));
        throw_unless_ok(program->run_in_a_row(pass, 1));
        const auto once = test::output(*program, pass);
        throw_unless_ok(program->before(pass));
        throw_unless_ok(program->run_in_a_row(pass, calls));
        const auto often = test::output(*program, pass);
        EXPECT_EQ(often, once) << pass << " " << placement;
        EXPECT_TRUE(std::ranges::all_of(often, [](float v) { return std::isfinite(v); }));
      }
    }
  });
}

// Three slots of 16 bytes; four calls in a row use the first one twice, and each holds the result,
// whose inputs go on where those of the slot before end.
TEST(CollectiveWorkload, CallsInARowMoveThroughTheSpan) {
  on_ranks(2, [](const Group& group) {
    const auto tested =
        collective_case(group, 16, {{"calls", test::integer(4)}, {"span", test::integer(48)}});
    const auto program = test::build(tested);
    throw_unless_ok(program->before("all_gather"));
    throw_unless_ok(program->run_in_a_row("all_gather", 4));
    std::vector<NamedTensor> outputs;
    throw_unless_ok(program->outputs("all_gather", outputs));
    const at::Tensor first = outputs.at(0).tensor;
    const at::Tensor all = first.as_strided({12}, {1}, 0);
    for (std::int64_t i = 0; i < 12; ++i) {
      constexpr float expected[] = {0, 1, 5, 6};
      EXPECT_EQ(all[i].item<float>(), expected[i % 4] + i / 4 * 4) << i;
    }
  });
}

TEST(CollectiveWorkload, RecordsLoneCallsOfEveryRankAndTheirSkew) {
  on_ranks(2, [](const Group& group) {
    const auto tested = collective_case(group, 1000, {{"lone_calls", test::integer(7)}});
    const auto recorded = test::recorded(tested, "collective", "all_reduce");
    const auto times = recorded.samples("lone_time");
    const auto launches = recorded.samples("launch_time");
    ASSERT_EQ(times.size(), 7u);
    ASSERT_EQ(launches.size(), 7u);
    for (std::size_t i = 0; i < times.size(); ++i) {
      EXPECT_GT(launches[i], 0);
      EXPECT_GE(times[i], launches[i]);
    }
    EXPECT_EQ(recorded.has("start_skew"), group.rank == 0);
    EXPECT_EQ(recorded.has("end_skew"), group.rank == 0);
    if (group.rank != 0) return;
    for (const double skew : recorded.samples("end_skew")) EXPECT_GE(skew, 0);
    EXPECT_GT(recorded.value("skew_error"), 0);
  });
}

Verification looked_at(ProgramBoundary& program, const std::string& pass) {
  Verification found;
  throw_unless_ok(program.look(pass, {}, found));
  return found;
}

// A row of calls with new contents, as the worker makes it.
void call_renewed(ProgramBoundary& program, const std::string& pass, std::uint64_t number,
                  int calls) {
  int renewed = 0;
  throw_unless_ok(program.renew(pass, number, renewed));
  EXPECT_EQ(renewed, 1);
  throw_unless_ok(program.before(pass));
  if (calls > 0) {
    throw_unless_ok(program.run_in_a_row(pass, calls));
  } else {
    throw_unless_ok(program.run(pass));
  }
}

// 70'000 bytes are more than a period of the pattern; five calls in a row, or one.
TEST(CollectiveWorkload, RenewedCallsAgreeWithTheReferenceOfAllRanks) {
  on_ranks(3, [](const Group& group) {
    for (const char* dtype : {"fp32", "bf16"}) {
      for (const char* placement : {"auto", "in_place"}) {
        for (const int calls : {0, 5}) {
          const auto tested = collective_case(group, 70'000,
                                              {{"dtype", std::string(dtype)},
                                               {"placement", std::string(placement)},
                                               {"calls", test::integer(calls)}});
          for (const auto& pass : test::collectives) {
            if (placement == std::string("in_place") &&
                (pass == "all_to_all" || pass == "send_recv")) {
              continue;
            }
            const auto program = test::build(tested);
            Values last;
            for (const std::uint64_t number : {7u, 8u, 0u}) {
              call_renewed(*program, pass, number, calls);
              const auto found = looked_at(*program, pass);
              EXPECT_TRUE(found.checked);
              EXPECT_EQ(found.error, 0) << pass << " " << dtype << " " << placement << " " << calls;
              const auto left = test::output(*program, pass);
              EXPECT_TRUE(left.empty() || left != last) << pass;
              last = left;
            }
          }
        }
      }
    }
  });
}

// What is left out in the row's last call only, or in all that follow the first, is seen.
TEST(CollectiveWorkload, ACallThatLeavesOutWorkIsNoticed) {
  on_ranks(2, [](const Group& group) {
    for (const auto& pass : test::collectives) {
      for (const int left_out : {4, 5}) {
        Group lazy = group;
        const auto backend = c10::make_intrusive<test::RememberingBackend>(group.backend, left_out);
        lazy.backend = backend;
        const auto tested = collective_case(lazy, 1000, {{"calls", test::integer(5)}});
        const auto program = test::build(tested);
        call_renewed(*program, pass, 3, 5);
        const auto found = looked_at(*program, pass);
        const bool leaves_something = pass != "reduce" || group.rank == 0;
        const bool is_root = pass == "broadcast" && group.rank == 0;
        EXPECT_EQ(found.error > found.tolerance, left_out < 5 && leaves_something && !is_root)
            << pass << " on rank " << group.rank;
      }
    }
  });
}

// The calls of a row share a buffer there: a sum in place would grow.
TEST(CollectiveWorkload, SumsInPlaceAreNotRenewedWhereTheSpanIsTooShort) {
  on_ranks(2, [](const Group& group) {
    const auto tested =
        collective_case(group, 16, {{"calls", test::integer(4)}, {"span", test::integer(48)}});
    const auto program = test::build(tested);
    int renewed = 7;
    throw_unless_ok(program->renew("all_reduce", 5, renewed));
    EXPECT_EQ(renewed, 0);
    throw_unless_ok(program->renew("all_gather", 5, renewed));
    EXPECT_EQ(renewed, 1);
  });
}

// Rows of 1 GiB at most: three calls of 300 MiB, and one of more than that.
TEST(CollectiveWorkload, ARowIsAsLongAsItsBuffersAllow) {
  on_ranks(2, [](const Group& group) {
    for (const auto& [mebibytes, expected] : {std::pair{1, 20}, std::pair{300, 3}, {2000, 1}}) {
      const auto tested =
          collective_case(group, std::int64_t{mebibytes} << 20, {{"calls", test::integer(20)}});
      int calls = 0;
      throw_unless_ok(test::build(tested)->calls_in_a_row("all_reduce", calls));
      EXPECT_EQ(calls, expected) << mebibytes;
    }
  });
}

double estimated_bytes(const Options& parameters) {
  return test::memory_estimate("workload", "collective", "collective", parameters);
}

// A case does not hold what is left out at its default.
TEST(CollectiveWorkload, EstimatesItsBuffers) {
  EXPECT_EQ(estimated_bytes({{"size", test::integer(1000)}}), 40'000);
  EXPECT_EQ(estimated_bytes({{"size", test::integer(1 << 30)}}), 2.0 * (1 << 30));
  EXPECT_EQ(estimated_bytes({{"size", test::integer(1000)}, {"span", test::integer(5000)}}), 10000);
  EXPECT_EQ(
      estimated_bytes({{"size", test::integer(1000)}, {"placement", std::string("in_place")}}),
      20'000);
}

}  // namespace
}  // namespace assay
