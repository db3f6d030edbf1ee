#include <assay/workload.h>

#include <stdexcept>

#include "network.h"

namespace assay::dtype_trace {

namespace {

class TraceProgram final : public Program {
 public:
  explicit TraceProgram(std::unique_ptr<Network> network) : network_(std::move(network)) {}

  void run(const std::string& pass) override {
    if (pass != "step") throw std::invalid_argument("no pass '" + pass + "'");
    observed_ = network_->step();
  }

  // No tensor: a step changes the parameters, so that the next one's loss is another.
  std::vector<NamedTensor> outputs(const std::string&) override { return {}; }

  void record(const std::string&, Recorder& recorder) override { observed_.record(recorder); }

 private:
  std::unique_ptr<Network> network_;
  ObservedDtypes observed_;
};

class DtypeTrace final : public Workload {
 public:
  static std::vector<ParameterInfo> options() {
    return {
        choice_parameter("network", "mlp", {"mlp", "transformer"},
                         "mlp: fc1, ReLU, LayerNorm, fc2 and a cross-entropy; transformer: the "
                         "model of model_step."),
        config_parameter("model", "toy", "models", "Sizes of the transformer.",
                         model::model_fields()),
        choice_parameter("architecture", "swiglu", {"swiglu", "gelu"},
                         "Of the transformer: swiglu: RoPE, SwiGLU, separate head; gelu: learned "
                         "positions, GELU, head tied to the embedding."),
        integer_parameter("batch", 1, 1, 65536, "Sequences, or rows of the mlp."),
        integer_parameter("seq_len", 128, 1, 1 << 20, "Tokens in a sequence of the transformer."),
    };
  }

  static WorkloadInfo info() {
    WorkloadInfo info;
    info.passes = {"step"};
    info.default_passes = info.passes;
    info.unclocked = info.passes;
    info.uses = {"attention", "norm", "precision"};
    info.metrics = {
        {"dtype",
         "",
         Direction::neither,
         "Observed dtype of a training step's tensors, by what "
         "they are.",
         {},
         MetricKind::text},
        {"element_size", "byte", Direction::neither, "Size of an element, of the widest dtype."},
        {"taken",
         "",
         Direction::neither,
         "Where the operation ran that made them: inside autocast or outside.",
         {},
         MetricKind::text},
    };
    return info;
  }

  // A training step of the transformer: weights, gradients, moments and copies; activations.
  static std::string memory_estimate() {
    const std::string parameters =
        "(layers * (4 * d_model^2 + 3 * d_model * d_ff) + 2 * vocab_size * d_model)";
    const std::string token =
        "(layers * (20 * d_model + element_size * (10 * d_model + 4 * d_ff)) + "
        "vocab_size * (element_size + 12))";
    return "if(network == transformer, " + parameters + " * 20 + batch * seq_len * " + token +
           " + attention_memory, batch * 1000)";
  }

  std::unique_ptr<Program> build(const CaseContext& context) override {
    return std::make_unique<TraceProgram>(network(context));
  }

 private:
  static std::unique_ptr<Network> network(const CaseContext& context) {
    const std::int64_t batch = integer_option(context.parameters, "batch");
    if (text_option(context.parameters, "network") == "mlp") return make_mlp(context, batch);
    const std::int64_t seq_len = integer_option(context.parameters, "seq_len");
    auto config = model::model_config(
        context.presets.at("model"),
        model::architecture_from_text(text_option(context.parameters, "architecture")), seq_len);
    config.norm_has_bias = context.ops.norm_has_bias;
    return make_transformer(context, config, batch, seq_len);
  }
};

}  // namespace

}  // namespace assay::dtype_trace

ASSAY_PLUGIN(assay::dtype_trace::DtypeTrace, "dtype_trace",
             "One training step whose tensors' dtypes are observed.")
