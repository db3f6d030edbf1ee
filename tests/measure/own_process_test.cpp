#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <latch>
#include <thread>
#include <vector>

#include "worker/process/imports.h"
#include "worker/process/plugin_threads.h"
#include "worker/process/process_settings.h"

namespace assay::worker {
namespace {

using ::testing::ElementsAre;

// A thread that LibTorch has started; it must have begun something.
pid_t thread_of_libtorch() {
  std::promise<pid_t> id;
  at::launch([&] { id.set_value(::gettid()); });
  return id.get_future().get();
}

TEST(PluginThreads, AreThoseThatAPluginsOwnCodeHasStarted) {
  std::promise<pid_t> id;
  std::promise<void> enough;
  std::thread own([&] {
    id.set_value(::gettid());
    enough.get_future().wait();
  });
  const pid_t own_id = id.get_future().get();
  const pid_t other_id = thread_of_libtorch();
  const ThreadTimes all = thread_times();
  EXPECT_TRUE(all.contains(own_id) && all.contains(other_id));
  const ThreadTimes both = {{own_id, 0}, {other_id, 0}};
  // This program stands for the plugin's library.
  EXPECT_THAT(PluginThreads({"/proc/self/exe"}).among(both), ElementsAre(own_id));
  EXPECT_THAT(PluginThreads({"/usr/lib/another.so"}).among(both), ElementsAre());
  enough.set_value();
  own.join();
}

// What std::thread's argument begins with may stand anywhere.
TEST(PluginThreads, ArgumentsOfOtherStartsSayNothing) {
  const ThreadTimes before = thread_times();
  using Routine = void* (*)(void*);
  const auto pause = reinterpret_cast<Routine>(::dlsym(RTLD_DEFAULT, "pause"));
  auto of_this_program = reinterpret_cast<std::uintptr_t>(&thread_of_libtorch);
  pthread_t thread;
  ASSERT_EQ(::pthread_create(&thread, nullptr, pause, &of_this_program), 0);
  ThreadTimes started = thread_times();
  std::erase_if(started, [&](const auto& one) { return before.contains(one.first); });
  EXPECT_EQ(started.size(), 1u);
  EXPECT_THAT(PluginThreads({"/proc/self/exe"}).among(started), ElementsAre());
  ::pthread_cancel(thread);
  ::pthread_join(thread, nullptr);
}

TEST(PluginThreads, WhatAThreadWorksCounts) {
  const ThreadTimes before = thread_times();
  std::atomic<bool> working = true;
  std::thread busy([&] {
    while (working) {
    }
  });
  while (busiest_since_s(before) < 0.01) std::this_thread::yield();
  working = false;
  busy.join();
}

double own_work_s() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// A pool on a machine of many cores turns on the spot in all of its threads.
TEST(PluginThreads, OfManyTheBusiestCounts) {
  constexpr int threads = 20;
  constexpr double each_s = 0.01;
  const ThreadTimes before = thread_times();
  std::latch worked(threads), enough(1);
  std::vector<std::jthread> pool;
  for (int i = 0; i < threads; ++i) {
    pool.emplace_back([&] {
      while (own_work_s() < each_s) {
      }
      worked.count_down();
      enough.wait();
    });
  }
  worked.wait();
  const double busiest_s = busiest_since_s(before);
  enough.count_down();
  EXPECT_GE(busiest_s, each_s);
  EXPECT_LT(busiest_s, threads * each_s / 2);
}

TEST(Imports, AreTheFunctionsThatALibraryCalls) {
  EXPECT_TRUE(imports(ASSAY_BUILD_DIR "/lib/libassay_worker.so", "dlopen"));
  EXPECT_FALSE(imports(ASSAY_BUILD_DIR "/lib/libassay_worker.so", "mallopt"));
}

TEST(ProcessSettings, AreTheSameTwiceAndToldByNameWhereTheyDiffer) {
  const c10::Device cpu(c10::kCPU);
  const ProcessSettings before = process_settings(cpu);
  EXPECT_EQ(changes_in_words(before, process_settings(cpu)), "");
  ::setenv("ASSAY_TEST_SETTING", "secret", 1);
  EXPECT_EQ(changes_in_words(before, process_settings(cpu)), "variable ASSAY_TEST_SETTING is set");
  ::unsetenv("ASSAY_TEST_SETTING");
  const ProcessSettings few = {{"a", "1"}, {"b", "2"}};
  EXPECT_EQ(changes_in_words(few, {{"a", "3"}}), "a: 3, was 1; b is gone");
  ProcessSettings many;
  for (const char name : {'a', 'b', 'c', 'd', 'e', 'f', 'g'}) many[std::string(1, name)] = "1";
  EXPECT_EQ(changes_in_words({}, many),
            "a is set; b is set; c is set; d is set; e is set; and 2 more");
}

}  // namespace
}  // namespace assay::worker
