"""FlashAttention of the packages flash-attn-3 and flash-attn-4.

    flash_attention.py 3|4
"""

import sys

from assay_peer import Attention, Unsupported, packages, serve


class FlashAttention(Attention):
    grouped = windowed = True
    package = module = ""
    majors = ()  # of compute capabilities
    no_window = ()  # how the package says that there is none

    def __init__(self, case):
        packages.require_precision(case, self.package, "bf16", "fp16")
        major, _ = packages.require_gpu(case.device, self.package, *self.majors)
        super().__init__(case)
        length, d_head = self.shape[2:]
        if d_head % 8 or not self.takes_head(major, d_head):
            raise Unsupported(f"{self.package} has no kernel for heads of {d_head} on this GPU")
        self.window_size = self.no_window
        if 0 < self.window < length:  # keys before a query and after it
            self.window_size = (self.window - 1, 0 if self.causal else self.window - 1)
        self.attend = packages.imported(self.module, self.package).flash_attn_func

    @staticmethod
    def takes_head(major, d_head):
        return d_head <= 256

    def forward(self, q, k, v):
        # They take [batch, seq_len, heads, d_head] of any strides: views, no copies.
        result = self.attend(*(x.transpose(1, 2) for x in (q, k, v)), softmax_scale=self.scale,
                             causal=self.causal, window_size=self.window_size)
        out = result[0] if isinstance(result, tuple) else result  # some return sums too
        return out.transpose(1, 2)


class FlashAttention3(FlashAttention):
    package, module = "flash-attn-3", "flash_attn_interface"
    majors = (9,)
    no_window = (-1, -1)


class FlashAttention4(FlashAttention):
    package, module = "flash-attn-4", "flash_attn.cute"
    majors = (9, 10, 11)
    no_window = (None, None)

    @staticmethod
    def takes_head(major, d_head):
        return d_head <= (256 if major == 9 else 128) or d_head == 256


VERSIONS = {"3": FlashAttention3, "4": FlashAttention4}

if __name__ == "__main__":
    serve(VERSIONS[sys.argv[1]])
