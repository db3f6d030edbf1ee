"""What a look compares an operation with: float64, by other means than the variant's."""

import torch

from .renewal import secret

AT_ONCE = 1 << 20  # elements in float64
QUERIES, KEYS = 128, 64
MOST_OPERATIONS = {"cpu": 2 ** 36, "cuda": 2 ** 42}  # for gradients of keys and values


def normed(x, weight, bias, eps):
    if bias is not None:
        x = x - x.mean(-1, keepdim=True)
    out = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight
    return out if bias is None else out + bias


def norm_rows(program, rows, wide):
    """Results and gradients of some rows; in float64, or else as textbook operations have them: in
    fp32 from values in the dtype, and back to it."""
    computed = torch.float64 if wide else torch.float32
    leaves = {name: (leaf[rows] if leaf.dim() > 1 else leaf).detach().to(computed)
              for name, leaf in program.leaves.items()}
    x = leaves["x"]
    if program.residual:
        x = leaves["residual"] + x
        x = x if wide else x.to(program.dtype).to(computed)
    vectors = [leaves[name].requires_grad_() for name in ("weight", "bias") if name in leaves]
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        out = normed(x, vectors[0], vectors[1] if program.has_bias else None, program.eps)
    results = {"out": out.detach()}
    if program.residual:
        results["sum"] = x.detach()
    gradients = torch.autograd.grad(out, [x, *vectors], program.dout[rows].to(computed))
    of_x = gradients[0]
    if program.dsum is not None:
        of_x = of_x + program.dsum[rows].to(computed)
        results["grad.residual"] = of_x
    results["grad.x"] = of_x
    sums = dict(zip(("grad.weight", "grad.bias"), gradients[1:]))
    if not wide:
        results = {name: value.to(program.dtype) for name, value in results.items()}
    return results, sums


def compare_norm(program, outputs, comparison):
    """All rows, and the gradients of the parameters."""
    count, columns = program.shape
    step = max(1, AT_ONCE // columns)
    right = {}
    for begin in range(0, count, step):
        rows = slice(begin, begin + step)
        results, sums = norm_rows(program, rows, wide=True)
        textbook, _ = norm_rows(program, rows, wide=False)
        for name, value in results.items():
            if name in outputs or not name.startswith("grad."):
                given = outputs.get(name)
                comparison.add(name, None if given is None else given[rows], value, textbook[name])
        for name, value in sums.items():
            right[name] = right.get(name, 0) + value
    for name, value in right.items():
        if name in outputs:
            comparison.add(name, outputs[name], value)


def hidden_keys(program, queries):
    """[queries, seq_len], true where a query does not see the key."""
    length = program.shape[2]
    keys = torch.arange(length, device=queries.device)
    hidden = torch.zeros(len(queries), length, dtype=torch.bool, device=queries.device)
    if program.causal:
        hidden |= keys > queries[:, None]
    if program.window:
        hidden |= (keys - queries[:, None]).abs() >= program.window
    return hidden


def attention_of(program, q, k, v, queries):
    """Textbook attention of one head: q [queries, d_head], k and v [seq_len, d_head]."""
    scores = (q @ k.T) * program.scale
    scores = scores.masked_fill(hidden_keys(program, queries), float("-inf"))
    return torch.softmax(scores, -1) @ v


def drawn(count, below, device):
    generator = torch.Generator().manual_seed(secret())
    return torch.randperm(below, generator=generator)[:count].sort().values.to(device)


def compare_attention(program, outputs, comparison):
    """Drawn queries over all heads; of a backward also keys and values of one head, whose gradients
    take all of its queries."""
    batch, heads, length, _ = program.shape
    group = heads // program.kv_heads
    q, k, v = (leaf.detach() for leaf in program.leaves.values())
    queries = drawn(QUERIES, length, q.device)
    for b in range(batch):
        for h in range(heads):
            found = {}
            for dtype in (torch.float64, q.dtype):
                mine = q[b, h, queries].to(dtype).requires_grad_()
                keys, values = (x[b, h // group].to(dtype) for x in (k, v))
                with torch.enable_grad():
                    out = attention_of(program, mine, keys, values, queries)
                (gradient,) = torch.autograd.grad(out, mine, program.dout[b, h, queries].to(dtype))
                found[dtype] = {"out": out.detach(), "grad.q": gradient}
            for name, right in found[torch.float64].items():
                if name in outputs or name == "out":
                    given = outputs.get(name)
                    textbook = found[q.dtype][name] if name == "out" else None
                    comparison.add(name, None if given is None else given[b, h, queries], right,
                                   textbook)
    if "grad.k" in outputs:
        compare_keys(program, outputs, comparison)


def compare_keys(program, outputs, comparison):
    batch, heads, length, d_head = program.shape
    group = heads // program.kv_heads
    q, k, v = (leaf.detach() for leaf in program.leaves.values())
    if 10 * group * length ** 2 * d_head > MOST_OPERATIONS.get(q.device.type, 0):
        return
    b, of = (int(drawn(1, count, "cpu")) for count in (batch, program.kv_heads))
    keys = drawn(KEYS, length, q.device)
    wide_k, wide_v = (x[b, of].double().requires_grad_() for x in (k, v))
    step = max(1, AT_ONCE // length)
    sums = [torch.zeros_like(wide_k), torch.zeros_like(wide_v)]
    for h in range(of * group, (of + 1) * group):
        for begin in range(0, length, step):
            queries = torch.arange(begin, min(begin + step, length), device=q.device)
            with torch.enable_grad():
                out = attention_of(program, q[b, h, queries].double(), wide_k, wide_v, queries)
            dout = program.dout[b, h, queries].double()
            for total, part in zip(sums, torch.autograd.grad(out, [wide_k, wide_v], dout)):
                total += part
    for name, total in zip(("grad.k", "grad.v"), sums):
        given = outputs.get(name)
        comparison.add(name, None if given is None else given[b, of, keys], total[keys])
