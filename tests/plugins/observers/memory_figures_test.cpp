// What the observer of memory makes of what it has seen, worked out by hand.

#include <gmock/gmock.h>

#include "observer/memory/figures.h"
#include "observer/memory/pickle.h"
#include "observer/memory/snapshot.h"

namespace assay::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Allocated at times 0, 1, 2, …, of one byte each where `levels` rise.
History moving(const std::vector<Bytes>& levels) {
  History history;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    Event event;
    event.time_s = static_cast<double>(i);
    event.allocated = levels[i];
    event.reserved = 1000 + levels[i];
    history.events.push_back(event);
  }
  return history;
}

TEST(MemoryTimeline, KeepsEveryEventWhereThereIsRoom) {
  const Points points = points_of(moving({5, 7, 3}));
  EXPECT_THAT(points.times_s, ElementsAre(0, 1, 2));
  EXPECT_THAT(points.allocated, ElementsAre(5, 7, 3));
  EXPECT_THAT(points.reserved, ElementsAre(1005, 1007, 1003));
  EXPECT_TRUE(points_of({}).times_s.empty());
}

// 16 events, 8 points: stretches of eight, of which first, least, most and last stay.
TEST(MemoryTimeline, KeepsPeaksAndDipsOfMoreEvents) {
  const Points points = points_of(moving({1, 2, 3, 90, 4, 0, 6, 7, 8, 9, 9, 2, 9, 80, 9, 10}), 8);
  EXPECT_THAT(points.times_s, ElementsAre(0, 3, 5, 7, 8, 11, 13, 15));
  EXPECT_THAT(points.allocated, ElementsAre(1, 90, 0, 7, 8, 2, 80, 10));
}

Phase phase(const char* name, int step, Bytes least, Bytes most, Bytes device) {
  Phase made;
  made.name = name;
  made.step = step;
  made.allocated = {least, most};
  made.reserved = {10 * least, 10 * most};
  made.device = device;
  return made;
}

// A forward in two parts; set-up and the first step are left out.
TEST(MemoryPhases, HavePeakAndFloorOfEachWarmStep) {
  History history;
  history.steps = 3;
  history.phases = {phase("set-up", 0, 0, 999, 1), phase("forward", 1, 1, 888, 2)};
  for (const int step : {2, 3}) {
    history.phases.push_back(phase("set-up", step, 0, 777, 3));
    history.phases.push_back(phase("", step, 5, 60 + step, 70));
    history.phases.push_back(phase("forward", step, 5, 40 + step, 50));
    history.phases.push_back(phase("backward", step, 30, 60 + step, 70));
    history.phases.push_back(phase("forward", step, 4, 20, 51));
  }
  const auto figures = phase_figures(history);
  ASSERT_THAT(figures, SizeIs(3));
  EXPECT_EQ(figures[1].name, "forward");
  EXPECT_THAT(figures[1].peak, ElementsAre(42, 43));
  EXPECT_THAT(figures[1].floor, ElementsAre(4, 4));
  EXPECT_THAT(figures[1].reserved_peak, ElementsAre(420, 430));
  EXPECT_THAT(figures[1].reserved_floor, ElementsAre(40, 40));
  EXPECT_THAT(figures[1].device, ElementsAre(51, 51));
  EXPECT_THAT(figures[0].peak, ElementsAre(62, 63)) << "the whole step";
}

TEST(MemoryPhases, OfAnOnlyStepAreItsOwn) {
  History history;
  history.steps = 1;
  history.phases = {phase("forward", 1, 1, 8, 0)};
  EXPECT_THAT(phase_figures(history).at(0).peak, ElementsAre(8));
}

struct Named {
  History history;
  Origin at(std::initializer_list<const char*> ranges, const char* op) {
    Origin origin;
    for (const char* range : ranges) origin.path = history.paths.child(origin.path, range);
    const auto known = std::ranges::find(history.operators, op);
    origin.op = static_cast<int>(known - history.operators.begin());
    if (known == history.operators.end()) history.operators.emplace_back(op);
    return origin;
  }
};

