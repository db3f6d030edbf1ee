"""What a look compares a model's timed call with: the same parameters and tokens through textbook
operations, eager, in fp32. Those in the case's precision tell how large an error may be."""

import contextlib
import math
import random

import torch
from torch.nn import functional as F

from assay_peer import Wrong
from transformer import Transformer, naive_attention, of_each_head, rotate

LOSS_FACTOR, LOSS_FLOOR = 4, 0.05
LOGITS_FACTOR, LOGITS_FLOOR = 2, 0.125
GRADIENT_FACTOR, GRADIENT_FLOOR = 2, 2  # beside so many tolerances
# The more of a gradient rounding changes, the less the error of one kernel says of another's: twice
# as much is allowed from a tenth on.
MOSTLY_ROUNDING = 0.1
# Kernels may make products in fp32 of split operands, which leave 2^-22 where a textbook's leave
# 2^-24.
SPLIT_PRODUCTS = 4
# A single error may be next to nothing by chance, where few directions make it up: the largest of
# several decides.
DRAWS = 8
MOVEMENT_ALLOWANCE, ELEMENTS = 1e-3, 64


def ratio_of_norms(distance, size):
    return distance / size if size > 0 else distance


def relative(value, right):
    distance, size = (x.detach().double().norm().item() for x in (value - right, right))
    return ratio_of_norms(distance, size)


@contextlib.contextmanager
def exact_products():
    own = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(own)


def at_least_fp32(x):
    return torch.promote_types(x.dtype, torch.float32)


class TiledAttention(torch.autograd.Function):
    """Textbook attention whose backward rounds what tiled kernels round: they take the sum of
    dP ∘ P over a row's keys as that of dO ∘ O (Dao 2023, section 3.1), from the output in q's
    dtype. Its error is the same for all keys of a row, so it does not average out in dQ and dK."""

    @staticmethod
    def forward(context, q, k, v, hidden):
        """q, k, v: [batch, heads, seq_len, d_head] of one dtype."""
        context.scale = 1 / math.sqrt(q.shape[-1])
        scores = ((q @ k.transpose(-2, -1)) * context.scale).masked_fill_(hidden, float("-inf"))
        p = torch.softmax(scores, -1, dtype=at_least_fp32(q)).to(q.dtype)
        out = p @ v
        context.save_for_backward(q, k, v, p, out)
        return out

    @staticmethod
    def backward(context, dout):
        q, k, v, p, out = context.saved_tensors
        dout, wide = dout.to(q.dtype), at_least_fp32(q)
        dp = (dout @ v.transpose(-2, -1)).to(wide)
        row_sums = (dout.to(wide) * out.to(wide)).sum(-1, keepdim=True)
        ds = (p.to(wide) * (dp - row_sums)).to(q.dtype)
        return ((ds @ k) * context.scale, (ds.transpose(-2, -1) @ q) * context.scale,
                p.transpose(-2, -1) @ dout, None)


def tiled_attention(q, k, v, hidden):
    return TiledAttention.apply(q, *of_each_head(q, k, v), hidden)


def is_as_fine_as_reference(precision):
    """The same operations in the same precision round alike, which tells nothing of rounding."""
    return precision == "fp32"


def an_ulp_off(x, draw=0):
    """Elements larger and smaller by the resolution of x's dtype, in turns of 2^draw. From inputs
    so far apart the same operations round otherwise."""
    ulp = torch.finfo(x.dtype).eps
    place = torch.arange(x.numel(), device=x.device).view(x.shape)
    return torch.where((place >> draw) % 2 == 1, x * (1 - ulp), x * (1 + ulp))


class Textbook:
    """The model of a step, sequence by sequence. `parameters`: those of the call, by name."""

    def __init__(self, step, architecture, norm, parameters):
        def model_with(attention):
            with torch.device("meta"):
                model = Transformer(step.sizes.model, architecture, step.sizes.length, attention,
                                    norm, rotate)
            model.tables = step.model.tables
            return model

        self._model, self._narrow_model = model_with(naive_attention), model_with(tiled_attention)
        self._step = step
        self._is_as_fine = is_as_fine_as_reference(step.case.get("precision"))
        self.parameters = {name: parameter.detach().float().requires_grad_()
                           for name, parameter in parameters.items()}

    def logits(self, sequence, narrow=False, draw=0):
        """draw: of the narrow ones that are as fine as the others."""
        tokens = self._step.tokens[sequence:sequence + 1]
        narrowed = narrow and self._step.autocast is not None
        with contextlib.ExitStack() as stack:
            if narrowed:
                stack.enter_context(torch.autocast(tokens.device.type, dtype=self._step.autocast))
            else:
                stack.enter_context(torch.autocast(tokens.device.type, enabled=False))
            if not narrow:
                stack.enter_context(exact_products())
            model = self._narrow_model if narrow else self._model
            parameters = self.parameters
            if narrow and self._is_as_fine:
                name = "embedding.weight"
                parameters = parameters | {name: an_ulp_off(parameters[name], draw)}
            return torch.func.functional_call(model, parameters, (tokens,))

    def loss(self, sequence, narrow=False, draw=0):
        targets = self._step.targets[sequence]
        return F.cross_entropy(self.logits(sequence, narrow, draw)[0].float(), targets)

    def gradients(self, sequence, narrow=False, draw=0):
        """(loss, gradients by name) of one sequence."""
        with torch.enable_grad():
            loss = self.loss(sequence, narrow, draw)
        with contextlib.nullcontext() if narrow else exact_products():
            found = torch.autograd.grad(loss, list(self.parameters.values()), allow_unused=True)
        return loss.detach(), {
            name: torch.zeros_like(parameter) if gradient is None else gradient.float()
            for (name, parameter), gradient in zip(self.parameters.items(), found)}


