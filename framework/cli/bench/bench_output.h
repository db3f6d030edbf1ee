#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/bench/bench_result.h"
#include "report/document/document.h"

namespace assay::cli {

// A sentence for each comparison: "mine ran 1.31 ± 0.02 times faster than flash (seq_len 4096)",
// with the distance to the farther end of the ratio's 99 % interval. What does not differ by that
// and by 1 % has no figure: "No difference between mine and flash".
std::vector<std::string> bench_sentences(const BenchResult& result);

// A row for each variant, place and pass; with a baseline the change since then. Figures are
// explained by bench_notes().
report::TableSection bench_table(const BenchResult& result);

// What the table's signs mean: variants that did not take turns, marks, outcomes with their
// reasons.
std::vector<std::string> bench_notes(const BenchResult& result);

// Sentences, table and notes, for a terminal and as Markdown.
std::string bench_text(const BenchResult& result);
std::string bench_markdown(const BenchResult& result);

// A header and a line for each row of the table, times in s.
std::string bench_csv(const BenchResult& result);

// {"run", "kind", "baseline", "results": […], "comparisons": […]}, as docs/running.md describes.
nlohmann::ordered_json bench_json(const BenchResult& result);

}  // namespace assay::cli
