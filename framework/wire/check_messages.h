#pragma once

// What host and worker say to each other while a plugin is checked.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/records/records.h"

namespace assay::wire {

// Host → worker: check this plugin.
struct CheckRequest {
  std::string kind;
  std::string name;
  std::string device = "cpu";       // or "cuda"
  store::Parameters options;        // defaults filled in
  std::vector<std::string> checks;  // those to run; empty: all of the kind's
  std::size_t skip = 0;             // checks of the kind, from the first, that are done already
  std::vector<std::string> plugin_files;  // the libraries to take the plugin from
};

struct CheckTitle {
  std::string name;      // "forward"
  std::string sentence;  // what holds where it passes
};

// Worker → host, one JSON object a line. First: every check of the kind, in their order.
struct CheckSuite {
  std::vector<CheckTitle> checks;
};

// A case of a check begins. Where the worker then dies, this is what it died of.
struct CheckBegins {
  std::string check;
  std::string text;  // the case's parameters in words
};

// What all cases of one check came to.
struct CheckResult {
  std::string check;
  std::int64_t passed = 0;
  std::int64_t failed = 0;
  std::int64_t declined = 0;         // the plugin, or the suite, said that they do not apply
  std::vector<std::string> reasons;  // why, each once
  double error = 0;                  // of the case nearest to, or farthest beyond, its tolerance
  double tolerance = 0;              // of that case; 0: nothing was measured against a tolerance
  std::string smallest;              // the smallest case that failed, in words
  std::string complaint;             // what was wrong with it
  std::string note;                  // worth knowing, though not wrong
};

nlohmann::json to_json(const CheckRequest& message);
nlohmann::json to_json(const CheckSuite& message);
nlohmann::json to_json(const CheckBegins& message);
nlohmann::json to_json(const CheckResult& message);

// message_type() of wire/messages.h gives "check_suite", "check_begins" or "check_result".
Result<CheckRequest> check_request_from_json(const nlohmann::json& message);
Result<CheckSuite> check_suite_from_json(const nlohmann::json& message);
Result<CheckBegins> check_begins_from_json(const nlohmann::json& message);
Result<CheckResult> check_result_from_json(const nlohmann::json& message);

}  // namespace assay::wire
