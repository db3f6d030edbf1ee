"""What a variant in another process needs: reads the case, measures it by assay's rules, prints
series, exchanges tensors.

A script defines a Program and ends with `serve(build)`, where `build(case)` returns the program:
derive from Attention or Norm, whose `forward` is all that is left to write, or from Program. The
protocol is described in docs/external.md.
"""

from . import standard_streams  # first: what anything below prints is not for the host

import json
import platform
import sys

try:
    import torch as _torch  # noqa: F401  (everything below needs it)
except ImportError as missing:
    # The variant cannot run at all: say so for every pass rather than die with a traceback.
    host = standard_streams.to_host()
    for name in json.loads(standard_streams.from_host().readline())["passes"]:
        print(json.dumps({"series": {
            "pass": name, "metric": "time", "part": "", "rank": 0, "unit": "s", "clock": "",
            "outcome": "unsupported", "reason": f"{sys.executable}: {missing}", "samples": [],
        }}), file=host)
    print(json.dumps({"done": {"versions": {"python": platform.python_version()}}}), file=host,
          flush=True)
    sys.exit(0)

from .case import Case, Unsupported
from .operations import Attention, Norm, OperationProgram
from .program import Program
from .serving import Output, answer, serve
from .tensors import poison
from .turns import Turns

__all__ = ["Attention", "Case", "Norm", "OperationProgram", "Output", "Program", "Turns",
           "Unsupported", "answer", "poison", "serve"]
