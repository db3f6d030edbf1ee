#include "wire/turn_waiter.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace assay::wire {
namespace {

class TurnWaiterTest : public ::testing::Test {
 protected:
  TurnWaiterTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    host = Channel{Descriptor(ends[0])};
    worker = Channel{Descriptor(ends[1])};
  }

  // Returns the worker's request.
  TurnWanted asked() {
    const auto message = host.receive();
    EXPECT_TRUE(message && *message);
    auto wanted = turn_wanted_from_json(**message);
    EXPECT_TRUE(wanted);
    return *wanted;
  }

  Channel host;
  Channel worker;
};

TEST_F(TurnWaiterTest, ATurnIsAskedForOnceForAsManyReadingsAsItHas) {
  TurnWaiter waiter(worker, 9);
  ASSERT_TRUE(host.send(to_json(Turn{9, 3, true})));
  EXPECT_TRUE(waiter.await("forward", 0, 20));
  EXPECT_FALSE(waiter.await("forward", 1, 20));
  EXPECT_FALSE(waiter.await("forward", 2, 20));
  ASSERT_TRUE(host.send(to_json(Turn{9, 3, false})));
  EXPECT_FALSE(waiter.await("forward", 3, 20)) << "nobody else was measured";
  const TurnWanted first = asked();
  EXPECT_EQ(first.ordinal, 9);
  EXPECT_EQ(first.pass, "forward");
  EXPECT_EQ(first.taken, 0);
  EXPECT_EQ(first.planned, 20);
  EXPECT_EQ(asked().taken, 3);
}

TEST_F(TurnWaiterTest, WhatIsLeftOfATurnIsNotTakenIntoTheNextPass) {
  TurnWaiter waiter(worker, 9);
  ASSERT_TRUE(host.send(to_json(Turn{9, 3, true})));
  ASSERT_TRUE(host.send(to_json(Turn{9, 3, true})));
  EXPECT_TRUE(waiter.await("forward", 0, 1));
  EXPECT_TRUE(waiter.await("backward", 0, 1));
  asked();
  EXPECT_EQ(asked().pass, "backward");
}

TEST_F(TurnWaiterTest, AHostThatIsGoneOrSaysSomethingElseEndsTheCase) {
  TurnWaiter waiter(worker, 9);
  ASSERT_TRUE(host.send(to_json(Turn{8, 3, true})));
  EXPECT_THROW(waiter.await("forward", 0, 1), std::runtime_error);
  ASSERT_TRUE(host.send({{"type", "turn"}}));
  EXPECT_THROW(waiter.await("forward", 0, 1), std::runtime_error);
  host.close();
  EXPECT_THROW(waiter.await("forward", 0, 1), std::runtime_error);
}

}  // namespace
}  // namespace assay::wire
