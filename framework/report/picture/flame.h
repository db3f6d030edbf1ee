#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace assay::report {

// Gregg, "The Flame Graph", Communications of the ACM, 2016.
struct Stack {
  std::vector<std::string> frames;  // the outermost first
  double value = 0;                 // of the innermost frame alone, without its callees
};

std::vector<std::string> frames_of_part(const std::string& part);

struct FlameFrame {
  std::string name;
  std::string stack;  // with its callers, as a part's name
  int depth = 0;      // 0: outermost
  double start = 0;
  double value = 0;  // with its callees
};

// Lays frames side by side from 0, callers before callees, in the order of their first appearance.
// Stacks share the frames of a common beginning.
std::vector<FlameFrame> flame_frames(const std::vector<Stack>& stacks);

// All frames of one name; a recursive frame counts as part of its outermost one.
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
  std::vector<std::string> shown;  // frame names with their own colour
};

std::string flame_script(const FlameData& data, const std::filesystem::path& svg);

// Columns stack, depth, start and value.
std::string flame_csv(const FlameData& data);

}  // namespace assay::report
