#include "flame_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>

#include "flame_script.h"

namespace assay::kernels {

namespace {

constexpr double picture_width = 1160;
constexpr int left_margin = 20, top_margin = 60, row_height = 18;
constexpr double character_width = 6.6;

struct Branch {
  std::string name;
  double s = 0;  // with callees
  std::map<std::string, std::unique_ptr<Branch>> callees;

  Branch& callee(const std::string& wanted) {
    std::unique_ptr<Branch>& found = callees[wanted];
    if (!found) found = std::make_unique<Branch>(Branch{wanted});
    return *found;
  }
};

struct Frame {
  const Branch* branch;
  double x;  // in parts of the whole
  double w;
  int depth;
};

void lay_out(const Branch& branch, double whole, double x, int depth, std::vector<Frame>& frames) {
  frames.push_back({&branch, x, branch.s / whole, depth});
  for (const auto& [name, callee] : branch.callees) {
    lay_out(*callee, whole, x, depth + 1, frames);
    x += callee->s / whole;
  }
}

std::string escaped(std::string_view text) {
  std::string made;
  for (const char c : text) {
    switch (c) {
      case '&':
        made += "&amp;";
        break;
      case '<':
        made += "&lt;";
        break;
      case '>':
        made += "&gt;";
        break;
      case '"':
        made += "&quot;";
        break;
      default:
        made += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return made;
}

// The same name has the same colour everywhere.
std::string colour_of(const std::string& name) {
  const std::size_t hash = std::hash<std::string>()(name);
  return fmt::format("rgb({},{},{})", 205 + hash % 50, 110 + (hash >> 8) % 110,
                     60 + (hash >> 16) % 60);
}

std::string duration(double s) {
  if (s >= 1) return fmt::format("{:.3f} s", s);
  if (s >= 1e-3) return fmt::format("{:.3f} ms", s * 1e3);
  return fmt::format("{:.3f} µs", s * 1e6);
}

std::string drawn(const Frame& frame) {
  const std::string name = escaped(frame.branch->name);
  const double wide = frame.w * picture_width;
  const double x = left_margin + frame.x * picture_width;
  const int y = top_margin + frame.depth * row_height;
  const auto room = static_cast<std::ptrdiff_t>((wide - 6) / character_width);
  const std::string label = room >= std::ssize(frame.branch->name) ? name : "";
  return fmt::format(
      "<g class=\"frame\" data-n=\"{0}\" data-x=\"{1:.9f}\" data-w=\"{2:.9f}\" data-d=\"{3}\">"
      "<title>{0}: {4}, {5:.2f} %</title>"
      "<rect x=\"{6:.2f}\" y=\"{7}\" width=\"{8:.2f}\" height=\"{9}\" fill=\"{10}\"/>"
      "<text x=\"{11:.2f}\" y=\"{12}\">{13}</text></g>\n",
      name, frame.x, frame.w, frame.depth, duration(frame.branch->s), 100 * frame.w, x, y,
      std::max(wide - 0.5, 0.2), row_height - 1, colour_of(frame.branch->name), x + 3, y + 13,
      label);
}

// The widest, callers before callees.
void keep_widest(std::vector<Frame>& frames) {
  if (frames.size() <= most_frames) return;
  std::vector<double> widths;
  for (const Frame& frame : frames) widths.push_back(frame.w);
  std::ranges::nth_element(widths, widths.begin() + most_frames, std::greater());
  const double narrowest = widths[most_frames];
  std::erase_if(frames, [&](const Frame& frame) { return frame.w <= narrowest; });
}

}  // namespace

std::string folded(const std::vector<StackTotal>& stacks) {
  std::string text;
  for (const StackTotal& stack : stacks) {
    std::string joined;
    for (const std::string& frame : stack.frames) {
      joined += joined.empty() ? "" : ";";
      for (const char c : frame) joined += c == '\n' ? ' ' : c;
    }
    text += fmt::format("{} {}\n", joined, std::llround(stack.s * 1e9));
  }
  return text;
}

std::string flame_svg(const std::vector<StackTotal>& stacks, const std::string& title) {
  Branch root;
  root.name = "all";
  for (const StackTotal& stack : stacks) {
    root.s += stack.s;
    Branch* branch = &root;
    for (const std::string& frame : stack.frames) {
      branch = &branch->callee(frame);
      branch->s += stack.s;
    }
  }
  std::vector<Frame> frames;
  lay_out(root, root.s > 0 ? root.s : 1, 0, 0, frames);
  const std::size_t all = frames.size();
  keep_widest(frames);
  int depth = 0;
  for (const Frame& frame : frames) depth = std::max(depth, frame.depth);
  const int height = top_margin + (depth + 1) * row_height + 30;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\" height=\"{0}\" "
      "viewBox=\"0 0 1200 {0}\" font-family=\"monospace\" font-size=\"11\">\n"
      "<style>.frame {{ cursor: pointer }} .frame:hover rect {{ stroke: #000 }} .hit rect {{ fill: "
      "#7b3ff2 }} .hit text {{ fill: #fff }} .button {{ cursor: pointer; fill: #1a5fb4 }}"
      "</style>\n<rect width=\"1200\" height=\"{0}\" fill=\"#fff\"/>\n"
      "<text x=\"600\" y=\"24\" text-anchor=\"middle\" font-size=\"15\">{1}</text>\n"
      "<text class=\"button reset\" x=\"20\" y=\"46\" style=\"display:none\">reset zoom</text>\n"
      "<text class=\"found\" x=\"600\" y=\"46\" text-anchor=\"middle\"></text>\n"
      "<text class=\"button ask\" x=\"1180\" y=\"46\" text-anchor=\"end\">search</text>\n",
      height, escaped(title));
  for (const Frame& frame : frames) svg += drawn(frame);
  if (all > frames.size()) {
    svg += fmt::format("<text x=\"20\" y=\"{}\">{} narrower frames are not drawn</text>\n",
                       height - 10, all - frames.size());
  }
  svg += "<script><![CDATA[";
  svg += flame_script;
  svg += "]]></script>\n</svg>\n";
  return svg;
}

}  // namespace assay::kernels
