#include "yaml/writer.h"

#include <gtest/gtest.h>

#include "yaml/values.h"

namespace assay::yaml {
namespace {

Node read_back(const std::string& text) {
  auto node = parse(text, "written.yaml");
  EXPECT_TRUE(node) << text << "\n" << node.error().text();
  return node.value_or(Node());
}

bool same(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size() || a.entries.size() != b.entries.size())
    return false;
  if (a.is_scalar() && to_value(a) != to_value(b)) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!same(a.items[i], b.items[i])) return false;
  }
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    const bool names = a.entries[i].first.text == b.entries[i].first.text;
    if (!names || !same(a.entries[i].second, b.entries[i].second)) return false;
  }
  return true;
}

constexpr const char* written =
    "experiment: a\ntitle: 'What: #1, \"quoted\"?'\nworkload: model_step\n"
    "matrix:\n  seq_len: [128, 0x100, -1]\n  model: [small, 2.7B, 'true', '128', '']\n"
    "  attention:\n    - naive\n    - tiled: {block_m: [64, 128], size: 512 KiB}\n    - flash:\n"
    "report:\n  - prose: |\n      Two lines,\n      and {braces}.\n"
    "  - table: {columns: {\"against fp32\": {format: \"{:.2f}x\", expr: a - b ^ 2}}}\n"
    "measure: {target: 5 %, timeout: 1e3 s}\nfixed:\nempty: {}\n";

TEST(Writer, WritesWhatReadsBackAsTheSame) {
  const Node node = read_back(written);
  EXPECT_TRUE(same(read_back(to_yaml(node)), node)) << to_yaml(node);
  EXPECT_TRUE(same(read_back(to_flow(node)), node)) << to_flow(node);
}

TEST(Writer, KeepsPlainWordsPlain) {
  EXPECT_EQ(to_flow(read_back("[small, 2.7B, 512 KiB, {block_m: 64}]")),
            "[small, 2.7B, 512 KiB, {block_m: 64}]");
  EXPECT_EQ(to_flow(read_back("'64'")), "\"64\"") << "quoted, it is text";
  EXPECT_EQ(to_yaml(read_back("{b: 1, a: [1, 2]}")), "b: 1\na: [1, 2]\n");
}

}  // namespace
}  // namespace assay::yaml
