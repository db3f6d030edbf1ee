"""Time and memory of a pass by assay's rules."""

import time

import torch

from .case import Unsupported

LONGEST_HOLD_S = 0.05
FASTEST_CLOCK_HZ = 2e9  # of the multiprocessors; slower ones hold a little longer


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class WallClock:
    """Synchronise, call, synchronise; host time is included."""

    name = "wall"

    def __init__(self, device):
        self._device = device

    def prepare(self, program, pass_name):
        """Once, between warm-up and samples."""

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


class CudaEventClock:
    """Device time between two events on the current stream. The stream spins while the host
    enqueues the call, so that launch gaps do not count."""

    name = "cuda_event"

    def __init__(self, device):
        if device.type != "cuda":
            raise Unsupported("the clock 'cuda_event' needs a CUDA device")
        self._device = device
        self._enqueue_s = 1e-3  # host time of one call

    def prepare(self, program, pass_name):
        program.before(pass_name)
        synchronize(self._device)
        start = time.perf_counter()
        program.run(pass_name)
        self._enqueue_s = time.perf_counter() - start
        synchronize(self._device)

    def sample(self, program, pass_name, calls):
        total = 0.0
        for _ in range(calls):
            program.before(pass_name)
            hold_s = min(1.5 * self._enqueue_s + 20e-6, LONGEST_HOLD_S)
            start = torch.cuda.Event(enable_timing=True)
            stop = torch.cuda.Event(enable_timing=True)
            torch.cuda._sleep(int(hold_s * FASTEST_CLOCK_HZ))
            start.record()
            program.run(pass_name)
            stop.record()
            stop.synchronize()
            total += start.elapsed_time(stop) * 1e-3
        return total


CLOCKS = {clock.name: clock for clock in (WallClock, CudaEventClock)}


def time_pass(clock, device, program, pass_name, warmup, samples, calls_per_sample):
    """(seconds of the very first call, name of its clock, seconds of each sample). Warm-up calls
    are timed by the wall. The first call is the first of them; with a warm-up of 0 it is part of
    the first sample, and no call prepares the clock."""
    wall = WallClock(device)
    warm = [wall.sample(program, pass_name, 1) for _ in range(warmup)]
    if warm:
        clock.prepare(program, pass_name)
    taken = [clock.sample(program, pass_name, calls_per_sample) for _ in range(samples)]
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
