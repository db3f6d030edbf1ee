"""Variants of a single operation: inputs, passes, counts and exchange as in assay's own workloads,
`forward` by the author."""

import torch

from .case import Unsupported
from .program import Program
from .tensors import poison

DTYPES = {
    "fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16,
}
PASSES = ("inference", "forward", "backward", "forward_backward")


class OperationProgram(Program):
    """One call of an operation on seeded random inputs. `leaves` are the inputs that get gradients,
    `dout` is the output's gradient."""

    workload = ""

    def __init__(self, case):
        case.require("workload", self.workload)
        if case.get("compile", "eager") != "eager":
            raise Unsupported(f"compile '{case.get('compile')}' does not reach this program")
        self.device = case.device
        precision = case.require("precision", *DTYPES)
        if precision == "tf32" and self.device.type != "cuda":
            raise Unsupported("TF32 needs a CUDA device")
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        self.dtype = DTYPES[precision]
        self._generator = torch.Generator(self.device).manual_seed(case.seed)
        self.leaves = {}
        self.dout = None
        self._out = None

    def call(self):
        """The operation on the leaves."""
        raise NotImplementedError

    def random(self, *shape, draw=torch.randn):
        return draw(shape, generator=self._generator, device=self.device)

    def before(self, pass_name):
        if pass_name not in PASSES:
            raise Unsupported(f"no pass '{pass_name}' here; there are: {', '.join(PASSES)}")
        self.release()
        if pass_name == "backward":
            self._out = self.call()

    def run(self, pass_name):
        if pass_name == "inference":
            with torch.no_grad():
                self._out = self.call()
            return
        if pass_name != "backward":
            self._out = self.call()
        if pass_name != "forward":
            self._backward()

    def _backward(self):
        if not self._out.requires_grad:
            raise Unsupported(f"this {self.workload} has no backward")
        torch.autograd.backward([self._out], [self.dout])

    def exchange(self, pass_name):
        poison(self.device, 4 * sum(leaf.numel() * leaf.element_size()
                                    for leaf in self.leaves.values()))
        self.before(pass_name)
        self.run(pass_name)
        gradients = {f"grad.{name}": leaf.grad for name, leaf in self.leaves.items()
                     if leaf.grad is not None}
        inputs = {**self.leaves, "dout": self.dout} if gradients else self.leaves
        return {"inputs": inputs, "outputs": {"out": self._out, **gradients}}

    def release(self):
        self._out = None
        for leaf in self.leaves.values():
            leaf.grad = None


class Attention(OperationProgram):
    """softmax(scale · q kᵀ + mask) v. Write `forward`. Autograd differentiates it; write a backward
    of your own as a torch.autograd.Function."""

    workload = "attention"

    def __init__(self, case):
        super().__init__(case)
        self.shape = tuple(int(case.require(name))
                           for name in ("batch", "heads", "seq_len", "d_head"))
        self.causal = bool(case.require("causal"))
        self.scale = self.shape[-1] ** -0.5
        self.leaves = {name: self.random(*self.shape).to(self.dtype).requires_grad_()
                       for name in "qkv"}
        self.dout = self.random(*self.shape).to(self.dtype)

    def forward(self, q, k, v):
        """q, k, v: [batch, heads, seq_len, d_head] → the same shape and dtype. self.causal: query i
        sees keys up to i; self.scale: 1 / sqrt(d_head)."""
        raise NotImplementedError

    def call(self):
        return self.forward(*self.leaves.values())

    def counts(self, pass_name):
        batch, heads, length, d_head = self.shape
        pairs = batch * heads * (length * (length + 1) // 2 if self.causal else length * length)
        tensor = batch * heads * length * d_head * self.dtype.itemsize
        forwards, backwards = forwards_and_backwards(pass_name)
        return {"flops": (4 * forwards + 10 * backwards) * pairs * d_head,
                "bytes": (4 * forwards + 8 * backwards) * tensor}


class Norm(OperationProgram):
    """RMSNorm over the last dimension, or LayerNorm where `has_bias`. Write `forward`."""

    workload = "norm"
    has_bias = False
    eps = 1e-5

    def __init__(self, case):
        super().__init__(case)
        rows, n_cols = int(case.require("rows")), int(case.require("n_cols"))
        self.shape = (rows, n_cols)
        self.leaves = {"x": self.random(rows, n_cols).to(self.dtype).requires_grad_(),
                       "weight": (self.random(n_cols, draw=torch.rand) + 0.5).requires_grad_()}
        if self.has_bias:
            self.leaves["bias"] = self.random(n_cols).requires_grad_()
        self.dout = self.random(rows, n_cols).to(self.dtype)

    def forward(self, x, weight, *bias):
        """x: [rows, n_cols]; weight, bias: [n_cols] float → like x."""
        raise NotImplementedError

    def call(self):
        return self.forward(*self.leaves.values())

    def counts(self, pass_name):
        rows, n_cols = self.shape
        forwards, backwards = forwards_and_backwards(pass_name)
        return {"bytes": (2 * forwards + 3 * backwards) * rows * n_cols * self.dtype.itemsize}


def forwards_and_backwards(pass_name):
    return int(pass_name != "backward"), int(pass_name in ("backward", "forward_backward"))
