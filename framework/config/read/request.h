#pragma once

// config/read turns an experiment's YAML into config::Experiment and collects its mistakes. It
// depends on config. Start with experiment_reader.cpp, which calls the rest in order.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/read/diagnostics.h"
#include "yaml/document.h"
#include "yaml/keys.h"

namespace assay::config {

struct Setting {
  std::string name;
  yaml::Node value;
  SourceLocation where;  // of the name
  bool overridden = false;
  bool measuring = false;  // from the measure section
};

// The parts of an experiment file, with overrides; names are not looked up yet.
struct Request {
  std::string name;
  std::string title;
  std::optional<yaml::Node> workload;
  std::vector<Setting> matrix;  // in the order written, then those of --set
  std::vector<Setting> fixed;   // the measure section's as "measure.<key>"
  std::optional<yaml::Node> passes;
  std::vector<yaml::Node> exclude;  // mappings
  SourceLocation exclude_where;     // of the key
  std::vector<yaml::Node> include;  // mappings
  std::vector<yaml::Node> zip;      // sequences of scalars
  yaml::Node report;
  std::size_t case_limit = 1'000'000;
  SourceLocation matrix_where;
};

const Setting* find_setting(const std::vector<Setting>& settings, std::string_view name);

const yaml::Keys<Diagnostics, Request>& request_keys();

Request read_request(const yaml::Node& root, Diagnostics& diagnostics);

struct Written;
Written written_in(const Request& request);

void read_case_limit(Diagnostics& diagnostics, const yaml::Node& node, Request& request);

// `--set name=YAML` replaces an axis or a fixed value, or adds one. A list makes an axis; a single
// value keeps the name's section, and a new name becomes fixed.
void apply_settings(const std::vector<std::string>& settings, Request& request,
                    Diagnostics& diagnostics);

struct Changes;
// The same for a chapter's settings.
void apply_changes(const Changes& changes, Request& request, Diagnostics& diagnostics);

}  // namespace assay::config
