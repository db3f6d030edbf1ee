"""Modules in place of packages that need a GPU: signatures as theirs, values by textbook operations
in float64. Each asks for its scale or eps, which a variant must not leave to a default."""

import contextlib
import itertools
import pathlib
import sys
import types
import unittest.mock

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "peers"))
from assay_peer import packages

HOPPER = (9, 0)


def module(name, **members):
    made = types.ModuleType(name)
    made.__dict__.update(members)
    return made


@contextlib.contextmanager
def installed(*packaged, capability=HOPPER):
    """Modules, some in tuples, are what is imported, on a GPU of this capability that the CPU
    pretends to be."""
    modules = (one if isinstance(one, tuple) else (one,) for one in packaged)
    by_name = {one.__name__: one for one in itertools.chain(*modules)}
    with unittest.mock.patch.dict(sys.modules, by_name), \
            unittest.mock.patch.dict(packages.used), \
            unittest.mock.patch.object(packages, "require_gpu", return_value=capability):
        yield


def attention(q, k, v, scale, before=None, after=None):
    """[batch, heads, seq_len, d_head], grouped heads too. A query sees up to `before` keys ahead of
    its own and `after` behind it, all where None. The output and the logarithms of the sums."""
    assert scale is not None, "no scale was given"
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    scores = q.double() @ k.double().transpose(-2, -1) * scale
    place = torch.arange(q.shape[2])
    ahead = place[:, None] - place
    hidden = torch.zeros_like(ahead, dtype=torch.bool)
    if before is not None:
        hidden |= ahead > before
    if after is not None:
        hidden |= -ahead > after
    scores = scores.masked_fill(hidden, float("-inf"))
    return (torch.softmax(scores, -1) @ v.double()).to(q.dtype), torch.logsumexp(scores, -1)


def attention_by_sequence(q, k, v, scale, before, after):
    """The same of [batch, seq_len, heads, d_head], views of what has no gaps the other way."""
    assert all(not x.is_contiguous() for x in (q, k, v)), "a copy was made"
    out, _ = attention(*(x.transpose(1, 2) for x in (q, k, v)), scale, before, after)
    return out.transpose(1, 2).contiguous()


def flash_attn_3():
    def flash_attn_func(q, k, v, softmax_scale=None, causal=False, qv=None, q_descale=None,
                        k_descale=None, v_descale=None, window_size=(-1, -1), attention_chunk=0,
                        softcap=0.0, num_splits=1, pack_gqa=None, deterministic=False, sm_margin=0,
                        return_attn_probs=False):
        before, after = (None if keys < 0 else keys for keys in window_size)
        return attention_by_sequence(q, k, v, softmax_scale, before, 0 if causal else after)

    return module("flash_attn_interface", flash_attn_func=flash_attn_func)


def flash_attn_4():
    def flash_attn_func(q, k, v, qv=None, gather_kv_indices=None, softmax_scale=None, causal=False,
                        window_size=(None, None), learnable_sink=None, softcap=0.0, num_splits=1,
                        pack_gqa=None, deterministic=False, score_mod=None, score_mod_bwd=None,
                        mask_mod=None, aux_tensors=None, aux_scalars=None,
                        block_sparse_tensors=None, block_sparse_tensors_bwd=None, return_lse=False,
                        gather_bwd_recompute_p=False, gather_bwd_token_chunk=None):
        before, after = window_size
        return attention_by_sequence(q, k, v, softmax_scale, before, 0 if causal else after), None

    return module("flash_attn.cute", flash_attn_func=flash_attn_func)


def xformers(refuses="", loaded=True):
    """refuses: why it has no operator. loaded: whether its library fits."""
    masks = types.SimpleNamespace(
        LowerTriangularMask=lambda device=None: (None, 0),
        LowerTriangularFromBottomRightLocalAttentionMask=lambda _window_size: (_window_size - 1, 0),
        LocalAttentionFromBottomRightMask=lambda window_left, window_right: (
            window_left, window_right))

    class Inputs:
        def __init__(self, query, key, value, attn_bias=None, p=0.0, scale=None, output_dtype=None,
                     is_partial=False):
            self.query = query

    def _dispatch_fw(inp, needs_gradient):
        if refuses:
            raise NotImplementedError(refuses)
        assert inp.query.dim() == 4 and needs_gradient
        return types.SimpleNamespace(NAME="fa2F@2.8.3")

    def _dispatch_bw(inp, varlen_lse_packed):
        return types.SimpleNamespace(NAME="fa2B@2.8.3")

    def memory_efficient_attention(query, key, value, attn_bias=None, p=0.0, scale=None, *, op=None,
                                   output_dtype=None):
        before, after = attn_bias or (None, None)
        return attention_by_sequence(query, key, value, scale, before, after)

    dispatch = types.SimpleNamespace(_dispatch_fw=_dispatch_fw, _dispatch_bw=_dispatch_bw)
    fmha = types.SimpleNamespace(attn_bias=masks, Inputs=Inputs, dispatch=dispatch)
    return (module("xformers", _has_cpp_library=loaded),
            module("xformers.ops", fmha=fmha,
                   memory_efficient_attention=memory_efficient_attention))


