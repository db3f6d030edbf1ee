#pragma once

#include <assay/mesh.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

#include "measure/gloo.h"

namespace assay::test {

// Calls `rank` on each of several threads, with a group over Gloo.
inline void on_ranks(int size, const std::function<void(const Group&)>& rank) {
  ::setenv("TORCH_FR_BUFFER_SIZE", "0", 1);  // it is unsafe with several groups in a process
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<Group> groups(static_cast<std::size_t>(size));
  std::vector<std::string> complaints(groups.size());
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < size; ++i) {
      threads.emplace_back([&, i] {
        Group& group = groups[static_cast<std::size_t>(i)];
        try {
          group = {i, size, measure::make_gloo(store, i, size, std::chrono::seconds(60))};
          rank(group);
        } catch (const std::exception& error) {
          complaints[static_cast<std::size_t>(i)] = error.what();
        }
      });
    }
  }
  for (const Group& group : groups) {
    if (group.backend) group.backend->shutdown();
  }
  for (const auto& complaint : complaints) EXPECT_EQ(complaint, "");
}

}  // namespace assay::test
