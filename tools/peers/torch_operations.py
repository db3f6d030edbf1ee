"""Textbook attention and norms under torch.compile, for the workloads of a single operation."""

import torch
from torch.nn import functional as F

from assay_peer import Attention, Norm
from transformer import future_keys


def textbook_attention(q, k, v, scale, causal):
    """q, k, v: [batch, heads, seq_len, d_head]. The mask is made in the call, as assay's is."""
    scores = (q * scale) @ k.transpose(-2, -1)
    if causal:
        scores = scores.masked_fill(future_keys(q.shape[2], q.device), float("-inf"))
    return torch.softmax(scores, -1) @ v


def rms_norm(x, weight, eps):
    wide = x.float()
    scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    return (wide * scale * weight).to(x.dtype)


def layer_norm(x, weight, bias, eps):
    return F.layer_norm(x.float(), weight.shape, weight, bias, eps).to(x.dtype)


class CompiledAttention(Attention):
    def __init__(self, case, mode):
        case.require("attention", "naive")
        super().__init__(case)
        self.compiled = torch.compile(textbook_attention, mode=mode, dynamic=False)

    def forward(self, q, k, v):
        return self.compiled(q, k, v, self.scale, self.causal)


class CompiledNorm(Norm):
    def __init__(self, case, mode):
        self.has_bias = case.require("norm", "rmsnorm", "layernorm") == "layernorm"
        super().__init__(case)
        norm = layer_norm if self.has_bias else rms_norm

        def add_norm(residual, x, *rest):
            total = residual + x
            return total, norm(total, *rest)

        self.compiled = torch.compile(norm, mode=mode, dynamic=False)
        self.compiled_with_sum = torch.compile(add_norm, mode=mode, dynamic=False)

    def forward(self, x, weight, *bias):
        return self.compiled(x, weight, *bias, self.eps)

    def add_forward(self, residual, x, weight, *bias):
        return self.compiled_with_sum(residual, x, weight, *bias, self.eps)


COMPILED = {"attention": CompiledAttention, "norm": CompiledNorm}