class CudnnRefuses(Exception):
    pass


def cudnn(without_backward=False):
    dtypes = types.SimpleNamespace(BFLOAT16=torch.bfloat16, HALF=torch.float16, FLOAT=torch.float32)

    class Tensor:
        def __init__(self, dim=None, stride=None, data_type=None, name=""):
            self.dim, self.stride, self.dtype, self.written = dim, stride, data_type, False

        def set_output(self, value):
            self.written = value
            return self

        def set_dim(self, dim):
            self.dim = dim
            return self

        def set_stride(self, stride):
            self.stride = stride
            return self

        def set_data_type(self, dtype):
            self.dtype = dtype
            return self

    class pygraph:
        def __init__(self, name="", io_data_type=None, intermediate_data_type=None,
                     compute_data_type=None, handle=None):
            assert intermediate_data_type == compute_data_type == torch.float32
            assert handle == "handle"
            self.steps, self.built = [], False

        def tensor(self, dim, stride=None, data_type=None, is_virtual=False, name=""):
            return Tensor(dim, stride, data_type, name)

        def sdpa(self, q, k, v, is_inference=None, attn_scale=None, bias=None,
                 use_causal_mask=False, diagonal_alignment="TOP_LEFT", diagonal_band_left_bound=None,
                 diagonal_band_right_bound=None, dropout=None, name="", generate_stats=None):
            assert diagonal_alignment == "TOP_LEFT" and generate_stats is not None
            band = bounds(diagonal_band_left_bound, diagonal_band_right_bound)
            out, sums = Tensor(), Tensor() if generate_stats else None

            def step(data):
                result, logarithms = attention(data[q], data[k], data[v], attn_scale, *band)
                data[out].copy_(result)
                if generate_stats:
                    data[sums].copy_(logarithms.unsqueeze(-1))

            self.steps.append(step)
            return [out, sums]

        def sdpa_backward(self, q, k, v, o, dO, stats, attn_scale=None, bias=None, dBias=None,
                          use_causal_mask=False, diagonal_alignment="TOP_LEFT",
                          diagonal_band_left_bound=None, diagonal_band_right_bound=None,
                          dropout=None, use_deterministic_algorithm=False, name=""):
            self.refused = without_backward
            band = bounds(diagonal_band_left_bound, diagonal_band_right_bound)
            gradients = [Tensor() for _ in range(3)]

            def step(data):
                leaves = [data[x].detach().requires_grad_() for x in (q, k, v)]
                with torch.enable_grad():
                    out, sums = attention(*leaves, attn_scale, *band)
                torch.testing.assert_close(data[o], out.detach())
                torch.testing.assert_close(data[stats], sums.float().unsqueeze(-1).detach())
                for to, gradient in zip(gradients,
                                        torch.autograd.grad(out, leaves, data[dO])):
                    data[to].copy_(gradient)

            self.steps.append(step)
            return gradients

        refused = False

        def build(self, heuristics=None):
            if self.refused:
                raise CudnnRefuses("no engine\nfor this")
            self.built = True

        def get_workspace_size(self):
            assert self.built
            return 96

        def execute(self, tensor_dict, workspace=None, handle=None):
            assert self.built and handle == "handle" and workspace.numel() >= 96
            for tensor, data in tensor_dict.items():
                described = (list(tensor.dim), list(tensor.stride), tensor.dtype)
                assert (list(data.shape), list(data.stride()), data.dtype) == described
            for step in self.steps:
                step(tensor_dict)

    def bounds(left, right):
        return (None if left is None else left - 1), right

    return module(
        "cudnn", pygraph=pygraph, data_type=dtypes, cudnnGraphNotSupportedError=CudnnRefuses,
        heur_mode=types.SimpleNamespace(A="A", FALLBACK="FALLBACK"),
        diagonal_alignment=types.SimpleNamespace(TOP_LEFT="TOP_LEFT", BOTTOM_RIGHT="BOTTOM_RIGHT"),
        create_handle=lambda: "handle", set_stream=lambda handle, stream: None,
        backend_version_string=lambda: "9.19.0")


def rms_normed(x, weight, eps):
    wide = x.double()
    return wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps) * weight.double()


def quack(eps_wanted):
    def rmsnorm(x, weight=None, bias=None, residual=None, out_dtype=None, residual_dtype=None,
                eps=1e-6, prenorm=False, weight_offset=0.0):
        assert eps == eps_wanted
        total = x if residual is None else x + residual
        out = (rms_normed(total, weight, eps)).to(x.dtype)
        return (out, total) if prenorm and residual is not None else out

    return module("quack", rmsnorm=rmsnorm)


