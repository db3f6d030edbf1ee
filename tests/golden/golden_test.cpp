#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/text.h"
#include "report/page/report.h"
#include "store/exchange/import.h"
#include "yaml/document.h"

// Each folder beside this file holds a table of a writeup: its figures (data.csv) and its text
// (expected.txt). A layout must render the figures as the writeup printed them.
namespace assay::report {
namespace {

enum class Compare {
  lines,  // byte for byte
  rows,   // byte for byte, but for blank lines
  cells,  // cell by cell: the writeup kept tabs where its table had rules
};

struct Golden {
  std::string name;
  std::string layout;  // under configs/layouts, or "" for layout.yaml beside the data
  Compare compare = Compare::rows;
  int sources = 1;
};

void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.name; }

const std::filesystem::path root = ASSAY_SOURCE_DIR;
const std::filesystem::path layouts = root / "configs/layouts";

std::string folder_of(const Golden& golden) {
  return (root / "tests/golden" / golden.name).string();
}

std::vector<std::string> lines_of(const std::string& text, bool blank_lines) {
  std::vector<std::string> lines;
  for (std::string& line : split(text, '\n')) {
    if (blank_lines || !trim(line).empty()) lines.push_back(std::move(line));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// One document sets the unit of a power of ten in several ways.
std::string one_way(std::string cell) {
  for (const char* spelled : {"\\text{ s}$", " \\text{s}$", "$ s"}) {
    if (const auto at = cell.find(spelled); at != std::string::npos) {
      cell.replace(at, std::string(spelled).size(), "\\text{s}$");
    }
  }
  return cell;
}

std::vector<std::string> cells_of_pipes(const TableSection& table) {
  std::vector<std::string> lines;
  for (std::size_t row = 0; row <= table.columns.front().cells.size(); ++row) {
    std::vector<std::string> cells;
    for (const TableColumn& column : table.columns) {
      cells.push_back(row == 0 ? column.name : one_way(column.cells[row - 1]));
    }
    lines.push_back(join(cells, "\t"));
  }
  return lines;
}

std::vector<std::string> cells_of_tabs(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string& line : lines_of(text, false)) {
    std::vector<std::string> cells;
    for (const std::string& cell : split(line, '\t')) cells.push_back(one_way(cell));
    lines.push_back(join(cells, "\t"));
  }
  return lines;
}

Document rendered(const Golden& golden) {
  std::vector<store::Run> runs;
  for (int i = 0; i < golden.sources; ++i) {
    const std::string file =
        golden.sources == 1 ? "data.csv" : "data_" + std::to_string(i) + ".csv";
    auto run = store::import_file(folder_of(golden) + "/" + file);
    if (!run) ADD_FAILURE() << run.error().text();
    if (run) runs.push_back(std::move(*run));
  }
  Inputs inputs;
  for (const store::Run& run : runs) inputs.sources.emplace_back(&run);
  inputs.with_context = false;
  inputs.layouts = layouts;
  const auto shipped = yaml::documents_below(layouts);
  auto layout = yaml::parse_file(golden.layout.empty() ? folder_of(golden) + "/layout.yaml"
                                                       : shipped.at(golden.layout).string());
  if (!layout) ADD_FAILURE() << layout.error().text();
  if (layout) inputs.spec = std::move(*layout);
  auto document = build(inputs);
  if (!document) ADD_FAILURE() << document.error().text();
  return document ? std::move(*document) : Document();
}

// Lines of tables and texts.
std::vector<std::string> piece_of(const Section& section, Compare compare) {
  if (const auto* table = std::get_if<TableSection>(&section)) {
    if (compare == Compare::cells) return cells_of_pipes(*table);
    return lines_of(*to_markdown(Document{"", {*table}}), true);
  }
  const auto* block = std::get_if<TextSection>(&section);
  return block ? lines_of(block->text, compare == Compare::lines) : std::vector<std::string>();
}

class GoldenTable : public testing::TestWithParam<Golden> {};

TEST_P(GoldenTable, ComesOutAsPrinted) {
  const Golden& golden = GetParam();
  const auto text = read_file(folder_of(golden) + "/expected.txt");
  ASSERT_TRUE(text) << text.error().text();
  const Document document = rendered(golden);
  std::vector<std::string> actual;
  int pieces = 0;
  for (const Section& section : document.sections) {
    const std::vector<std::string> piece = piece_of(section, golden.compare);
    pieces += piece.empty() ? 0 : 1;
    actual.insert(actual.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(pieces, 1) << "tables and texts";
  const std::vector<std::string> expected = golden.compare == Compare::cells
                                                ? cells_of_tabs(*text)
                                                : lines_of(*text, golden.compare == Compare::lines);
  ASSERT_FALSE(actual.empty()) << "nothing was rendered";
  for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    EXPECT_EQ(actual[i], expected[i]) << "line " << i + 1;
  }
  EXPECT_EQ(actual.size(), expected.size());
}

std::string test_name(const testing::TestParamInfo<Golden>& info) { return info.param.name; }

constexpr Compare lines = Compare::lines, rows = Compare::rows, cells = Compare::cells;

const std::vector<Golden> model_timing{
    {"A2", "model_summary", lines},
    {"A3", "model_summary_by_model"},
    {"A4", "model_totals"},
    {"A4_backward", "model_totals_backward"},
    {"A5_warm0", "step_sums", cells},
    {"A5_warm1", "step_sums", cells},
    {"A5_warm5", "step_sums", cells},
    {"A6", "two_machines_precision", cells, 2},
    {"A7_warm", "model_passes", cells},
    {"A7_cold", "model_passes", cells},
    {"A8_pipe", "model_precision"},
    {"A8_ruled", "model_summary_precision", lines},
    {"A8_step", "train_step_summary", lines},
    {"A8_sci", "mixed_precision_sci", cells},
    {"A9_pipe", "compiled_models"},
    {"A9_sci", "compiled_models_sci", cells},
    {"A9_sums", "compiled_totals", cells},
    {"A9_forward", "pass_summary_forward", lines},
    {"A9_forward_backward", "pass_summary_forward_backward", lines},
    {"A9_step", "pass_summary_train_step", lines},
};

const std::vector<Golden> studies{
    {"B3", "kernels", cells},
    {"C1", "accumulation"},
    {"C1_larger", "accumulation_larger"},
    {"D2", "peak_memory", cells},
    {"F1", "", cells},
    {"F2_first", "norm_times_after", cells},
    {"F2_fused", "norm_times_spaced", cells},
    {"F2_compiled", "norm_times", cells},
    {"F2_backward", "norm_times", cells},
    {"F3", "model_norms", cells},
    {"F3_forward", "model_norms", cells},
    {"F3_layernorm", "layernorm_models", cells},
};

const std::vector<Golden> attention{
    {"E1", "attention_times"},
    {"E2", "attention_summary", lines},
    {"E3", "memory_scaling", lines},
    {"E3_compiled", "memory_scaling_compiled", lines},
    {"E4", "attention_compact", lines},
    {"E5", "attention_lines", lines},
    {"E6_pipe", "attention_compiled"},
    {"E6_ruled", "attention_summary_compiled", lines},
    {"E6_lines", "attention_lines", lines},
    {"E7", "attention_comparison", lines},
    {"E8", "attention_flash"},
    {"E9", ""},
    {"E10", ""},
};

const std::vector<Golden> communication{
    {"G1", "collective_lists", lines},
    {"G2", "collective_blocks"},
    {"G3", "", lines},
    {"G4_gloo", "collective_totals"},
    {"G4_mi300x", "collective_totals"},
    {"G4_v100", "collective_totals"},
    {"G4_h100", "collective_totals"},
    {"G5", "collective_times", cells},
    {"H1", "ddp_blocks"},
    {"H1_1", "ddp_blocks"},
    {"H1_2", "ddp_blocks"},
    {"H1_3", "ddp_blocks"},
    {"H2_naive", "nodes", cells},
    {"H2_flat", "nodes_bare", cells},
    {"H2_individual", "nodes_spaced", cells},
    {"H2_overlap", "nodes_spaced", cells},
    {"H3_50", "ddp_toy"},
    {"H3_1000", "ddp_toy"},
    {"H3_5000", "ddp_toy"},
    {"H4", "bucket_sizes", cells},
    {"I2_one_node", "sharded_optimizer", cells},
    {"I2_two_nodes", "sharded_optimizer", cells},
};

TEST(GoldenNote, NamesWhatRanOutOfMemoryUnderA2) {
  const Document document = rendered({"A2", "model_summary"});
  ASSERT_EQ(document.sections.size(), 2u);
  EXPECT_EQ(std::get<Paragraph>(document.sections[1]).text,
            "xl 1024 and 2.7B 1024 ran out of memory");
}

INSTANTIATE_TEST_SUITE_P(ModelTiming, GoldenTable, testing::ValuesIn(model_timing), test_name);
INSTANTIATE_TEST_SUITE_P(Studies, GoldenTable, testing::ValuesIn(studies), test_name);
INSTANTIATE_TEST_SUITE_P(Attention, GoldenTable, testing::ValuesIn(attention), test_name);
INSTANTIATE_TEST_SUITE_P(Communication, GoldenTable, testing::ValuesIn(communication), test_name);

}  // namespace
}  // namespace assay::report
