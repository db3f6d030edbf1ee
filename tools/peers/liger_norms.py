"""RMSNorm and LayerNorm of the package liger-kernel.

    liger_norms.py rmsnorm|layernorm
"""

import sys

from assay_peer import Norm, Unsupported, packages, serve

WIDEST_ROW = 65536  # columns that one program of its kernels holds
CASTING = "gemma"  # of its modes the one that does all in fp32, as assay's norms do


class LigerNorm(Norm):
    def __init__(self, case):
        packages.require_gpu(case.device, "liger-kernel")
        super().__init__(case)
        if self.shape[1] > WIDEST_ROW:
            raise Unsupported(f"liger-kernel takes up to {WIDEST_ROW} columns")
        self.ops = packages.imported("liger_kernel.ops", "liger-kernel")


class LigerRmsNorm(LigerNorm):
    # Its last argument would let the backward write over the gradient that it is given, which is an
    # input here; without it RMSNorm's backward also clears its result.

    def forward(self, x, weight):
        return self.ops.LigerRMSNormFunction.apply(x, weight, self.eps, 0.0, CASTING, False)

    def add_forward(self, residual, x, weight):
        out, total = self.ops.LigerFusedAddRMSNormFunction.apply(
            x, residual, weight, self.eps, 0.0, CASTING, False)
        return total, out


class LigerLayerNorm(LigerNorm):
    has_bias = True

    def forward(self, x, weight, bias):
        return self.ops.LigerLayerNormFunction.apply(x, weight, bias, self.eps)

    def add_forward(self, residual, x, weight, bias):
        raise Unsupported("liger-kernel has no LayerNorm that adds a residual")


NORMS = {"rmsnorm": LigerRmsNorm, "layernorm": LigerLayerNorm}

if __name__ == "__main__":
    serve(NORMS[sys.argv[1]])
