#include <assay/workload.h>

#include "against_fp32.h"
#include "verify.h"

namespace assay::model_step {

namespace {

class ModelStep final : public Workload {
 public:
  static std::vector<ParameterInfo> options() {
    return {
        config_parameter("model", "small", "models", "Sizes of the model.", model::model_fields()),
        choice_parameter("architecture", "swiglu", {"swiglu", "gelu"},
                         "swiglu: RoPE, SwiGLU, separate head; gelu: learned positions, GELU, head "
                         "tied to the embedding."),
        integer_parameter("batch", 4, 1, 65536, "Sequences in a batch, on each rank."),
        integer_parameter("seq_len", 256, 1, 1 << 20, "Tokens in a sequence."),
        left_out_at_default(real_parameter(
            "max_grad_norm", 0, 0, 1e30,
            "The optimizer scales all gradients down to this norm where it is larger; 0: never.")),
        left_out_at_default(
            integer_parameter("compared_steps", 50, 1, 100000,
                              "Training steps of the pass against_fp32, all on the case's batch.")),
        left_out_at_default(integer_parameter(
            "checkpoint_every", 0, 0, 4096,
            "Blocks between two checkpoints of activations: the backward computes each group of so "
            "many blocks again from what enters it; 0: everything is kept.")),
        Predictions::predict(),
        Predictions::accelerator(),
        left_out_at_default(boolean_parameter(
            "record_memory", false,
            "Makes one more training step for the memory of each rank at three moments, its "
            "state and what it sends, measured and predicted.")),
    };
  }

  static WorkloadInfo info() {
    WorkloadInfo info;
    info.passes = {"inference",        "forward",    "backward",
                   "forward_backward", "train_step", against_fp32_pass};
    info.unclocked = {against_fp32_pass};
    info.default_passes = {"forward", "backward"};
    info.uses = {"attention", "norm", "precision", "communication", "compile"};
    info.metrics = {
        {"parameters", "count", Direction::neither, "Parameters of the model."},
        {"flops", "FLOP", Direction::neither,
         "Operations of the pass's matrix products, a multiply-add counted as two.",
         flops_formula()},
        {"tensor_size", "byte", Direction::neither,
         "Of a tensor as it was allocated: residual_stream, which enters the first block. Recorded "
         "with predict."},
        {"skipped_steps", "count", Direction::lower_is_better,
         "Training steps of the case, warm-up included, that an overflow skipped."},
        {"loss_scale", "", Direction::neither, "Factor of the loss after the last training step."},
    };
    for (MetricInfo& sent : training::TrainingStep::metrics())
      info.metrics.push_back(std::move(sent));
    for (MetricInfo& memory : training::TrainingStep::memory_metrics()) {
      info.metrics.push_back(std::move(memory));
    }
    for (MetricInfo& metric : against_fp32_metrics()) info.metrics.push_back(std::move(metric));
    for (const MetricInfo& predicted : Predictions::metrics()) info.metrics.push_back(predicted);
    info.default_clock = "wall";
    return info;
  }

  // Of each token 2 for every element of a matrix, the head's included, and the attention's two
  // products with all keys up to its own. A backward is two forwards; a pass that trains is three.
  static std::string flops_formula() {
    return "if(pass in [inference, forward], 1, if(pass == backward, 2, 3)) * 2 * batch * seq_len "
           "* (d_model * vocab_size + layers * d_model * (2 * d_model + 2 * d_model * if(kv_heads "
           "> 0, kv_heads / heads, 1) + if(architecture == gelu, 2, 3) * d_ff + seq_len + 1))";
  }

  // Bytes: parameters and, for training, two moments in fp32. Beside them the larger of the
  // gradients (at the end of a backward) and of what is saved for it (at its beginning): autocast's
  // copies of the weights, the blocks' own and their attention's tensors, and the logits.
  static std::string memory_estimate() {
    const std::string parameters = parameters_formula();
    const std::string state = parameters + " * (4 + 8 * runs_train_step)";
    const std::string gradients = parameters + " * 4 * runs_backward";
    const std::string casts =
        parameters + " * if(element_size < 4, element_size * runs_backward, 0)";
    const std::string kept =
        "(20 * d_model + element_size * (10 * d_model + if(architecture == gelu, 2, 4) * d_ff))";
    const std::string logits = "vocab_size * (element_size + 4 + 8 * runs_backward)";
    const std::string saved = casts + " + batch * seq_len * (if(runs_backward > 0, layers, 1) * " +
                              kept + " + " + logits + ") + attention_memory";
    return state + " + max(" + gradients + ", " + saved + ")";
  }

  // Bytes of a look by a program in PyTorch, which takes more than one by the workload: the
  // gradients of a sequence, exact and in the case's precision, those of the batch and the errors,
  // without their loss scale the call's, and the parameters that a step has started from; and what
  // a sequence's textbook operations in fp32 keep for the backward. Without a backward the
  // parameters of the workload's two textbook models.
  static std::string look_memory_estimate() {
    const std::string sizes =
        "max(2, (4 + if(precision == fp16, 1, 0)) * runs_backward + runs_train_step)";
    const std::string scores = "(4 * if(runs_backward > 0, layers, 1) + 8) * heads * seq_len";
    const std::string kept =
        "if(runs_backward > 0, layers, 1) * 4 * (14 * d_model + "
        "if(architecture == gelu, 2, 4) * d_ff)";
    return parameters_formula() + " * 4 * " + sizes + " + seq_len * (" + scores + " + " + kept +
           " + 16 * vocab_size)";
  }

  std::unique_ptr<Program> build(const CaseContext& context) override {
    return std::make_unique<ComparedProgram>(context, config(context), shape(context));
  }

  Verification verify(const CaseContext& context, const std::string& pass) override {
    if (pass == against_fp32_pass) return {};  // it compares by itself
    return verify_model(context, config(context), shape(context), pass);
  }

  Verification verify_exchange(const CaseContext& context, const std::string& pass,
                               const Exchange& exchange) override {
    return verify_exchanged_model(context, config(context), pass, exchange);
  }

 private:
  static std::string parameters_formula() {
    const std::string block =
        "(2 * d_model^2 + 2 * d_model^2 * if(kv_heads > 0, kv_heads / heads, 1) +"
        " if(architecture == gelu, 2, 3) * d_model * d_ff + 2 * d_model)";
    const std::string ends =
        "if(architecture == gelu, (vocab_size + seq_len) * d_model, 2 * vocab_size * d_model)";
    return "(layers * " + block + " + " + ends + " + d_model)";
  }

  static Shape shape(const CaseContext& context) {
    return {integer_option(context.parameters, "batch"),
            integer_option(context.parameters, "seq_len")};
  }

  static model::ModelConfig config(const CaseContext& context) {
    const auto preset = context.presets.find("model");
    if (preset == context.presets.end()) {
      throw std::invalid_argument("the case has no model config");
    }
    auto config = model::model_config(
        preset->second,
        model::architecture_from_text(text_option(context.parameters, "architecture")),
        shape(context).seq_len);
    config.norm_has_bias = context.ops.norm_has_bias;
    return config;
  }
};

}  // namespace

}  // namespace assay::model_step

ASSAY_PLUGIN(assay::model_step::ModelStep, "model_step",
             "One step of a decoder-only transformer: inference computes the logits alone; the "
             "other timed passes add the loss and record the graph; against_fp32 trains beside the "
             "same model in fp32.")
