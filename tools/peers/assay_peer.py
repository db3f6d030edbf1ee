"""What a variant in another process needs: reads the case, measures it by assay's rules, prints
series.

A script defines a Program and ends with `serve(build)`, where `build(case)` returns the program.
On standard input stands one JSON object (protocol 1): `parameters`, flat as in a plan; `presets`,
the fields of the config files the case names; `passes`. On standard output one JSON object a line:
`{"series": {...}}`, and `{"done": {...}}` at the end. Everything else goes to standard error.
"""

import contextlib
import gc
import json
import os
import platform
import sys
import time
import traceback

PROTOCOL = 1

try:
    import torch
except ImportError as missing:
    # The variant cannot run at all: say so for every pass rather than die with a traceback.
    for name in json.load(sys.stdin)["passes"]:
        print(json.dumps({"series": {
            "pass": name, "metric": "time", "part": "", "rank": 0, "unit": "s", "clock": "",
            "outcome": "unsupported", "reason": f"{sys.executable}: {missing}", "samples": [],
        }}))
    print(json.dumps({"done": {"versions": {"python": platform.python_version()}}}))
    sys.exit(0)

# What PyTorch raises as a plain RuntimeError but means more by.
MEANT_BY_MESSAGE = (
    ("No available kernel", "unsupported"),
    ("No viable backend", "unsupported"),
    ("can't allocate memory", "oom"),
)


class Unsupported(Exception):
    """The variant cannot do what the case asks: the cell shows N/A with this reason."""


class Case:
    """One case: `parameters` and `presets` as the host sent them, and the passes to measure."""

    def __init__(self, message):
        if message.get("protocol") != PROTOCOL:
            raise Unsupported(
                f"the host speaks protocol {message.get('protocol')}, this helper {PROTOCOL}"
            )
        self.parameters = message["parameters"]
        self.presets = message.get("presets", {})
        self.passes = message["passes"]

    def get(self, name, default=None):
        return self.parameters.get(name, default)

    def require(self, name, *accepted):
        """The parameter's value; Unsupported when it is missing or not one of `accepted`."""
        value = self.parameters.get(name)
        if value is None:
            raise Unsupported(f"the case does not say '{name}'")
        if accepted and value not in accepted:
            choices = ", ".join(str(choice) for choice in accepted)
            raise Unsupported(f"{name} '{value}' is not one of: {choices}")
        return value

    @property
    def device(self):
        name = self.get("device", "cpu")
        if name == "cuda" and not torch.cuda.is_available():
            raise Unsupported("this Python's torch sees no CUDA device")
        return torch.device(name)


class Program:
    """What is measured. Derive from this; the meanings are those of assay's C++ interface."""

    def before(self, pass_name):
        """Ahead of each call, outside the timed region: gradients to none, a backward's forward."""

    def run(self, pass_name):
        """The timed region. Work left on the device is waited for by the clock."""
        raise NotImplementedError

    def counts(self, pass_name):
        """Quantities counted rather than measured: {metric: value}."""
        return {}

    def release(self):
        """Lets go of what a failed pass left behind, so that the next one finds the memory."""


class Output:
    """The lines the host reads, written to `stream`."""

    def __init__(self, stream):
        self._stream = stream

    def series(self, pass_name, metric, unit, samples=(), outcome="ok", reason="", clock=""):
        self._write({"series": {
            "pass": pass_name, "metric": metric, "part": "", "rank": 0, "unit": unit,
            "outcome": outcome, "reason": reason, "clock": clock, "samples": list(samples),
        }})

    def done(self):
        versions = {"python": platform.python_version(), "torch": torch.__version__}
        if torch.version.cuda:
            versions["cuda"] = torch.version.cuda
        self._write({"done": {"versions": versions}})

    def _write(self, line):
        print(json.dumps(line), file=self._stream, flush=True)


def take_standard_output():
    """The standard output for the host alone; what else is printed goes to standard error."""
    sys.stdout.flush()
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return stream


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class WallClock:
    """Synchronise, call, synchronise; host time is included."""

    name = "wall"

    def __init__(self, device):
        self._device = device

    def sample(self, program, pass_name, calls):
        """Seconds of `calls` calls, `before` called ahead of each and left out."""
        total = 0.0
        for _ in range(calls):
            program.before(pass_name)
            synchronize(self._device)
            start = time.perf_counter()
            program.run(pass_name)
            synchronize(self._device)
            total += time.perf_counter() - start
        return total


def time_pass(clock, program, pass_name, warmup, samples, calls_per_sample):
    """(seconds of the very first call, seconds of each sample). The first call is the first of the
    warm-up; with a warm-up of 0 it is part of the first sample."""
    warm = [clock.sample(program, pass_name, 1) for _ in range(warmup)]
    taken = [clock.sample(program, pass_name, calls_per_sample) for _ in range(samples)]
    return (warm or taken)[0], taken


def observe_memory(device, program, pass_name):
    """(bytes allocated when one call began, most bytes allocated at any moment of it); CUDA only."""
    program.before(pass_name)
    synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    program.run(pass_name)
    synchronize(device)
    return before, torch.cuda.max_memory_allocated(device)


def measure_pass(case, program, pass_name, output):
    clock = WallClock(case.device)
    first, samples = time_pass(
        clock, program, pass_name, warmup=int(case.get("measure.warmup", 5)),
        samples=int(case.get("measure.samples", 10)),
        calls_per_sample=int(case.get("measure.calls_per_sample", 1)))
    output.series(pass_name, "time", "s", samples, clock=clock.name)
    output.series(pass_name, "first_call_time", "s", [first], clock=clock.name)
    if case.device.type == "cuda":
        before, peak = observe_memory(case.device, program, pass_name)
        output.series(pass_name, "memory_before", "byte", [before])
        output.series(pass_name, "peak_memory", "byte", [peak])
    for metric, value in program.counts(pass_name).items():
        output.series(pass_name, metric, "count", [value])


@contextlib.contextmanager
def reported_as_outcome(passes, output):
    """Turns what is raised inside into the outcome of `passes`."""
    try:
        yield
    except Unsupported as problem:
        outcome, reason = "unsupported", str(problem)
    except torch.OutOfMemoryError as problem:
        outcome, reason = "oom", str(problem).splitlines()[0]
    except Exception as problem:  # anything a variant raises is its own outcome
        traceback.print_exc()
        first_line = (str(problem).splitlines() or [""])[0]
        outcome = next((named for text, named in MEANT_BY_MESSAGE if text in first_line), "error")
        reason = f"{type(problem).__name__}: {first_line}"
    else:
        return
    for pass_name in passes:
        output.series(pass_name, "time", "s", outcome=outcome, reason=reason)


def answer(message, build, output):
    """Measures the case of one message with the program that `build(case)` makes."""
    program = None
    with reported_as_outcome(message.get("passes", []), output):
        case = Case(message)
        case.require("measure.clock", WallClock.name)
        if int(case.get("world_size", 1)) > 1:
            raise Unsupported("this variant runs on one rank only")
        torch.manual_seed(int(case.get("measure.seed", 0)))
        program = build(case)
    for pass_name in case.passes if program else []:
        with reported_as_outcome([pass_name], output):
            measure_pass(case, program, pass_name, output)
        program.release()
        gc.collect()
        if case.device.type == "cuda":
            torch.cuda.empty_cache()
    output.done()


def serve(build):
    """Answers the case on standard input; what a variant's script ends with."""
    output = Output(take_standard_output())
    answer(json.load(sys.stdin), build, output)
