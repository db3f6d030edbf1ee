#include "wire/check_messages.h"

#include "store/records/json.h"
#include "wire/fields.h"

namespace assay::wire {

namespace {

// An error may be infinite, which JSON's numbers cannot be.
double number_at(const nlohmann::json& message, const char* name) {
  const auto value = store::value_from_json(message.at(name));
  const double* number = value ? std::get_if<double>(&*value) : nullptr;
  return number == nullptr ? 0 : *number;
}

}  // namespace

nlohmann::json to_json(const CheckRequest& message) {
  return {{"type", "check"},
          {"kind", message.kind},
          {"name", message.name},
          {"device", message.device},
          {"options", store::to_json(message.options)},
          {"checks", message.checks},
          {"skip", message.skip},
          {"plugin_files", message.plugin_files}};
}

nlohmann::json to_json(const CheckSuite& message) {
  nlohmann::json checks = nlohmann::json::array();
  for (const auto& [name, sentence] : message.checks) {
    checks.push_back({{"name", name}, {"sentence", sentence}});
  }
  return {{"type", "check_suite"}, {"checks", std::move(checks)}};
}

nlohmann::json to_json(const CheckBegins& message) {
  return {{"type", "check_begins"}, {"check", message.check}, {"text", message.text}};
}

nlohmann::json to_json(const CheckResult& message) {
  return {{"type", "check_result"},
          {"check", message.check},
          {"passed", message.passed},
          {"failed", message.failed},
          {"declined", message.declined},
          {"reasons", message.reasons},
          {"error", store::to_json(Value(message.error))},
          {"tolerance", store::to_json(Value(message.tolerance))},
          {"smallest", message.smallest},
          {"complaint", message.complaint},
          {"note", message.note}};
}

Result<CheckRequest> check_request_from_json(const nlohmann::json& message) {
  return parse_message("check", [&]() -> Result<CheckRequest> {
    auto options = store::parameters_from_json(message.at("options"));
    if (!options) return tl::unexpected(options.error());
    return CheckRequest{message.at("kind"),
                        message.at("name"),
                        message.at("device"),
                        std::move(*options),
                        message.at("checks").get<std::vector<std::string>>(),
                        integer_at<std::size_t>(message, "skip"),
                        message.at("plugin_files").get<std::vector<std::string>>()};
  });
}

Result<CheckSuite> check_suite_from_json(const nlohmann::json& message) {
  return parse_message("check_suite", [&]() -> Result<CheckSuite> {
    CheckSuite suite;
    for (const auto& check : message.at("checks")) {
      suite.checks.push_back({check.at("name"), check.at("sentence")});
    }
    return suite;
  });
}

Result<CheckBegins> check_begins_from_json(const nlohmann::json& message) {
  return parse_message("check_begins", [&]() -> Result<CheckBegins> {
    return CheckBegins{message.at("check"), message.at("text")};
  });
}

Result<CheckResult> check_result_from_json(const nlohmann::json& message) {
  return parse_message("check_result", [&]() -> Result<CheckResult> {
    CheckResult result;
    result.check = message.at("check");
    result.passed = integer_at<std::int64_t>(message, "passed");
    result.failed = integer_at<std::int64_t>(message, "failed");
    result.declined = integer_at<std::int64_t>(message, "declined");
    result.reasons = message.at("reasons").get<std::vector<std::string>>();
    result.error = number_at(message, "error");
    result.tolerance = number_at(message, "tolerance");
    result.smallest = message.at("smallest");
    result.complaint = message.at("complaint");
    result.note = message.at("note");
    return result;
  });
}

}  // namespace assay::wire
