"""The decoder-only transformer of assay's models in plain PyTorch: pre-norm blocks, no biases, the
same parameter names.

swiglu: rotary positions, SwiGLU with three matrices, an untied head.
gelu: learned positions, GELU with two matrices, a head tied to the token embedding.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class RmsNorm(nn.Module):
    """x / sqrt(mean(x²) + eps) · weight in fp32, from basic operations. Zhang and Sennrich 2019."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)
        return (wide * scale * self.weight).to(x.dtype)


NORMS = {
    "rmsnorm": RmsNorm,
    "rmsnorm_libtorch": lambda width: nn.RMSNorm(width, eps=1e-5),
    "layernorm": lambda width: nn.LayerNorm(width, eps=1e-5),
}


def future_keys(length, device=None):
    """[length, length], true where the key is after the query."""
    return torch.ones(length, length, dtype=torch.bool, device=device).triu(1)


def of_each_head(q, k, v):
    """k and v, which may have fewer heads, with as many as q."""
    if k.shape[1] == q.shape[1]:
        return k, v
    return tuple(x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))


def naive_attention(q, k, v, hidden):
    """Textbook causal attention: explicit scores, mask and softmax. k and v may have fewer heads."""
    k, v = of_each_head(q, k, v)
    scores = (q / math.sqrt(q.shape[-1])) @ k.transpose(-2, -1)
    return torch.softmax(scores.masked_fill_(hidden, float("-inf")), dim=-1) @ v


def library_attention(q, k, v, hidden):
    grouped = k.shape[1] != q.shape[1]
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=grouped)


def rotate(x, cos, sin):
    """Rotary positions: rotates the pair (2i, 2i+1) as a complex number. Su 2021, eq. 34."""
    pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * torch.complex(cos, sin)).flatten(-2).to(x.dtype)


def rotate_in_reals(x, cos, sin):
    """rotate for torch.compile, which generates no kernels for complex numbers."""
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    return turned.flatten(-2).to(x.dtype)


def rotary_tables(length, d_head):
    frequencies = 10000.0 ** (-torch.arange(0, d_head, 2).float() / d_head)
    angles = torch.outer(torch.arange(length).float(), frequencies)
    return angles.cos(), angles.sin()


def kv_heads_of(size):
    return size.get("kv_heads") or size["heads"]


class SelfAttention(nn.Module):
    def __init__(self, d_model, heads, kv_heads, attend, turn):
        super().__init__()
        self.heads = heads
        self.d_head = d_model // heads
        self.attend = attend
        self.turn = turn
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, kv_heads * self.d_head, bias=False)
        self.v = nn.Linear(d_model, kv_heads * self.d_head, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, tables):
        batch, length, width = x.shape
        q, k, v = (
            project(x).view(batch, length, -1, self.d_head).transpose(1, 2)
            for project in (self.q, self.k, self.v)
        )
        if self.turn is not None:
            q, k = (self.turn(part, tables["cos"], tables["sin"]) for part in (q, k))
        mixed = self.attend(q, k, v, tables["hidden"]).transpose(1, 2).reshape(batch, length, width)
        return self.o(mixed)


class SwiGlu(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1 = nn.Linear(d_model, d_ff, bias=False)
        self.w2 = nn.Linear(d_ff, d_model, bias=False)
        self.w3 = nn.Linear(d_model, d_ff, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Gelu(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1 = nn.Linear(d_model, d_ff, bias=False)
        self.w2 = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.w2(F.gelu(self.w1(x)))


class Block(nn.Module):
    def __init__(self, size, architecture, attend, norm, turn):
        super().__init__()
        swiglu = architecture == "swiglu"
        self.norm1 = norm(size["d_model"])
        self.attention = SelfAttention(size["d_model"], size["heads"], kv_heads_of(size), attend,
                                       turn if swiglu else None)
        self.norm2 = norm(size["d_model"])
        self.feed_forward = (SwiGlu if swiglu else Gelu)(size["d_model"], size["d_ff"])

    def forward(self, x, tables):
        x = x + self.attention(self.norm1(x), tables)
        return x + self.feed_forward(self.norm2(x))


class Transformer(nn.Module):
    """tokens [batch, length] → logits [batch, length, vocabulary]. `size` holds d_model, d_ff,
    layers, heads, vocab_size and perhaps kv_heads; `length` is the context the positions are made for."""

    def __init__(self, size, architecture, length, attend, norm, turn=rotate):
        super().__init__()
        d_model, vocabulary = size["d_model"], size["vocab_size"]
        self.embedding = nn.Embedding(vocabulary, d_model)
        self.positions = nn.Embedding(length, d_model) if architecture == "gelu" else None
        self.blocks = nn.ModuleList(
            Block(size, architecture, attend, norm, turn) for _ in range(size["layers"]))
        self.norm = norm(d_model)
        self.head = None if architecture == "gelu" else nn.Linear(d_model, vocabulary, bias=False)
        cos, sin = rotary_tables(length, d_model // size["heads"])
        self.tables = {"cos": cos, "sin": sin, "hidden": future_keys(length)}
        # As in assay's models: a GPU's power in matrix products depends on the values.
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def hidden(self, tokens):
        """What the head reads: [batch, length, d_model]."""
        x = self.embedding(tokens)
        if self.positions is not None:
            x = x + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x, self.tables)
        return self.norm(x)

    def head_weight(self):
        return self.embedding.weight if self.head is None else self.head.weight

    def forward(self, tokens):
        x = self.hidden(tokens)
        return F.linear(x, self.embedding.weight) if self.head is None else self.head(x)
