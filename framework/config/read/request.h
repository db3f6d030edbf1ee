#pragma once

// config/read turns the YAML of an experiment into config::Experiment and collects every mistake on
// the way. It depends on config. Start with experiment_reader.cpp, which calls the rest in order;
// what is asked of each axis is collected here.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/read/diagnostics.h"
#include "yaml/document.h"
#include "yaml/keys.h"

namespace assay::config {

// A name and what the experiment, or --set, says it is.
struct Setting {
  std::string name;
  yaml::Node value;
  SourceLocation where;  // of the name
  bool overridden = false;
  bool measuring = false;  // from the measure section
};

// An experiment file taken apart, overrides applied; its names are not looked up yet.
struct Request {
  std::string name;
  std::string title;
  std::optional<yaml::Node> workload;
  std::vector<Setting> matrix;  // in the order written; those --set adds behind
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

// The keys of an experiment; which workloads there are, and what each may name, the catalogue
// knows.
const yaml::Keys<Diagnostics, Request>& request_keys();

Request read_request(const yaml::Node& root, Diagnostics& diagnostics);

struct Written;
Written written_in(const Request& request);

// `limits: {cases: N}`.
void read_case_limit(Diagnostics& diagnostics, const yaml::Node& node, Request& request);

// `--set name=YAML`: replaces an axis or a fixed value, or adds one. A list makes an axis; one
// value stays what the name was, and is fixed where it is new.
void apply_settings(const std::vector<std::string>& settings, Request& request,
                    Diagnostics& diagnostics);

}  // namespace assay::config
