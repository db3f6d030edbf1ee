// The search for leftovers, which the other tests do after a run, finds them.

#include "leftovers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace assay::faults {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LeftoversTest : public ::testing::Test {
 protected:
  LeftoversTest() : name_(fmt::format("/assay-test-{}", ::getpid())) {}
  ~LeftoversTest() override { ::shm_unlink(name_.c_str()); }

  int open_shared_memory() const { return ::shm_open(name_.c_str(), O_RDWR | O_CREAT, 0600); }

  std::string name_;
};

TEST_F(LeftoversTest, SharedMemoryThatNobodyHoldsIsLeft) {
  const Leftovers leftovers;
  const int descriptor = open_shared_memory();
  ASSERT_GE(descriptor, 0);
  EXPECT_THAT(leftovers.left(), Not(HasSubstr(name_))) << "a living process holds it";
  ASSERT_EQ(::ftruncate(descriptor, 4096), 0);
  void* mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, descriptor, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ::close(descriptor);
  EXPECT_THAT(leftovers.left(), Not(HasSubstr(name_))) << "a mapping holds it as well";
  ::munmap(mapped, 4096);
  EXPECT_THAT(leftovers.left(), HasSubstr("/dev/shm" + name_ + ", which nobody holds"));
  ::shm_unlink(name_.c_str());
  EXPECT_THAT(leftovers.left(), Not(HasSubstr(name_)));
}

TEST_F(LeftoversTest, SharedMemoryThatWasSeenInUseIsLeftWhoeverHoldsItNow) {
  Leftovers leftovers;
  const int descriptor = open_shared_memory();
  ASSERT_GE(descriptor, 0);
  leftovers.observe({::getpid()});
  EXPECT_THAT(leftovers.left(), HasSubstr("/dev/shm" + name_ + ", which it held"));
  ::close(descriptor);
}

TEST_F(LeftoversTest, SharedMemoryThatWasThereBeforeIsNobodysFault) {
  ::close(open_shared_memory());
  Leftovers leftovers;
  EXPECT_THAT(leftovers.left(), Not(HasSubstr(name_)));
}

TEST_F(LeftoversTest, ASocketThatStillListensIsLeft) {
  Leftovers leftovers;
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(socket, 1), 0);
  ASSERT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string line =
      fmt::format("tcp port {}, on which it listened", ntohs(address.sin_port));
  EXPECT_THAT(leftovers.left(), Not(HasSubstr(line))) << "nobody has asked about this process";
  leftovers.observe({::getpid()});
  EXPECT_EQ(leftovers.listeners(), 1u);
  EXPECT_THAT(leftovers.left(), HasSubstr(line));
  ::close(socket);
  EXPECT_THAT(leftovers.left(), Not(HasSubstr(line)));
}

}  // namespace
}  // namespace assay::faults
