#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace assay::health {

// A folder with its own /proc and /sys.
class TreeTest : public ::testing::Test {
 protected:
  TreeTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "assay-tree-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~TreeTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  void write(const std::string& file, const std::string& content) const {
    const std::filesystem::path path = root_ + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
  }

  // `ticks`: CPU time with that of ended children, in hundredths of a second.
  void write_process(int pid, int parent, const std::string& name, int ticks,
                     const std::string& children = "") const {
    const std::string folder = "proc/" + std::to_string(pid);
    const std::string times = std::to_string(ticks) + " 0 0 0";
    write(folder + "/stat", std::to_string(pid) + " (" + name + ") S " + std::to_string(parent) +
                                " 1 1 0 -1 0 0 0 0 0 " + times + " 20 0 1 0\n");
    write(folder + "/comm", name + "\n");
    write(folder + "/task/" + std::to_string(pid) + "/children", children);
  }

  void remove_process(int pid) const {
    std::filesystem::remove_all(root_ + "/proc/" + std::to_string(pid));
  }

  std::string root_;
};

}  // namespace assay::health
