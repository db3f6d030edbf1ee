"""PyTorch's flex_attention under torch.compile."""

from assay_peer import Attention, Unsupported, serve  # first: it answers without torch

import torch
from torch.nn.attention import flex_attention as flex

NARROWEST_HEAD = 16  # of its kernels on a GPU
BLOCK = 128  # of its masks; at other lengths its kernel on a CPU reads what it has not written


def seen_keys(causal, window):
    """The mask as flex_attention takes it, of places in the sequence."""

    def seen(batch, head, query, key):
        visible = query >= key if causal else query - key > -window
        return visible & (query - key < window) if window else visible

    return seen


class FlexAttention(Attention):
    grouped = windowed = True

    def __init__(self, case):
        super().__init__(case)
        length, d_head = self.shape[2:]
        if self.device.type == "cuda" and d_head < NARROWEST_HEAD:
            raise Unsupported(f"flex_attention takes heads of {NARROWEST_HEAD} or more")
        if self.device.type != "cuda" and length % BLOCK:
            raise Unsupported(f"flex_attention on a CPU is right at multiples of {BLOCK} only")
        self.mask = None
        if self.causal or self.window:
            self.mask = flex.create_block_mask(seen_keys(self.causal, self.window), None, None,
                                               length, length, device=self.device)
        self.compiled = torch.compile(flex.flex_attention, dynamic=False)

    def before(self, pass_name):
        if self.device.type != "cuda" and pass_name != "inference":
            raise Unsupported("flex_attention has no backward on a CPU, which runs inference only")
        super().before(pass_name)

    def forward(self, q, k, v):
        if self.device.type != "cuda":  # where it refuses what might want gradients
            q, k, v = (x.detach() for x in (q, k, v))
        return self.compiled(q, k, v, block_mask=self.mask, scale=self.scale,
                             enable_gqa=self.kv_heads != self.shape[1])


if __name__ == "__main__":
    serve(FlexAttention)