def compare_logits(textbook, logits, comparison):
    """Of a drawn sequence."""
    sequence = random.SystemRandom().randrange(len(logits))
    with torch.no_grad():
        right = textbook.logits(sequence)
        usual = relative(textbook.logits(sequence, narrow=True).float(), right)
    comparison.judge(f"logits of sequence {sequence}",
                     relative(logits[sequence:sequence + 1].float(), right),
                     LOGITS_FACTOR * usual + LOGITS_FLOOR * comparison.tolerance, usual)


def compare_loss(textbook, loss, batch, comparison):
    with torch.no_grad():
        right = torch.stack([textbook.loss(i) for i in range(batch)]).double()
        near = torch.stack([textbook.loss(i, narrow=True) for i in range(batch)]).double()
    usual = ((near - right).square().mean().sqrt() / right.mean()).item()
    comparison.judge("loss", relative(loss.double(), right.mean()),
                     LOSS_FACTOR * usual + LOSS_FLOOR * comparison.tolerance, usual)


def norm_of(gradients):
    return math.sqrt(sum(gradient.norm().item() ** 2 for gradient in gradients.values()))


def allowed_of_gradient(usual, comparison):
    """An error that is no number allows nothing."""
    floor = GRADIENT_FLOOR * comparison.tolerance
    if not math.isfinite(usual):
        return floor
    expected = usual * (SPLIT_PRODUCTS if is_as_fine_as_reference(comparison.precision) else 1)
    return GRADIENT_FACTOR * (1 + min(1, usual / MOSTLY_ROUNDING)) * expected + floor


def common_factor(gradients, right, allowed):
    """The mean over gradients by which they are longer than `right`, weighted by how well each is
    known; 1 if none is a number."""
    total = weights = 0
    for name, gradient in right.items():
        longer = ((gradients[name] * gradient).sum() / gradient.square().sum()).item()
        if math.isfinite(longer):
            total += longer / allowed[name] ** 2
            weights += 1 / allowed[name] ** 2
    return total / weights if weights > 0 else 1


class GradientLimit:
    """A limit of the norm of all gradients, which a step leaves scaled. norm: of the reference's,
    unscaled. of_values: of those that the step has left."""

    def __init__(self, most, norm, of_values):
        self.most, self.norm, self.of_values = most, norm, of_values

    def factor(self, relative_norm=1):
        norm = relative_norm * self.norm
        return 1 if norm <= self.most else self.most / norm

    def factor_of_own_norm(self, gradients, right, allowed, tolerance):
        """Where rounding makes much of the largest gradient it changes the norm of all, and a step
        scales by its own: all its gradients are longer or shorter by one factor than `right`, which
        factor() has scaled. The factor is that of the gradients whose errors are small, no further
        from 1 than `allowed` lets the norm change; 1 / factor() for a step whose norm is below the
        limit, since it has scaled nothing."""
        norms = {name: gradient.norm().item() for name, gradient in right.items()}
        whole = math.hypot(*norms.values())
        off = math.hypot(*(allowed[name] * norm for name, norm in norms.items()))
        if not (0 < whole and math.isfinite(off / whole) and math.isfinite(self.of_values)):
            return 1
        change = off / whole
        shortest, longest = self.factor(1 + change), self.factor(max(0, 1 - change))
        is_limited = self.of_values >= self.most * (1 - tolerance)
        factor = common_factor(gradients, right, allowed) if is_limited else 1 / self.factor()
        return min(max(factor, shortest / self.factor()), longest / self.factor())


def scale(gradients, factor):
    for gradient in gradients.values():
        gradient.mul_(factor)


