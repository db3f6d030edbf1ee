"""assay's model step in Python's PyTorch: eager, or under torch.compile.

    torch_model.py eager|default|reduce-overhead     (the last two are modes of torch.compile)
"""

import contextlib
import sys

from assay_peer import Program, Unsupported, serve  # first: it answers where there is no torch

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from transformer import (
    NORMS, Transformer, library_attention, naive_attention, rotate, rotate_in_reals)

LIBRARY_ATTENTION = {
    "math": SDPBackend.MATH,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}
AUTOCAST = {"fp32": None, "tf32": None, "bf16": torch.bfloat16, "fp16": torch.float16}
PASSES = ("inference", "forward", "backward", "forward_backward", "train_step")


class ModelStep(Program):
    def __init__(self, case, mode):
        self.compiled = mode != "eager"
        self.device = case.device
        precision = case.require("precision", *AUTOCAST)
        self.autocast = AUTOCAST[precision]
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        self.attention = case.require("attention", "naive", *LIBRARY_ATTENTION)
        batch, length = int(case.require("batch")), int(case.require("seq_len"))
        size = case.presets["model"]
        with self.device:
            self.model = Transformer(
                size, case.require("architecture", "swiglu", "gelu"), length,
                naive_attention if self.attention == "naive" else library_attention,
                NORMS[case.require("norm", *NORMS)],
                rotate_in_reals if self.compiled else rotate)
            self.tokens = torch.randint(size["vocab_size"], (batch, length))
            self.targets = torch.randint(size["vocab_size"], (batch, length))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, fused=True)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.autocast == torch.float16)
        self.logits_of = torch.compile(self.model, mode=mode) if self.compiled else self.model
        self.loss_of = torch.compile(self.loss, mode=mode) if self.compiled else self.loss
        self.pending = None  # the loss a backward pass starts from

    def loss(self, tokens, targets):
        logits = self.model(tokens)
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())

    @contextlib.contextmanager
    def settings(self):
        with contextlib.ExitStack() as stack:
            if self.autocast is not None:
                stack.enter_context(torch.autocast(self.device.type, dtype=self.autocast))
            if self.attention in LIBRARY_ATTENTION:
                stack.enter_context(sdpa_kernel(LIBRARY_ATTENTION[self.attention]))
            yield

    def forward(self):
        with self.settings():
            return self.loss_of(self.tokens, self.targets)

    def before(self, pass_name):
        if pass_name not in PASSES:
            raise Unsupported(f"no pass '{pass_name}' here; there are: {', '.join(PASSES)}")
        self.release()
        if self.compiled:
            torch.compiler.cudagraph_mark_step_begin()
        if pass_name == "backward":
            self.pending = self.forward()

    def run(self, pass_name):
        if pass_name == "inference":
            with torch.no_grad(), self.settings():
                self.logits_of(self.tokens)
        elif pass_name == "forward":
            self.pending = self.forward()
        elif pass_name == "backward":
            self.scaler.scale(self.pending).backward()
        else:
            self.scaler.scale(self.forward()).backward()
        if pass_name == "train_step":
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def counts(self, pass_name):
        return {"parameters": sum(parameter.numel() for parameter in self.model.parameters())}

    def release(self):
        self.pending = None
        self.optimizer.zero_grad(set_to_none=True)


if __name__ == "__main__":
    serve(lambda case: ModelStep(case, sys.argv[1]))
