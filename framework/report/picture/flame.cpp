#include "report/picture/flame.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "report/picture/gnuplot.h"

namespace assay::report {
namespace {

struct Branch {
  std::string name;
  double value = 0;  // with everything inside
  std::vector<std::unique_ptr<Branch>> inside;

  Branch& child(const std::string& wanted) {
    for (const auto& one : inside) {
      if (one->name == wanted) return *one;
    }
    inside.push_back(std::make_unique<Branch>());
    inside.back()->name = wanted;
    return *inside.back();
  }
};

void lay_out(const Branch& branch, int depth, const std::string& around, double start,
             std::vector<FlameFrame>& frames) {
  for (const auto& one : branch.inside) {
    const std::string stack = around.empty() ? one->name : around + ";" + one->name;
    frames.push_back({one->name, stack, depth, start, one->value});
    lay_out(*one, depth + 1, stack, start, frames);
    start += one->value;
  }
}

}  // namespace

std::vector<std::string> frames_of_part(const std::string& part) {
  std::vector<std::string> frames;
  for (const std::string& frame : split(part, ';')) {
    if (!frame.empty()) frames.push_back(frame);
  }
  return frames;
}

std::vector<FlameFrame> flame_frames(const std::vector<Stack>& stacks) {
  Branch root;
  for (const Stack& stack : stacks) {
    Branch* branch = &root;
    for (const std::string& frame : stack.frames) {
      branch = &branch->child(frame);
      branch->value += stack.value;
    }
  }
  std::vector<FlameFrame> frames;
  lay_out(root, 0, "", 0, frames);
  return frames;
}

FrameShare share_of(const std::vector<FlameFrame>& frames, const std::string& name) {
  FrameShare share{name, 0, 0};
  int within = -1;  // depth of the frame of that name that the next ones may lie in
  for (const FlameFrame& frame : frames) {
    if (within >= 0 && frame.depth > within) continue;
    within = -1;
    if (frame.name != name) continue;
    within = frame.depth;
    ++share.count;
    share.value += frame.value;
  }
  return share;
}

std::string flame_csv(const FlameData& data) {
  std::string text = "stack,depth,start,value\n";
  for (const FlameFrame& frame : data.frames) {
    text += fmt::format("{},{},{:.9g},{:.9g}\n", csv_cell(frame.stack), frame.depth, frame.start,
                        frame.value);
  }
  return text;
}

}  // namespace assay::report
