#pragma once

#include <string>
#include <vector>

#include "report/document/document.h"
#include "store/records/suite.h"

namespace assay::report {

// A chapter of a suite's document, or a text between two.
struct SuiteChapter {
  std::string name;              // "": a text alone
  std::string question;          // its heading
  std::string text;              // Markdown
  std::string left;              // why it has no results
  std::size_t cases = 0;         // it asks for
  std::size_t measured = 0;      // of them have a result
  std::vector<store::Run> runs;  // its cases, of each suite run that has some; none: it is left
  Document content;              // of its report, without context; pictures lie in a folder `name`
};

struct SuiteDocument {
  std::string title;
  std::string text;                     // Markdown below the title
  std::vector<const store::Run*> runs;  // of the suite
  std::vector<SuiteChapter> chapters;
};

// Title, contents, the chapters that have results, and one appendix: the environment, how each
// chapter was measured, marks, and the chapters that are left, with the reason.
Result<Document> suite_document(SuiteDocument suite);

}  // namespace assay::report
