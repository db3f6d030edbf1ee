#include "wire/channel.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

namespace assay::wire {
namespace {

struct Pair {
  Channel host;
  Channel worker;
};

Pair connected() {
  auto listener = Listener::on_loopback();
  EXPECT_TRUE(listener);
  auto worker = connect(listener->address());
  EXPECT_TRUE(worker);
  auto host = listener->accept();
  EXPECT_TRUE(host);
  return {std::move(*host), std::move(*worker)};
}

TEST(ChannelTest, DeliversMessagesWholeAndInOrder) {
  Pair pair = connected();
  const nlohmann::json large = {{"text", std::string(3'000'000, 'x')}};
  std::thread sender([&] {
    EXPECT_TRUE(pair.worker.send({{"n", 1}}));
    EXPECT_TRUE(pair.worker.send(large));
    EXPECT_TRUE(pair.worker.send({{"n", 3}}));
  });
  const auto first = pair.host.receive();
  const auto second = pair.host.receive();
  const auto third = pair.host.receive();
  sender.join();
  ASSERT_TRUE(first && *first && second && *second && third && *third);
  EXPECT_EQ(**first, nlohmann::json({{"n", 1}}));
  EXPECT_EQ(**second, large);
  EXPECT_EQ(**third, nlohmann::json({{"n", 3}}));
}

TEST(ChannelTest, ReceivingFromAClosedConnectionIsNotAnError) {
  Pair pair = connected();
  pair.worker.close();
  const auto message = pair.host.receive();
  ASSERT_TRUE(message);
  EXPECT_FALSE(message->has_value());
}

TEST(ChannelTest, BytesThatAreNotUtf8DoNotStopAMessage) {
  Pair pair = connected();
  ASSERT_TRUE(pair.worker.send({{"reason", "broken \xff text"}}));
  const auto message = pair.host.receive();
  ASSERT_TRUE(message && *message);
  EXPECT_EQ((**message)["reason"], "broken \xef\xbf\xbd text");
}

TEST(ChannelTest, AFrameTooLongTooDeepOrNotJsonIsAnError) {
  for (const std::string& frame :
       {std::string("\xff\xff\xff\xff", 4), std::string("\0\0\0\x03{{{", 7),
        std::string("\0\0\0\xc8", 4) + std::string(100, '[') + std::string(100, ']')}) {
    Pair pair = connected();
    ASSERT_EQ(::send(pair.worker.descriptor(), frame.data(), frame.size(), 0),
              static_cast<ssize_t>(frame.size()));
    EXPECT_FALSE(pair.host.receive());
  }
}

TEST(ChannelTest, ConnectRefusesWhatIsNotAnAddressAndWhereNobodyListens) {
  EXPECT_FALSE(connect("nonsense"));
  const auto bound = bind_port();
  ASSERT_TRUE(bound);
  EXPECT_FALSE(connect("127.0.0.1:" + std::to_string(bound->port)));
}

}  // namespace
}  // namespace assay::wire
