#include "base/idle_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace assay {
namespace {

// Like a pool's thread: spins until told to stop, then sleeps until told to end.
class Pool {
 public:
  explicit Pool(std::chrono::milliseconds spins)
      : thread_([this, spins] {
          const auto end = std::chrono::steady_clock::now() + spins;
          spinning_ = true;
          while (!stop_ && std::chrono::steady_clock::now() < end) {
          }
          spinning_ = false;
          std::unique_lock lock(mutex_);
          ended_.wait(lock, [this] { return stop_.load(); });
        }) {
    while (!spinning_) std::this_thread::yield();
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    ended_.notify_all();
    thread_.join();
  }

  bool spins() const { return spinning_; }

 private:
  std::atomic<bool> spinning_ = false;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::thread thread_;
};

TEST(IdleThreads, AreAwaited) {
  const Pool pool(std::chrono::milliseconds(60));
  await_idle_threads(60);
  EXPECT_FALSE(pool.spins());
}

TEST(IdleThreads, AreNotAwaitedForEver) {
  const Pool pool(std::chrono::minutes(10));
  await_idle_threads(0.01);
  EXPECT_TRUE(pool.spins());
}

}  // namespace
}  // namespace assay
