#include "test_catalogue.h"

#include <stdexcept>

namespace assay::config {
namespace {

using catalogue::PluginInfo;

PluginInfo variant(std::string kind, std::string name, std::vector<ParameterInfo> options = {}) {
  PluginInfo plugin;
  plugin.kind = std::move(kind);
  plugin.name = std::move(name);
  plugin.description = "What " + plugin.name + " is.";
  plugin.file = plugin.name + ".so";
  plugin.parameters = std::move(options);
  return plugin;
}

ParameterInfo quantity(std::string name, ParameterType type, Value default_value, double minimum,
                       double maximum) {
  ParameterInfo info;
  info.name = std::move(name);
  info.type = type;
  info.default_value = std::move(default_value);
  info.description = "A quantity.";
  info.minimum = minimum;
  info.maximum = maximum;
  return info;
}

std::vector<ParameterInfo> sizes() {
  std::vector<ParameterInfo> fields;
  for (const char* name : {"d_model", "d_ff", "layers", "heads", "vocab_size"}) {
    fields.push_back(quantity(name, ParameterType::integer, {}, 1, 1 << 24));
  }
  return fields;
}

void add_metrics(PluginInfo& plugin, const char* unit, const std::vector<std::string>& names,
                 MetricKind kind = MetricKind::number) {
  for (const std::string& name : names) {
    plugin.metrics.push_back({name, unit, Direction::neither, "What it records.", {}, kind});
  }
}

PluginInfo model_step() {
  PluginInfo workload =
      variant("workload", "model_step",
              {config_parameter("model", "small", "models", "Sizes.", sizes()),
               choice_parameter("architecture", "swiglu", {"swiglu", "gelu"}, "Which."),
               integer_parameter("batch", 4, 1, 65536, "Sequences."),
               integer_parameter("seq_len", 256, 1, 1 << 20, "Tokens."),
               left_out_at_default(config_parameter("accelerator", "", "machines", "Which."))});
  workload.uses = {"attention", "norm", "precision", "communication", "compile"};
  workload.passes = {"inference",        "forward",    "backward",
                     "forward_backward", "train_step", "against_fp32"};
  workload.default_passes = {"forward", "backward"};
  workload.unclocked = {"against_fp32"};
  workload.metrics = {{"parameters", "count", Direction::neither, "Parameters.", {}},
                      {"flops", "FLOP", Direction::neither, "Operations.", {}},
                      {"compared_skips", "count", Direction::neither, "Steps.", {}}};
  add_metrics(
      workload, "",
      {"last_loss", "last_loss_error", "loss_error", "first_gradient_error", "gradient_error"});
  add_metrics(workload, "byte", {"predicted_memory"});
  add_metrics(workload, "FLOP", {"predicted_flops"});
  add_metrics(workload, "s", {"predicted_time"});
  workload.default_clock = "wall";
  return workload;
}

PluginInfo kernels() {
  PluginInfo observer = variant("observer", "kernels");
  add_metrics(observer, "s",
              {"profiled_time", "host_time", "busy_time", "idle_time", "profiled_work",
               "kernel_time", "top_kernel_time", "range_time", "self_cpu_time", "cpu_time",
               "self_device_time", "device_time", "stack_time"});
  add_metrics(observer, "count", {"kernel_calls", "top_kernel_calls", "range_calls", "calls"});
  add_metrics(observer, "FLOP", {"range_flops", "class_flops", "counted_flops"});
  add_metrics(
      observer, "",
      {"kernel_share", "top_kernel_share", "top_family_share", "class_share", "range_share"});
  add_metrics(observer, "", {"top_kernel", "launch_bound"}, MetricKind::text);
  return observer;
}

PluginInfo accounting() {
  const auto number = [](const char* name) {
    return integer_parameter(name, 1, 1, 1 << 20, "A number.");
  };
  const auto word = [](const char* name) {
    ParameterInfo info;
    info.name = name;
    info.type = ParameterType::text;
    info.default_value = std::string("plain");
    info.description = "A word.";
    return info;
  };
  PluginInfo workload = variant(
      "workload", "accounting",
      {config_parameter("model", "small", "models", "Sizes.", sizes()),
       config_parameter("accelerator", "h100", "machines", "Which."), word("architecture"),
       word("question"), word("means"), word("parallelism"), number("batch"), number("seq_len"),
       number("devices"), number("shards"), number("tensor_parallel"), number("data_axes"),
       number("tensor_axes"), real_parameter("given_flops", 0, 0, 1e18, "FLOP/s."),
       real_parameter("given_bandwidth", 0, 0, 1e18, "Bytes a second.")});
  workload.uses = {"attention", "norm", "precision"};
  workload.passes = {"account"};
  workload.default_passes = workload.passes;
  workload.unclocked = workload.passes;
  workload.default_clock = "wall";
  add_metrics(
      workload, "count",
      {"parameters", "devices", "least_shards", "bound_sequences", "largest_tensor", "meshes"});
  add_metrics(workload, "FLOP", {"flops"});
  add_metrics(workload, "FLOP/s", {"peak_flops"});
  add_metrics(workload, "byte",
              {"state_memory", "saved_for_backward", "device_memory", "communication_volume"});
  add_metrics(workload, "byte/s", {"link_bandwidth"});
  add_metrics(workload, "s", {"step_time", "bound_time", "ring_time"});
  add_metrics(workload, "token", {"bound_batch"});
  add_metrics(workload, "",
              {"unit", "formula", "substitution", "result", "source", "best_mesh", "reason",
               "equation", "reference"},
              MetricKind::text);
  return workload;
}

PluginInfo attention() {
  PluginInfo workload = variant("workload", "attention",
                                {integer_parameter("batch", 8, 1, 65536, "Sequences."),
                                 integer_parameter("heads", 1, 1, 1024, "Heads."),
                                 integer_parameter("seq_len", 1024, 1, 1 << 24, "Length."),
                                 integer_parameter("d_head", 64, 1, 1024, "Size of a head."),
                                 boolean_parameter("causal", true, "Masked or not.")});
  workload.uses = {"attention", "precision", "compile"};
  workload.passes = {"inference", "forward", "backward", "forward_backward"};
  workload.default_passes = {"forward", "backward", "forward_backward"};
  workload.metrics = {{"flops", "FLOP", Direction::neither, "Operations.", {}},
                      {"bytes", "byte", Direction::neither, "Bytes.", {}}};
  workload.default_clock = "cuda_event";
  return workload;
}

PluginInfo norm() {
  PluginInfo workload = variant("workload", "norm",
                                {integer_parameter("rows", 8192, 1, 1 << 24, "Vectors."),
                                 integer_parameter("n_cols", 1024, 8, 1 << 20, "Elements.")});
  workload.uses = {"norm", "precision", "compile"};
  workload.passes = {"inference", "forward", "backward", "forward_backward"};
  workload.default_passes = {"forward", "backward"};
  workload.metrics = {{"bytes", "byte", Direction::neither, "Bytes.", {}}};
  workload.default_clock = "cuda_event";
  return workload;
}

// A workload with a parameter without a default and one of each type with a unit.
PluginInfo transfer() {
  ParameterInfo size = quantity("size", ParameterType::size, {}, 1, 1e12);
  PluginInfo workload = variant("workload", "transfer",
                                {size, quantity("pause", ParameterType::duration, 0.5, 0, 60),
                                 real_parameter("share", 0.5, 0, 1, "A share.")});
  workload.passes = {"send"};
  workload.default_passes = {"send"};
  return workload;
}

// The workloads of `assay calibrate`.
std::vector<PluginInfo> ceilings() {
  const ParameterInfo size = quantity("size", ParameterType::size, std::int64_t{1} << 20, 1, 1e12);
  PluginInfo copy = variant("workload", "copy", {size});
  PluginInfo matmul = variant(
      "workload", "matmul",
      {integer_parameter("m", 1024, 1, 1 << 20, "Rows."),
       integer_parameter("n", 0, 0, 1 << 20, "Columns."),
       integer_parameter("k", 0, 0, 1 << 20, "Products."),
       choice_parameter("dtype", "fp32", {"fp64", "fp32", "tf32", "bf16", "fp16"}, "Dtype.")});
  PluginInfo launch =
      variant("workload", "launch",
              {integer_parameter("launches", 1000, 1, 1 << 20, "Launches."),
               choice_parameter("operation", "libtorch", {"kernel", "libtorch"}, "Which.")});
  ParameterInfo span = quantity("span", ParameterType::size, std::int64_t{0}, 0, 1e12);
  PluginInfo collective = variant(
      "workload", "collective",
      {size, left_out_at_default(span),
       choice_parameter("placement", "auto", {"auto", "in_place", "out_of_place"}, "Where."),
       choice_parameter("layer", "c10d", {"c10d", "c10d_async", "nccl"}, "Who."),
       left_out_at_default(choice_parameter("dtype", "fp32", {"fp32", "fp16", "bf16"}, "Dtype.")),
       left_out_at_default(integer_parameter("calls", 20, 0, 100'000, "Calls.")),
       left_out_at_default(integer_parameter("lone_calls", 200, 0, 100'000, "Lone ones."))});
  copy.passes = {"copy"};
  matmul.passes = {"matmul"};
  launch.passes = {"launch"};
  collective.passes = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                       "reduce",     "all_to_all", "send_recv"};
  copy.metrics = {{"bytes", "byte", Direction::neither, "Bytes.", {}}};
  matmul.metrics = {{"flops", "FLOP", Direction::neither, "Operations.", {}}};
  launch.metrics = {{"launches", "count", Direction::neither, "Launches.", {}}};
  collective.metrics = {{"bytes", "byte", Direction::neither, "Bytes.", {}},
                        {"bus_bytes", "byte", Direction::neither, "Bytes.", {}}};
  for (const char* metric : {"lone_time", "launch_time", "start_skew", "end_skew", "skew_error"}) {
    collective.metrics.push_back({metric, "s", Direction::lower_is_better, "Seconds.", {}});
  }
  std::vector<PluginInfo> all = {copy, matmul, launch, collective};
  for (PluginInfo& one : all) {
    one.default_passes = {one.passes.front()};
    one.default_clock = one.name == "launch" || one.name == "collective" ? "wall" : "cuda_event";
  }
  return all;
}

PluginInfo study(std::string name, std::string pass, std::vector<ParameterInfo> parameters,
                 const std::vector<std::string>& numbers, const std::vector<std::string>& words) {
  PluginInfo workload = variant("workload", std::move(name), std::move(parameters));
  workload.passes = workload.default_passes = workload.unclocked = {std::move(pass)};
  for (const std::string& metric : numbers) {
    const char* unit = metric.ends_with("bits") ? "count" : metric == "element_size" ? "byte" : "";
    workload.metrics.push_back({metric, unit, Direction::neither, "A figure.", {}});
  }
  add_metrics(workload, "", words, MetricKind::text);
  return workload;
}

// The workloads of section C of the catalogue.
std::vector<PluginInfo> precision_studies() {
  const std::vector<std::string> of_format = {
      "bits",     "exponent_bits",   "mantissa_bits",      "dynamic_range", "precision_digits",
      "largest",  "smallest_normal", "smallest_subnormal", "epsilon",       "largest_squared",
      "eps_error"};
  std::vector<std::string> of_norm = of_format;
  of_norm.push_back("error");
  std::vector<PluginInfo> all = {
      study("accumulation", "sum",
            {integer_parameter("terms", 1000, 1, 1e7, "Terms."),
             real_parameter("addend", 0.01, 0, 1e3, "Each.")},
            {"result", "error"}, {}),
      study("number_formats", "properties", {}, of_format, {"eps_range"}),
      study("norm_sensitivity", "statistics",
            {integer_parameter("n_cols", 1024, 1, 1 << 20, "Elements."),
             integer_parameter("rows", 64, 1, 1 << 20, "Rows."),
             real_parameter("magnitude", 1, 1e-30, 1e30, "Size.")},
            of_norm, {"range", "eps_range"}),
      study("dtype_trace", "step",
            {choice_parameter("network", "mlp", {"mlp", "transformer"}, "Which."),
             config_parameter("model", "toy", "models", "Sizes.", sizes()),
             choice_parameter("architecture", "swiglu", {"swiglu", "gelu"}, "Which.")},
            {"element_size"}, {"dtype", "taken"})};
  all[2].uses = {"precision"};
  all[3].uses = {"attention", "norm", "precision"};
  return all;
}

std::vector<PluginInfo> plugins() {
  ParameterInfo needed = integer_parameter("block_m", 0, 1, 64, "Rows of a tile.");
  needed.default_value = {};
  std::vector<PluginInfo> plugins = {
      accounting(),
      model_step(),
      attention(),
      norm(),
      transfer(),
      variant("attention", "naive"),
      variant("attention", "math_libtorch"),
      variant("attention", "efficient_libtorch"),
      variant("attention", "flash"),
      variant("attention", "flash_libtorch"),
      variant("attention", "cudnn_libtorch"),
      variant("attention", "tiled",
              {integer_parameter("block_m", 64, 16, 256, "Rows of a tile."),
               integer_parameter("block_n", 64, 16, 256, "Columns of a tile."),
               boolean_parameter("persistent", false, "One block a multiprocessor."),
               quantity("workspace", ParameterType::size, std::int64_t{0}, 0, 1e9)}),
      variant("attention", "strict", {needed}),
      variant("norm", "staged", {compiled_parameter("stages", 2, {1, 2, 4}, "Rows at once.")}),
      variant("norm", "rmsnorm"),
      variant("norm", "rmsnorm_libtorch"),
      variant("norm", "layernorm"),
      variant("precision", "fp32"),
      variant("precision", "tf32"),
      variant("precision", "bf16"),
      variant("precision", "fp16"),
      variant("precision", "bf16_master"),
      variant("precision", "bf16_alone"),
      variant("precision", "fp16_master"),
      variant("communication", "none"),
      variant("communication", "naive"),
      variant("compile", "eager"),
      variant("compile", "cuda_graph"),
  };
  plugins.push_back(kernels());
  for (PluginInfo& one : ceilings()) plugins.push_back(std::move(one));
  for (PluginInfo& one : precision_studies()) plugins.push_back(std::move(one));
  for (const char* name : {"torch_eager", "torch_compile", "torch_compile_reduce_overhead"}) {
    PluginInfo external = variant("compile", name);
    external.command = {"python3", "torch_model.py"};
    external.workloads = {"model_step"};
    plugins.push_back(std::move(external));
  }
  PluginInfo triton = variant("norm", "rmsnorm_triton");
  triton.command = {"python3", "triton_rmsnorm.py"};
  triton.workloads = {"norm"};
  plugins.push_back(std::move(triton));
  return plugins;
}

}  // namespace

const catalogue::Catalogue& test_catalogue() {
  static const catalogue::Catalogue catalogue = [] {
    auto assembled = catalogue::assemble("test", plugins());
    if (!assembled) throw std::logic_error(assembled.error().text());
    return std::move(*assembled);
  }();
  return catalogue;
}

Environment test_environment() {
  return {&test_catalogue(), std::filesystem::path(ASSAY_SOURCE_DIR) / "configs"};
}

}  // namespace assay::config
