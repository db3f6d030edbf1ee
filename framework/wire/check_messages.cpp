#include "wire/check_messages.h"

#include "store/records/json.h"
#include "wire/messages.h"

namespace assay::wire {

namespace {

Result<CheckTitle> title_from_json(const nlohmann::json& json) {
  FieldReader fields(json, "a check", FieldReader::Needs::every_field);
  CheckTitle title;
  fields.text("name", title.name);
  fields.text("sentence", title.sentence);
  return fields.finish(std::move(title));
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
          {"error", number_to_json(message.error)},
          {"tolerance", number_to_json(message.tolerance)},
          {"smallest", message.smallest},
          {"complaint", message.complaint},
          {"note", message.note}};
}

Result<CheckRequest> check_request_from_json(const nlohmann::json& message) {
  FieldReader fields = reader_of(message, "check");
  CheckRequest request;
  fields.text("kind", request.kind);
  fields.text("name", request.name);
  fields.text("device", request.device);
  fields.object("options", store::parameters_from_json, request.options);
  fields.texts("checks", request.checks);
  fields.integer("skip", request.skip);
  fields.texts("plugin_files", request.plugin_files);
  return fields.finish(std::move(request));
}

Result<CheckSuite> check_suite_from_json(const nlohmann::json& message) {
  FieldReader fields = reader_of(message, "check_suite");
  CheckSuite suite;
  fields.list("checks", title_from_json, suite.checks);
  return fields.finish(std::move(suite));
}

Result<CheckBegins> check_begins_from_json(const nlohmann::json& message) {
  FieldReader fields = reader_of(message, "check_begins");
  CheckBegins begins;
  fields.text("check", begins.check);
  fields.text("text", begins.text);
  return fields.finish(std::move(begins));
}

Result<CheckResult> check_result_from_json(const nlohmann::json& message) {
  FieldReader fields = reader_of(message, "check_result");
  CheckResult result;
  fields.text("check", result.check);
  fields.integer("passed", result.passed);
  fields.integer("failed", result.failed);
  fields.integer("declined", result.declined);
  fields.texts("reasons", result.reasons);
  fields.number("error", result.error);
  fields.number("tolerance", result.tolerance);
  fields.text("smallest", result.smallest);
  fields.text("complaint", result.complaint);
  fields.text("note", result.note);
  return fields.finish(std::move(result));
}

}  // namespace assay::wire
