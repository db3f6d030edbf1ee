#include "config/read/request.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "yaml/values.h"

namespace assay::config {
namespace {

const std::vector<std::string> top_keys = {"experiment", "title",   "workload", "matrix",
                                           "exclude",    "include", "zip",      "fixed",
                                           "measure",    "report",  "limits"};
const std::vector<std::string> measure_keys = {
    "passes",      "warmup",    "samples", "target", "min_samples",
    "max_samples", "max_time",  "clock",   "cache",  "calls_per_sample",
    "isolation",   "unhealthy", "timeout", "seed",   "interleave"};

bool is_known(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_experiment_name(const std::string& name) {
  return !name.empty() &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
}

class RequestReader {
 public:
  RequestReader(const yaml::Node& root, Diagnostics& diagnostics)
      : root_(root), diagnostics_(diagnostics) {}

  Request read() {
    request_.matrix_where = root_.where;
    if (!root_.is_mapping()) {
      diagnostics_.add(root_.where, "an experiment is a mapping of keys",
                       "known keys: " + join(top_keys, ", "));
      return std::move(request_);
    }
    known_keys(root_, top_keys);
    read_name();
    if (const yaml::Node* node = scalar("title")) request_.title = node->text;
    if (const yaml::Node* node = required("workload")) request_.workload = *node;
    if (const yaml::Node* node = mapping("matrix")) {
      request_.matrix_where = node->where;
      request_.matrix = settings(*node, "");
    }
    if (const yaml::Node* node = mapping("fixed")) request_.fixed = settings(*node, "");
    read_measure();
    for (const auto& [key, value] : root_.entries) {
      if (key.text == "exclude") request_.exclude_where = key.where;
      // Axes were meant: those behind a comment sign, or indented by too little.
      if (key.text == "matrix" && value.is_null()) {
        diagnostics_.add(key.where, "'matrix' must be a mapping of names to values",
                         "give it an axis, such as `seq_len: [128, 256]`, or leave it out");
      }
    }
    request_.exclude = list_of("exclude", yaml::Node::Kind::mapping, "a mapping of names");
    request_.include = list_of("include", yaml::Node::Kind::mapping, "a mapping of names");
    request_.zip = list_of("zip", yaml::Node::Kind::sequence, "a list of axis names");
    if (const yaml::Node* node = root_.find("report")) request_.report = *node;
    read_limits();
    if (request_.title.empty()) request_.title = request_.name;
    return std::move(request_);
  }

 private:
  void known_keys(const yaml::Node& mapping, const std::vector<std::string>& known) {
    for (const auto& [key, value] : mapping.entries) {
      if (is_known(known, key.text)) continue;
      diagnostics_.add(key.where,
                       fmt::format("unknown key '{}'{}", key.text, suggestion(key.text, known)));
    }
  }

  // The entry when it is there and a scalar; anything else but absence is an error.
  const yaml::Node* scalar(std::string_view key) {
    const yaml::Node* node = root_.find(key);
    if (!node || (node->is_scalar() && !node->text.empty())) return node;
    diagnostics_.add(node->where, fmt::format("'{}' must be text", key));
    return nullptr;
  }

  const yaml::Node* required(std::string_view key) {
    if (!root_.find(key)) {
      diagnostics_.add(root_.where, fmt::format("the key '{}' is missing", key),
                       fmt::format("write '{}: ...' at the top", key));
    }
    return scalar(key);
  }

  // An absent or empty section is nullptr.
  const yaml::Node* mapping(std::string_view key) {
    const yaml::Node* node = root_.find(key);
    if (!node || node->is_null()) return nullptr;
    if (node->is_mapping()) return node;
    diagnostics_.add(node->where, fmt::format("'{}' must be a mapping of names to values", key));
    return nullptr;
  }

  void read_name() {
    const yaml::Node* node = required("experiment");
    if (!node) return;
    if (!is_experiment_name(node->text)) {
      diagnostics_.add(node->where, fmt::format("'{}' cannot name an experiment", node->text),
                       "use lower-case letters, digits, '_' and '-'");
    }
    request_.name = node->text;
  }

  static std::vector<Setting> settings(const yaml::Node& mapping, const std::string& prefix) {
    std::vector<Setting> settings;
    for (const auto& [key, value] : mapping.entries) {
      settings.push_back({prefix + key.text, value, key.where, false, !prefix.empty()});
    }
    return settings;
  }

  void read_measure() {
    const yaml::Node* node = mapping("measure");
    if (!node) return;
    known_keys(*node, measure_keys);
    for (Setting& setting : settings(*node, "measure.")) {
      if (setting.name == "measure.passes") {
        request_.passes = setting.value;
      } else if (is_known(measure_keys, setting.name.substr(8))) {
        request_.fixed.push_back(std::move(setting));
      }
    }
  }

  std::vector<yaml::Node> list_of(std::string_view key, yaml::Node::Kind kind,
                                  std::string_view what) {
    const yaml::Node* node = root_.find(key);
    if (!node || node->is_null()) return {};
    if (!node->is_sequence()) {
      diagnostics_.add(node->where, fmt::format("'{}' must be a list", key));
      return {};
    }
    std::vector<yaml::Node> entries;
    for (const yaml::Node& item : node->items) {
      if (item.kind == kind) {
        entries.push_back(item);
      } else {
        diagnostics_.add(item.where, fmt::format("an entry of '{}' must be {}", key, what));
      }
    }
    return entries;
  }

  void read_limits() {
    const yaml::Node* node = mapping("limits");
    if (!node) return;
    known_keys(*node, {"cases"});
    if (const yaml::Node* cases = node->find("cases")) {
      read_case_limit(*cases, request_, diagnostics_);
    }
  }

  const yaml::Node& root_;
  Diagnostics& diagnostics_;
  Request request_;
};

}  // namespace

const Setting* find_setting(const std::vector<Setting>& settings, std::string_view name) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const Setting& setting) { return setting.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

void read_case_limit(const yaml::Node& node, Request& request, Diagnostics& diagnostics) {
  constexpr std::int64_t most = 100'000'000;
  const Value value = yaml::to_value(node);
  const auto* limit = std::get_if<std::int64_t>(&value);
  if (limit && *limit >= 1 && *limit <= most) {
    request.case_limit = static_cast<std::size_t>(*limit);
  } else {
    diagnostics.add(node.where, fmt::format("limits.cases must be an integer from 1 to {}", most));
  }
}

Request read_request(const yaml::Node& root, Diagnostics& diagnostics) {
  return RequestReader(root, diagnostics).read();
}

}  // namespace assay::config
