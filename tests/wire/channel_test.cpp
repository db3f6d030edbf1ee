#include "wire/channel.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
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

// The reference's own vector: key 00…0f, message 00…0e (Aumasson and Bernstein 2012, appendix A).
TEST(FrameTags, AreSipHash) {
  std::string message;
  for (char byte = 0; byte < 15; ++byte) message.push_back(byte);
  EXPECT_EQ(siphash({0x0706050403020100u, 0x0f0e0d0c0b0a0908u}, message), 0xa129ca6149be45e5u);
}

Pair signed_pair() {
  Pair pair = connected();
  pair.worker.sign_with("secret");
  pair.host.expect_signed("secret");
  return pair;
}

TEST(ChannelTest, DeliversWhatIsSignedWithTheSecret) {
  Pair pair = signed_pair();
  for (const int n : {1, 2, 3}) {
    ASSERT_TRUE(pair.worker.send({{"n", n}}));
    const auto message = pair.host.receive();
    ASSERT_TRUE(message && *message);
    EXPECT_EQ(**message, nlohmann::json({{"n", n}}));
  }
  EXPECT_FALSE(pair.host.forged());
}

TEST(ChannelTest, FindsOutWhoeverElseWritesToIt) {
  for (const char* secret : {"another", "secret"}) {
    Pair pair = signed_pair();
    ASSERT_TRUE(pair.worker.send({{"n", 1}}));
    ASSERT_TRUE(pair.host.receive());
    // With the secret, but without knowing how many messages came before.
    Channel forger(Descriptor(::dup(pair.worker.descriptor())));
    forger.sign_with(secret);
    ASSERT_TRUE(forger.send({{"n", 2}}));
    EXPECT_FALSE(pair.host.receive());
    EXPECT_TRUE(pair.host.forged());
  }
}

TEST(ChannelTest, FindsOutAMessageThatComesTwice) {
  Pair pair = signed_pair();
  ASSERT_TRUE(pair.worker.send({{"n", 1}}));
  std::string frame(256, '\0');
  const auto size = ::recv(pair.host.descriptor(), frame.data(), frame.size(), MSG_PEEK);
  ASSERT_GT(size, 0);
  ASSERT_TRUE(pair.host.receive());
  ASSERT_EQ(::send(pair.worker.descriptor(), frame.data(), static_cast<std::size_t>(size), 0),
            size);
  EXPECT_FALSE(pair.host.receive());
  EXPECT_TRUE(pair.host.forged());
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

tcp_info state_of(const Channel& channel) {
  tcp_info info = {};
  socklen_t size = sizeof info;
  EXPECT_EQ(::getsockopt(channel.descriptor(), IPPROTO_TCP, TCP_INFO, &info, &size), 0);
  return info;
}

// Asks every few milliseconds; false after 30 s.
bool comes_true(const std::function<bool()>& holds) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    ::poll(nullptr, 0, 5);
  }
  return true;
}

TEST(ChannelTest, APeerThatReadsNothingForLongIsBusyAndNotGone) {
  Pair pair = connected();
  // Above 1.4 s: a machine answers such probes every 0.5 s at most (tcp_invalid_ratelimit), so the
  // first, after 0.2 and 0.6 s, may both be open when the third leaves.
  constexpr auto limit = std::chrono::seconds(2);
  pair.worker.set_silence_limit(limit);
  const nlohmann::json large = {{"text", std::string(1'000'000, 'x')}};
  constexpr int messages = 8;  // more than the system holds
  std::atomic<bool> sent = true;
  std::thread sender([&] {
    for (int i = 0; i < messages; ++i) sent = sent && pair.worker.send(large).has_value();
  });
  // The system asks for room after 0.2, 0.4, 0.8 s and so on, and is answered.
  EXPECT_TRUE(comes_true([&] {
    return !sent || std::chrono::milliseconds(state_of(pair.worker).tcpi_last_ack_recv) > limit;
  }));
  EXPECT_FALSE(pair.worker.silent());
  for (int i = 0; i < messages && sent; ++i) {
    const auto message = pair.host.receive();
    EXPECT_TRUE(message && *message && **message == large) << i;
  }
  pair.host.close();
  sender.join();
  EXPECT_TRUE(sent);
}

// Of the calling thread's network.
bool set_loopback(bool up) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request = {};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = static_cast<short>(up ? IFF_UP : 0);
  const bool set = ::ioctl(socket, SIOCSIFFLAGS, &request) == 0;
  ::close(socket);
  return set;
}

TEST(ChannelTest, AMachineThatIsGoneIsSilentAlsoWhileSomethingIsOnTheWayToIt) {
  bool possible = false;
  bool silent = false;
  std::thread in_a_network_of_its_own([&] {
    possible = ::unshare(CLONE_NEWNET) == 0 && set_loopback(true);
    if (!possible) return;
    Pair pair = connected();
    pair.host.set_silence_limit(std::chrono::seconds(1));
    EXPECT_TRUE(set_loopback(false));
    EXPECT_TRUE(pair.host.send({{"n", 1}})) << "the system has it";
    EXPECT_FALSE(pair.host.silent());
    silent = comes_true([&] { return pair.host.silent(); });
  });
  in_a_network_of_its_own.join();
  if (!possible) GTEST_SKIP() << "network namespaces need root";
  EXPECT_TRUE(silent);
}

TEST(ChannelTest, TheSilenceLimitIsThatOfTheEnvironment) {
  ::setenv(silence_variable, "30 s", 1);
  const Pair pair = connected();
  EXPECT_EQ(pair.host.silence_limit(), std::chrono::seconds(30));
  for (const char* wrong : {"30", "1 s", "2 h"}) {
    ::setenv(silence_variable, wrong, 1);
    const auto refused = silence_limit();
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text(), ::testing::HasSubstr(wrong));
  }
  ::unsetenv(silence_variable);
  EXPECT_EQ(connected().worker.silence_limit(), usual_silence);
}

}  // namespace
}  // namespace assay::wire
