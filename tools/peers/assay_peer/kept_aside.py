"""Copies that a look needs, beside a call whose memory they leave as it is."""

import torch

# A look at a model's gradients needs, in sizes of all parameters: these copies, the textbook's
# gradients of one sequence, exact and in the case's precision, and of the batch, exact and the
# errors, the call's without their loss scale; the rest is for activations.
LOOK_SIZES = 8
MARGIN_BYTES = 1 << 30  # of the device's memory, for what rounds allocations up


class KeptAside:
    """Copies of `tensors`, by name, in memory that the caching allocator gives to nothing else: the
    next call finds its free blocks as ever. On the device where a look has room beside them, else
    on the host, which takes a second for some GiB."""

    def __init__(self, tensors, device):
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
        self._copies, self._pool = {}, None
        if device.type == "cuda" and has_room(device, size):
            try:
                self._copy_to_pool(tensors)
                return
            except torch.OutOfMemoryError:
                self._end()
        self._copies = {name: x.detach().to("cpu", copy=True) for name, x in tensors.items()}

    def lend(self, device, use):
        """Calls `use` with the copies on the device, which end with it."""
        use({name: copy.to(device) for name, copy in self._copies.items()})
        self._end()

    def _copy_to_pool(self, tensors):
        self._pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(self._pool):
            for name, tensor in tensors.items():
                self._copies[name] = tensor.detach().clone()

    def _end(self):
        self._copies.clear()  # a pool with tensors in it would keep its memory
        self._pool = None


def has_room(device, size):
    free, _ = torch.cuda.mem_get_info(device)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return size + MARGIN_BYTES <= free and LOOK_SIZES * size <= free + unused
