#include "classes.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace assay::kernels {

namespace {

using Names = std::vector<std::string_view>;

struct OperatorClass {
  std::string_view name;
  Names operators;  // of aten::, without the trailing '_' of those in place
};

const std::vector<OperatorClass>& operator_classes() {
  static const std::vector<OperatorClass> table = {
      {"gemm",
       {"mm",
        "addmm",
        "bmm",
        "baddbmm",
        "addbmm",
        "mv",
        "addmv",
        "dot",
        "vdot",
        "ger",
        "addr",
        "_addmm_activation",
        "_int_mm",
        "_scaled_mm",
        "_grouped_mm",
        "mkldnn_linear",
        "_mkl_linear",
        "convolution_overrideable",
        "cudnn_convolution",
        "mkldnn_convolution"}},
      {"elementwise",
       {"add",
        "sub",
        "rsub",
        "mul",
        "div",
        "neg",
        "pow",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log1p",
        "sqrt",
        "rsqrt",
        "reciprocal",
        "abs",
        "sign",
        "sin",
        "cos",
        "tanh",
        "sigmoid",
        "relu",
        "silu",
        "gelu",
        "erf",
        "clamp",
        "clamp_max",
        "clamp_min",
        "maximum",
        "minimum",
        "where",
        "masked_fill",
        "lerp",
        "addcmul",
        "addcdiv",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "floor",
        "ceil",
        "round",
        "trunc",
        "square",
        "complex",
        "polar",
        "logical_and",
        "logical_or",
        "logical_not",
        "logical_xor",
        "bitwise_and",
        "bitwise_or",
        "bitwise_not",
        "bitwise_xor",
        "isnan",
        "isfinite",
        "isinf",
        "fmod",
        "remainder",
        "threshold",
        "threshold_backward",
        "native_dropout",
        "native_dropout_backward",
        "tanh_backward",
        "sigmoid_backward",
        "silu_backward",
        "gelu_backward",
        "normal",
        "uniform",
        "bernoulli",
        "random",
        "tril",
        "triu",
        "_conj_physical",
        "conj_physical",
        "angle",
        "_fused_adamw",
        "_fused_adam",
        "_fused_sgd",
        "_amp_update_scale",
        "_amp_foreach_non_finite_check_and_unscale",
        "nan_to_num",
        "masked_fill_"}},
      {"copy",
       {"copy",
        "_foreach_copy",
        "cat",
        "index",
        "index_select",
        "index_put",
        "index_copy",
        "_index_put_impl",
        "index_add",
        "gather",
        "scatter",
        "scatter_add",
        "embedding",
        "embedding_dense_backward",
        "roll",
        "flip",
        "repeat_interleave",
        "_local_scalar_dense",
        "constant_pad_nd",
        "select_backward",
        "slice_backward",
        "_efficientzerotensor"}},
      {"reduction",
       {"sum",
        "mean",
        "max",
        "min",
        "amax",
        "amin",
        "prod",
        "norm",
        "linalg_vector_norm",
        "std",
        "var",
        "var_mean",
        "std_mean",
        "argmax",
        "argmin",
        "any",
        "all",
        "cumsum",
        "cumprod",
        "logsumexp",
        "topk",
        "sort",
        "nll_loss_forward",
        "nll_loss_backward",
        "_foreach_norm",
        "nansum",
        "count_nonzero",
        "aminmax"}},
      {"softmax",
       {"_softmax", "_softmax_backward_data", "_log_softmax", "_log_softmax_backward_data",
        "_masked_softmax", "_masked_softmax_backward"}},
      {"norm",
       {"native_layer_norm", "native_layer_norm_backward", "_fused_rms_norm",
        "_fused_rms_norm_backward", "native_group_norm", "native_group_norm_backward",
        "native_batch_norm", "native_batch_norm_backward", "cudnn_batch_norm"}},
      {"attention",
       {"_flash_attention_forward", "_flash_attention_backward", "_efficient_attention_forward",
        "_efficient_attention_backward", "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_flash_attention_backward",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention_for_cpu_backward",
        "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_efficient_attention_backward", "_scaled_dot_product_cudnn_attention",
        "_scaled_dot_product_cudnn_attention_backward", "_cudnn_attention_forward",
        "_cudnn_attention_backward"}},
      {"communication", {}},
      {"memory",
       {"fill", "zero", "_foreach_zero", "set", "arange", "range", "eye", "empty", "empty_strided",
        "resize", "record_stream"}},
  };
  return table;
}

bool contains(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

bool contains_one(std::string_view text, const Names& words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return contains(text, word); });
}

const std::map<std::string_view, std::string_view>& by_operator() {
  static const std::map<std::string_view, std::string_view> table = [] {
    std::map<std::string_view, std::string_view> made;
    for (const OperatorClass& each : operator_classes()) {
      for (const std::string_view name : each.operators) made.emplace(name, each.name);
    }
    return made;
  }();
  return table;
}

std::string lower(std::string_view text) {
  std::string made(text);
  std::ranges::transform(made, made.begin(), [](unsigned char c) { return std::tolower(c); });
  return made;
}

}  // namespace

const std::vector<std::string>& classes() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (const OperatorClass& each : operator_classes()) made.emplace_back(each.name);
    made.emplace_back("unclassified");
    return made;
  }();
  return names;
}

std::optional<std::string_view> class_of_operator(std::string_view name) {
  for (const std::string_view prefix : {"nccl:", "gloo:", "c10d::", "record_param_comms"}) {
    if (name.starts_with(prefix)) return "communication";
  }
  if (!name.starts_with("aten::")) return std::nullopt;
  name.remove_prefix(6);
  if (name.ends_with('_')) name.remove_suffix(1);
  if (const auto found = by_operator().find(name); found != by_operator().end()) {
    return found->second;
  }
  if (name.starts_with("_foreach_")) return "elementwise";
  return std::nullopt;
}

std::optional<std::string_view> class_of_kernel(std::string_view name, DeviceEvent::Kind kind) {
  if (kind != DeviceEvent::Kind::kernel) return "memory";
  struct Pattern {
    std::string_view name;
    Names words;
  };
  // The first that fits: "softmax" lies in names of attention kernels too, "reduce" in those of
  // nearly all.
  static const std::vector<Pattern> patterns = {
      {"communication",
       {"nccl", "allreduce", "all_reduce", "allgather", "all_gather", "reducescatter",
        "reduce_scatter", "multimem"}},
      {"attention", {"flash", "fmha", "attention", "attn"}},
      {"gemm",
       {"gemm", "gemv", "nvjet", "cutlass", "cublas", "xmma", "splitk", "matmul", "triton_mm",
        "triton_tem"}},
      {"softmax", {"softmax"}},
      {"norm", {"layernorm", "layer_norm", "rmsnorm", "rms_norm", "batchnorm", "batch_norm"}},
      {"memory", {"fillfunctor", "memset"}},
      {"copy", {"copy", "catarray", "transpose", "gather", "scatter", "indexing", "embedding"}},
      {"reduction", {"reduce", "triton_red", "triton_per", "cub::", "sum"}},
      {"elementwise",
       {"elementwise", "triton_poi", "pointwise", "multi_tensor_apply", "adam", "swiglu", "gelu",
        "silu", "rope"}},
  };
  const std::string text = lower(name);
  for (const Pattern& pattern : patterns) {
    if (contains_one(text, pattern.words)) return pattern.name;
  }
  return std::nullopt;
}

bool communicates(std::string_view class_name) { return class_name == "communication"; }

}  // namespace assay::kernels
