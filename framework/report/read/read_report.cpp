#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "report/read/read_blocks.h"
#include "report/read/shapes.h"

namespace assay::report {
namespace {

using nlohmann::json;
using yaml::Node;

constexpr int max_layout_depth = 8;

struct Blocks {
  std::vector<Block>& all;
  const Filter& where;  // of the enclosing layouts
  int depth;
};

void read_list(Reader& reader, const Node& node, Blocks into, std::vector<SourceLocation>* places);

const Keys<HeadingSpec>& heading_keys() {
  static const Keys<HeadingSpec> keys = {
      {"text", "Its text.", &HeadingSpec::text},
      {"level", "Its level; by default 2.",
       yaml::Shape{json{{"type", "integer"}, {"minimum", 2}, {"maximum", 6}}, &Reader::count},
       [](HeadingSpec& heading, std::size_t level) { heading.level = static_cast<int>(level); }}};
  return keys;
}

void read_heading(Reader& reader, const Node& node, Blocks& into) {
  HeadingSpec heading;
  if (node.is_mapping()) {
    reader.entries(node, "heading", heading_keys(), heading);
    if (heading.level < 2 || heading.level > 6) {
      reader.complain(node, "a heading's level is 2 to 6");
    }
  } else {
    heading.text = reader.text(node, "heading");
  }
  into.all.emplace_back(std::move(heading));
}

constexpr std::pair<const char*, const char*> finding_kinds[] = {
    {"speedup", "Which variants are faster or slower than a baseline."},
    {"scaling", "How time and memory grow with a numeric axis."},
    {"fits", "Where a variant fits the memory and a baseline does not, or the other way round."},
    {"warmup", "What leaving out the warm-up changes."},
    {"noise", "Times with a large spread."},
    {"observers", "What observing costs: the time of a step under an observer over its own."},
    {"drift", "How far training in a precision is from fp32: what the pass against_fp32 has left."},
    {"buckets",
     "What a call and a byte cost an all_reduce, and the best bucket by that beside the fastest."},
    {"kernels", "Which kernels lead, and how the profiler's times differ from the timer's."},
    {"memory",
     "How peaks grow with the context, what 16 bit saves, what would fit on other cards."},
    {"topology", "What lies between the GPUs, and where they and the ranks' cores are."},
    {"failures", "Where results are missing, and why."}};

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const auto& [name, help] : finding_kinds) names.emplace_back(name);
  return names;
}

const Keys<FindingSpec>& finding_keys(const std::string& kind) {
  static const Keys<FindingSpec> common = {
      {"axis", "Its axis; by default every suitable one.", shape::axis(), &FindingSpec::axis},
      {"baseline", "The value of the axis to compare with.", &FindingSpec::baseline},
      {"stat", "What times are; by default as in the report's tables.", shape::centre(),
       &FindingSpec::centre},
      {"where", "Selects results: values by axis, or conditions.", &FindingSpec::where}};
  static const Keys<FindingSpec> of_speedup =
      common +
      Keys<FindingSpec>{
          {"by", "An axis with a mean for each of its values.", shape::axis(), &FindingSpec::by},
          {"with", "An axis that may differ with it, as one tied to it does.", shape::axis(),
           &FindingSpec::with}};
  return kind == "speedup" ? of_speedup : common;
}

json findings_schema() {
  json properties = json::object();
  for (const auto& [kind, help] : finding_kinds) {
    properties[kind] = yaml::described(yaml::object_schema(finding_keys(kind)), help);
  }
  return shape::one_or_list(
      {{"anyOf", {shape::words(kind_names()), yaml::object_schema(properties)}}});
}

void read_finding(Reader& reader, const Node& kind, const Node* options, const Filter& where,
                  FindingsSpec& into) {
  FindingSpec finding;
  finding.kind = reader.choice(kind, "finding", kind_names());
  if (options) {
    reader.entries(*options, "finding " + finding.kind, finding_keys(finding.kind), finding);
    const Node* baseline = options->find("baseline");
    if (baseline && !finding.axis.empty()) {
      reader.check_value(*baseline, finding.axis, finding.baseline);
    }
  }
  finding.where.add(where);
  // What all_reduces cost may be known of the machine alone.
  if (finding.kind == "buckets") reader.note_ceilings();
  if (!finding.kind.empty()) into.findings.push_back(std::move(finding));
}

void read_findings(Reader& reader, const Node& node, Blocks& into) {
  FindingsSpec findings;
  for (const Node& item : node.one_or_more()) {
    for (const auto& [kind, options] : item.entries) {
      read_finding(reader, kind, &options, into.where, findings);
    }
    if (!item.is_mapping()) read_finding(reader, item, nullptr, into.where, findings);
  }
  into.all.emplace_back(std::move(findings));
}

