#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config/experiment.h"

namespace assay::config {

// What a chapter changes where its cases run on one device.
struct OnDevice {
  std::vector<yaml::Node::Entry> settings;
  std::vector<yaml::Node> filters;
  std::string leave;  // why the chapter is left out there; "": it is not
};

// A chapter of a suite, or a text between two.
struct Chapter {
  std::string name;  // unique; "": a text alone
  std::string text;  // Markdown
  Changes changes;
  std::map<std::string, OnDevice> on;
  // The experiment: of a file, or written in the suite.
  std::string named;  // as written; "" of an experiment that the suite holds
  std::string file;
  std::string experiment_text;
  yaml::Document experiment;
  SourceLocation where;

  bool is_text() const { return name.empty(); }
  // For chapters on `device`; its settings follow those of the chapter.
  Changes changes_on(const std::string& device) const;
  const std::string& leave_on(const std::string& device) const;
};

// Several experiments that are measured together and reported as one document.
struct Suite {
  std::string name;
  std::string title;
  std::string text;     // Markdown below the title
  std::string file;     // as given
  std::string written;  // its YAML
  std::vector<Chapter> chapters;

  std::vector<std::string> names() const;  // of the chapters, without texts
};

// Whether a document is a suite rather than an experiment.
bool is_suite(const yaml::Node& root);
bool is_suite(std::string_view text);

struct OpenedFile {
  std::string path;
  std::string text;
};
// Opens the file that a chapter names.
using OpenFile = std::function<Result<OpenedFile>(const std::string& named)>;

// Errors are of the suite's own keys and of files that cannot be opened; each chapter's experiment
// is read with read_document().
Result<Suite> read_suite(std::string_view text, const std::string& file_name, const OpenFile& open);

// The devices that `on` may name.
std::vector<std::string> suite_devices();

// JSON Schema (draft 7) of a file that is an experiment or a suite; `experiment`: the schema of an
// experiment with its report.
nlohmann::json file_schema(nlohmann::json experiment);
// Of a suite alone: it refers to `#/definitions/experiment`.
nlohmann::json suite_schema();

}  // namespace assay::config
