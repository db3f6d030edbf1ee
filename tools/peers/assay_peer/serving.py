"""Answers the case on standard input."""

import contextlib
import gc
import json
import platform
import sys
import traceback

import torch

from . import packages, standard_streams
from .case import Case, Unsupported, Wrong
from .caches import flush_of
from .clocks import CLOCKS, give_back_memory, observe_memory, time_pass
from .tensors import write_exchange
from .timed_looks import TimedLooks
from .turns import Turns

# Outcomes that PyTorch reports only in the message of a RuntimeError.
OUTCOME_OF_MESSAGE = (
    ("No available kernel", "unsupported"),
    ("No viable backend", "unsupported"),
    ("No valid triton configs", "unsupported"),
    ("attention build does not support", "unsupported"),
    ("out of memory", "oom"),
    ("can't allocate memory", "oom"),
    ("Cannot allocate memory", "oom"),
    ("CUBLAS_STATUS_ALLOC_FAILED", "oom"),
    ("CUDNN_STATUS_ALLOC_FAILED", "oom"),
)
UNITS = {"flops": "FLOP", "bytes": "byte"}  # of counts; others are plain


class Output:
    """The lines the host reads, written to `stream`."""

    def __init__(self, stream):
        self._stream = stream

    def series(self, pass_name, metric, unit, samples=(), outcome="ok", reason="", clock=""):
        self._write({"series": {
            "pass": pass_name, "metric": metric, "part": "", "rank": 0, "unit": unit,
            "outcome": outcome, "reason": reason, "clock": clock, "samples": list(samples),
        }})

    def turn(self, pass_name, taken, planned):
        self._write({"turn": {"pass": pass_name, "taken": taken, "planned": planned}})

    def check(self, pass_name, file):
        self._write({"check": {"pass": pass_name, "file": file}})

    def unchecked(self, pass_name, reason):
        self._write({"unchecked": {"pass": pass_name, "reason": reason}})

    def looks(self, pass_name, facts):
        self._write({"looks": {"pass": pass_name, **facts}})

    def done(self):
        versions = {"python": platform.python_version(), "torch": torch.__version__}
        if torch.version.cuda:
            versions["cuda"] = torch.version.cuda
        self._write({"done": {"versions": versions | packages.used}})

    def _write(self, line):
        print(json.dumps(line), file=self._stream, flush=True)


def measure_pass(case, program, pass_name, output, turns=None):
    """Reports after the whole pass: one that fails has an outcome and no figures."""
    clock = CLOCKS[case.require("measure.clock", *CLOCKS)](case.device, flush_of(case))
    clock_name = clock.name
    warmup, samples = int(case.get("measure.warmup", 5)), int(case.get("measure.samples", 10))
    looks = TimedLooks(case, program, pass_name, samples, warmup)
    try:
        first, first_clock, taken = time_pass(
            clock, case.device, looks, pass_name, warmup, samples,
            int(case.get("measure.calls_per_sample", 1)), turns, looks)
    finally:
        looks.end()
    facts = looks.facts()
    del clock, looks  # and the flush buffer, which is not the case's memory
    memory = observe_memory(case.device, program, pass_name) if case.device.type == "cuda" else ()
    counts = program.counts(pass_name)
    output.series(pass_name, "time", "s", taken, clock=clock_name)
    if facts is not None:
        output.looks(pass_name, facts)
    output.series(pass_name, "first_call_time", "s", [first], clock=first_clock)
    for metric, value in zip(("memory_before", "peak_memory"), memory):
        output.series(pass_name, metric, "byte", [value])
    for metric, value in counts.items():
        output.series(pass_name, metric, UNITS.get(metric, "count"), [value])


def exchange_pass(case, program, pass_name, output):
    """A pass whose tensors cannot be exchanged stays measured and is marked unchecked."""
    try:
        exchanged = program.exchange(pass_name)
        if exchanged is None:
            output.unchecked(pass_name, "the program exchanges no tensors")
        else:
            output.check(pass_name, write_exchange(case.exchange_folder, pass_name, exchanged))
    except Exception as problem:  # the pass has been measured
        traceback.print_exc()
        first_line = (str(problem).splitlines() or [type(problem).__name__])[0]
        output.unchecked(pass_name, f"no tensors were exchanged: {first_line}")


@contextlib.contextmanager
def reported_as_outcome(passes, output):
    """Reports an exception raised inside as the outcome of `passes`."""
    try:
        yield
    except Unsupported as problem:
        outcome, reason = "unsupported", str(problem)
    except Wrong as problem:
        outcome, reason = "wrong", str(problem)
    except torch.OutOfMemoryError as problem:
        outcome, reason = "oom", str(problem).splitlines()[0]
    except Exception as problem:  # any other exception of the variant
        traceback.print_exc()
        first_line = (str(problem).splitlines() or [""])[0]
        outcome = next((named for text, named in OUTCOME_OF_MESSAGE if text in first_line), "error")
        reason = f"{type(problem).__name__}: {first_line}"
    else:
        return
    for pass_name in passes:
        output.series(pass_name, "time", "s", outcome=outcome, reason=reason)


def free_memory(case, program):
    program.release()
    gc.collect()
    give_back_memory(case.device)


def answer(message, build, output, answers=None):
    """Measures the case of one message with the program that `build(case)` returns, then exchanges
    tensors of each pass for checking. `answers`: the stream from which the host's turns come."""
    program = None
    turns = Turns(output.turn, answers) if message.get("turns") else None
    with reported_as_outcome(message.get("passes", []), output):
        case = Case(message)
        CLOCKS[case.require("measure.clock", *CLOCKS)](case.device)
        flush_of(case)
        if int(case.get("world_size", 1)) > 1:
            raise Unsupported("this variant runs on one rank only")
        torch.manual_seed(case.seed)
        program = build(case)
    measured = []
    for pass_name in case.passes if program else []:
        with reported_as_outcome([pass_name], output):
            measure_pass(case, program, pass_name, output, turns)
            measured.append(pass_name)
        free_memory(case, program)
    for pass_name in measured if program and case.exchange_folder else []:
        exchange_pass(case, program, pass_name, output)
        free_memory(case, program)
    output.done()


def serve(build):
    """Answers the case on standard input. A variant's script ends with this."""
    output = Output(standard_streams.to_host())
    lines = standard_streams.from_host()
    answer(json.loads(lines.readline()), build, output, lines)
