#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/text.h"
#include "report/report.h"
#include "store/import.h"
#include "yaml/document.h"

// Each folder beside this file holds figures of one table of a writeup (data.csv) and the table's
// own text (expected.txt). The table is rendered from the figures by a layout and must come out as
// the writeup printed it.
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

std::string folder_of(const Golden& golden) { return (root / "tests/golden" / golden.name).string(); }

std::vector<std::string> lines_of(const std::string& text, bool blank_lines) {
  std::vector<std::string> lines;
  for (std::string& line : split(text, '\n')) {
    if (blank_lines || !trim(line).empty()) lines.push_back(std::move(line));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// The unit inside a power of ten is set in several ways within one document.
std::string one_way(std::string cell) {
  for (const char* spelled : {"\\text{ s}", " \\text{s}"}) {
    if (const auto at = cell.find(spelled); at != std::string::npos) {
      cell.replace(at, std::string(spelled).size(), "\\text{s}");
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
    const std::string file = golden.sources == 1 ? "data.csv" : "data_" + std::to_string(i) + ".csv";
    auto run = store::import_file(folder_of(golden) + "/" + file);
    if (!run) ADD_FAILURE() << run.error().text();
    if (run) runs.push_back(std::move(*run));
  }
  Inputs inputs;
  for (const store::Run& run : runs) inputs.sources.push_back(&run);
  inputs.with_context = false;
  inputs.layouts = layouts;
  const std::string spec = golden.layout.empty() ? folder_of(golden) + "/layout.yaml"
                                                 : (layouts / (golden.layout + ".yaml")).string();
  auto layout = yaml::parse_file(spec);
  if (!layout) ADD_FAILURE() << layout.error().text();
  if (layout) inputs.spec = std::move(*layout);
  auto document = build(inputs);
  if (!document) ADD_FAILURE() << document.error().text();
  return document ? std::move(*document) : Document();
}

class GoldenTable : public testing::TestWithParam<Golden> {};

TEST_P(GoldenTable, ComesOutAsPrinted) {
  const Golden& golden = GetParam();
  const auto text = read_file(folder_of(golden) + "/expected.txt");
  ASSERT_TRUE(text) << text.error().text();
  const Document document = rendered(golden);
  std::vector<std::string> actual;
  for (const Section& section : document.sections) {
    if (const auto* table = std::get_if<TableSection>(&section)) {
      if (golden.compare == Compare::cells) {
        actual = cells_of_pipes(*table);
      } else {
        Document only{"", {*table}};
        actual = lines_of(*to_markdown(only), true);
      }
    } else if (const auto* block = std::get_if<TextSection>(&section)) {
      actual = lines_of(block->text, golden.compare == Compare::lines);
    }
  }
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

INSTANTIATE_TEST_SUITE_P(
    ModelTiming, GoldenTable,
    testing::Values(Golden{"A2", "model_summary", Compare::lines},
                    Golden{"A3", "model_summary_by_model"},
                    Golden{"A4", "model_totals"}, Golden{"A4_backward", "model_totals_backward"},
                    Golden{"A7_warm", "model_passes", Compare::cells},
                    Golden{"A7_cold", "model_passes", Compare::cells},
                    Golden{"A8_pipe", "model_precision"},
                    Golden{"A8_ruled", "model_summary_precision", Compare::lines},
                    Golden{"A8_step", "train_step_summary", Compare::lines},
                    Golden{"A8_sci", "", Compare::cells}),
    test_name);

INSTANTIATE_TEST_SUITE_P(Attention, GoldenTable,
                         testing::Values(Golden{"E1", "attention_times"},
                                         Golden{"E2", "attention_summary", Compare::lines}),
                         test_name);

INSTANTIATE_TEST_SUITE_P(Collectives, GoldenTable,
                         testing::Values(Golden{"G2", "collective_blocks"}), test_name);

}  // namespace
}  // namespace assay::report
