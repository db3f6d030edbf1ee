#include "report/picture/flame.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "report/document/table_files.h"
#include "report/picture/gnuplot.h"

namespace assay::report {
namespace {

struct Branch {
  std::string name;
  double value = 0;  // with its callees
  std::vector<std::unique_ptr<Branch>> callees;

  Branch& child(const std::string& wanted) {
    for (const auto& callee : callees) {
      if (callee->name == wanted) return *callee;
    }
    callees.push_back(std::make_unique<Branch>());
    callees.back()->name = wanted;
    return *callees.back();
  }
};

void lay_out(const Branch& branch, int depth, const std::string& callers, double start,
             std::vector<FlameFrame>& frames) {
  for (const auto& callee : branch.callees) {
    const std::string stack = callers.empty() ? callee->name : callers + ";" + callee->name;
    frames.push_back({callee->name, stack, depth, start, callee->value});
    lay_out(*callee, depth + 1, stack, start, frames);
    start += callee->value;
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
  int within = -1;  // depth of the last frame of that name, while inside it
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
