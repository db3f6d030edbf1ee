#include <fmt/format.h>

#include "bad_input.h"

namespace assay::config {
namespace {

std::string axis_of(const char* name, int values) {
  std::string text = fmt::format("  {}: [1", name);
  for (int i = 2; i <= values; ++i) text += fmt::format(", {}", i);
  return text + "]\n";
}

INSTANTIATE_TEST_SUITE_P(
    Values, BadInput,
    testing::Values(
        Bad{"text_for_an_integer", on_attention("fixed: {batch: many}\n"), "3:16",
            "batch: 'many' does not fit; accepted: an integer from 1 to 65536"},
        Bad{"quoted_integer", on_attention("fixed: {batch: '3'}\n"), "3:16",
            "batch: '3' does not fit"},
        Bad{"fraction_for_an_integer", on_attention("fixed: {batch: 2.5}\n"), "3:16",
            "batch: '2.5' does not fit"},
        Bad{"out_of_bounds", on_attention("matrix: {seq_len: [128, 0]}\n"), "3:25",
            "seq_len: 0 is out of bounds; accepted: an integer from 1 to 16777216"},
        Bad{"huge_integer", on_attention("fixed: {batch: 99999999999999999999}\n"), "3:16",
            "batch: '99999999999999999999' does not fit"},
        Bad{"text_for_a_boolean", on_attention("fixed: {causal: yes}\n"), "3:17",
            "causal: 'yes' does not fit; accepted: true or false"},
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
            "3:27", "'.inf' does not fit"},
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
        Bad{"value_that_is_not_compiled",
            "experiment: test\nworkload: norm\nfixed: {norm: {staged: {stages: 3}}}\n", "3:33",
            "norm.stages: 3 is not among its values; accepted: one of 1, 2, 4"},
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
            "3:22", "the options of 'tiled' give more than 8 combinations"},
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
        Bad{"tied_values_twice",
            on_attention("matrix: {batch: [1, 1, 1], heads: [2, 4, 2]}\nzip: [[batch, heads]]\n"),
            "4:7", "the tied axes batch, heads have the values 1, 2 twice"},
        Bad{"zip_of_one", on_attention("matrix: {batch: [1]}\nzip: [[batch]]\n"), "4:7",
            "zip ties two axes or more"},
        Bad{"unknown_name_in_exclude", on_attention("exclude: [{sq_len: 3}]\n"), "3:12",
            "unknown name 'sq_len'"},
        Bad{"empty_exclude", on_attention("exclude: [{}]\n"), "3:11", "the entry names nothing"},
        Bad{"wrong_type_in_exclude", on_attention("exclude: [{seq_len: [1, x]}]\n"), "3:25",
            "seq_len: 'x' does not fit"},
        Bad{"unknown_variant_in_include", on_attention("include: [{attention: flsh}]\n"), "3:23",
            "unknown attention 'flsh'"},
        Bad{"option_of_another_variant_in_include",
            on_attention("include: [{attention: naive, attention.block_m: 64}]\n"), "3:30",
            "attention 'naive' has no option 'block_m'"},
        Bad{"several_cases_in_one_include",
            on_attention("include: [{attention: [naive, flash]}]\n"), "3:23",
            "an entry of include is one case"}),
    name_of);

}  // namespace
}  // namespace assay::config
