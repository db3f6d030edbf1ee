#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "base/text.h"
#include "config/shipped_catalogue.h"
#include "config/suite.h"
#include "test_catalogue.h"
#include "yaml/values.h"

namespace assay::config {
namespace {

namespace fs = std::filesystem;

// The schema's objection, or "".
std::string objections(const std::string& text, const nlohmann::json& written) {
  valijson::Schema schema;
  valijson::SchemaParser parser;
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(written), schema);
  const auto document = yaml::parse(text, "test.yaml");
  if (!document) return document.error().text();
  const nlohmann::json json = yaml::to_json(*document);
  const valijson::adapters::NlohmannJsonAdapter target(json);
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (validator.validate(schema, target, &results)) return "";
  std::string text_of_all;
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    for (const std::string& step : error.context) text_of_all += step;
    text_of_all += " " + error.description + "\n";
  }
  return text_of_all;
}

std::string objections(const std::string& text) {
  return objections(text, experiment_schema(test_environment()));
}

// The schema for editors, of the shipped plugins; an end-to-end test compares it with the program's
// output.
nlohmann::json shipped_schema() {
  std::ifstream file(fs::path(ASSAY_SOURCE_DIR) / "configs" / "experiment.schema.json");
  return nlohmann::json::parse(file);
}

// The experiments, or the suites.
std::vector<fs::path> shipped(bool suites = false) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(ASSAY_SOURCE_DIR) / "experiments")) {
    if (entry.path().extension() != ".yaml") continue;
    if (is_suite(read_file(entry.path().string()).value_or("")) == suites) {
      files.push_back(entry.path());
    }
  }
  return files;
}

TEST(ShippedExperiments, AreReadAndExpanded) {
  ASSERT_GE(shipped().size(), 6u);
  for (const fs::path& file : shipped()) {
    const auto experiment = read_experiment(file.string(), shipped_environment());
    ASSERT_TRUE(experiment) << experiment.error().text();
    EXPECT_EQ(experiment->name, file.stem().string());
    EXPECT_NE(experiment->title, experiment->name) << "a title of its own";
    const auto plan = expand(*experiment);
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_GE(plan->size(), 1u);
  }
}

TEST(ShippedExperiments, SatisfyTheSchema) {
  const nlohmann::json schema = shipped_schema();
  for (const fs::path& file : shipped()) {
    const auto experiment = read_experiment(file.string(), shipped_environment());
    ASSERT_TRUE(experiment) << experiment.error().text();
    EXPECT_EQ(objections(experiment->text, schema), "") << file;
    EXPECT_EQ(experiment->text.rfind("# yaml-language-server: $schema=../configs/"
                                     "experiment.schema.json\n",
                                     0),
              0u)
        << file;
  }
}

TEST(ShippedExperiments, SuitesSatisfyTheSchema) {
  ASSERT_FALSE(shipped(true).empty());
  for (const fs::path& file : shipped(true)) {
    EXPECT_EQ(objections(*read_file(file.string()), shipped_schema()), "") << file;
  }
}

TEST(ShippedExperiments, NameOnlyPluginsThatExist) {
  // `tiled` exists only in the tests' catalogue.
  const std::string text =
      "{experiment: a, workload: attention, fixed: {attention: {tiled: {block_m: 64}}}}";
  EXPECT_TRUE(parse_experiment(text, "test.yaml", test_environment()));
  EXPECT_NE(objections(text, shipped_schema()), "");
}

struct Sample {
  const char* name;
  const char* text;
};

void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.name; }

const auto name_of = [](const testing::TestParamInfo<Sample>& tested) {
  return std::string(tested.param.name);
};

class SchemaAccepts : public testing::TestWithParam<Sample> {};

TEST_P(SchemaAccepts, WhatTheReaderAccepts) {
  const auto experiment = parse_experiment(GetParam().text, "test.yaml", test_environment());
  EXPECT_TRUE(experiment) << experiment.error().text();
  EXPECT_EQ(objections(GetParam().text), "");
}

INSTANTIATE_TEST_SUITE_P(
    Experiments, SchemaAccepts,
    testing::Values(
        Sample{"smallest", "{experiment: a, workload: attention}"},
        Sample{"empty_sections", "experiment: a\nworkload: attention\nfixed:\nzip:\n"},
        Sample{"options",
               "experiment: a\nworkload: attention\nmatrix:\n  attention: [naive, {tiled: "
               "{block_m: [64, 128], workspace: 1 MiB}}, {flash: }]\n  attention.block_n: 32\n"},
        Sample{"entries",
               "experiment: a\nworkload: attention\nmatrix: {seq_len: [1, 2]}\n"
               "exclude: [{seq_len: [1], attention: naive}]\n"
               "include: [{attention: {tiled: {block_m: 64}}, seq_len: 3}]\n"},
        Sample{"compiled_values",
               "experiment: a\nworkload: norm\nmatrix:\n  norm: [{staged: {stages: [1, 4]}}]\n"},
        Sample{"quantities",
               "experiment: a\nworkload: transfer\nmatrix: {size: [1 B, 1.5 GB, 512KiB]}\n"
               "measure: {timeout: 5 min, passes: send, clock: wall}\nlimits: {cases: 10}\n"},
        Sample{"value_tied_to_several",
               "experiment: a\nworkload: attention\nmatrix: {seq_len: [8, 8], batch: [1, 2]}\n"
               "zip: [[seq_len, batch]]\n"},
        Sample{"zip_and_host_axes",
               "experiment: a\nworkload: model_step\nmatrix: {model: [small, 2.7B], batch: [4, 2], "
               "world_size: [1, 2], measure.warmup: [5, 0]}\nzip: [[model, batch]]\n"}),
    name_of);

