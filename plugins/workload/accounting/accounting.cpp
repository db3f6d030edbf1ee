#include <assay/workload.h>

#include <functional>
#include <stdexcept>

#include "answers.h"

namespace assay::accounting {

namespace {

struct Question {
  const char* name;
  void (*record)(const Case&, Recorder&);
};

constexpr Question questions[] = {
    {"state", record_state}, {"shards", record_shards},           {"bound", record_bound},
    {"means", record_means}, {"parallelism", record_parallelism}, {"spread", record_spread},
    {"mesh", record_mesh},
};

std::vector<std::string> question_names() {
  std::vector<std::string> names;
  for (const Question& question : questions) names.emplace_back(question.name);
  return names;
}

double number(const CaseContext& context, const char* name) {
  return static_cast<double>(integer_option(context.parameters, name));
}

int small_number(const CaseContext& context, const char* name) {
  return static_cast<int>(integer_option(context.parameters, name));
}

const Options& preset(const CaseContext& context, const std::string& name) {
  const auto found = context.presets.find(name);
  if (found == context.presets.end()) {
    throw std::invalid_argument("the case has no " + name + " config");
  }
  return found->second;
}

double given_or(double given, double otherwise) { return given > 0 ? given : otherwise; }

// The name of a kind's variant; "" where the case has none.
std::string variant(const CaseContext& context, const char* kind) {
  const auto found = context.parameters.find(kind);
  return found == context.parameters.end() ? "" : to_text(found->second);
}

Spread spread(const CaseContext& context, const Case& asked) {
  return {.d = asked.model.d,
          .f = asked.model.f,
          .shards = number(context, "shards"),
          .tensor = number(context, "tensor_parallel"),
          .data_axes = number(context, "data_axes"),
          .tensor_axes = number(context, "tensor_axes"),
          .flops = given_or(real_option(context.parameters, "given_flops"),
                            peak_flops(asked.machine, asked.precision)),
          .bandwidth = given_or(real_option(context.parameters, "given_bandwidth"),
                                asked.machine.link_bandwidth)};
}

Mesh mesh(const CaseContext& context) {
  return {.data = small_number(context, "shards"),
          .tensor = small_number(context, "tensor_parallel"),
          .pipeline = small_number(context, "pipeline_parallel"),
          .zero = small_number(context, "zero"),
          .sequence = boolean_option(context.parameters, "sequence_parallel"),
          .microbatches = small_number(context, "microbatches")};
}

Case asked(const CaseContext& context) {
  Case asked;
  asked.model =
      counted_model(preset(context, "model"), text_option(context.parameters, "architecture"),
                    integer_option(context.parameters, "seq_len"));
  asked.model.norm_has_bias = context.ops.norm_has_bias;
  asked.batch = {number(context, "batch"), number(context, "seq_len")};
  asked.computing = {.mixed = context.precision.autocast.has_value(),
                     .attention = variant(context, "attention"),
                     .norm = variant(context, "norm")};
  asked.machine = machine(preset(context, "accelerator"));
  asked.precision = asked.computing.mixed || !context.precision.tf32 ? "bf16" : "tf32";
  asked.spread = spread(context, asked);
  asked.limit = given_or(number(context, "memory_limit"), asked.machine.memory);
  asked.mesh = mesh(context);
  asked.devices = small_number(context, "devices");
  asked.means = text_option(context.parameters, "means");
  asked.parallelism = text_option(context.parameters, "parallelism");
  return asked;
}

class AccountingProgram final : public Program {
 public:
  explicit AccountingProgram(const CaseContext& context)
      : asked_(asked(context)), question_(text_option(context.parameters, "question")) {}

  void run(const std::string& pass) override {
    if (pass != "account") throw std::invalid_argument("accounting has no pass '" + pass + "'");
  }

  void record(const std::string&, Recorder& recorder) override {
    for (const Question& question : questions) {
      if (question_ == question.name) question.record(asked_, recorder);
    }
  }

