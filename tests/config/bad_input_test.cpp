#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test_catalogue.h"

namespace assay::config {
namespace {

// Text of an experiment on `workload: attention` around what is tested, which starts in line 3.
std::string on_attention(const std::string& rest) {
  return "experiment: test\nworkload: attention\n" + rest;
}

std::string on_model(const std::string& rest) {
  return "experiment: test\nworkload: model_step\n" + rest;
}

struct Bad {
  const char* name;
  std::string text;
  const char* place;   // "line:column" in the file, or "--set 1" with or without a place
  const char* phrase;  // of the message
  Override override = {};
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }

std::string place_of(const SourceLocation& where) {
  const std::string place = where.line > 0 ? fmt::format("{}:{}", where.line, where.column) : "";
  if (where.file == "bad.yaml") return place;
  return place.empty() ? where.file : where.file + " " + place;
}

class BadInput : public testing::TestWithParam<Bad> {};

TEST_P(BadInput, IsOneClearMessageAtItsPlace) {
  const Bad& bad = GetParam();
  const auto experiment = parse_experiment(bad.text, "bad.yaml", test_environment(), bad.override);
  ASSERT_FALSE(experiment);
  EXPECT_EQ(experiment.error().exit_code, ExitCode::bad_input);
  ASSERT_EQ(experiment.error().diagnostics.size(), 1u) << experiment.error().text();
  const Diagnostic& diagnostic = experiment.error().diagnostics[0];
  EXPECT_EQ(place_of(diagnostic.where), bad.place) << diagnostic.text();
  EXPECT_NE(diagnostic.text().find(bad.phrase), std::string::npos) << diagnostic.text();
}

const auto name_of = [](const testing::TestParamInfo<Bad>& tested) {
  return std::string(tested.param.name);
};

std::string axis_of(const char* name, int values) {
  std::string text = fmt::format("  {}: [1", name);
  for (int i = 2; i <= values; ++i) text += fmt::format(", {}", i);
  return text + "]\n";
}

std::string alias_bomb() {
  std::string text = "report:\n  - &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    text += fmt::format("  - &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i,
                        i - 1);
  }
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    Documents, BadInput,
    testing::Values(
        Bad{"malformed", on_attention("matrix: {seq_len: [128\n"), "3:23", "is not closed"},
        Bad{"duplicate_key", on_attention("matrix:\n  seq_len: 1\n  seq_len: 2\n"), "5:3",
            "the key 'seq_len' is given twice"},
        Bad{"alias_bomb", on_attention(alias_bomb()), "9:25", "more than 200000 values"},
        Bad{"deep_nesting",
            on_attention("report: " + std::string(500, '[') + std::string(500, ']')), "3:72",
            "nested more than 64 levels"},
        Bad{"empty_file", "", "1:1", "an experiment is a mapping"},
        Bad{"a_list", "- experiment: x\n", "1:1", "an experiment is a mapping"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Keys, BadInput,
    testing::Values(
        Bad{"unknown_key", on_attention("matrx: {seq_len: 1}\n"), "3:1",
            "unknown key 'matrx'; did you mean 'matrix'?"},
        Bad{"missing_name", "workload: attention\n", "1:1", "the key 'experiment' is missing"},
        Bad{"missing_workload", "experiment: test\n", "1:1", "the key 'workload' is missing"},
        Bad{"bad_name", "experiment: My Test\nworkload: attention\n", "1:13",
            "'My Test' cannot name an experiment"},
        Bad{"name_of_another_folder", "experiment: ../../x\nworkload: attention\n", "1:13",
            "'../../x' cannot name an experiment"},
        Bad{"name_of_a_hidden_folder", "experiment: .ssh\nworkload: attention\n", "1:13",
            "'.ssh' cannot name an experiment"},
        Bad{"name_for_a_shell", "experiment: '; rm -rf ~'\nworkload: attention\n", "1:13",
            "'; rm -rf ~' cannot name an experiment"},
        Bad{"name_for_sql", "experiment: \"x'; DROP TABLE runs; --\"\nworkload: attention\n",
            "1:13", "cannot name an experiment"},
        Bad{"name_with_a_zero", "experiment: \"x\\0y\"\nworkload: attention\n", "1:13",
            "cannot name an experiment"},
        Bad{"unknown_workload", "experiment: test\nworkload: atention\n", "2:11",
            "unknown workload 'atention'; did you mean 'attention'?"},
        Bad{"unknown_measure_key", on_attention("measure: {warm_up: 3}\n"), "3:11",
            "unknown key 'warm_up'; did you mean 'warmup'?"},
        Bad{"unknown_limit", on_attention("limits: {case: 3}\n"), "3:10", "unknown key 'case'"},
        Bad{"limit_out_of_bounds", on_attention("limits: {cases: 0}\n"), "3:17",
            "an integer from 1 to"},
        Bad{"matrix_is_a_list", on_attention("matrix: [1]\n"), "3:9", "'matrix' must be a mapping"},
        Bad{"exclude_is_a_mapping", on_attention("exclude: {seq_len: 1}\n"), "3:10",
            "'exclude' must be a list"},
        Bad{"title_is_a_list", on_attention("title: [a]\n"), "3:8", "'title' must be text"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Names, BadInput,
    testing::Values(
        Bad{"unknown_axis", on_attention("matrix:\n  sq_len: [128]\n"), "4:3",
            "unknown name 'sq_len'; did you mean 'seq_len'?"},
        Bad{"unknown_fixed", on_attention("fixed: {bach: 3}\n"), "3:9",
            "unknown name 'bach'; did you mean 'batch'?"},
        Bad{"unknown_plugin", on_attention("matrix:\n  attention: [naive, flsh]\n"), "4:22",
            "unknown attention 'flsh'; did you mean 'flash'?"},
        Bad{"unknown_nested_option",
            on_attention("matrix:\n  attention: [{tiled: {blok_m: 64}}]\n"), "4:24",
            "attention 'tiled' has no option 'blok_m'; did you mean 'block_m'?"},
        Bad{"option_of_none", on_attention("fixed: {attention: {naive: {block_m: 64}}}\n"), "3:29",
            "attention 'naive' has no option 'block_m'; it has none"},
        Bad{"unknown_dotted_option", on_attention("fixed: {attention.blok_m: 64}\n"), "3:9",
            "no attention variant has an option 'blok_m'; did you mean 'attention.block_m'?"},
        Bad{"option_without_its_variant",
            on_attention("matrix: {attention: [naive, math]}\nfixed: {attention.block_m: 64}\n"),
            "4:9", "'attention.block_m' applies to no attention of this experiment (naive, math)"},
        Bad{"kind_not_used_in_matrix", on_attention("matrix: {norm: [rmsnorm]}\n"), "3:10",
            "the workload 'attention' does not use norm; it uses attention, precision, compile"},
        Bad{"kind_not_used_in_fixed", on_attention("fixed: {communication: none}\n"), "3:9",
            "does not use communication"},
        Bad{"external_of_another_workload", on_attention("matrix: {compile: [torch_eager]}\n"),
            "3:20", "compile 'torch_eager' cannot take part in the workload 'attention'"},
        Bad{"passes_as_an_axis", on_attention("matrix: {pass: [forward]}\n"), "3:10",
            "passes are not an axis"},
        Bad{"workload_as_an_axis", on_attention("matrix: {workload: [attention]}\n"), "3:10",
            "the workload is the same in all cases"},
        Bad{"unknown_model", on_model("matrix: {model: [smal]}\n"), "3:18",
            "there is no 'smal' in configs/models; did you mean 'small'?"},
        Bad{"model_with_a_path", on_model("matrix: {model: [../models/small]}\n"), "3:18",
            "there is no '../models/small'"},
        Bad{"plugin_with_a_path", on_attention("matrix: {attention: [../../flash.so]}\n"), "3:22",
            "unknown attention '../../flash.so'"},
        Bad{"plugin_for_a_shell", on_attention("matrix: {attention: ['flash; rm -rf ~']}\n"),
            "3:22", "unknown attention 'flash; rm -rf ~'"},
        Bad{"missing_model_file", on_model("fixed: {model: mine.yaml}\n"), "3:16",
            "the file 'mine.yaml' does not exist"},
        Bad{"target_over_the_whole", on_attention("measure: {target: 120%}\n"), "3:19",
            "120% is out of bounds; accepted: a number from 0 to 1, or a percentage such as 5 %"},
        Bad{"target_below_nothing", on_attention("measure: {target: -1%}\n"), "3:19",
            "-1% is out of bounds"},
        Bad{"target_in_words", on_attention("measure: {target: good%}\n"), "3:19",
            "'good%' is not what it takes; accepted: a number from 0 to 1, or a percentage"},
        Bad{"percentage_of_a_plain_number",
            "experiment: test\nworkload: transfer\nfixed: {size: 1 B, share: 5%}\n", "3:27",
            "'5%' is not what it takes; accepted: a number from 0 to 1"},
        Bad{"unknown_pass", on_model("measure: {passes: [forward, backwards]}\n"), "3:29",
            "no pass 'backwards'; did you mean 'backward'?"},
        Bad{"interleaved_over_an_unknown_axis", on_attention("measure: {interleave: atention}\n"),
            "3:23", "measure.interleave: unknown name 'atention'; did you mean 'attention'?"},
        Bad{"interleaved_over_an_unknown_axis_in_the_matrix",
            on_attention("matrix: {measure.interleave: ['', atention]}\n"), "3:35",
            "did you mean 'attention'?"},
        Bad{"interleaved_over_an_unknown_axis_by_set",
            on_attention(""),
            "--set 1 1:20",
            "did you mean 'seq_len'?",
            {{"measure.interleave=seqlen"}, {}}},
        Bad{"interleaved_over_an_unknown_axis_in_an_include",
            on_attention("include: [{measure.interleave: atention}]\n"), "3:32",
            "did you mean 'attention'?"},
        Bad{"interleaved_over_a_kind_that_is_not_used",
            on_attention("measure: {interleave: norm}\n"), "3:23",
            "measure.interleave: the workload 'attention' does not use norm"},
        Bad{"interleaved_over_passes", on_attention("measure: {interleave: pass}\n"), "3:23",
            "passes are not an axis"},
        Bad{"retried_in_turns",
            on_attention("measure: {unhealthy: retry, interleave: attention}\n"), "3:22",
            "measure.unhealthy: cases that take turns (measure.interleave: attention) cannot be "
            "measured again one by one"},
        Bad{"retried_in_turns_in_the_matrix",
            on_attention("matrix: {measure.unhealthy: [mark, retry], measure.interleave: ['', "
                         "seq_len]}\n"),
            "3:36", "cannot be measured again one by one"},
        Bad{"interleaved_over_itself", on_attention("measure: {interleave: measure.interleave}\n"),
            "3:23", "measure.interleave: cases that differ in it are not measured alike"},
        Bad{"pass_given_twice", on_model("measure: {passes: [forward, forward]}\n"), "3:29",
            "the pass 'forward' is given twice"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Values, BadInput,
    testing::Values(
        Bad{"text_for_an_integer", on_attention("fixed: {batch: many}\n"), "3:16",
            "batch: 'many' is not what it takes; accepted: an integer from 1 to 65536"},
        Bad{"quoted_integer", on_attention("fixed: {batch: '3'}\n"), "3:16", "batch: '3' is not"},
        Bad{"fraction_for_an_integer", on_attention("fixed: {batch: 2.5}\n"), "3:16",
            "batch: '2.5' is not"},
        Bad{"out_of_bounds", on_attention("matrix: {seq_len: [128, 0]}\n"), "3:25",
            "seq_len: 0 is out of bounds; accepted: an integer from 1 to 16777216"},
        Bad{"huge_integer", on_attention("fixed: {batch: 99999999999999999999}\n"), "3:16",
            "batch: '99999999999999999999' is not"},
        Bad{"text_for_a_boolean", on_attention("fixed: {causal: yes}\n"), "3:17",
            "causal: 'yes' is not what it takes; accepted: true or false"},
        Bad{"not_a_choice", on_model("fixed: {architecture: swiglo}\n"), "3:23",
            "unknown value 'swiglo'; did you mean 'swiglu'?"},
        Bad{"bare_number_for_a_size", "experiment: test\nworkload: transfer\nfixed: {size: 100}\n",
            "3:15",
            "size: '100' is a size without a unit; write a number and a unit, such as 100 MiB"},
        Bad{"bare_number_for_a_duration", on_attention("measure: {timeout: 30}\n"), "3:20",
            "'30' is a duration without a unit"},
        Bad{"size_out_of_bounds", "experiment: test\nworkload: transfer\nfixed: {size: 2 TB}\n",
            "3:15", "2 TB is out of bounds"},
        Bad{"real_out_of_bounds",
            "experiment: test\nworkload: transfer\nfixed: {size: 1 B, share: 1.5}\n", "3:27",
            "accepted: a number from 0 to 1"},
        Bad{"infinity", "experiment: test\nworkload: transfer\nfixed: {size: 1 B, share: .inf}\n",
            "3:27", "'.inf' is not what it takes"},
        Bad{"list_for_a_value", on_attention("fixed: {batch: [1, 2]}\n"), "3:16",
            "'batch' is fixed to a list; write it in matrix"},
        Bad{"list_in_measure", on_attention("measure: {warmup: [5, 1]}\n"), "3:19",
            "write it in matrix to vary it, as measure.warmup: [...]"},
        Bad{"mapping_for_a_value", on_attention("matrix: {batch: [{a: 1}]}\n"), "3:18",
            "a mapping where one value is expected"},
        Bad{"nothing_for_a_value", on_attention("fixed: {batch: }\n"), "3:16",
            "nothing where one value is expected"},
        Bad{"option_out_of_bounds", on_attention("fixed: {attention: {tiled: {block_m: 8}}}\n"),
            "3:38", "attention.block_m: 8 is out of bounds"},
        Bad{"option_out_of_one_variants_bounds",
            on_attention("matrix: {attention: [tiled, strict], attention.block_m: [64, 128]}\n"),
            "3:62", "128 is out of bounds; accepted: an integer from 1 to 64"},
        Bad{"missing_parameter", "experiment: test\nworkload: transfer\n", "2:11",
            "the workload 'transfer' needs 'size'"},
        Bad{"missing_option", on_attention("matrix: {attention: [strict]}\n"), "3:22",
            "'strict' needs its option 'block_m'"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Matrices, BadInput,
    testing::Values(
        Bad{"empty_axis", on_attention("matrix:\n  seq_len: []\n"), "4:12",
            "the axis 'seq_len' has no values"},
        Bad{"empty_kind_axis", on_attention("matrix:\n  attention: []\n"), "4:14",
            "the axis 'attention' has no values"},
        Bad{"duplicate_value", on_attention("matrix: {seq_len: [128, 256, 0x80]}\n"), "3:30",
            "the axis 'seq_len' has the value '128' twice"},
        Bad{"duplicate_variant",
            on_attention("matrix: {attention: [tiled, {tiled: {block_m: [32, 64]}}]}\n"), "3:29",
            "the axis 'attention' has the value 'tiled, block_m 64"},
        Bad{"in_matrix_and_fixed", on_attention("matrix: {batch: [1]}\nfixed: {batch: 1}\n"), "4:9",
            "'batch' is given twice; also at line 3, column 10"},
        Bad{"in_matrix_and_measure",
            on_attention("matrix: {measure.warmup: [1, 0]}\nmeasure: {warmup: 5}\n"), "4:11",
            "'measure.warmup' is given twice"},
        Bad{"nested_and_dotted",
            on_attention(
                "matrix: {attention: [{tiled: {block_m: 32}}], attention.block_m: [64]}\n"),
            "3:31", "'attention.block_m' is given twice"},
        Bad{"fixed_to_several_variants",
            on_attention("fixed: {attention: {tiled: {block_m: [32, 64]}}}\n"), "3:20",
            "attention is fixed to several values"},
        Bad{"over_the_limit",
            on_attention("matrix:\n" + axis_of("seq_len", 1000) + axis_of("d_head", 1000) +
                         axis_of("batch", 1000) + axis_of("heads", 1000)),
            "4:3", "the matrix has 1000000000000 cases, the limit is 1000000"},
        Bad{"over_a_limit_of_its_own",
            on_attention("matrix: {seq_len: [1, 2, 3]}\nlimits: {cases: 2}\n"), "3:9",
            "the matrix has 3 cases, the limit is 2"},
        Bad{"too_many_options",
            on_attention("matrix: {attention: [{tiled: {block_m: [16, 17, 18], block_n: [16, 17, "
                         "18]}}]}\nlimits: {cases: 8}\n"),
            "3:22", "with the options of 'tiled' there are more than 8 combinations"},
        Bad{"too_many_options_of_several_entries",
            on_attention("matrix: {attention: [{tiled: {block_m: [16, 17, 18]}}, "
                         "{tiled: {block_m: [19, 20, 21]}}, {tiled: {block_m: [22, 23, 24]}}]}\n"
                         "limits: {cases: 8}\n"),
            "3:9", "the matrix has 9 cases, the limit is 8"},
        Bad{"zip_of_unequal_length",
            on_attention("matrix: {batch: [1, 2], heads: [1, 2, 3]}\nzip: [[batch, heads]]\n"),
            "4:7", "equally many values, not batch 2, heads 3"},
        Bad{"zip_of_no_axis", on_attention("matrix: {batch: [1, 2]}\nzip: [[batch, heads]]\n"),
            "4:15", "'heads' is not an axis of the matrix"},
        Bad{"zip_twice",
            on_attention("matrix: {batch: [1], heads: [1], d_head: [8]}\n"
                         "zip: [[batch, heads], [heads, d_head]]\n"),
            "4:24", "'heads' is tied twice"},
        Bad{"zip_of_one", on_attention("matrix: {batch: [1]}\nzip: [[batch]]\n"), "4:7",
            "zip ties two axes or more"},
        Bad{"unknown_name_in_exclude", on_attention("exclude: [{sq_len: 3}]\n"), "3:12",
            "unknown name 'sq_len'"},
        Bad{"empty_exclude", on_attention("exclude: [{}]\n"), "3:11", "the entry names nothing"},
        Bad{"wrong_type_in_exclude", on_attention("exclude: [{seq_len: [1, x]}]\n"), "3:25",
            "seq_len: 'x' is not"},
        Bad{"unknown_variant_in_include", on_attention("include: [{attention: flsh}]\n"), "3:23",
            "unknown attention 'flsh'"},
        Bad{"option_of_another_variant_in_include",
            on_attention("include: [{attention: naive, attention.block_m: 64}]\n"), "3:30",
            "attention 'naive' has no option 'block_m'"},
        Bad{"several_cases_in_one_include", on_attention("include: [{attention: [naive, math]}]\n"),
            "3:23", "an entry of include is one case"}),
    name_of);

const std::string plain = on_attention("matrix: {seq_len: [128, 256]}\n");

INSTANTIATE_TEST_SUITE_P(
    CommandLine, BadInput,
    testing::Values(
        Bad{"set_without_a_value", plain, "--set 1", "'batch' is not name=value", {{"batch"}, {}}},
        Bad{"set_to_nothing", plain, "--set 1 1:1", "batch is set to nothing", {{"batch="}, {}}},
        Bad{"set_of_an_unknown_name",
            plain,
            "--set 2 1:1",
            "unknown name 'bach'",
            {{"batch=3", "bach=3"}, {}}},
        Bad{"set_of_a_wrong_type",
            plain,
            "--set 1 1:10",
            "batch: 'x' is not",
            {{"batch=[1,x]"}, {}}},
        Bad{"set_to_an_empty_list",
            plain,
            "--set 1 1:9",
            "the axis 'seq_len' has no values",
            {{"seq_len=[]"}, {}}},
        Bad{"set_to_bad_yaml", plain, "--set 1 1:9", "not valid YAML", {{"batch=[1"}, {}}},
        Bad{"set_of_a_section",
            plain,
            "--set 1 1:1",
            "'report' cannot be set here",
            {{"report=[]"}, {}}},
        Bad{"filter_with_bad_syntax",
            plain,
            "--filter 1",
            "a value is missing",
            {{}, {"seq_len <"}}},
        Bad{"filter_on_an_unknown_name",
            plain,
            "--filter 2",
            "unknown name 'sq_len' in 'sq_len <= 256'; did you mean 'seq_len'?",
            {{}, {"seq_len <= 256", "sq_len <= 256"}}},
        Bad{"filter_with_a_stray_word",
            plain,
            "--filter 1",
            "unknown name 'wide'",
            {{}, {"d_head + wide > 64"}}}),
    name_of);

TEST(BadInput, IsReportedAllAtOnceInTheOrderOfTheFile) {
  const auto experiment = parse_experiment(
      "experiment: test\n"
      "workload: attention\n"
      "measure: {passes: [forwards], warmup: -1}\n"
      "fixed: {batch: x, norm: rmsnorm}\n"
      "matrix:\n"
      "  seq_len: [128, 128]\n"
      "  attention: [naive, flsh]\n"
      "titel: typo\n",
      "bad.yaml", test_environment(), {{"heads=0"}, {"d_hed > 3"}});
  ASSERT_FALSE(experiment);
  std::vector<std::string> places;
  for (const Diagnostic& diagnostic : experiment.error().diagnostics) {
    places.push_back(place_of(diagnostic.where));
  }
  EXPECT_EQ(places, (std::vector<std::string>{"3:20", "3:39", "4:16", "4:19", "6:18", "7:22", "8:1",
                                              "--filter 1", "--set 1 1:7"}))
      << experiment.error().text();
}

TEST(BadInput, AMissingFileIsNamed) {
  const auto experiment = read_experiment("/nonexistent/e.yaml", test_environment());
  ASSERT_FALSE(experiment);
  EXPECT_EQ(experiment.error().exit_code, ExitCode::bad_input);
  EXPECT_NE(experiment.error().text().find("'/nonexistent/e.yaml': No such file"),
            std::string::npos);
}

TEST(StoredConfigs, ComeBeforeTheFilesAndAreCheckedLikeThem) {
  const std::string text =
      "experiment: e\nworkload: model_step\nfixed: {model: gone.yaml, seq_len: 8, batch: 1}\n";
  Environment environment = test_environment();
  EXPECT_FALSE(parse_experiment(text, "e.yaml", environment)) << "there is no such file";
  environment.presets["model/gone.yaml"] = {{"d_model", 32}};
  const auto experiment = parse_experiment(text, "e.yaml", environment);
  ASSERT_TRUE(experiment) << experiment.error().text();
  ASSERT_EQ(experiment->presets.size(), 1u);
  EXPECT_EQ(experiment->presets.begin()->second, (nlohmann::json{{"d_model", 32}}));
  // What an experiment says it used is what it finds again.
  environment.presets = experiment->presets;
  EXPECT_TRUE(parse_experiment(text, "e.yaml", environment));
  environment.presets.begin()->second = "not a mapping";
  EXPECT_FALSE(parse_experiment(text, "e.yaml", environment));
}

TEST(BadInput, ADefaultThatIsNotInstalledIsSaidSo) {
  catalogue::Catalogue few = test_catalogue();
  std::erase_if(few.plugins, [](const auto& plugin) { return plugin.name == "naive"; });
  Environment environment = test_environment();
  environment.catalogue = &few;
  const auto experiment = parse_experiment(plain, "bad.yaml", environment);
  ASSERT_FALSE(experiment);
  EXPECT_NE(experiment.error().text().find("its default 'naive' is not installed; name one of "
                                           "cudnn, efficient"),
            std::string::npos)
      << experiment.error().text();
}

}  // namespace
}  // namespace assay::config