class ErrorsOfBatch:
    """Of the sum of sequences' gradients, by name. An error is no less than the root of the sum of
    the sequences' squared errors, as if these were independent: few may cancel each other by
    chance."""

    def __init__(self):
        self._off, self._squares = {}, {}

    def add(self, name, error):
        self._squares[name] = self._squares.get(name, 0) + error.double().norm().item() ** 2
        self._off[name] = self._off[name].add_(error) if name in self._off else error

    def beside(self, norms):
        distances = {name: max(off.double().norm().item(), math.sqrt(self._squares[name]))
                     for name, off in self._off.items()}
        return {name: ratio_of_norms(distance, norms[name]) for name, distance in distances.items()}


def gradients_of_sequences(textbook, batch, draw):
    """(name, gradient, the textbook's error of it) of all sequences: their errors differ
    eightfold."""
    for sequence in range(batch):
        _, own = textbook.gradients(sequence)
        _, near = textbook.gradients(sequence, narrow=True, draw=draw)
        for name, gradient in own.items():
            yield name, gradient, near.pop(name).sub_(gradient)


def of_batch(textbook, batch):
    """(sum of the sequences' gradients, its norm, the textbook's error of it), by name."""
    right, errors = {}, ErrorsOfBatch()
    for name, gradient, error in gradients_of_sequences(textbook, batch, draw=0):
        errors.add(name, error)
        right[name] = right[name].add_(gradient) if name in right else gradient
    norms = {name: gradient.double().norm().item() for name, gradient in right.items()}
    return right, norms, errors.beside(norms)


def larger_of_draws(usual, textbook, batch, norms, draw):
    """`usual`, or the errors of a further draw where these are larger. One that is no number says
    nothing."""
    errors = ErrorsOfBatch()
    for name, _, error in gradients_of_sequences(textbook, batch, draw):
        errors.add(name, error)
    further = errors.beside(norms)
    return {name: max((x for x in (error, further[name]) if math.isfinite(x)), default=error)
            for name, error in usual.items()}


def errors_of(gradients, right, allowed, limit, tolerance):
    """Relative to `right`, by name, without the factor that a limit of their norm may put in."""
    factor = limit.factor_of_own_norm(gradients, right, allowed, tolerance) if limit else 1
    return {name: relative(gradients[name], gradient if factor == 1 else factor * gradient)
            for name, gradient in right.items()}


def compare_gradients(textbook, gradients, batch, most_norm, comparison):
    """gradients: of the call, unscaled. most_norm: to which it has clipped them; 0: it has not."""
    if not all(gradient.isfinite().all() for gradient in gradients.values()):
        return  # a loss scale that was too large: the step is skipped
    right, norms, usual = of_batch(textbook, batch)
    for name in right:
        if name not in gradients:
            raise Wrong(f"grad.{name} is missing")
    scale(right, 1 / batch)
    limit = None
    if most_norm > 0:
        limit = GradientLimit(most_norm, norm_of(right), norm_of(gradients))
        scale(right, limit.factor())
        longer = max(0.0, limit.of_values / most_norm - 1)
        comparison.judge("the norm of all gradients", longer, comparison.tolerance)
    for draw in range(DRAWS if is_as_fine_as_reference(comparison.precision) else 1):
        if draw > 0:
            usual = larger_of_draws(usual, textbook, batch, norms, draw)
        allowed = {name: allowed_of_gradient(error, comparison) for name, error in usual.items()}
        errors = errors_of(gradients, right, allowed, limit, comparison.tolerance)
        if all(error <= allowed[name] for name, error in errors.items()):
            break
    for name, error in errors.items():
        comparison.judge(f"grad.{name}", error, allowed[name], usual[name])


def compare_movement(parameters, before, optimizer, comparison):
    """The step of some elements of each parameter from AdamW's (Loshchilov and Hutter 2019), with
    the moments that it has left."""
    group = optimizer.param_groups[0]
    rate, (beta1, beta2) = group["lr"], group["betas"]
    moved, right = [], []
    for name, parameter in parameters.items():
        state = optimizer.state.get(parameter)
        if not state:
            raise Wrong(f"the optimizer has made no step of {name}")
        at = torch.randint(parameter.numel(), (ELEMENTS,), device=parameter.device)
        old, new, first, second = (
            x.detach().flatten()[at].double()
            for x in (before[name], parameter, state["exp_avg"], state["exp_avg_sq"]))
        steps = float(state.get("step", group.get("step")))  # some count for all parameters at once
        root = (second / (1 - beta2 ** steps)).sqrt() + group["eps"]
        moved.append(new - old)
        right.append(-rate * (group["weight_decay"] * old + first / (1 - beta1 ** steps) / root))
    comparison.judge("the parameters' step", relative(torch.cat(moved), torch.cat(right)),
                     MOVEMENT_ALLOWANCE)
