"""Writes tensors for the host to check, as .safetensors files."""

import contextlib
import json
import os

import torch

LIMIT_BYTES = 4 << 30  # per pass

DTYPES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32",
}


def write_safetensors(path, tensors):
    """Writes the header's length (u64, little-endian), the header (JSON) and the tensors' bytes.
    Raises ValueError for any other dtype."""
    header, reached = {}, 0
    for name, tensor in tensors.items():
        if tensor.dtype not in DTYPES:
            raise ValueError(f"{name} is {tensor.dtype}, not one of: "
                             f"{', '.join(str(dtype) for dtype in DTYPES)}")
        end = reached + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [reached, end]}
        reached = end
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            whole = tensor.detach().cpu().contiguous().reshape(-1)
            file.write(whole.view(torch.uint8).numpy())


def poison(device, size):
    """Fills the allocator's free memory with NaN, which reveals reads of unwritten memory."""
    if device.type == "cuda":
        with contextlib.suppress(torch.OutOfMemoryError):
            torch.full((size // 4,), float("nan"), device=device)


def write_exchange(folder, pass_name, exchanged):
    """Writes the file and returns its name. Raises ValueError beyond LIMIT_BYTES or DTYPES."""
    tensors = {f"{side[:-1]}.{name}": tensor
               for side in ("inputs", "outputs") for name, tensor in exchanged[side].items()}
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    if size > LIMIT_BYTES:
        raise ValueError(f"its tensors take {size / 2**30:.1f} GiB, more than the limit of "
                         f"{LIMIT_BYTES >> 30} GiB")
    name = f"{pass_name}.safetensors"
    write_safetensors(os.path.join(folder, name), tensors)
    return name
