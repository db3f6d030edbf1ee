#include "wire/arrivals.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace assay::wire {
namespace {

class ArrivalsTest : public ::testing::Test {
 protected:
  Channel connection() { return std::move(*connect(listener_.address())); }
  Channel connection(int number) {
    Channel channel = connection();
    EXPECT_TRUE(channel.send({{"number", number}}));
    return channel;
  }
  // The numbers of those that arrive, until there are so many.
  std::vector<int> arrived(Arrivals& arrivals, std::size_t count) {
    std::vector<int> numbers;
    while (numbers.size() < count) {
      std::vector<pollfd> watched;
      arrivals.watch(watched);
      ::poll(watched.data(), watched.size(), 1000);
      const auto taken = arrivals.take();
      if (!taken) break;
      for (const auto& one : *taken) numbers.push_back(one.message["number"]);
    }
    return numbers;
  }
  // Takes until it has been dropped, for 10 s at most.
  static void expect_dropped(Arrivals& arrivals, const Channel& dropped) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    pollfd ended = {dropped.descriptor(), POLLIN, 0};
    do {
      const auto taken = arrivals.take();
      ASSERT_TRUE(taken);
      EXPECT_TRUE(taken->empty());
      ASSERT_LT(std::chrono::steady_clock::now(), limit) << "it is still there";
    } while (::poll(&ended, 1, 10) == 0);
    char byte = 0;
    EXPECT_LE(::recv(dropped.descriptor(), &byte, 1, 0), 0);
  }

  Listener listener_ = std::move(*Listener::on_loopback());
};

TEST_F(ArrivalsTest, AStrangerThatSaysNothingIsDroppedAfterAWhile) {
  Arrivals arrivals(listener_, {.time = std::chrono::milliseconds(50)});
  const Channel silent = connection();
  expect_dropped(arrivals, silent);
}

TEST_F(ArrivalsTest, AFirstMessageThatIsTooLongIsDroppedAtItsBeginning) {
  Arrivals arrivals(listener_, {.message_bytes = 1000});
  const Channel talker = connection();
  ASSERT_EQ(::send(talker.descriptor(), "\0\0\x03\xe9", 4, 0), 4) << "1001 bytes";
  expect_dropped(arrivals, talker);
  const Channel short_one = connection(7);
  EXPECT_EQ(arrived(arrivals, 1), std::vector<int>({7}));
}

TEST_F(ArrivalsTest, SoManySilentOnesHoldNobodyUpForLong) {
  Arrivals arrivals(listener_, {.connections = 2, .time = std::chrono::milliseconds(50)});
  const Channel silent[] = {connection(), connection()};
  const Channel known[] = {connection(1), connection(2), connection(3)};
  EXPECT_EQ(arrived(arrivals, 3), std::vector<int>({1, 2, 3}));
}

TEST_F(ArrivalsTest, NoMoreThanItsNumberAreLookedAtAtOnce) {
  Arrivals arrivals(listener_, {.connections = 2});
  Channel silent[] = {connection(), connection()};
  const Channel known = connection(1);
  for (int look = 0; look < 3; ++look) EXPECT_TRUE(arrivals.take()->empty());
  silent[0].close();
  EXPECT_EQ(arrived(arrivals, 1), std::vector<int>({1}));
}

TEST_F(ArrivalsTest, WhatFollowsTheFirstMessageIsNotLost) {
  Arrivals arrivals(listener_);
  Channel sender = connection(1);
  ASSERT_TRUE(sender.send({{"number", 2}}));
  while (true) {
    auto taken = arrivals.take();
    ASSERT_TRUE(taken);
    if (taken->empty()) continue;
    const auto next = taken->front().channel.receive();
    ASSERT_TRUE(next && *next);
    EXPECT_EQ((**next)["number"], 2);
    return;
  }
}

}  // namespace
}  // namespace assay::wire
