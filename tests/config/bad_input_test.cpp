#include "bad_input.h"

#include <fmt/format.h>

#include "test_catalogue.h"

namespace assay::config {
namespace {

std::string place_of(const SourceLocation& where) {
  const std::string place = where.line > 0 ? fmt::format("{}:{}", where.line, where.column) : "";
  if (where.file == "bad.yaml") return place;
  return place.empty() ? where.file : where.file + " " + place;
}

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
        Bad{"matrix_is_null", on_attention("matrix:\nfixed: {seq_len: 1}\n"), "3:1",
            "'matrix' must be a mapping"},
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
        Bad{"renamed_plugin", on_attention("matrix:\n  attention: [naive, math]\n"), "4:22",
            "unknown attention 'math'; it is now called 'math_libtorch'"},
        Bad{"renamed_plugin_with_options", on_attention("matrix: {attention: [{cudnn: {}}]}\n"),
            "3:23", "unknown attention 'cudnn'; it is now called 'cudnn_libtorch'"},
        Bad{"renamed_plugin_in_fixed", on_attention("fixed: {attention: efficient}\n"), "3:20",
            "unknown attention 'efficient'; it is now called 'efficient_libtorch'"},
        Bad{"renamed_plugin_in_exclude", on_attention("exclude: [{attention: flash_hopper}]\n"),
            "3:23", "unknown attention 'flash_hopper'; it is now called 'flash'"},
        Bad{"unknown_nested_option",
            on_attention("matrix:\n  attention: [{tiled: {blok_m: 64}}]\n"), "4:24",
            "attention 'tiled' has no option 'blok_m'; did you mean 'block_m'?"},
        Bad{"option_of_none", on_attention("fixed: {attention: {naive: {block_m: 64}}}\n"), "3:29",
            "attention 'naive' has no option 'block_m'; it has none"},
        Bad{"unknown_dotted_option", on_attention("fixed: {attention.blok_m: 64}\n"), "3:9",
            "no attention variant has an option 'blok_m'; did you mean 'attention.block_m'?"},
        Bad{"option_without_its_variant",
            on_attention("matrix: {attention: [naive, flash]}\nfixed: {attention.block_m: 64}\n"),
            "4:9", "'attention.block_m' applies to no attention of this experiment (naive, flash)"},
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
            "'good%' does not fit; accepted: a number from 0 to 1, or a percentage"},
        Bad{"percentage_of_a_plain_number",
            "experiment: test\nworkload: transfer\nfixed: {size: 1 B, share: 5%}\n", "3:27",
            "'5%' does not fit; accepted: a number from 0 to 1"},
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
            "3:23", "measure.interleave: cases that differ in it are measured differently"},
        Bad{"pass_given_twice", on_model("measure: {passes: [forward, forward]}\n"), "3:29",
            "the pass 'forward' is given twice"}),
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
            "batch: 'x' does not fit",
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
        Bad{"filter_on_a_renamed_variant",
            plain,
            "--filter 1",
            "attention 'math' is now called 'math_libtorch' in 'attention == math'",
            {{}, {"attention == math"}}},
        Bad{"filter_with_a_renamed_variant_in_a_list",
            plain,
            "--filter 1",
            "attention 'efficient' is now called 'efficient_libtorch'",
            {{}, {"attention in [naive, efficient]"}}},
        Bad{"set_to_a_renamed_variant",
            plain,
            "--set 1 1:19",
            "unknown attention 'math'; it is now called 'math_libtorch'",
            {{"attention=[naive, math]"}, {}}},
        Bad{"filter_with_a_stray_word",
            plain,
            "--filter 1",
            "unknown name 'wide'",
            {{}, {"d_head + wide > 64"}}}),
    name_of);

std::vector<std::string> places_of_mistakes(const std::string& text, const Override& given = {}) {
  const auto experiment = parse_experiment(text, "bad.yaml", test_environment(), given);
  std::vector<std::string> places;
  if (experiment) return places;
  for (const Diagnostic& diagnostic : experiment.error().diagnostics) {
    places.push_back(place_of(diagnostic.where));
  }
  return places;
}

TEST(BadInput, IsReportedAllAtOnceInTheOrderOfTheFile) {
  EXPECT_EQ(places_of_mistakes("experiment: test\n"
                               "workload: attention\n"
                               "measure: {passes: [forwards], warmup: -1}\n"
                               "fixed: {batch: x, norm: rmsnorm}\n"
                               "matrix:\n"
                               "  seq_len: [128, 128]\n"
                               "  attention: [naive, flsh]\n"
                               "titel: typo\n",
                               {{"heads=0"}, {"d_hed > 3"}}),
            (std::vector<std::string>{"3:20", "3:39", "4:16", "4:19", "6:18", "7:22", "8:1",
                                      "--filter 1", "--set 1 1:7"}));
}

TEST(BadInput, AKeyGivenTwiceHidesNothingElse) {
  EXPECT_EQ(places_of_mistakes("experiment: test\n"
                               "workload: attention\n"
                               "matrix: {attention: [naive, flsh]}\n"
                               "fixed: {batch: 1, batch: 2, heads: 0}\n"),
            (std::vector<std::string>{"3:29", "4:19", "4:36"}));
}

TEST(BadInput, AnUnknownWorkloadIsTakenForTheOneItResembles) {
  EXPECT_EQ(places_of_mistakes("experiment: test\n"
                               "workload: attentoin\n"
                               "matrix: {attention: [naive, flsh]}\n"
                               "measure: {warmup: -1}\n"),
            (std::vector<std::string>{"2:11", "3:29", "4:19"}));
  EXPECT_EQ(places_of_mistakes("experiment: test\nworkload: zzz\nfixed: {heads: 0}\n"),
            (std::vector<std::string>{"2:11"}));
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
  // The experiment's stored presets read the same again.
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
                                           "cudnn_libtorch, efficient_libtorch"),
            std::string::npos)
      << experiment.error().text();
}

}  // namespace
}  // namespace assay::config