def of_gradient(function, dout, *inputs):
    leaves = [x.detach().requires_grad_() for x in inputs]
    with torch.enable_grad():
        return torch.autograd.grad(function(*leaves), leaves, dout)


def liger(eps_wanted):
    """Where its last argument allows that, the backward writes over the output's gradient."""

    class LigerRMSNormFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, X, W, eps, offset=0.0, casting_mode="llama", in_place=True, row_mode=None):
            assert (eps, offset, casting_mode) == (eps_wanted, 0.0, "gemma")
            ctx.save_for_backward(X, W)
            ctx.in_place = in_place
            return rms_normed(X, W, eps).to(X.dtype)

        @staticmethod
        def backward(ctx, dY):
            dX, dW = of_gradient(lambda x, w: rms_normed(x, w, eps_wanted).to(x.dtype), dY,
                                 *ctx.saved_tensors)
            if ctx.in_place:
                dX = dY.copy_(dX)
            return dX, dW, None, None, None, None, None

    class LigerFusedAddRMSNormFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, X, R, W, eps, offset=0.0, casting_mode="llama", in_place=False):
            assert (eps, offset, casting_mode) == (eps_wanted, 0.0, "gemma")
            S = X + R
            ctx.save_for_backward(S, W)
            ctx.in_place = in_place
            return rms_normed(S, W, eps).to(X.dtype), S

        @staticmethod
        def backward(ctx, dY, dS_out):
            dX, dW = of_gradient(lambda x, w: rms_normed(x, w, eps_wanted).to(x.dtype), dY,
                                 *ctx.saved_tensors)
            dX = dX + dS_out
            if ctx.in_place:
                dX = dY.copy_(dX)
            return dX, dX, dW, None, None, None, None, None

    class LigerLayerNormFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, X, W, B, eps):
            assert eps == eps_wanted
            ctx.save_for_backward(X, W, B)
            return layer_normed(X, W, B)

        @staticmethod
        def backward(ctx, dY):
            return *of_gradient(layer_normed, dY, *ctx.saved_tensors), None

    def layer_normed(x, weight, bias):
        return torch.nn.functional.layer_norm(x.double(), weight.shape, weight.double(),
                                              bias.double(), eps_wanted).to(x.dtype)

    return module("liger_kernel.ops", LigerRMSNormFunction=LigerRMSNormFunction,
                  LigerFusedAddRMSNormFunction=LigerFusedAddRMSNormFunction,
                  LigerLayerNormFunction=LigerLayerNormFunction)


def liger_losses():
    class LigerFusedLinearCrossEntropyLoss(torch.nn.Module):
        def __init__(self, ce_weight=None, ignore_index=-100, lse_square_scale=0.0,
                     label_smoothing=0.0, reduction="mean", softcap=None, return_z_loss=False,
                     accum_dtype=None, use_token_scaling=False, return_token_accuracy=False,
                     return_predicted_tokens=False):
            super().__init__()
            assert accum_dtype == torch.float32

        def forward(self, lin_weight, _input, target, bias=None):
            assert (lin_weight.dim(), _input.dim(), target.dim()) == (2, 2, 1)
            assert lin_weight.dtype == _input.dtype
            logits = _input.double() @ lin_weight.double().T
            return torch.nn.functional.cross_entropy(logits, target).float()

    return module("liger_kernel.transformers.fused_linear_cross_entropy",
                  LigerFusedLinearCrossEntropyLoss=LigerFusedLinearCrossEntropyLoss)


class FusedAdam(torch.optim.Optimizer):
    """What FusedAdam has in common in both packages: one count of steps for a group."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0,
                 amsgrad=False, *, bias_correction=True, adam_w_mode=True):
        assert adam_w_mode and bias_correction
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps,
                                  "weight_decay": weight_decay})

    def zero_grad(self):  # apex' takes no argument
        super().zero_grad()

    @torch.no_grad()
    def step(self, closure=None, grad_scaler=None):
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            (beta1, beta2), rate = group["betas"], group["lr"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state.update(exp_avg=torch.zeros_like(parameter),
                                 exp_avg_sq=torch.zeros_like(parameter))
                state["exp_avg"].lerp_(parameter.grad, 1 - beta1)
                state["exp_avg_sq"].lerp_(parameter.grad.square(), 1 - beta2)
                first = state["exp_avg"] / (1 - beta1 ** group["step"])
                second = state["exp_avg_sq"] / (1 - beta2 ** group["step"])
                parameter.sub_(rate * (group["weight_decay"] * parameter
                                       + first / (second.sqrt() + group["eps"])))
