#include "run/workers/accept_workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

namespace assay::run {
namespace {

using ::testing::HasSubstr;

class AcceptWorkersTest : public ::testing::Test {
 protected:
  void add_worker(const std::string& script) {
    auto worker = Worker::start({.arguments = {"sh", "-c", script}});
    ASSERT_TRUE(worker) << worker.error().text();
    workers_.push_back(std::move(*worker));
  }
  wire::Channel connection() { return std::move(*wire::connect(listener_.address())); }
  wire::Channel connection(const std::string& token, int rank) {
    wire::Channel channel = connection();
    EXPECT_TRUE(channel.send(wire::to_json(wire::Hello{token, rank, 1, {{"libtorch", "2"}}})));
    return channel;
  }
  auto accepted(Interrupt* interrupt = nullptr) {
    return accept_workers(listener_, "secret", workers_, interrupt);
  }

  wire::Listener listener_ = std::move(*wire::Listener::on_loopback());
  std::vector<Worker> workers_;
};

TEST_F(AcceptWorkersTest, ASilentStrangerAndOneWithoutTheTokenHoldNobodyUp) {
  add_worker("exec sleep 1000");
  add_worker("exec sleep 1000");
  const auto silent = connection();
  const auto liar = connection("guess", 0);
  const auto second = connection("secret", 1);
  const auto first = connection("secret", 0);
  const auto versions = accepted();
  ASSERT_TRUE(versions) << versions.error().text();
  EXPECT_EQ(versions->at("libtorch"), Value("2"));
  for (const Worker& worker : workers_) EXPECT_TRUE(worker.channel.open());
}

TEST_F(AcceptWorkersTest, AWorkerThatDiesIsToldWithItsLastWords) {
  add_worker("echo no luck; exit 3");
  const auto versions = accepted();
  ASSERT_FALSE(versions);
  EXPECT_THAT(versions.error().text(), HasSubstr("ended with exit code 3: no luck"));
}

TEST_F(AcceptWorkersTest, TheUserCanStopIt) {
  Interrupt interrupt;
  add_worker("exec sleep 1000");
  // Two equal signals at once count as one.
  ::raise(SIGTERM);
  ::raise(SIGINT);
  const auto versions = accepted(&interrupt);
  ASSERT_FALSE(versions);
  EXPECT_THAT(versions.error().text(), HasSubstr("stopped by the user"));
}

TEST_F(AcceptWorkersTest, ThoseThatDoNotArriveInTimeAreNamed) {
  for (int rank = 0; rank < 3; ++rank) add_worker("exec sleep 1000");
  const auto second = connection("secret", 1);
  ::setenv("ASSAY_LOAD_TIMEOUT", "1 s", 1);
  const auto versions = accepted();
  ::unsetenv("ASSAY_LOAD_TIMEOUT");
  ASSERT_FALSE(versions);
  EXPECT_THAT(versions.error().text(), HasSubstr("ranks 0, 2 did not start within 1"));
}

TEST_F(AcceptWorkersTest, TheLimitOfMemoryHoldsWhileTheyStart) {
  for (int rank = 0; rank < 3; ++rank) add_worker("exec sleep 1000");
  ::setenv(memory_limit_variable, "100 KiB", 1);
  const auto versions = accepted();
  ::unsetenv(memory_limit_variable);
  ASSERT_FALSE(versions);
  EXPECT_TRUE(is_out_of_memory(versions.error()));
  EXPECT_THAT(versions.error().text(), HasSubstr("the limit of ASSAY_HOST_MEMORY_LIMIT is 100"));
  EXPECT_THAT(versions.error().text(), HasSubstr("while 3 workers started"));
}

TEST_F(AcceptWorkersTest, TwoOfTheSameRankAreRefused) {
  add_worker("exec sleep 1000");
  add_worker("exec sleep 1000");
  const auto one = connection("secret", 0);
  const auto other = connection("secret", 0);
  EXPECT_FALSE(accepted());
}

}  // namespace
}  // namespace assay::run
