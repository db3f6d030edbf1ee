"""assay's model step in PyTorch, eager or under torch.compile, and its attention and norms under
torch.compile.

    torch_model.py eager|default|reduce-overhead|max-autotune [cast] [liger] [fused_adamw]

All but the first are modes of torch.compile. With `cast`, weights of linear layers are in autocast's
dtype from the start, so that no call casts them; they have no optimizer. `liger` and `fused_adamw`
are those of fused_training.py: head and loss in one, another AdamW.
"""

import contextlib
import dataclasses
import functools
import sys

from assay_peer import Program, Unsupported, poison, serve  # first: it answers without torch
from assay_peer.kept_aside import KeptAside
from assay_peer.operations import forwards_and_backwards

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from fused_training import LigerHeadLoss, fused_adamw
from model_look import (
    Textbook, compare_gradients, compare_logits, compare_loss, compare_movement)
from torch_operations import COMPILED
from transformer import (
    NORMS, Transformer, kv_heads_of, library_attention, naive_attention, rotate, rotate_in_reals)

LIBRARY_ATTENTION = {
    "math_libtorch": SDPBackend.MATH,
    "efficient_libtorch": SDPBackend.EFFICIENT_ATTENTION,
    "flash_libtorch": SDPBackend.FLASH_ATTENTION,
    "cudnn_libtorch": SDPBackend.CUDNN_ATTENTION,
}
AUTOCAST = {"fp32": None, "tf32": None, "bf16": torch.bfloat16, "fp16": torch.float16}
PASSES = ("inference", "forward", "backward", "forward_backward", "train_step")
OF_CAST = PASSES[:-1]
CHECKED_STEPS = 5  # calls of a train step whose losses are checked


