"""RMSNorm in Triton: x / sqrt(mean(x²) + eps) · weight over the last dimension, and its gradients.

Zhang and Sennrich 2019, equation 4, with eps. With s = 1 / sqrt(mean(x²) + eps), x̂ = s x and
g = dout · weight, dx = s (g − x̂ mean(g x̂)) in each row, and dweight = Σ dout x̂ over the rows.
Sums are in fp32 and always in the same order.
"""

import os

from assay_peer import Norm, Unsupported, serve  # first: it answers without torch

import torch

from torch_model import ModelStep

try:
    import triton
    import triton.language as tl
except ImportError as missing:
    reason = str(missing)  # `missing` ends with the except clause

    def without_triton(case):
        raise Unsupported(reason)

    serve(without_triton)
    raise SystemExit

WIDEST_BLOCK = 16384  # columns that one program holds at once
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


@triton.jit
def forward_kernel(x_ptr, weight_ptr, out_ptr, scale_ptr, eps, n_cols: tl.constexpr,
                   BLOCK: tl.constexpr):
    """One row: out and s."""
    row = tl.program_id(0).to(tl.int64)
    squares = tl.zeros([BLOCK], tl.float32)
    for first in range(0, n_cols, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + columns, mask=columns < n_cols, other=0.0)
        squares += x.to(tl.float32) * x.to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / n_cols + eps)
    tl.store(scale_ptr + row, scale)
    for first in range(0, n_cols, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        inside = columns < n_cols
        x = tl.load(x_ptr + row * n_cols + columns, mask=inside, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + columns, mask=inside, other=0.0).to(tl.float32)
        out = x * scale * weight
        tl.store(out_ptr + row * n_cols + columns, out.to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def backward_kernel(x_ptr, weight_ptr, dout_ptr, scale_ptr, dx_ptr, partial_ptr, rows,
                    rows_each: tl.constexpr, n_cols: tl.constexpr, BLOCK: tl.constexpr):
    """dx of every num_programs-th row, and these rows' part of dweight. BLOCK >= n_cols."""
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < n_cols
    weight = tl.load(weight_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    dweight = tl.zeros([BLOCK], tl.float32)
    for i in range(0, rows_each):
        row = program + i * tl.num_programs(0)
        start = row.to(tl.int64) * n_cols
        here = inside & (row < rows)
        scale = tl.load(scale_ptr + row, mask=row < rows, other=0.0)
        x = tl.load(x_ptr + start + columns, mask=here, other=0.0).to(tl.float32) * scale
        dout = tl.load(dout_ptr + start + columns, mask=here, other=0.0).to(tl.float32)
        dweight += dout * x
        gradient = dout * weight
        mean = tl.sum(gradient * x, axis=0) / n_cols
        dx = (gradient - x * mean) * scale
        tl.store(dx_ptr + start + columns, dx.to(dx_ptr.dtype.element_ty), mask=here)
    tl.store(partial_ptr + program.to(tl.int64) * n_cols + columns, dweight, mask=inside)


@triton.jit
def wide_dx_kernel(x_ptr, weight_ptr, dout_ptr, scale_ptr, dx_ptr, n_cols: tl.constexpr,
                   BLOCK: tl.constexpr):
    """dx of one row with n_cols > BLOCK."""
    row = tl.program_id(0).to(tl.int64)
    start = row * n_cols
    scale = tl.load(scale_ptr + row)
    products = tl.zeros([BLOCK], tl.float32)
    for first in range(0, n_cols, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        inside = columns < n_cols
        x = tl.load(x_ptr + start + columns, mask=inside, other=0.0).to(tl.float32)
        dout = tl.load(dout_ptr + start + columns, mask=inside, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + columns, mask=inside, other=0.0).to(tl.float32)
        products += dout * weight * x
    mean = tl.sum(products, axis=0) * scale / n_cols
    for first in range(0, n_cols, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        inside = columns < n_cols
        x = tl.load(x_ptr + start + columns, mask=inside, other=0.0).to(tl.float32)
        dout = tl.load(dout_ptr + start + columns, mask=inside, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + columns, mask=inside, other=0.0).to(tl.float32)
        dx = (dout * weight - x * scale * mean) * scale
        tl.store(dx_ptr + start + columns, dx.to(dx_ptr.dtype.element_ty), mask=inside)


@triton.jit
def wide_dweight_kernel(x_ptr, dout_ptr, scale_ptr, partial_ptr, rows, rows_each: tl.constexpr,
                        n_cols: tl.constexpr, BLOCK: tl.constexpr):
    """One block of columns of dweight, from every num_programs(0)-th row."""
    program = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < n_cols
    dweight = tl.zeros([BLOCK], tl.float32)
    for i in range(0, rows_each):
        row = program + i * tl.num_programs(0)
        start = row.to(tl.int64) * n_cols
        here = inside & (row < rows)
        scale = tl.load(scale_ptr + row, mask=row < rows, other=0.0)
        x = tl.load(x_ptr + start + columns, mask=here, other=0.0).to(tl.float32)
        dout = tl.load(dout_ptr + start + columns, mask=here, other=0.0).to(tl.float32)
        dweight += dout * x * scale
    tl.store(partial_ptr + program.to(tl.int64) * n_cols + columns, dweight, mask=inside)


def warps_for(block):
    return min(16, max(1, block // 256))


def programs_for(device, rows):
    """How many programs share the rows of a backward: two per multiprocessor."""
    if device.type != "cuda":
        return min(rows, 4)
    return min(rows, 2 * torch.cuda.get_device_properties(device).multi_processor_count)


class RmsNormFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        rows, n_cols = x.shape
        x = x.contiguous()
        out = torch.empty_like(x)
        scale = torch.empty(rows, device=x.device, dtype=torch.float32)
        block = min(WIDEST_BLOCK, triton.next_power_of_2(n_cols))
        forward_kernel[(rows,)](x, weight, out, scale, eps, n_cols, BLOCK=block,
                                num_warps=warps_for(block))
        ctx.save_for_backward(x, weight, scale)
        return out

    @staticmethod
    def backward(ctx, dout):
        x, weight, scale = ctx.saved_tensors
        rows, n_cols = x.shape
        dout = dout.contiguous()
        dx = torch.empty_like(x)
        programs = programs_for(x.device, rows)
        rows_each = triton.cdiv(rows, programs)
        partial = torch.empty(programs, n_cols, device=x.device, dtype=torch.float32)
        if n_cols <= WIDEST_BLOCK:
            block = triton.next_power_of_2(n_cols)
            backward_kernel[(programs,)](x, weight, dout, scale, dx, partial, rows, rows_each,
                                         n_cols, BLOCK=block, num_warps=warps_for(block))
        else:
            wide_dx_kernel[(rows,)](x, weight, dout, scale, dx, n_cols, BLOCK=WIDEST_BLOCK,
                                    num_warps=16)
            wide_dweight_kernel[(programs, triton.cdiv(n_cols, 1024))](
                x, dout, scale, partial, rows, rows_each, n_cols, BLOCK=1024, num_warps=4)
        return dx, partial.sum(0).to(weight.dtype), None


class RmsNormTriton(Norm):
    def forward(self, x, weight):
        return RmsNormFunction.apply(x, weight, self.eps)


class RmsNormModule(torch.nn.Module):
    """The norm of a model: over the last dimension of x."""

    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        return RmsNormFunction.apply(rows, self.weight, RmsNormTriton.eps).view(x.shape)


def program_of(case):
    if case.device.type != "cuda" and not INTERPRETED:
        raise Unsupported("Triton needs a GPU (TRITON_INTERPRET=1 interprets it on the CPU)")
    if case.require("workload") == "model_step":
        case.require("compile", "eager")
        return ModelStep(case, "eager", own_norms={"rmsnorm_triton": RmsNormModule})
    return RmsNormTriton(case)


if __name__ == "__main__":
    serve(program_of)
