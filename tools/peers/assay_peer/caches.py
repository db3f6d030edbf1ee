"""What a timed call finds in the last-level cache."""

import os

import torch

POLICIES = ("warm", "flush")
TIMES_THE_CACHE = 4  # no replacement policy then keeps much of what was there before
USUAL_CACHE_BYTES = 32 << 20


def cache_bytes(device):
    """Of the GPU's L2, or of this CPU's third-level cache."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).L2_cache_size
    try:
        told = os.sysconf("SC_LEVEL3_CACHE_SIZE")
    except (ValueError, OSError):
        told = 0
    return told if told > 0 else USUAL_CACHE_BYTES


class CacheFlush:
    """Replaces what the cache holds by reading a buffer of several times its size."""

    def __init__(self, device):
        self._values = torch.ones(TIMES_THE_CACHE * cache_bytes(device) // 4, device=device)
        self()

    def __call__(self):
        self._values.sum()


def flush_of(case):
    """What runs ahead of each timed call, or None; Unsupported for a policy that is not here."""
    if case.get("measure.cache", "warm") == "warm":
        return None
    case.require("measure.cache", *POLICIES)
    return CacheFlush(case.device)