@dataclasses.dataclass
class Sizes:
    model: dict  # d_model, d_ff, layers, heads, vocab_size and perhaps kv_heads
    batch: int
    length: int
    loss_scale: float = 65536.0

    def reduced(self, on_cpu):
        """What assay checks of its own models too: two layers, at most 512 wide (256 on a CPU), the
        same head size, little data, and a loss scale at which two tokens do not overflow."""
        d_head = self.model["d_model"] // self.model["heads"]
        group = self.model["heads"] // kv_heads_of(self.model)
        heads = min(self.model["heads"], max(1 if group == 1 else 2,
                                             (256 if on_cpu else 512) // d_head))
        model = {
            "d_model": heads * d_head, "heads": heads,
            "d_ff": max(8, self.model["d_ff"] * heads // self.model["heads"] // 8 * 8),
            "layers": min(2, self.model["layers"]),
            "vocab_size": min(1000, self.model["vocab_size"]),
        }
        if group > 1:
            model["kv_heads"] = next(count for count in range(max(1, heads // group), 0, -1)
                                     if heads % count == 0)
        return Sizes(model, min(2, self.batch), min(128 if on_cpu else 256, self.length), 1024.0)


def library_adamw(parameters, lr):
    return torch.optim.AdamW(parameters, lr=lr, fused=True)


class ModelStep(Program):
    def __init__(self, case, mode, sizes=None, own_norms=None, cast=False, head_loss=None,
                 adamw=library_adamw):
        """own_norms: modules by name, beside those of NORMS, that compute an RMSNorm. head_loss:
        the loss from what the head reads, its weight and targets. adamw: makes the optimizer."""
        self.case = case
        self.mode = mode
        self.cast = cast
        self.own_norms = own_norms or {}
        self.head_loss = head_loss
        self.adamw = adamw
        self.compiled = mode != "eager"
        self.device = case.device
        case.require("workload", "model_step")
        precision = case.require("precision", *AUTOCAST)
        self.autocast = AUTOCAST[precision]
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        self.attention = case.require("attention", "naive", *LIBRARY_ATTENTION)
        self.sizes = sizes or Sizes(case.presets["model"], int(case.require("batch")),
                                    int(case.require("seq_len")))
        batch, length = self.sizes.batch, self.sizes.length
        with self.device:
            architecture = case.require("architecture", "swiglu", "gelu")
            norms = NORMS | self.own_norms
            name = case.require("norm", *norms)
            self.textbook = functools.partial(Textbook, self, architecture,
                                              NORMS.get(name, NORMS["rmsnorm"]))
            self.model = Transformer(
                self.sizes.model, architecture, length,
                naive_attention if self.attention == "naive" else library_attention, norms[name],
                rotate_in_reals if self.compiled else rotate)
            self.tokens = torch.randint(self.sizes.model["vocab_size"], (batch, length))
            self.targets = torch.randint(self.sizes.model["vocab_size"], (batch, length))
        if cast and self.autocast is not None:
            for module in self.model.modules():
                if isinstance(module, torch.nn.Linear):
                    module.to(self.autocast)
        self.optimizer = adamw(self.model.parameters(), lr=1e-3)
        self.scaler = torch.amp.GradScaler(self.device.type, init_scale=self.sizes.loss_scale,
                                           enabled=self.autocast == torch.float16)
        self.logits_of = torch.compile(self.model, mode=mode) if self.compiled else self.model
        self.loss_of = torch.compile(self.loss, mode=mode) if self.compiled else self.loss
        self.max_grad_norm = float(case.get("max_grad_norm", 0))
        self.pending = None  # the loss a backward starts from
        self.logits = None  # of an inference
        self.stepped_from = None  # KeptAside: what a train step changes, while it is looked at
        self.may_overflow = self.scaler.is_enabled()

    @functools.cached_property
    def checked(self):
        return ModelStep(self.case, self.mode, self.sizes.reduced(self.device.type == "cpu"),
                         self.own_norms, self.cast, self.head_loss, self.adamw)

    def loss(self, tokens, targets):
        if self.head_loss is not None:
            return self.head_loss(self.model.hidden(tokens), self.model.head_weight(), targets,
                                  self.autocast)
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
        passes = OF_CAST if self.cast else PASSES
        if pass_name not in passes:
            raise Unsupported(f"no pass '{pass_name}' here; there are: {', '.join(passes)}")
        self.release()
        if self.compiled:
            torch.compiler.cudagraph_mark_step_begin()
        if pass_name == "backward":
            self.pending = self.forward()

    def run(self, pass_name):
        if pass_name == "inference":
            with torch.no_grad(), self.settings():
                self.logits = self.logits_of(self.tokens)
        elif pass_name == "forward":
            self.pending = self.forward()
        elif pass_name == "backward":
            self.scaler.scale(self.pending).backward()
        else:
            self.pending = self.forward()
            self.scaler.scale(self.pending).backward()
        if pass_name == "train_step":
            if self.max_grad_norm > 0:
                self.scaler.unscale_(self.optimizer)
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_grad_norm)
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def inputs(self, pass_name):
        below = self.sizes.model["vocab_size"]
        tokens = {"tokens": (self.tokens, below)}
        return tokens if pass_name == "inference" else tokens | {"targets": (self.targets, below)}

    def read_before(self, pass_name):
        return ("tokens", "targets") if pass_name == "backward" else ()

    def outputs(self, pass_name):
        made = {"logits": self.logits, "loss": self.pending} | {
            f"grad.{name}": parameter.grad for name, parameter in self.model.named_parameters()}
        return {name: tensor for name, tensor in made.items() if tensor is not None}

    def ahead_of_look(self, pass_name):
        if pass_name == "train_step":
            self.stepped_from = KeptAside(dict(self.model.named_parameters()), self.device)

    def look(self, pass_name, comparison):
        kept, self.stepped_from = self.stepped_from, None
        if kept is None:
            self.compare(pass_name, comparison)
        else:
            kept.lend(self.device, lambda before: self.compare(pass_name, comparison, before))

    def compare(self, pass_name, comparison, before=None):
        """before: the parameters that the call's step has changed, by name."""
        own = dict(self.model.named_parameters())
        textbook = self.textbook(before or own)
        if pass_name == "inference":
            return compare_logits(textbook, self.logits, comparison)
        compare_loss(textbook, self.pending, self.sizes.batch, comparison)
        if pass_name == "forward":
            return
        # The scaler's step has unscaled the gradients of a train step.
        scale = 1.0 if pass_name == "train_step" else self.scaler.get_scale()
        gradients = {name: parameter.grad.float() for name, parameter in own.items()
                     if parameter.grad is not None}
        if scale != 1:  # else they need no memory of their own
            gradients = {name: gradient / scale for name, gradient in gradients.items()}
        most_norm = self.max_grad_norm if pass_name == "train_step" else 0
        compare_gradients(textbook, gradients, self.sizes.batch, most_norm, comparison)
        if before is not None and not self.scaler.is_enabled():
            compare_movement(own, before, self.optimizer, comparison)

    def exchange(self, pass_name):
        poison(self.device, 256 << 20)
        return self.checked.one_call(pass_name)

    def one_call(self, pass_name):
        """A call's inputs and outputs; for a train step the losses of CHECKED_STEPS calls."""
        inputs = {name: parameter.detach().float().clone()
                  for name, parameter in self.model.named_parameters()}
        inputs |= {"tokens": self.tokens, "targets": self.targets}
        self.before(pass_name)
        if pass_name == "inference":
            with torch.no_grad(), self.settings():
                logits = self.logits_of(self.tokens).clone()
            return {"inputs": inputs, "outputs": {"logits": logits}}
        self.run(pass_name)
        losses = [self.pending.detach().clone()]
        # The scaler's step has unscaled the gradients of a train step.
        scale = 1.0 if pass_name == "train_step" else self.scaler.get_scale()
        outputs = {f"grad.{name}": parameter.grad.float() / scale
                   for name, parameter in self.model.named_parameters()
                   if parameter.grad is not None}
        if pass_name != "train_step":
            return {"inputs": inputs, "outputs": {"loss": losses[0], **outputs}}
        for _ in range(CHECKED_STEPS - 1):
            self.before(pass_name)
            self.run(pass_name)
            losses.append(self.pending.detach().clone())
        return {"inputs": inputs, "outputs": {"losses": torch.stack(losses), **outputs}}

    def counts(self, pass_name):
        """FLOPs as assay counts them: of the products, with attention over the keys that are seen."""
        size, length = self.sizes.model, self.sizes.length
        matrices = sum(module.weight.numel() for module in self.model.modules()
                       if isinstance(module, torch.nn.Linear))
        if self.model.head is None:
            matrices += self.model.embedding.weight.numel()
        pairs = size["layers"] * self.sizes.batch * length * (length + 1) // 2
        forward = 2 * self.sizes.batch * length * matrices + 4 * size["d_model"] * pairs
        forwards, backwards = forwards_and_backwards(pass_name)
        return {"parameters": sum(parameter.numel() for parameter in self.model.parameters()),
                "flops": (forwards + 2 * backwards) * forward}

    def release(self):
        self.pending = self.logits = None
        self.optimizer.zero_grad()


def program_of(case, mode, *options):
    operation = COMPILED.get(case.require("workload"))
    if operation:
        return operation(case, mode)
    return ModelStep(case, mode, cast="cast" in options,
                     head_loss=LigerHeadLoss(case) if "liger" in options else None,
                     adamw=fused_adamw(case) if "fused_adamw" in options else library_adamw)


if __name__ == "__main__":
    serve(lambda case: program_of(case, *sys.argv[1:]))
