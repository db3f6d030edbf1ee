"""memory_efficient_attention of the package xformers, by the operator that it picks."""

import ctypes
import importlib.util
import pathlib
import sys

from assay_peer import Attention, Unsupported, packages, serve


def hide_flash_attn_4():
    """It leaves a folder flash_attn without a package, which xformers takes for flash-attn 2 and
    fails to import."""
    found = importlib.util.find_spec("flash_attn")
    if found is not None and found.origin is None:
        sys.modules["flash_attn"] = None


def load_runtime():
    """Of CUDA 12, which its wheel is linked to and PyTorch for CUDA 13 does not bring: the package
    nvidia-cuda-runtime-cu12, where it is installed."""
    try:
        found = importlib.util.find_spec("nvidia.cuda_runtime")
    except ImportError:  # nothing of NVIDIA's
        return
    for folder in found.submodule_search_locations if found is not None else ():
        for library in pathlib.Path(folder, "lib").glob("libcudart.so.12"):
            ctypes.CDLL(str(library))


class XformersAttention(Attention):
    windowed = True  # its groups of heads have no backward

    def __init__(self, case):
        packages.require_gpu(case.device, "xformers")
        super().__init__(case)
        hide_flash_attn_4()
        load_runtime()
        self.ops = packages.imported("xformers.ops", "xformers")
        if not packages.imported("xformers", "xformers")._has_cpp_library:
            raise Unsupported("xformers has not loaded its library: that is for the PyTorch it was "
                              "built with and needs the package nvidia-cuda-runtime-cu12")
        self.mask = self.mask_of(self.ops.fmha.attn_bias)
        packages.used["xformers operators"] = ", ".join(self.operators())

    def mask_of(self, masks):
        if 0 < self.window < self.shape[2]:
            if self.causal:
                return masks.LowerTriangularFromBottomRightLocalAttentionMask(self.window)
            return masks.LocalAttentionFromBottomRightMask(self.window - 1, self.window - 1)
        return masks.LowerTriangularMask() if self.causal else None

    def operators(self):
        """The names of those that it picks for forward and backward."""
        fmha = self.ops.fmha
        q, k, v = (x.transpose(1, 2) for x in self.leaves.values())
        inputs = fmha.Inputs(query=q, key=k, value=v, attn_bias=self.mask, scale=self.scale)
        try:
            return (fmha.dispatch._dispatch_fw(inputs, True).NAME,
                    fmha.dispatch._dispatch_bw(inputs, None).NAME)
        except NotImplementedError as problem:
            raise Unsupported("xformers: " + " ".join(str(problem).split())) from problem

    def forward(self, q, k, v):
        # It takes [batch, seq_len, heads, d_head] of any strides: views, no copies.
        out = self.ops.memory_efficient_attention(*(x.transpose(1, 2) for x in (q, k, v)),
                                                  attn_bias=self.mask, scale=self.scale)
        return out.transpose(1, 2)


if __name__ == "__main__":
    serve(XformersAttention)
