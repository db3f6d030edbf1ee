"""How far a call's outputs are from a reference: the rules of assay's own verification."""

import torch

from .case import Wrong

TOLERANCES = {"fp32": 1e-4, "tf32": 5e-3, "fp16": 5e-3, "bf16": 2e-2}
GRADIENT_ALLOWANCE = 2
ROW_ALLOWANCE = 4  # of a row, whose norm is at least that of the typical row
TEXTBOOK_ALLOWANCE, TEXTBOOK_FLOOR = 2, 0.125


class Deviation:
    """Of a tensor that comes in pieces, in float64."""

    def __init__(self):
        self._distances, self._norms = [], []

    def add(self, value, reference):
        if value.shape != reference.shape:
            raise Wrong(f"has the shape {list(value.shape)}, not {list(reference.shape)}")
        columns = reference.shape[-1] if reference.dim() else 1
        wide = reference.detach().double().reshape(-1, columns)
        apart = value.detach().double().reshape(-1, columns) - wide
        self._distances.append(torch.linalg.vector_norm(apart, dim=1))
        self._norms.append(torch.linalg.vector_norm(wide, dim=1))

    def whole_and_row(self):
        """(relative error of all, of the worst row)"""
        distances, norms = torch.cat(self._distances), torch.cat(self._norms)
        typical = norms.square().mean().sqrt()
        whole = (distances.square().mean().sqrt() / typical).item() if typical > 0 else (
            distances.norm().item())
        row = (distances / norms.clamp_min(typical)).max().item() if typical > 0 else whole
        return whole, row


class Comparison:
    """Collects what a look has found: call `add`, in pieces where a tensor is large, then `end`.
    Raises Wrong beyond the tolerance."""

    def __init__(self, precision):
        self.precision = precision
        self.tolerance = TOLERANCES[precision]
        self.worst = None  # (share of the tolerance, error, tolerance, of, textbook's error)
        self._found, self._usual = {}, {}

    def add(self, name, value, reference, textbook=None):
        """`textbook`: the same by plain operations in the case's precision."""
        try:
            if value is None:
                raise Wrong("is missing")
            self._found.setdefault(name, Deviation()).add(value, reference)
        except Wrong as problem:
            raise Wrong(f"{name} {problem}") from None
        if textbook is not None:
            self._usual.setdefault(name, Deviation()).add(textbook, reference)

    def end(self):
        for name, deviation in self._found.items():
            allowed = self.tolerance * (GRADIENT_ALLOWANCE if name.startswith("grad.") else 1)
            whole, row = deviation.whole_and_row()
            usual = 0
            if name in self._usual:
                usual, usual_row = self._usual[name].whole_and_row()
                usual = max(usual, usual_row / ROW_ALLOWANCE)
                allowed = min(allowed, TEXTBOOK_ALLOWANCE * usual + TEXTBOOK_FLOOR * allowed)
            self.judge(name, whole, allowed, usual)
            self.judge("a row of " + name, row, ROW_ALLOWANCE * allowed, usual)

    def judge(self, name, error, allowed, usual=0):
        if not error <= allowed:  # NaN is not
            raise Wrong(f"{name} differs from the reference by {error:.2g}, allowed are "
                        f"{allowed:.2g}")
        if self.worst is None or error / allowed > self.worst[0]:
            self.worst = (error / allowed, error, allowed, name, usual)