struct NamedLayout {
  std::string name;
  Filter where;
};

const Keys<NamedLayout>& layout_keys() {
  static const Keys<NamedLayout> keys = {
      {"name", "Its file's name.", &NamedLayout::name},
      {"where", "Selects results: values by axis, or conditions.", &NamedLayout::where}};
  return keys;
}

void read_layout(Reader& reader, const Node& node, Blocks& into) {
  NamedLayout layout;
  if (node.is_mapping()) {
    reader.entries(node, "layout", layout_keys(), layout);
  } else {
    layout.name = reader.text(node, "layout");
  }
  layout.where.add(into.where);
  const std::filesystem::path& folder = reader.known().layouts;
  const auto known = yaml::documents_below(folder);
  const auto named = known.find(layout.name);
  if (named == known.end()) {
    std::vector<std::string> names;
    for (const auto& [name, path] : known) names.push_back(name);
    reader.complain_unknown(node.where, "layout", layout.name, names);
    return;
  }
  if (into.depth >= max_layout_depth) {
    reader.complain(node, fmt::format("layout '{}' includes itself", layout.name));
    return;
  }
  const auto content = yaml::parse_file(named->second.string());
  if (content)
    return read_list(reader, *content, {into.all, layout.where, into.depth + 1}, nullptr);
  for (const Diagnostic& diagnostic : content.error().diagnostics) {
    reader.complain(diagnostic.where, diagnostic.message, diagnostic.hint);
  }
}

template <auto read_block>
void add_block(Reader& reader, const Node& node, Blocks& into) {
  auto block = read_block(reader, node);
  if constexpr (requires { block.grid; }) {
    block.grid.where.add(into.where);
  } else {
    block.where.add(into.where);
  }
  into.all.emplace_back(std::move(block));
}

const Keys<Blocks>& block_keys() {
  static const Keys<Blocks> keys = {
      {"heading", "A heading.", shape::text_or(yaml::object_schema(heading_keys())), read_heading},
      {"prose", "Text in Markdown.", shape::of_type<std::string>(),
       [](Blocks& into, std::string text) { into.all.emplace_back(ProseSpec{std::move(text)}); }},
      {"table", "A Markdown table.", shape::refer("table"), add_block<read_table>},
      {"text", "A code block from templates.", shape::refer("text"), add_block<read_text>},
      {"plot", "A picture: a figure over an axis.", shape::refer("plot"), add_block<read_plot>},
      {"timeline", "A picture: one case over time.", shape::refer("timeline"),
       add_block<read_timeline>},
      {"flame", "A picture: where one case spends its time.", shape::refer("flame"),
       add_block<read_flame>},
      {"artefacts", "A table of the files that cases have left, with links.",
       json{{"anyOf", {shape::refer("artefacts"), {{"type", "null"}}}}}, add_block<read_artefacts>},
      {"findings", "Sentences made from the data.", findings_schema(), read_findings},
      {"layout", "The blocks of a layout in configs/layouts, by its name.",
       shape::text_or(yaml::object_schema(layout_keys())), read_layout}};
  return keys;
}

void read_list(Reader& reader, const Node& node, Blocks into, std::vector<SourceLocation>* places) {
  const std::vector<std::string> kinds = yaml::names_of(block_keys());
  const Node* list = node.is_mapping() && node.find("report") ? node.find("report") : &node;
  if (!list->is_sequence()) {
    reader.complain(*list, "a report must be a list of blocks", "blocks: " + join(kinds, ", "));
    return;
  }
  for (const Node& item : list->items) {
    if (!item.is_mapping() || item.entries.size() != 1) {
      reader.complain(item, "a block is a mapping with one key", "one of " + join(kinds, ", "));
      continue;
    }
    yaml::read_keys(block_keys(), item, reader, into, [&](const Node& key) {
      reader.complain_unknown(key.where, "block", key.text, kinds);
    });
    if (places) places->resize(into.all.size(), item.entries.front().first.where);
  }
}

}  // namespace

json block_schema() {
  json schema = yaml::object_schema(block_keys());
  schema["minProperties"] = schema["maxProperties"] = 1;
  return schema;
}

ReportSpec read_report(Reader& reader, const yaml::Node& node) {
  ReportSpec spec;
  read_list(reader, node, {spec.blocks, {}, 0}, &spec.places);
  spec.wants_ceilings = reader.wants_ceilings();
  return spec;
}

}  // namespace assay::report
