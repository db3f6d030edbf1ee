#pragma once

// The messages between host and worker while a plugin is checked.

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
  std::vector<std::string> checks;  // empty: all of the kind's
  std::size_t skip = 0;             // the kind's first checks, already done
  std::vector<std::string> plugin_files;
};

struct CheckTitle {
  std::string name;      // "forward"
  std::string sentence;  // the property it checks
};

// Worker → host, first: every check of the kind, in order.
struct CheckSuite {
  std::vector<CheckTitle> checks;
};

// A case of a check begins: names the culprit should the worker die.
struct CheckBegins {
  std::string check;
  std::string text;  // the case's parameters in words
};

struct CheckResult {
  std::string check;
  std::int64_t passed = 0;
  std::int64_t failed = 0;
  std::int64_t declined = 0;         // by the plugin or the suite, as not applicable
  std::vector<std::string> reasons;  // of declining, each once
  double error = 0;                  // of the case nearest to, or farthest beyond, its tolerance
  double tolerance = 0;              // of that case; 0: no tolerance was used
  std::string smallest;              // the smallest failed case, in words
  std::string complaint;             // its failure
  std::string note;                  // worth knowing, though no failure
};

nlohmann::json to_json(const CheckRequest& message);
nlohmann::json to_json(const CheckSuite& message);
nlohmann::json to_json(const CheckBegins& message);
nlohmann::json to_json(const CheckResult& message);

// message_type() returns "check", "check_suite", "check_begins" or "check_result".
Result<CheckRequest> check_request_from_json(const nlohmann::json& message);
Result<CheckSuite> check_suite_from_json(const nlohmann::json& message);
Result<CheckBegins> check_begins_from_json(const nlohmann::json& message);
Result<CheckResult> check_result_from_json(const nlohmann::json& message);

}  // namespace assay::wire
