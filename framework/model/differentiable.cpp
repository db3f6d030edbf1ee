#include "model/differentiable.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>

#include "model/textbook_ops.h"

namespace assay::model {

std::string shape_text(at::IntArrayRef sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void throw_if_unsupported(AttentionBoundary& attention, const AttentionInputs& in) {
  std::optional<std::string> reason;
  throw_unless_ok(attention.unsupported(in, reason));
  if (reason) throw Unsupported(*reason);
}

// Guards against silent broadcasts and copies between devices. `what` names the tensor.
void check_like(const char* what, const at::Tensor& made, const at::Tensor& like) {
  const auto wrong = [](std::string reason) {
    throw PluginFailure({Outcome::wrong, std::move(reason)});
  };
  if (!made.defined()) wrong(fmt::format("{} is an undefined tensor", what));
  if (made.device() != like.device()) {
    wrong(fmt::format("{} is on the device {}, not {}", what, made.device().str(),
                      like.device().str()));
  }
  if (made.sizes() != like.sizes()) {
    wrong(fmt::format("{} has the shape [{}], not [{}]", what, fmt::join(made.sizes(), ", "),
                      fmt::join(like.sizes(), ", ")));
  }
}

// Autograd around a plugin's own forward_with_lse and backward.
struct AttentionFunction : torch::autograd::Function<AttentionFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, std::int64_t plugin, bool causal, double scale) {
    auto& attention = *reinterpret_cast<AttentionBoundary*>(plugin);
    AttentionOutput output;
    throw_unless_ok(attention.forward_with_lse({q, k, v, causal, scale}, output));
    check_like("the attention's output", output.out, q);
    context->save_for_backward({q, k, v, output.out, output.lse});
    context->saved_data["plugin"] = plugin;
    context->saved_data["causal"] = causal;
    context->saved_data["scale"] = scale;
    return output.out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    auto& attention = *reinterpret_cast<AttentionBoundary*>(context->saved_data["plugin"].toInt());
    const variable_list saved = context->get_saved_variables();
    const AttentionInputs in = {saved[0], saved[1], saved[2],
                                context->saved_data["causal"].toBool(),
                                context->saved_data["scale"].toDouble()};
    AttentionGradients out;
    throw_unless_ok(attention.backward(in, saved[3], saved[4], gradients[0], out));
    check_like("the attention's gradient of q", out.dq, in.q);
    check_like("the attention's gradient of k", out.dk, in.k);
    check_like("the attention's gradient of v", out.dv, in.v);
    return {out.dq, out.dk, out.dv, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

bool wants_gradient(const AttentionInputs& in) {
  return at::GradMode::is_enabled() &&
         (in.q.requires_grad() || in.k.requires_grad() || in.v.requires_grad());
}

}  // namespace

std::function<at::Tensor(const AttentionInputs&)> differentiable(AttentionBoundary& attention) {
  bool has_backward = false;
  bool through_autograd = false;
  throw_unless_ok(attention.traits(has_backward, through_autograd));
  return [&attention, has_backward, through_autograd](const AttentionInputs& in) {
    throw_if_unsupported(attention, in);
    if (has_backward && wants_gradient(in)) {
      return AttentionFunction::apply(in.q, in.k, in.v, reinterpret_cast<std::int64_t>(&attention),
                                      in.causal, in.scale);
    }
    if (!has_backward && !through_autograd && wants_gradient(in)) {
      throw Unsupported("this attention has no backward");
    }
    at::Tensor out;
    throw_unless_ok(attention.forward(in, out));
    check_like("the attention's output", out, in.q);
    return out;
  };
}

void set_norm(Ops& ops, NormBoundary& norm) {
  bool centred = false;
  throw_unless_ok(norm.traits(ops.norm_has_bias, centred));
  ops.norm = [&norm](const NormInputs& in) {
    at::Tensor out;
    throw_unless_ok(norm.forward(in, out));
    check_like("the norm's output", out, in.x);
    return out;
  };
  complete(ops);
}

}  // namespace assay::model
