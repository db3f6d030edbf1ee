// Reads results as JSON Lines and as CSV; exports accepted ones and reads them again.

#include <sstream>

#include "store/exchange/export.h"
#include "store/exchange/import.h"
#include "target.h"

namespace assay::fuzz {
namespace {

const store::ImportOptions options{.when = "2026-01-31T12:34:56Z"};

std::size_t count_series(const store::Run& run) {
  std::size_t count = 0;
  for (const store::CaseResult& result : run.cases) count += result.series.size();
  return count;
}

void require_exchangeable(const store::Run& run) {
  std::ostringstream lines, table;
  require(store::export_json_lines(run, lines).has_value(), "what was read can be written");
  require(store::export_csv(run, table).has_value(), "what was read can be written as CSV");
  if (run.cases.empty()) return;
  // One line can hold all that a CSV's header says for its rows.
  store::ImportOptions lenient = options;
  lenient.line_bytes = std::size_t{1} << 26;
  const auto again = store::import_text(lines.str(), "again.jsonl", lenient);
  if (!again) require_explained(again.error());
  require(again.has_value(), "what was written can be read");
  require(again->cases.size() == run.cases.size(), "no case is lost");
  require(count_series(*again) == count_series(run), "no series is lost");
}

}  // namespace
}  // namespace assay::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  for (const char* name : {"fuzz.jsonl", "fuzz.csv"}) {
    const auto run = store::import_text(fuzz::text_of(data, size), name, fuzz::options);
    if (run) {
      fuzz::require_exchangeable(*run);
    } else {
      fuzz::require_explained(run.error());
    }
  }
  return 0;
}
