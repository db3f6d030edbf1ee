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
void check_like(const char* what, const at::Tensor& made, at::IntArrayRef sizes,
                const at::Device& device) {
  const auto wrong = [](std::string reason) {
    throw PluginFailure({Outcome::wrong, std::move(reason)});
  };
  if (!made.defined()) wrong(fmt::format("{} is an undefined tensor", what));
  if (made.device() != device) {
    wrong(fmt::format("{} is on the device {}, not {}", what, made.device().str(), device.str()));
  }
  if (made.sizes() != sizes) {
    wrong(fmt::format("{} has the shape [{}], not [{}]", what, fmt::join(made.sizes(), ", "),
                      fmt::join(sizes, ", ")));
  }
}

void check_like(const char* what, const at::Tensor& made, const at::Tensor& like) {
  check_like(what, made, like.sizes(), like.device());
}

// Autograd around a plugin's own forward_with_lse and backward.
struct AttentionFunction : torch::autograd::Function<AttentionFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, std::int64_t plugin, bool causal, double scale,
                            std::int64_t window) {
    auto& attention = *reinterpret_cast<AttentionBoundary*>(plugin);
    AttentionOutput output;
    throw_unless_ok(attention.forward_with_lse({q, k, v, causal, scale, window}, output));
    check_like("the attention's output", output.out, q);
    context->save_for_backward({q, k, v, output.out, output.lse});
    context->saved_data["plugin"] = plugin;
    context->saved_data["causal"] = causal;
    context->saved_data["scale"] = scale;
    context->saved_data["window"] = window;
    return output.out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    auto& attention = *reinterpret_cast<AttentionBoundary*>(context->saved_data["plugin"].toInt());
    const variable_list saved = context->get_saved_variables();
    const AttentionInputs in = {saved[0],
                                saved[1],
                                saved[2],
                                context->saved_data["causal"].toBool(),
                                context->saved_data["scale"].toDouble(),
                                context->saved_data["window"].toInt()};
    AttentionGradients out;
    throw_unless_ok(attention.backward(in, saved[3], saved[4], gradients[0], out));
    check_like("the attention's gradient of q", out.dq, in.q);
    check_like("the attention's gradient of k", out.dk, in.k);
    check_like("the attention's gradient of v", out.dv, in.v);
    const at::Tensor none;
    return {out.dq, out.dk, out.dv, none, none, none, none};
  }
};

bool wants_gradient(const AttentionInputs& in) {
  return at::GradMode::is_enabled() &&
         (in.q.requires_grad() || in.k.requires_grad() || in.v.requires_grad());
}

}  // namespace

std::function<at::Tensor(const AttentionInputs&)> differentiable(AttentionBoundary& attention) {
  AttentionTraits traits;
  throw_unless_ok(attention.traits(traits));
  return [&attention, traits](const AttentionInputs& in) {
    throw_if_unsupported(attention, in);
    if (traits.has_backward && wants_gradient(in)) {
      return AttentionFunction::apply(in.q, in.k, in.v, reinterpret_cast<std::int64_t>(&attention),
                                      in.causal, in.scale, in.window);
    }
    if (!traits.has_backward && !traits.differentiable && wants_gradient(in)) {
      throw Unsupported("this attention has no backward");
    }
    at::Tensor out;
    throw_unless_ok(attention.forward(in, out));
    check_like("the attention's output", out, in.q);
    return out;
  };
}

namespace {

void throw_if_unsupported(NormBoundary& norm, const NormInputs& in) {
  std::optional<std::string> reason;
  throw_unless_ok(norm.unsupported(in, reason));
  if (reason) throw Unsupported(*reason);
}

AddNormOutput call_add_norm(NormBoundary& norm, at::Tensor residual, NormInputs in) {
  // Not x itself: it is to be freed early.
  const auto sizes = in.x.sizes().vec();
  const auto device = in.x.device();
  AddNormOutput made;
  throw_unless_ok(norm.add_forward(std::move(residual), std::move(in), made));
  check_like("the norm's sum", made.sum, sizes, device);
  check_like("the norm's output", made.out, sizes, device);
  return made;
}

// Autograd around a plugin's own add_forward and add_backward.
struct AddNormFunction : torch::autograd::Function<AddNormFunction> {
  static variable_list forward(AutogradContext* context, const at::Tensor& residual,
                               const at::Tensor& x, const at::Tensor& weight,
                               const std::optional<at::Tensor>& bias, double eps,
                               std::int64_t plugin) {
    auto& norm = *reinterpret_cast<NormBoundary*>(plugin);
    const auto made = call_add_norm(norm, residual, {x, weight, bias.value_or(at::Tensor()), eps});
    variable_list saved = {made.sum, weight, bias.value_or(at::Tensor())};
    saved.insert(saved.end(), made.kept.begin(), made.kept.end());
    context->save_for_backward(std::move(saved));
    context->saved_data["plugin"] = plugin;
    context->saved_data["eps"] = eps;
    context->saved_data["residual"] = residual.scalar_type();
    context->saved_data["x"] = x.scalar_type();
    return {made.sum, made.out};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    auto& norm = *reinterpret_cast<NormBoundary*>(context->saved_data["plugin"].toInt());
    const variable_list saved = context->get_saved_variables();
    const NormInputs in = {saved[0], saved[1], saved[2], context->saved_data["eps"].toDouble()};
    const std::vector<at::Tensor> kept(saved.begin() + 3, saved.end());
    AddNormGradients out;
    throw_unless_ok(norm.add_backward(in, kept, gradients[0], gradients[1], out));
    check_like("the norm's gradient of the sum", out.dsum, in.x);
    check_like("the norm's gradient of the weight", out.dweight, in.weight);
    if (in.bias.defined()) check_like("the norm's gradient of the bias", out.dbias, in.bias);
    const auto in_dtype = [&](const char* of) {
      return out.dsum.to(context->saved_data[of].toScalarType());
    };
    return {in_dtype("residual"), in_dtype("x"), out.dweight, out.dbias,
            at::Tensor(),         at::Tensor()};
  }
};

bool wants_gradient(const at::Tensor& residual, const NormInputs& in) {
  return at::GradMode::is_enabled() &&
         (residual.requires_grad() || in.x.requires_grad() || in.weight.requires_grad() ||
          (in.bias.defined() && in.bias.requires_grad()));
}

}  // namespace

void set_norm(Ops& ops, NormBoundary& norm) {
  NormTraits traits;
  throw_unless_ok(norm.traits(traits));
  ops.norm_has_bias = traits.has_bias;
  ops.norm = [&norm](const NormInputs& in) {
    throw_if_unsupported(norm, in);
    at::Tensor out;
    throw_unless_ok(norm.forward(in, out));
    check_like("the norm's output", out, in.x);
    return out;
  };
  ops.add_norm = [&norm, traits](at::Tensor residual, NormInputs in) {
    throw_if_unsupported(norm, in);
    if (traits.has_add_backward && wants_gradient(residual, in)) {
      const auto bias = in.bias.defined() ? std::optional(in.bias) : std::nullopt;
      const auto made = AddNormFunction::apply(residual, in.x, in.weight, bias, in.eps,
                                               reinterpret_cast<std::int64_t>(&norm));
      return std::pair(made[0], made[1]);
    }
    AddNormOutput made = call_add_norm(norm, std::move(residual), std::move(in));
    return std::pair(std::move(made.sum), std::move(made.out));
  };
}

}  // namespace assay::model
