"""For variants in processes of their own: reads the case, measures it by assay's rules, prints
series, exchanges tensors. docs/external.md describes the protocol.

A script derives a class from Attention or Norm and writes its `forward`, or derives one from
Program, and ends with `serve(build)`, where `build(case)` returns the program.
"""

from . import standard_streams  # first: keeps what is printed below from the host

import json
import platform
import sys

try:
    import torch as _torch  # noqa: F401  (everything below needs it)
except ImportError as missing:
    # Reports every pass as unsupported instead of failing with a traceback.
    host = standard_streams.to_host()
    for name in json.loads(standard_streams.from_host().readline())["passes"]:
        print(json.dumps({"series": {
            "pass": name, "metric": "time", "part": "", "rank": 0, "unit": "s", "clock": "",
            "outcome": "unsupported", "reason": f"{sys.executable}: {missing}", "samples": [],
        }}), file=host)
    print(json.dumps({"done": {"versions": {"python": platform.python_version()}}}), file=host,
          flush=True)
    sys.exit(0)

from . import packages
from .case import Case, Unsupported, Wrong
from .operations import Attention, Norm, OperationProgram
from .program import Program
from .serving import Output, answer, serve
from .tensors import poison
from .turns import Turns

__all__ = ["Attention", "Case", "Norm", "OperationProgram", "Output", "Program", "Turns",
           "Unsupported", "Wrong", "answer", "packages", "poison", "serve"]
