"""New contents of inputs at unchanged addresses (docs/measuring.md, Integrity)."""

import secrets

import torch

BLOCK_BYTES = 4096
SPARSE_ABOVE_BYTES = 2 * BLOCK_BYTES  # smaller inputs change as a whole
CHUNK = 1 << 20  # elements changed at once, which bounds the memory that takes
TOP_FRACTION_BIT = {torch.float64: 51, torch.float32: 22, torch.float16: 9, torch.bfloat16: 6}
WORDS = {8: torch.int64, 4: torch.int32, 2: torch.int16}


def secret():
    """63 bits from the operating system, never 0."""
    return secrets.randbits(63) or 1


def in_memory_order(tensor):
    """The elements as a vector on the same memory; None where they have gaps or share memory."""
    tensor = tensor.detach()
    reached = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size == 1:
            continue
        if stride != reached:
            return None
        reached *= size
    return tensor.as_strided((tensor.numel(),), (1,), tensor.storage_offset())


class RenewedInput:
    """One input. `below`: of whole numbers, which take values from 0 up to it."""

    def __init__(self, tensor, below, full):
        self._tensor = tensor
        self._below = below
        self._elements = in_memory_order(tensor)
        self._generator = torch.Generator(tensor.device)
        self._key = 0  # contents as they were built
        if below:
            return
        size = tensor.element_size()
        words = WORDS[size]
        self._elements = self._elements.view(words)
        self._whole = full or tensor.numel() * size <= SPARSE_ABOVE_BYTES
        sign, fraction = -(1 << (8 * size - 1)), 1 << TOP_FRACTION_BIT[tensor.dtype]
        self._masks = torch.tensor([0, fraction, sign, sign | fraction], dtype=words,
                                   device=tensor.device)

    @staticmethod
    def can_renew(tensor, below):
        known = below > 1 if below else tensor.dtype in TOP_FRACTION_BIT
        return known and tensor.numel() > 0 and in_memory_order(tensor) is not None

    def renew(self, key):
        """Contents that follow from the key; with 0 those that it was built with."""
        for signed, of in ((-1, self._key), (1, key)):
            if of:
                self._change(of, signed)
        self._key = key

    def fingerprint(self, key):
        """A keyed sum over the elements. It waits for the device."""
        self._generator.manual_seed(key)
        words = self._elements
        count = min(CHUNK, words.numel())
        weights = self._random(-(1 << 62), 1 << 62, count) | 1
        total = 0
        for begin in range(0, words.numel(), CHUNK):
            chunk = words[begin:begin + CHUNK].to(torch.int64)
            factor = self._random(-(1 << 62), 1 << 62, 1) | 1
            total += int(((chunk * weights[:chunk.numel()]).sum() * factor).item())
        return total

    def storage(self):
        return self._tensor.untyped_storage().data_ptr()

    def _random(self, low, high, count):
        return torch.randint(low, high, (count,), generator=self._generator,
                             device=self._elements.device)

    # Twice the same change, or once and once with the other sign, leaves the contents as they were.
    def _change(self, key, signed):
        self._generator.manual_seed(key)
        if self._below or self._whole:
            for begin in range(0, self._elements.numel(), CHUNK):
                self._change_chunk(self._elements[begin:begin + CHUNK], signed)
            return
        in_block = BLOCK_BYTES // self._elements.element_size()
        count = self._elements.numel()
        first = torch.arange(0, count, in_block, device=self._elements.device)
        chosen = first + self._random(0, in_block, first.numel())
        chosen.clamp_(max=count - 1)  # of the last block
        self._elements[chosen] = self._elements[chosen] ^ self._masks[3]

    def _change_chunk(self, elements, signed):
        if self._below:
            drawn = self._random(1, self._below, elements.numel())
            elements.add_(signed * drawn.to(elements.dtype)).remainder_(self._below)
        else:
            elements.bitwise_xor_(self._masks[self._random(0, 4, elements.numel())])


class Renewal:
    """All inputs of a pass. Make it before the variant has been called."""

    def __init__(self, program, pass_name, level):
        self._inputs, self._early = {}, set(program.read_before(pass_name))
        for name, given in program.inputs(pass_name).items():
            tensor, below = given if isinstance(given, tuple) else (given, 0)
            if RenewedInput.can_renew(tensor, below):
                self._inputs[name] = RenewedInput(tensor, below, level == "full")
        self._key = secret()
        self._built = {name: one.fingerprint(self._key) for name, one in self._inputs.items()}

    def __len__(self):
        return len(self._inputs)

    def ahead(self):
        """Renews what `before` reads."""
        self._renew(True)

    def behind(self):
        """Renews what the call itself reads."""
        self._renew(False)

    def restore(self):
        for one in self._inputs.values():
            one.renew(0)

    def changed(self):
        """The first input that somebody else has changed; None. Contents are those built then."""
        self.restore()
        return next((name for name, one in self._inputs.items()
                     if one.fingerprint(self._key) != self._built[name]), None)

    def shares_memory(self, tensor):
        storage = tensor.untyped_storage().data_ptr()
        return next((name for name, one in self._inputs.items() if one.storage() == storage), None)

    def _renew(self, early):
        for name, one in self._inputs.items():
            if (name in self._early) == early:
                one.renew(secret())


def spoil(tensor):
    """Writes NaN into an element of each 4 KiB: memory that the next call is likely to get."""
    if not tensor.is_floating_point() or tensor.numel() == 0:
        return
    elements = in_memory_order(tensor)
    if elements is not None:
        in_block = BLOCK_BYTES // tensor.element_size()
        elements[secrets.randbelow(min(in_block, elements.numel()))::in_block] = float("nan")
