"""Copies that a look needs, beside a call whose memory they leave as it is."""

import torch

LOOK_COPIES = 8  # that the device must have room for: gradients of call and textbook, activations


class KeptAside:
    """Copies of `tensors`, by name, in memory that the caching allocator gives to nothing else: the
    next call finds its free blocks as ever. On the device where a look has room beside them, else on
    the host, which takes a second for some GiB."""

    def __init__(self, tensors, device):
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
        self._pool = None
        if device.type == "cuda" and LOOK_COPIES * size <= free_bytes(device):
            self._pool = torch.cuda.MemPool()
            with torch.cuda.use_mem_pool(self._pool):
                self._copies = {name: x.detach().clone() for name, x in tensors.items()}
        else:
            self._copies = {name: x.detach().to("cpu", copy=True) for name, x in tensors.items()}

    def on(self, device):
        return {name: copy.to(device) for name, copy in self._copies.items()}


def free_bytes(device):
    """Of the device's memory: what nobody has, and what this process' allocator keeps unused."""
    free, _ = torch.cuda.mem_get_info(device)
    return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
