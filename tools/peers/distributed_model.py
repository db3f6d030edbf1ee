"""A training step of assay's model on several ranks in PyTorch: one process a rank.

    distributed_model.py SPEC RESULT        with RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT set

SPEC is JSON: way, model (sizes), architecture, norm, attention, precision, batch (a rank's),
seq_len, device, compile, warmup, steps. Rank r writes its figures to RESULT.r as JSON.

single      the model alone
ddp         DistributedDataParallel with static_graph and gradient_as_bucket_view, autocast
ddp_bf16    the same with PyTorch's hook that sends gradients in bf16
fsdp        fully_shard (FSDP2) of each block and of what is left; under bf16 parameters are
            gathered and computed with in bf16, gradients reduced in fp32
fsdp_kept   the same with reshard_after_forward=False

A step is forward, loss, backward and AdamW(fused=True). Each is timed alone, as assay's clock
`wall` does: a barrier, gradients dropped, the device idle, then from the host's start to the
device's end.
"""

import contextlib
import json
import os
import pathlib
import statistics
import sys
import time
import traceback

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.parallel import DistributedDataParallel

from transformer import (
    NORMS, Transformer, library_attention, naive_attention, rotate, rotate_in_reals)

LIBRARY_ATTENTION = {
    "math_libtorch": SDPBackend.MATH,
    "efficient_libtorch": SDPBackend.EFFICIENT_ATTENTION,
    "flash_libtorch": SDPBackend.FLASH_ATTENTION,
    "cudnn_libtorch": SDPBackend.CUDNN_ATTENTION,
}


class DistributedStep:
    """tokens, targets: [batch, seq_len] of this rank; other ranks have others."""

    def __init__(self, spec, rank, ranks, device):
        self.spec = spec
        self.device = device
        self.sharded = spec["way"].startswith("fsdp")
        self.narrow = spec["precision"] == "bf16"
        torch.manual_seed(1)  # the same model on all ranks
        with device:
            model = Transformer(
                spec["model"], spec["architecture"], spec["seq_len"],
                naive_attention if spec["attention"] == "naive" else library_attention,
                NORMS[spec["norm"]], rotate_in_reals if spec["compile"] else rotate)
        if spec["compile"]:
            for block in model.blocks:
                block.compile()
        self.model = self.distributed(model, ranks)
        torch.manual_seed(2 + rank)
        shape = (spec["batch"], spec["seq_len"])
        self.tokens = torch.randint(spec["model"]["vocab_size"], shape, device=device)
        self.targets = torch.randint(spec["model"]["vocab_size"], shape, device=device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, fused=True)

    def distributed(self, model, ranks):
        way = self.spec["way"]
        if way == "single":
            return model
        if way.startswith("ddp"):
            ids = [self.device.index] if self.device.type == "cuda" else None
            parallel = DistributedDataParallel(model, device_ids=ids, static_graph=True,
                                               gradient_as_bucket_view=True)
            if way == "ddp_bf16":
                parallel.register_comm_hook(None, bf16_compress_hook)
            return parallel
        # Inputs keep their dtype: the tables of rotary positions are fp32.
        policy = MixedPrecisionPolicy(
            param_dtype=torch.bfloat16 if self.narrow else None,
            reduce_dtype=torch.float32 if self.narrow else None, cast_forward_inputs=False)
        options = {"mesh": init_device_mesh(self.device.type, (ranks,)), "mp_policy": policy}
        for block in model.blocks:
            fully_shard(block, reshard_after_forward=way == "fsdp", **options)
        return fully_shard(model, reshard_after_forward=False, **options)

    @contextlib.contextmanager
    def settings(self):
        with contextlib.ExitStack() as stack:
            if self.narrow and not self.sharded:
                stack.enter_context(torch.autocast(self.device.type, dtype=torch.bfloat16))
            if self.spec["attention"] in LIBRARY_ATTENTION:
                stack.enter_context(sdpa_kernel(LIBRARY_ATTENTION[self.spec["attention"]]))
            yield

    def clear(self):
        self.optimizer.zero_grad(set_to_none=True)

    def step(self):
        with self.settings():
            logits = self.model(self.tokens)
            loss = F.cross_entropy(logits.flatten(0, 1).float(), self.targets.flatten())
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def state(self):
        """Bytes that hold this rank's parameters, gradients and moments."""
        parameters = list(self.model.parameters())
        return {
            "parameters": held(parameters),
            "gradients": held(parameter.grad for parameter in parameters),
            "optimizer": held(value for state in self.optimizer.state.values()
                              for value in state.values()),
        }


def held(tensors):
    """Bytes of memory that several tensors may share."""
    storages = {}
    for tensor in tensors:
        if torch.is_tensor(tensor):
            local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
            storage = local.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def timed_s(program, meet):
    meet()
    program.clear()
    synchronize(program.device)
    begin = time.perf_counter()
    loss = program.step()
    synchronize(program.device)
    return time.perf_counter() - begin, loss


def peak_of(program, meet):
    """Bytes before one more step and at its peak. PyTorch counts none on a CPU."""
    meet()
    program.clear()
    if program.device.type != "cuda":
        program.step()
        return {"before_bytes": None, "peak_bytes": None}
    synchronize(program.device)
    torch.cuda.reset_peak_memory_stats(program.device)
    before = torch.cuda.memory_allocated(program.device)
    program.step()
    synchronize(program.device)
    return {"before_bytes": before, "peak_bytes": torch.cuda.max_memory_allocated(program.device)}


def measure(spec, rank, ranks, device):
    program = DistributedStep(spec, rank, ranks, device)
    meet = dist.barrier if ranks > 1 else lambda: None
    losses = []
    for _ in range(spec["warmup"]):
        losses.append(timed_s(program, meet)[1].item())
    times = []
    for _ in range(spec["steps"]):
        elapsed, loss = timed_s(program, meet)
        times.append(elapsed)
        losses.append(loss.item())
    return {"rank": rank, "steps_s": times, "median_s": statistics.median(times),
            **peak_of(program, meet), "state_bytes": program.state(), "losses": losses,
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
            "torch": torch.__version__}


def failure(error):
    kind = "oom" if isinstance(error, torch.OutOfMemoryError) else "error"
    return {"outcome": kind, "reason": f"{type(error).__name__}: {error}".splitlines()[0]}


def main():
    spec, result = json.loads(sys.argv[1]), sys.argv[2]
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    out = pathlib.Path(f"{result}.{rank}")
    try:
        device = torch.device(spec["device"], rank if spec["device"] == "cuda" else None)
        if device.type == "cuda":
            torch.cuda.set_device(device)
        if ranks > 1:
            dist.init_process_group("nccl" if device.type == "cuda" else "gloo",
                                    device_id=device if device.type == "cuda" else None)
        figures = {"outcome": "ok", **measure(spec, rank, ranks, device)}
        out.write_text(json.dumps(figures))
        if ranks > 1:
            dist.destroy_process_group()
    except Exception as error:
        out.write_text(json.dumps({"rank": rank, **failure(error)}))
        traceback.print_exc()
        # Not by the interpreter's end, which would wait for ranks that wait for this one.
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    main()
