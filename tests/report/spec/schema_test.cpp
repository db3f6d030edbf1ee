#include "report/read/schema.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "base/text.h"
#include "report/page/report.h"
#include "source_root.h"
#include "yaml/values.h"

namespace assay::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// "": the schema accepts it.
std::string objections(const yaml::Node& report) {
  valijson::Schema schema;
  valijson::SchemaParser parser;
  const json written = report_schema();
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(written), schema);
  const json document = yaml::to_json(report);
  const valijson::adapters::NlohmannJsonAdapter target(document);
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (validator.validate(schema, target, &results)) return "";
  std::string text;
  valijson::ValidationResults::Error error;
  while (results.popError(error)) text += join(error.context, "") + " " + error.description + "\n";
  return text.empty() ? "refused" : text;
}

std::string objections_to(const std::string& text) {
  const auto node = yaml::parse(text, "spec.yaml");
  return node ? objections(*node) : node.error().text();
}

TEST(ReportSchema, AcceptsEveryLayoutAndExperiment) {
  std::size_t count = 0;
  for (const char* folder : {"configs/layouts", "experiments"}) {
    for (const auto& entry : fs::recursive_directory_iterator(source_root / folder)) {
      if (!entry.is_regular_file()) continue;
      const auto node = yaml::parse_file(entry.path().string());
      ASSERT_TRUE(node) << node.error().text();
      const yaml::Node* report = node->is_mapping() ? node->find("report") : &*node;
      if (report == nullptr) continue;
      ++count;
      EXPECT_EQ(objections(*report), "") << entry.path();
    }
  }
  EXPECT_GT(count, 40u);
}

TEST(ReportSchema, AcceptsEveryExampleOfThePage) {
  const auto page = read_file((source_root / "docs/reports.md").string());
  ASSERT_TRUE(page);
  const std::string start = "```yaml\n";
  std::size_t count = 0;
  for (std::size_t at = page->find(start); at != std::string::npos; at = page->find(start, at)) {
    at += start.size();
    const std::string example = page->substr(at, page->find("```", at) - at);
    ++count;
    EXPECT_EQ(objections_to(example), "") << example;
  }
  EXPECT_GE(count, 20u);
}

TEST(ReportSchema, RefusesWhatTheReaderRefuses) {
  for (const char* report :
       {"- tabel: {}", "- table: {colums: {}}", "- {heading: a, prose: b}", "table: {}",
        "- table: {columns: {x: {metric: time, fromat: g6}}}", "- plot: {scale: loglog}",
        "- findings: [speedups]", "- table: {columns: {x: {metric: time, stat: avg}}}",
        "- heading: {level: 7, text: a}", "- timeline: {lanes: [a], overlap: {between: b}}",
        "- table: {cells: {omm: X}}", "- text: {group: {over: a}}"}) {
    EXPECT_NE(objections_to(report), "") << report;
    EXPECT_FALSE(check(*yaml::parse(report, "spec.yaml"), {}).empty()) << report;
  }
}

// The known keys of a construct, from the reader's complaint about an unknown one.
std::set<std::string> keys_of_the_reader(const std::string& report) {
  for (const Diagnostic& diagnostic : check(*yaml::parse(report, "spec.yaml"), {})) {
    const std::size_t at = diagnostic.hint.find("known: ");
    if (diagnostic.message.find("no key 'zzzzzzzz'") == std::string::npos) continue;
    std::set<std::string> keys;
    for (const std::string& key : split(diagnostic.hint.substr(at + 7), ',')) {
      keys.insert(std::string(trim(key)));
    }
    return keys;
  }
  ADD_FAILURE() << "the reader takes " << report;
  return {};
}

std::set<std::string> keys_of(const json& schema) {
  std::set<std::string> keys;
  for (const auto& [key, value] : schema["properties"].items()) keys.insert(key);
  return keys;
}

// The first object of the schema with this property.
const json* object_with(const json& schema, const std::string& property) {
  if (schema.is_object() && schema.contains("properties") &&
      schema["properties"].contains(property)) {
    return &schema;
  }
  if (!schema.is_structured()) return nullptr;
  for (const json& item : schema) {
    if (const json* found = object_with(item, property)) return found;
  }
  return nullptr;
}

TEST(ReportSchema, HasTheKeysOfPivotsNotesAndFindings) {
  const json definitions = report_schema()["definitions"];
  std::set<std::string> of_pivot =
      keys_of_the_reader("- table: {pivot: {by: a, metric: a, zzzzzzzz: 1}}");
  of_pivot.merge(std::set<std::string>{"by", "name"});  // given in the text
  EXPECT_EQ(keys_of(definitions["pivot"]), of_pivot);

  const json& table = definitions["table"]["properties"];
  const json* note = object_with(table["note"], "each");
  ASSERT_NE(note, nullptr);
  EXPECT_EQ(keys_of(*note), keys_of_the_reader("- table: {note: {zzzzzzzz: 1}}"));

  const json& findings = definitions["block"]["properties"]["findings"];
  const json* kinds = object_with(findings, "speedup");
  ASSERT_NE(kinds, nullptr);
  for (const std::string& kind : keys_of(*kinds)) {
    EXPECT_EQ(keys_of((*kinds)["properties"][kind]),
              keys_of_the_reader("- findings: [{" + kind + ": {zzzzzzzz: 1}}]"))
        << kind;
  }
}

TEST(ReportSchema, HasTheKeysThatTheReaderTakes) {
  const json definitions = report_schema()["definitions"];
  for (const char* name : {"table", "text", "plot", "timeline"}) {
    EXPECT_EQ(keys_of(definitions[name]),
              keys_of_the_reader("- " + std::string(name) + ": {zzzzzzzz: 1}"))
        << name;
  }
  const std::set<std::string> of_columns = keys_of(definitions["column"]);
  std::set<std::string> taken;
  for (const char* kind :
       {"axis: a", "metric: a", "rate: a", "expr: '1'", "join: [a]", "text: a"}) {
    taken.merge(
        keys_of_the_reader("- table: {columns: {x: {" + std::string(kind) + ", zzzzzzzz: 1}}}"));
  }
  EXPECT_EQ(of_columns, taken);
}

// `assay schema` also writes the plugins' part of that file. ASSAY_WRITE_DOCS (tools/docs) writes
// this part.
TEST(ReportSchema, IsInTheShippedSchemaOfExperiments) {
  const std::string file = (source_root / "configs/experiment.schema.json").string();
  const auto text = read_file(file);
  ASSERT_TRUE(text);
  json shipped = json::parse(*text);
  json report = report_schema();
  json definitions = report["definitions"];
  for (const char* of_files : {"experiment", "suite"}) {
    definitions[of_files] = shipped["definitions"][of_files];
  }
  shipped["definitions"] = std::move(definitions);
  report.erase("definitions");
  shipped["definitions"]["experiment"]["properties"]["report"].update(report);
  const std::string expected = shipped.dump(2) + "\n";
  if (std::getenv("ASSAY_WRITE_DOCS") != nullptr) {
    ASSERT_TRUE(write_file(file, expected));
  } else {
    EXPECT_TRUE(*text == expected) << file << " is out of date: run tools/docs";
  }
}

}  // namespace
}  // namespace assay::report
