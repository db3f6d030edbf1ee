"""Time and memory of a pass by assay's rules."""

import time

import torch

from .case import Unsupported

LONGEST_HOLD_S = 0.05
FASTEST_CLOCK_HZ = 2e9  # of the multiprocessors; slower ones hold a little longer
EMPTY_KERNELS = 41


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class WallClock:
    """Synchronise, call, synchronise; host time is included."""

    name = "wall"

    def __init__(self, device, flush=None):
        self._device = device
        self._flush = flush or (lambda: None)

    def prepare(self, program, pass_name):
        """Once, between warm-up and samples."""

    def sample(self, program, pass_name, calls):
        """Seconds of `calls` calls; `before` and the flush go ahead of each and are left out."""
        total = 0.0
        for _ in range(calls):
            program.before(pass_name)
            self._flush()
            synchronize(self._device)
            start = time.perf_counter()
            program.run(pass_name)
            synchronize(self._device)
            total += time.perf_counter() - start
        return total


class CudaEventClock:
    """Device time between two events on the current stream, less what they show around a kernel
    that does nothing. The stream spins while the host enqueues the call, so that launch gaps do not
    count."""

    name = "cuda_event"

    def __init__(self, device, flush=None):
        if device.type != "cuda":
            raise Unsupported("the clock 'cuda_event' needs a CUDA device")
        self._device = device
        self._flush = flush or (lambda: None)
        self._enqueue_s = 1e-3  # host time of one call
        self._overhead_s = None

    def prepare(self, program, pass_name):
        program.before(pass_name)
        synchronize(self._device)
        start = time.perf_counter()
        program.run(pass_name)
        self._enqueue_s = time.perf_counter() - start
        synchronize(self._device)

    def sample(self, program, pass_name, calls):
        if self._overhead_s is None:
            self._overhead_s = self._time_of_nothing()
        total = 0.0
        for _ in range(calls):
            program.before(pass_name)
            self._flush()
            taken = self._time(1.5 * self._enqueue_s + 20e-6, lambda: program.run(pass_name))
            total += max(0.0, taken - self._overhead_s)
        return total

    @staticmethod
    def _time(hold_s, enqueue):
        start = torch.cuda.Event(enable_timing=True)
        stop = torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(int(min(hold_s, LONGEST_HOLD_S) * FASTEST_CLOCK_HZ))
        start.record()
        enqueue()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) * 1e-3

    def _time_of_nothing(self):
        """The mean without the quarter at either end."""
        shown = sorted(self._time(50e-6, lambda: torch.cuda._sleep(0))
                       for _ in range(EMPTY_KERNELS + 3))
        middle = shown[len(shown) // 4:len(shown) - len(shown) // 4]
        return sum(middle) / len(middle)


CLOCKS = {clock.name: clock for clock in (WallClock, CudaEventClock)}


def time_pass(clock, device, program, pass_name, warmup, samples, calls_per_sample, turns=None):
    """(seconds of the very first call, name of its clock, seconds of each sample). Warm-up calls
    are timed by the wall. The first call is the first of them; with a warm-up of 0 it is part of
    the first sample, and no call prepares the clock. In turns the first sample of one is preceded by
    a sample that does not count, since the caches hold what others left; not so the very first
    where no call is to come before it."""
    wall = WallClock(device)
    warm = [wall.sample(program, pass_name, 1) for _ in range(warmup)]
    if warm:
        clock.prepare(program, pass_name)
    taken = []
    for done in range(samples):
        after_others = turns is not None and turns.wait(pass_name, done, samples)
        if after_others and (done > 0 or warm):
            clock.sample(program, pass_name, calls_per_sample)
        taken.append(clock.sample(program, pass_name, calls_per_sample))
    return (warm[0], wall.name, taken) if warm else (taken[0], clock.name, taken)


def observe_memory(device, program, pass_name):
    """(bytes allocated when one call began, most bytes allocated at any moment of it); CUDA only."""
    program.before(pass_name)
    synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    program.run(pass_name)
    synchronize(device)
    return before, torch.cuda.max_memory_allocated(device)
