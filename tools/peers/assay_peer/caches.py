"""The state of the last-level cache before a timed call."""

import os

import torch

POLICIES = ("warm", "flush")
TIMES_THE_CACHE = 4  # enough for every replacement policy
USUAL_CACHE_BYTES = 32 << 20


def cache_bytes(device):
    """The size of the GPU's L2 or of this CPU's third-level cache."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).L2_cache_size
    try:
        size = os.sysconf("SC_LEVEL3_CACHE_SIZE")
    except (ValueError, OSError):
        size = 0
    return size if size > 0 else USUAL_CACHE_BYTES


class CacheFlush:
    """Replaces the cache's contents by reading a buffer several times its size."""

    def __init__(self, device):
        self._values = torch.ones(TIMES_THE_CACHE * cache_bytes(device) // 4, device=device)
        self()

    def __call__(self):
        self._values.sum()


def flush_of(case):
    """What runs before each timed call, or None; Unsupported for any other policy."""
    if case.get("measure.cache", "warm") == "warm":
        return None
    case.require("measure.cache", *POLICIES)
    return CacheFlush(case.device)
