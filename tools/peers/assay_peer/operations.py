"""Variants of a single operation: inputs, passes, counts and exchange as in assay's own workloads,
`forward` by the author."""

import torch

from .case import Unsupported
from .program import Program
from .references import compare_attention, compare_norm
from .tensors import poison

DTYPES = {
    "fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16,
}
PASSES = ("inference", "forward", "backward", "forward_backward")


def lies_like(one, other):
    return all(size == 1 or stride == of_other for size, stride, of_other in
               zip(one.shape, one.stride(), other.stride()))


class OperationProgram(Program):
    """One call of an operation on seeded random inputs. `leaves` are the inputs that get gradients,
    `dout` is the output's gradient, `dsum` that of a second result, `sum`, where there is one."""

    workload = ""

    def __init__(self, case):
        case.require("workload", self.workload)
        if case.get("compile", "eager") not in ("eager", case.variant):
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
        self.dsum = None
        self._results = None  # {"out": …} and, of an operation with two results, "sum"
        self._gradients = {}  # of the leaves

    def call(self):
        """The operation on the leaves: its results by name, "out" first."""
        raise NotImplementedError

    def random(self, *shape, draw=torch.randn):
        return draw(shape, generator=self._generator, device=self.device)

    def before(self, pass_name):
        if pass_name not in PASSES:
            raise Unsupported(f"no pass '{pass_name}' here; there are: {', '.join(PASSES)}")
        self.release()
        if pass_name == "backward":
            self._results = self.call()

    def run(self, pass_name):
        if pass_name == "inference":
            with torch.no_grad():
                self._results = self.call()
            return
        if pass_name != "backward":
            self._results = self.call()
        if pass_name != "forward":
            self._backward()

    def _backward(self):
        if not all(result.requires_grad for result in self._results.values()):
            raise Unsupported(f"this {self.workload} has no backward")
        gradients = [self.dout] if self.dsum is None else [self.dout, self.dsum]
        # Not kept in the leaves, which would copy a gradient that two of them share. They would also
        # have it lie as they do. On this thread, as assay's: one of autograd's own would have to be
        # woken and waited for.
        with torch.autograd.set_multithreading_enabled(False):
            found = torch.autograd.grad(list(self._results.values()), list(self.leaves.values()),
                                        gradients, allow_unused=True)
        self._gradients = {
            name: gradient if gradient is None or lies_like(gradient, leaf)
            else torch.empty_like(leaf, dtype=gradient.dtype).copy_(gradient)
            for (name, leaf), gradient in zip(self.leaves.items(), found)}

    def exchange(self, pass_name):
        poison(self.device, 4 * sum(leaf.numel() * leaf.element_size()
                                    for leaf in self.leaves.values()))
        self.before(pass_name)
        self.run(pass_name)
        return {"inputs": self.inputs(pass_name), "outputs": self.outputs(pass_name)}

    def inputs(self, pass_name):
        inputs = dict(self.leaves)
        if pass_name in ("backward", "forward_backward"):
            inputs["dout"] = self.dout
            if self.dsum is not None:
                inputs["dsum"] = self.dsum
        return inputs

    def read_before(self, pass_name):
        return tuple(self.leaves) if pass_name == "backward" else ()

    def outputs(self, pass_name):
        gradients = {f"grad.{name}": gradient for name, gradient in self._gradients.items()
                     if gradient is not None}
        return {**(self._results or {}), **gradients}

    def release(self):
        self._results = None
        self._gradients = {}


class Attention(OperationProgram):
    """softmax(scale · q kᵀ + mask) v. Write `forward`. Autograd differentiates it; write a backward
    of your own as a torch.autograd.Function. Set `grouped` where k and v may have fewer heads than
    q, `windowed` where it minds self.window; cases with others are unsupported."""

    workload = "attention"
    grouped = False
    windowed = False

    def __init__(self, case):
        super().__init__(case)
        self.shape = tuple(int(case.require(name))
                           for name in ("batch", "heads", "seq_len", "d_head"))
        self.causal = bool(case.require("causal"))
        self.scale = self.shape[-1] ** -0.5
        self.window = int(case.get("window", 0))
        batch, heads, length, d_head = self.shape
        self.kv_heads = int(case.get("kv_heads", 0)) or heads
        if self.kv_heads != heads and not self.grouped:
            raise Unsupported("it takes as many heads of k and v as of q")
        if heads % self.kv_heads:
            raise Unsupported(f"heads {heads} is not a multiple of kv_heads {self.kv_heads}")
        if self.window and not self.windowed:
            raise Unsupported("it has no window")
        shapes = {"q": heads, "k": self.kv_heads, "v": self.kv_heads}
        self.leaves = {
            name: self.random(batch, of, length, d_head).to(self.dtype).requires_grad_()
            for name, of in shapes.items()}
        self.dout = self.random(*self.shape).to(self.dtype)

    def forward(self, q, k, v):
        """q: [batch, heads, seq_len, d_head] → the same shape and dtype; k, v: [batch, kv_heads,
        seq_len, d_head]. self.causal: query i sees keys up to i; self.window, if not 0: only keys
        less than that far from i; self.scale: 1 / sqrt(d_head)."""
        raise NotImplementedError

    def call(self):
        return {"out": self.forward(*self.leaves.values())}

    def look(self, pass_name, comparison):
        compare_attention(self, self.outputs(pass_name), comparison)

    def counts(self, pass_name):
        batch, heads, length, d_head = self.shape
        window = min(self.window or length, length)
        before = window * (2 * length - window + 1) // 2  # and the query's own key
        pairs = batch * heads * (before if self.causal else 2 * before - length)
        tensors = batch * (heads + self.kv_heads) * length * d_head * self.dtype.itemsize
        forwards, backwards = forwards_and_backwards(pass_name)
        return {"flops": (4 * forwards + 10 * backwards) * pairs * d_head,
                "bytes": (2 * forwards + 4 * backwards) * tensors}


class Norm(OperationProgram):
    """RMSNorm over the last dimension, or LayerNorm where `has_bias`. Write `forward`, and
    `add_forward` where residual addition and norm are one kernel."""

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
        self.residual = bool(case.get("residual", False))
        if self.residual:
            self.leaves["residual"] = self.random(rows, n_cols).to(self.dtype).requires_grad_()
            self.dsum = self.random(rows, n_cols).to(self.dtype)

    def forward(self, x, weight, *bias):
        """x: [rows, n_cols]; weight, bias: [n_cols] float → like x."""
        raise NotImplementedError

    def add_forward(self, residual, x, weight, *bias):
        """residual, x: [rows, n_cols] → residual + x, and its norm."""
        total = residual + x
        return total, self.forward(total, weight, *bias)

    def call(self):
        vectors = [self.leaves[name] for name in ("weight", "bias") if name in self.leaves]
        if not self.residual:
            return {"out": self.forward(self.leaves["x"], *vectors)}
        total, out = self.add_forward(self.leaves["residual"], self.leaves["x"], *vectors)
        return {"out": out, "sum": total}

    def look(self, pass_name, comparison):
        compare_norm(self, self.outputs(pass_name), comparison)

    def counts(self, pass_name):
        rows, n_cols = self.shape
        forwards, backwards = forwards_and_backwards(pass_name)
        tensors = (4 * forwards + 4 * backwards if self.residual
                   else 2 * forwards + 3 * backwards)
        return {"bytes": tensors * rows * n_cols * self.dtype.itemsize}


def forwards_and_backwards(pass_name):
    return (int(pass_name != "backward"),
            int(pass_name in ("backward", "forward_backward", "train_step")))