TEST(MemoryAllocations, OfAllBlocksAreOneRow) {
  Named named;
  named.history.steps = 2;
  named.history.sites = {
      {named.at({"forward", "block 0", "attention"}, "aten::bmm"), 100, 2, 3, {}},
      {named.at({"forward", "block 1", "attention"}, "aten::bmm"), 100, 2, 4, {}},
      {named.at({"forward", "block 1", "attention"}, "aten::bmm"), 20, 2, 1, {}},
      {named.at({"forward", "head"}, "aten::mm"), 500, 1, 1, {}},  // not in the last step
      {named.at({}, ""), 100, 2, 1, {}}};
  const auto largest = largest_allocations(named.history);
  ASSERT_THAT(largest, SizeIs(3));
  EXPECT_EQ(largest[0].from(), "aten::bmm in forward;block;attention");
  EXPECT_EQ(largest[0].count, 7);
  EXPECT_EQ(largest[0].sum(), 700);
  EXPECT_EQ(largest[1].from(), "(no operator) in (outside of ranges)");
  EXPECT_EQ(largest[2].size, 20);
  EXPECT_THAT(largest_allocations(named.history, 1), SizeIs(1));
}

TEST(MemorySaved, IsTheMeanOfABlockByOperatorAndTheSumByBlock) {
  Named named;
  named.history.saved = {{named.at({"forward", "block 0", "norm"}, "aten::mul"), 30},
                         {named.at({"forward", "block 1", "norm"}, "aten::mul"), 50},
                         {named.at({"forward", "block 1"}, "aten::mm"), 8},
                         {named.at({"forward", "head"}, "aten::mm"), 7}};
  const SavedFigures saved = saved_figures(named.history);
  EXPECT_EQ(saved.total, 95);
  ASSERT_THAT(saved.operators, SizeIs(3));
  EXPECT_EQ(saved.operators[0].from, "block;norm: aten::mul");
  EXPECT_EQ(saved.operators[0].bytes, 40);
  EXPECT_EQ(saved.operators[1].from, "head: aten::mm");
  EXPECT_EQ(saved.operators[1].bytes, 7);
  EXPECT_EQ(saved.operators[2].bytes, 4) << "8 in one of two blocks";
  ASSERT_THAT(saved.blocks, SizeIs(3));
  EXPECT_EQ(saved.blocks[1].from, "block 1");
  EXPECT_EQ(saved.blocks[1].bytes, 58);
}

// pickletools.dis() of these bytes: {'a': [1, -2, 2**40, True], 'b': 'a'}.
TEST(Pickle, WritesWhatPythonReads) {
  Pickle pickle;
  pickle.begin_dict();
  pickle.text("a");
  pickle.begin_list();
  pickle.integer(1);
  pickle.integer(-2);
  pickle.integer(std::int64_t{1} << 40);
  pickle.boolean(true);
  pickle.end_list();
  pickle.text("b");
  pickle.text("a");
  pickle.end_dict();
  using namespace std::string_literals;
  const std::string expected =
      "\x80\x02}(X\x01\0\0\0aq\0](K\x01J\xfe\xff\xff\xff\x8a\x08\0\0\0\0\0\x01\0\0\x88"
      "eX\x01\0\0\0bq\x01h\0u."s;
  EXPECT_EQ(pickle.finish(), expected);
}

// The newest events stay, and the file stays within the limit.
TEST(MemorySnapshot, LeavesTheOldestEventsOut) {
  History history = moving(std::vector<Bytes>(10'000, 1));
  for (Event& event : history.events) {
    event.address = 0x7fff'0000'0000;
    event.action = Event::Action::allocate;
  }
  const Snapshot snapshot = snapshot_of(history, {}, 100'000);
  EXPECT_GT(snapshot.left_out, 8000u);
  EXPECT_LT(snapshot.left_out, 10'000u);
  EXPECT_LE(snapshot.pickle.size(), 100'000u);
  EXPECT_EQ(snapshot_of(history, {}).left_out, 0u);
}

}  // namespace
}  // namespace assay::memory
