"""Packages that a variant takes from others, and the GPUs that these are made for."""

import importlib
import importlib.metadata
import traceback

import torch

from .case import Unsupported

used = {}  # {package: version} of what this process has imported, for the host


def imported(module, package):
    """The module of an installed package."""
    try:
        found = importlib.import_module(module)
    except Exception as problem:  # beside other versions than its own a package fails in any way
        if not isinstance(problem, ImportError):
            traceback.print_exc()
        first_line = (str(problem).splitlines() or [""])[0]
        raise Unsupported(f"it needs the package {package}, whose {module} cannot be imported: "
                          f"{type(problem).__name__}: {first_line}") from problem
    used[package] = version_of(package)
    return found


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:  # a module without its package's metadata
        return "unknown"


def require_gpu(device, package, *majors):
    """The GPU's compute capability (major, minor). Unsupported without one, or with another major
    than these where some are given."""
    if device.type != "cuda":
        raise Unsupported(f"{package} needs an NVIDIA GPU")
    capability = torch.cuda.get_device_capability(device)
    if majors and capability[0] not in majors:
        raise Unsupported(f"{package} is for GPUs of compute capability "
                          f"{' or '.join(f'{major}.x' for major in majors)}, this one has "
                          f"{capability[0]}.{capability[1]}")
    return capability


def require_precision(case, package, *accepted):
    precision = case.require("precision")
    if precision not in accepted:
        raise Unsupported(f"{package} takes {' or '.join(accepted)}, not {precision}")