class SchemaRefuses : public testing::TestWithParam<Sample> {};

TEST_P(SchemaRefuses, WhatTheReaderRefuses) {
  EXPECT_FALSE(parse_experiment(GetParam().text, "test.yaml", test_environment()));
  EXPECT_NE(objections(GetParam().text), "");
}

INSTANTIATE_TEST_SUITE_P(
    Experiments, SchemaRefuses,
    testing::Values(
        Sample{"unknown_key", "{experiment: a, workload: attention, matrx: {}}"},
        Sample{"null_matrix", "experiment: a\nworkload: attention\nmatrix:\n"},
        Sample{"missing_workload", "{experiment: a}"},
        Sample{"unknown_workload", "{experiment: a, workload: atention}"},
        Sample{"bad_name", "{experiment: A B, workload: attention}"},
        Sample{"unknown_axis", "{experiment: a, workload: attention, matrix: {sq_len: [1]}}"},
        Sample{"unknown_variant", "{experiment: a, workload: attention, fixed: {attention: fls}}"},
        Sample{"unknown_option",
               "{experiment: a, workload: attention, fixed: {attention: {tiled: {blok: 1}}}}"},
        Sample{"external_of_another_workload",
               "{experiment: a, workload: attention, fixed: {compile: torch_eager}}"},
        Sample{"unused_kind", "{experiment: a, workload: attention, matrix: {norm: rmsnorm}}"},
        Sample{"wrong_type", "{experiment: a, workload: attention, fixed: {batch: many}}"},
        Sample{"out_of_bounds", "{experiment: a, workload: attention, matrix: {seq_len: [0]}}"},
        Sample{"value_that_is_not_compiled",
               "{experiment: a, workload: norm, fixed: {norm: {staged: {stages: 3}}}}"},
        Sample{"empty_axis", "{experiment: a, workload: attention, matrix: {seq_len: []}}"},
        Sample{"duplicate_pass",
               "{experiment: a, workload: attention, measure: {passes: [forward, forward]}}"},
        Sample{"bare_size", "{experiment: a, workload: transfer, fixed: {size: 100}}"},
        Sample{"bare_duration", "{experiment: a, workload: attention, measure: {timeout: 3}}"},
        Sample{"unknown_model", "{experiment: a, workload: model_step, fixed: {model: smal}}"},
        Sample{"unknown_pass",
               "{experiment: a, workload: attention, measure: {passes: [train_step]}}"},
        Sample{"list_in_fixed", "{experiment: a, workload: attention, fixed: {batch: [1, 2]}}"}),
    name_of);

TEST(Schema, OfAFileTakesSuitesAndExperiments) {
  const nlohmann::json schema = file_schema(experiment_schema(test_environment()));
  EXPECT_EQ(objections("{experiment: a, workload: attention}", schema), "");
  EXPECT_NE(objections("{experiment: a, workload: atention}", schema), "");
  const std::string suite =
      "suite: a\ntitle: All\nchapters:\n  - text: Between.\n  - chapter: b\n    experiment: "
      "b.yaml\n"
      "    set: {seq_len: [64, 128], attention: {tiled: {block_m: 64}}}\n"
      "    filter: [seq_len < 100]\n    report: model_summary\n    needs: seq_len > 1\n"
      "    on: {cpu: {set: {batch: 1}, filter: batch > 0}, cuda: {leave: known}}\n"
      "  - experiment: {experiment: c, workload: attention}\n";
  EXPECT_EQ(objections(suite, schema), "");
  for (const char* wrong :
       {"suite: a\n", "suite: a b\nchapters: [{experiment: b}]\n",
        "suite: a\nchapters: [{experimnt: b}]\n", "suite: a\nchapters: []\n",
        "suite: a\nchapters: [{experiment: b, on: {gpu: {}}}]\n",
        "suite: a\nchapters: [{experiment: {experiment: c, workload: atention}}]\n"}) {
    EXPECT_NE(objections(wrong, schema), "") << wrong;
  }
}

TEST(Schema, DescribesWhatAnEditorShows) {
  const nlohmann::json schema = experiment_schema(test_environment());
  EXPECT_EQ(schema["$schema"], "http://json-schema.org/draft-07/schema#");
  const nlohmann::json& workloads = schema["allOf"];
  const auto found = std::ranges::find_if(workloads, [](const nlohmann::json& one) {
    return one["if"]["properties"]["workload"]["const"] == "attention";
  });
  ASSERT_NE(found, workloads.end());
  const nlohmann::json& attention = *found;
  const nlohmann::json& axes = attention["then"]["properties"]["matrix"]["properties"];
  EXPECT_EQ(axes["batch"]["description"], "Sequences.");
  EXPECT_NE(axes["attention"]["description"].get<std::string>().find("tiled: What tiled is."),
            std::string::npos);
  EXPECT_TRUE(axes.contains("attention.block_m"));
  EXPECT_FALSE(axes.contains("norm"));
}

}  // namespace
}  // namespace assay::config
