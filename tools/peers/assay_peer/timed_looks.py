"""What was timed is what is verified: inputs that are new to each call, and looks at some timed
calls (docs/measuring.md, Integrity)."""

import random
import sys
import time

import torch

from .case import Unsupported, Wrong
from .clocks import synchronize
from .comparison import TOLERANCES, Comparison
from .program import Program
from .renewal import Renewal, spoil

LEVELS = ("fast", "full")
LOOKS = 3
ONE_IN = 10  # with full
MOST_OF_THE_TIME = 0.1
CHEAP_S = 0.5  # looks that took no longer together are not held to that share


class TimedLooks:
    """Stands between the clock and a program. `before` also renews the inputs; `wants`, `expect`
    and `look` are for the one who takes the samples."""

    def __init__(self, case, program, pass_name, samples, warmup):
        self.level = case.get("measure.integrity", "fast")
        if self.level not in LEVELS:
            raise Unsupported(f"measure.integrity '{self.level}' is not one of: "
                              f"{', '.join(LEVELS)}")
        self._device = case.device
        self._precision = case.get("precision")
        self._program = program
        self._pass = pass_name
        self.run = program.run
        self._renewal = Renewal(program, pass_name, self.level)
        draw = random.SystemRandom()
        # An untimed call follows each look: without a warm-up only the last reading has none.
        self._chosen = set(draw.sample(range(samples), min(LOOKS, samples)) if warmup
                           else [samples - 1])
        self._more = {reading for reading in range(samples if warmup else 0)
                      if self.level == "full" and draw.random() * ONE_IN < 1} - self._chosen
        self._begun = time.perf_counter()
        self._left_out = None  # why the reference does not fit into the memory
        self._calls_left = 0  # until the one that is looked at
        self.looks, self._looks_s, self._more_s = 0, 0.0, 0.0
        self._worst = None

    @property
    def possible(self):
        """Without a look of its own, or inputs to renew, a program's times are self-timed."""
        return (self._left_out is None and len(self._renewal) > 0 and self._precision in TOLERANCES
                and type(self._program).look is not Program.look)

    def before(self, pass_name):
        for tensor in self._program.outputs(pass_name).values():
            if self._renewal.shares_memory(tensor) is None:
                spoil(tensor)
        self._renewal.ahead()
        self._program.before(pass_name)
        self._renewal.behind()
        self._calls_left -= 1
        if self._calls_left == 0:
            self._program.ahead_of_look(pass_name)

    def wants(self, reading):
        """Whether the reading is to be looked at."""
        if not self.possible or reading not in self._chosen | self._more:
            return False
        elapsed_s = time.perf_counter() - self._begun
        if reading in self._more:
            return self._more_s < MOST_OF_THE_TIME * elapsed_s
        return self.looks == 0 or self._looks_s <= CHEAP_S or (
            self._looks_s < MOST_OF_THE_TIME * elapsed_s)

    def expect(self, calls):
        """Says that the last of the next `calls` is looked at."""
        self._calls_left = calls

    def look(self):
        """Raises Wrong where the last call is not what it should be."""
        begun = time.perf_counter()
        synchronize(self._device)
        comparison = Comparison(self._precision)
        try:
            self._examine(comparison)
        except Wrong as problem:
            raise Wrong(f"in a timed call: {problem}") from None
        except torch.OutOfMemoryError as problem:  # the call itself has fitted
            print(f"no look at {self._pass}: {problem}", file=sys.stderr)
            self._left_out = str(problem).splitlines()[0]
            return
        self.looks += 1
        if comparison.worst and (self._worst is None or comparison.worst[0] > self._worst[0]):
            self._worst = comparison.worst
        spent_s = time.perf_counter() - begun
        self._looks_s += spent_s
        self._more_s += spent_s if self.looks > LOOKS else 0

    def _examine(self, comparison):
        for name, tensor in self._program.outputs(self._pass).items():
            shared = self._renewal.shares_memory(tensor)
            if shared is not None:
                raise Wrong(f"{name} shares memory with the input {shared}")
            if not self._program.may_overflow and torch.isnan(tensor).any():
                raise Wrong(f"{name} holds NaN")
        self._program.look(self._pass, comparison)
        comparison.end()
        changed = self._renewal.changed()
        if changed is not None:
            raise Wrong(f"the call has changed its input {changed}")

    def end(self):
        """The inputs are what they were at first. Call it whatever became of the pass."""
        self._renewal.restore()

    def facts(self):
        """What the host stores; None without a look and a reason why there was none."""
        facts = {"integrity": self.level, "renewed_inputs": len(self._renewal),
                 "looks": self.looks, "looks_s": self._looks_s}
        if self.looks == 0:
            return facts | {"left_out": self._left_out} if self._left_out else None
        if self._worst:
            _, error, tolerance, of, usual = self._worst
            facts |= {"error": error, "tolerance": tolerance, "of": of}
            facts |= {"error_ratio": error / usual} if usual > 0 else {}
        return facts
