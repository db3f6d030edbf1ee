#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace assay::report {

// A stack names its frames from the outermost in; its value is what the innermost took itself,
// beside what it called (Gregg, "The Flame Graph", Communications of the ACM, 2016).
struct Stack {
  std::vector<std::string> frames;
  double value = 0;
};

// "step;forward;softmax" as frames.
std::vector<std::string> frames_of_part(const std::string& part);

struct FlameFrame {
  std::string name;
  std::string stack;  // with those around it, as a part's name
  int depth = 0;      // 0: outermost
  double start = 0;
  double value = 0;  // with everything inside it
};

// Side by side from 0, each frame before those inside it, in the order in which they first appear.
// Stacks that begin alike share their frames.
std::vector<FlameFrame> flame_frames(const std::vector<Stack>& stacks);

// All frames of one name; one inside another of the same name counts with that.
struct FrameShare {
  std::string name;
  int count = 0;
  double value = 0;
};

FrameShare share_of(const std::vector<FlameFrame>& frames, const std::string& name);

struct FlameData {
  std::string title;
  std::string label;  // of the widths, with their unit
  std::vector<FlameFrame> frames;
  std::vector<std::string> shown;  // names with a colour of their own
};

// The same data always gives the same script.
std::string flame_script(const FlameData& data, const std::filesystem::path& svg);

// Columns stack, depth, start and value.
std::string flame_csv(const FlameData& data);

}  // namespace assay::report