 private:
  Case asked_;
  std::string question_;
};

std::vector<MetricInfo> number_metrics() {
  const auto metric = [](const char* name, const char* unit, const char* description) {
    return MetricInfo{name, unit, Direction::neither, description, {}};
  };
  return {
      metric("parameters", "count", "Parameters of the model, also by part."),
      metric("flops", "FLOP", "Of a step's matrix products, also by part."),
      metric("state_memory", "byte", "Training state, also by part, and its bf16 copies."),
      metric("saved_for_backward", "byte", "What a forward saves for the backward, also by part."),
      metric("devices", "count", "Devices whose memory holds the training state."),
      metric("device_memory", "byte", "Memory of a device, also by part."),
      metric("least_shards", "count", "The fewest shards that leave a device below its memory."),
      metric("communication_volume", "byte", "What a device sends in a step, also by way."),
      metric("step_time", "s", "The least time of a step on the machine, also by part."),
      metric("bound_batch", "token", "Tokens from which compute bounds the time."),
      metric("bound_sequences", "count", "The least batch that is bound by compute."),
      metric("bound_time", "s", "What compute and communication need of a block at least."),
      metric("ring_time", "s", "A ring all-reduce of a block's gradients in bf16."),
      metric("largest_tensor", "count", "Tensor ranks up to which their axis is bound by compute."),
      metric("link_bandwidth", "byte/s", "What a device brings into a ring over one axis."),
      metric("peak_flops", "FLOP/s", "Of a device's matrix products."),
      metric("meshes", "count", "Meshes that were tried, and those within the limit."),
  };
}

std::vector<MetricInfo> word_metrics() {
  const auto words = [](const char* name, const char* description) {
    return MetricInfo{name, "", Direction::neither, description, {}, MetricKind::text};
  };
  return {
      words("unit", "Unit of a quantity's result."),
      words("formula", "How a quantity is computed."),
      words("substitution", "The formula with its values."),
      words("result", "The quantity's value."),
      words("source", "Where its formula is from."),
      words("best_mesh", "The fastest mesh within the limit."),
      words("reason", "Why a means lets the batch shrink."),
      words("equation", "Its tokens a device."),
      words("reference", "Where it is described."),
  };
}

ParameterInfo positive(const char* name, std::int64_t value, const char* description) {
  return integer_parameter(name, value, 1, 1 << 24, description);
}

std::vector<ParameterInfo> model_parameters() {
  return {
      config_parameter("model", "small", "models", "Sizes of the model.", model::model_fields()),
      choice_parameter("architecture", "swiglu", {"swiglu", "gelu", "ffn"},
                       "swiglu, gelu: the models of model_step; ffn: blocks of two linear layers "
                       "and nothing else."),
      positive("batch", 4, "Sequences in a batch, over all devices."),
      positive("seq_len", 256, "Tokens in a sequence."),
  };
}

std::vector<ParameterInfo> machine_parameters() {
  ParameterInfo limit;
  limit.name = "memory_limit";
  limit.type = ParameterType::size;
  limit.default_value = std::int64_t{0};
  limit.description = "Memory that a device may use; 0 B: all of it.";
  limit.unit = "byte";
  limit.minimum = 0;
  return {
      config_parameter("accelerator", "h100", "machines", "What computes.", machine_fields()),
      real_parameter("given_flops", 0, 0, 1e18,
                     "FLOP/s of a device in place of the machine's; 0: the machine's."),
      real_parameter("given_bandwidth", 0, 0, 1e18,
                     "byte/s over a mesh axis in place of the machine's; 0: the machine's."),
      limit,
  };
}

std::vector<ParameterInfo> mesh_parameters() {
  return {
      positive("devices", 8, "Devices among which a mesh is searched (question: mesh)."),
      positive("shards", 1, "Data ranks, which shard the state."),
      positive("tensor_parallel", 1, "Ranks that share each matrix."),
      positive("pipeline_parallel", 1, "Stages."),
      integer_parameter("zero", 0, 0, 3, "ZeRO stage of the data ranks; 3 is FSDP."),
      boolean_parameter("sequence_parallel", false,
                        "Whether tensor ranks also divide norms and residuals."),
      positive("microbatches", 1, "Into which a data rank's batch is cut."),
      integer_parameter("data_axes", 1, 1, 16, "Mesh axes that data ranks communicate over."),
      integer_parameter("tensor_axes", 1, 1, 16, "Mesh axes that tensor ranks communicate over."),
  };
}

class Accounting final : public Workload {
 public:
  static std::vector<ParameterInfo> options() {
    std::vector<ParameterInfo> all = {
        choice_parameter("question", "state", question_names(), "What is computed.")};
    for (const auto& more : {model_parameters(), machine_parameters(), mesh_parameters()}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    all.push_back(choice_parameter("means", "plain", accounting::means(),
                                   "What lets the batch shrink (question: means)."));
    all.push_back(choice_parameter("parallelism", "fsdp", ways(),
                                   "How a model is spread (question: parallelism)."));
    return all;
  }

  static WorkloadInfo info() {
    WorkloadInfo info;
    info.passes = {"account"};
    info.default_passes = info.passes;
    info.unclocked = info.passes;
    info.uses = {"attention", "norm", "precision"};
    info.metrics = number_metrics();
    for (const MetricInfo& words : word_metrics()) info.metrics.push_back(words);
    return info;
  }

  static std::string memory_estimate() { return "0"; }

  std::unique_ptr<Program> build(const CaseContext& context) override {
    return std::make_unique<AccountingProgram>(context);
  }
};

}  // namespace

}  // namespace assay::accounting

ASSAY_PLUGIN(assay::accounting::Accounting, "accounting",
             "Counts what a model needs on a machine, with the working: memory, FLOPs, "
             "communication and the batches that compute bounds.")
