#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "report/spec/read_blocks.h"

namespace assay::report {
namespace {

using yaml::Node;

constexpr int layouts_deep = 8;

class ReportReader {
 public:
  explicit ReportReader(Reader& reader) : reader_(reader) {}

  void blocks(const Node& node, const Filter& where, int depth) {
    const Node* list = node.is_mapping() && node.find("report") ? node.find("report") : &node;
    if (!list->is_sequence()) {
      reader_.complain(*list, "a report must be a list of blocks",
                       "blocks: " + join(kinds(), ", "));
      return;
    }
    for (const Node& item : list->items) {
      if (!item.is_mapping() || item.entries.size() != 1) {
        reader_.complain(item, "a block is a mapping with one key",
                         "one of " + join(kinds(), ", "));
        continue;
      }
      const Node& key = item.entries.front().first;
      block(key, item.entries.front().second, where, depth);
      if (depth == 0) spec.places.resize(spec.blocks.size(), key.where);
    }
  }

  ReportSpec spec;

 private:
  static std::vector<std::string> kinds() {
    return {"heading", "prose", "table", "text", "plot", "timeline", "flame", "findings", "layout"};
  }

  void block(const Node& key, const Node& value, const Filter& where, int depth) {
    const std::string& kind = key.text;
    if (kind == "heading") {
      heading(value);
    } else if (kind == "prose") {
      spec.blocks.push_back(ProseSpec{reader_.text(value, "prose")});
    } else if (kind == "table") {
      TableSpec table = read_table(reader_, value);
      table.grid.where.add(where);
      spec.blocks.push_back(std::move(table));
    } else if (kind == "text") {
      TextSpec text = read_text(reader_, value);
      text.grid.where.add(where);
      spec.blocks.push_back(std::move(text));
    } else if (kind == "plot") {
      PlotSpec plot = read_plot(reader_, value);
      plot.where.add(where);
      spec.blocks.push_back(std::move(plot));
    } else if (kind == "timeline") {
      TimelineSpec timeline = read_timeline(reader_, value);
      timeline.where.add(where);
      spec.blocks.push_back(std::move(timeline));
    } else if (kind == "flame") {
      FlameSpec flame = read_flame(reader_, value);
      flame.where.add(where);
      spec.blocks.push_back(std::move(flame));
    } else if (kind == "findings") {
      FindingsSpec findings = read_findings(reader_, value);
      for (FindingSpec& finding : findings.findings) finding.where.add(where);
      spec.blocks.push_back(std::move(findings));
    } else if (kind == "layout") {
      layout(value, where, depth);
    } else {
      reader_.complain(key, fmt::format("block '{}' does not exist", kind),
                       known_names(kind, kinds()));
    }
  }

  void heading(const Node& node) {
    HeadingSpec heading;
    if (node.is_mapping()) {
      reader_.entries(
          node, "heading",
          {{"text", [&](const Node& value) { heading.text = reader_.text(value, "text"); }},
           {"level", [&](const Node& value) {
              heading.level = static_cast<int>(reader_.count(value, "level"));
            }}});
      if (heading.level < 2 || heading.level > 6)
        reader_.complain(node, "a heading's level is 2 to 6");
    } else {
      heading.text = reader_.text(node, "heading");
    }
    spec.blocks.push_back(std::move(heading));
  }

  void layout(const Node& node, const Filter& where, int depth) {
    Filter narrowed;
    std::string name;
    if (node.is_mapping()) {
      reader_.entries(node, "layout",
                      {{"name", [&](const Node& value) { name = reader_.text(value, "name"); }},
                       {"where", [&](const Node& value) { narrowed = reader_.filter(value); }}});
    } else {
      name = reader_.text(node, "layout");
    }
    narrowed.add(where);
    const std::filesystem::path& folder = reader_.known().layouts;
    const std::filesystem::path path = folder / (name + ".yaml");
    std::error_code problem;
    if (name.find_first_of("/\\") != std::string::npos || !std::filesystem::exists(path, problem)) {
      reader_.complain(node, fmt::format("layout '{}' does not exist", name),
                       known_names(name, yaml::names_in(folder)));
      return;
    }
    if (depth >= layouts_deep) {
      reader_.complain(node, fmt::format("layout '{}' includes itself", name));
      return;
    }
    const auto content = yaml::parse_file(path.string());
    if (!content) {
      for (const Diagnostic& diagnostic : content.error().diagnostics) {
        reader_.complain(diagnostic.where, diagnostic.message, diagnostic.hint);
      }
      return;
    }
    blocks(*content, narrowed, depth + 1);
  }

  Reader& reader_;
};

}  // namespace

ReportSpec read_report(Reader& reader, const yaml::Node& node) {
  ReportReader report(reader);
  report.blocks(node, {}, 0);
  report.spec.wants_ceilings = reader.wants_ceilings();
  return std::move(report.spec);
}

}  // namespace assay::report
