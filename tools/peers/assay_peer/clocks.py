"""Time and memory of a pass by assay's rules."""

import math
import time
from collections import deque

import torch

from .case import Unsupported

LONGEST_HOLD_S = 0.05
MOST_LENGTHENING = 8  # of a hold that was too short; a call that waits for the device outlasts any
FASTEST_CLOCK_HZ = 2e9  # of the multiprocessors; slower ones hold longer
SHORT_SPIN, LONG_SPIN = 10_000, 160_000  # cycles
NEWEST = 41
SHORT_READING_S = 200e-6  # changes of the overhead are a thousandth of longer ones
NOTICED_WITHIN_S = 50e-6
LONG_READING_S = 0.1
CLEARED_S_PER_GIB = 4e-3  # docs/measuring.md, Memory given back


def long_reading_s(device):
    """Readings that take so long need no untimed one ahead for what others have left in the caches:
    filling a GPU's takes 100 us, a thousandth of them."""
    return LONG_READING_S if device.type == "cuda" else math.inf


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def give_back_memory(device):
    """What the allocator holds and nobody uses."""
    if device.type != "cuda":
        return
    held_bytes = torch.cuda.memory_reserved(device)
    torch.cuda.empty_cache()
    # The device clears the memory in the background, which slows what follows.
    time.sleep((held_bytes - torch.cuda.memory_reserved(device)) / 2**30 * CLEARED_S_PER_GIB)


class WallClock:
    """Synchronises, calls, synchronises; includes host time."""

    name = "wall"

    def __init__(self, device, flush=None):
        self._device = device
        self._flush = flush or (lambda: None)

    def prepare(self, program, pass_name):
        """Called once, between warm-up and samples."""

    def sample(self, program, pass_name, calls):
        """Seconds of `calls` calls, without the `before` and the flush ahead of each."""
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
    """Device time between two events on the current stream, less their overhead: what the line
    through a short and a long spin shows for a kernel of no length. Spins follow each short
    reading. The stream spins while the host enqueues the call, which hides launch gaps."""

    name = "cuda_event"

    def __init__(self, device, flush=None):
        if device.type != "cuda":
            raise Unsupported("the clock 'cuda_event' needs a CUDA device")
        self._device = device
        self._flush = flush or (lambda: None)
        self._enqueue_s = 1e-3  # host time of one call
        self._lengthened = 1
        self._spin_hold_s = 50e-6
        self._shown = {SHORT_SPIN: deque(maxlen=NEWEST), LONG_SPIN: deque(maxlen=NEWEST)}

    def prepare(self, program, pass_name):
        """Tries again where the device seems to outlive the stream: other processes may have
        delayed this one, which a spin of the same length on the current stream then shows, too."""
        allowed_s = NOTICED_WITHIN_S
        tries = []
        while not tries or (outlived_s > allowed_s and len(tries) < 5):
            program.before(pass_name)
            enqueue_s, call_s, outlived_s = self._observe(lambda: program.run(pass_name))
            tries.append(enqueue_s)
            if outlived_s > allowed_s:
                cycles = int(min(call_s, LONGEST_HOLD_S) * FASTEST_CLOCK_HZ)
                allowed_s = max(allowed_s, 2 * self._observe(lambda: torch.cuda._sleep(cycles))[2])
        self._enqueue_s = min(tries)
        if outlived_s > allowed_s:
            raise Unsupported(
                "the call leaves work on a stream that the current one does not wait for "
                f"({outlived_s * 1e6:.0f} us of it); events would miss it, use the wall clock")

    def sample(self, program, pass_name, calls):
        total = 0.0
        for _ in range(calls):
            program.before(pass_name)
            self._flush()
            total += self._call_s(lambda: program.run(pass_name))
        return total

    def _observe(self, run):
        """(seconds to enqueue the call, until the stream is done, by which the device outlives it)"""
        synchronize(self._device)
        begun = time.perf_counter()
        run()
        enqueued = time.perf_counter()
        torch.cuda.current_stream().synchronize()
        finished = time.perf_counter()
        synchronize(self._device)
        return enqueued - begun, finished - begun, time.perf_counter() - finished

    def _call_s(self, run):
        hold_s = self._lengthened * (1.5 * self._enqueue_s + 20e-6)
        shown_s, gap = self._show(hold_s, run)
        if gap:
            self._lengthened = min(2 * self._lengthened, MOST_LENGTHENING)
        if shown_s < SHORT_READING_S or not self._shown[SHORT_SPIN]:
            self._follow_overhead()
        return max(0.0, shown_s - self._overhead_s())

    def _follow_overhead(self):
        for cycles, shown in self._shown.items():
            missing = 1 if shown else NEWEST
            for _ in range(4 * missing):
                shown_s, gap = self._show(self._spin_hold_s, lambda: torch.cuda._sleep(cycles))
                if gap:  # the reading includes host time
                    self._spin_hold_s = min(2 * self._spin_hold_s, LONGEST_HOLD_S)
                    continue
                shown.append(shown_s)
                missing -= 1
                if missing == 0:
                    break
            if not shown:
                shown.append(shown_s)

    def _overhead_s(self):
        short_s, long_s = (middle_mean(shown) for shown in self._shown.values())
        return short_s - (long_s - short_s) / (LONG_SPIN / SHORT_SPIN - 1)

    @staticmethod
    def _show(hold_s, enqueue):
        """(seconds between the events, whether the hold ended before all was enqueued)"""
        start = torch.cuda.Event(enable_timing=True)
        stop = torch.cuda.Event(enable_timing=True)
        released = torch.cuda.Event()
        torch.cuda._sleep(int(min(hold_s, LONGEST_HOLD_S) * FASTEST_CLOCK_HZ))
        released.record()
        start.record()
        enqueue()
        stop.record()
        gap = released.query()
        stop.synchronize()
        return start.elapsed_time(stop) * 1e-3, gap


def middle_mean(values):
    """The mean without the lowest and the highest quarter."""
    ordered = sorted(values)
    middle = ordered[len(ordered) // 4:len(ordered) - len(ordered) // 4]
    return sum(middle) / len(middle)


CLOCKS = {clock.name: clock for clock in (WallClock, CudaEventClock)}


def time_pass(clock, device, program, pass_name, warmup, samples, calls_per_sample, turns=None,
              looks=None):
    """(seconds of the first call, name of its clock, seconds of each sample). The wall clock times
    the warm-up calls; with a warm-up of 0 the first sample contains the first call, and no call
    prepares the clock. A turn after other cases begins with a sample that does not count, since
    their data is in the caches, unless samples are long; the first turn only after a warm-up.
    `looks`, the TimedLooks that `program` then is, sees some readings; each of these is followed by
    one that does not count and brings back the caches, and the memory that went with the look."""
    wall = WallClock(device)
    warm = [wall.sample(program, pass_name, 1) for _ in range(warmup)]
    if warm:
        clock.prepare(program, pass_name)
    taken = []
    for done in range(samples):
        after_others = turns is not None and turns.wait(pass_name, done, samples)
        is_long = done > 0 and taken[-1] >= long_reading_s(device)
        if after_others and (done > 0 or warm) and not is_long:
            clock.sample(program, pass_name, calls_per_sample)
        looked_at = looks is not None and looks.wants(done)
        if looked_at:
            looks.expect(calls_per_sample)
        taken.append(clock.sample(program, pass_name, calls_per_sample))
        if looked_at:
            looks.look()
            if turns is not None:  # the others may need for their looks what this one has taken
                give_back_memory(device)
            if done + 1 < samples:
                clock.sample(program, pass_name, 1)
    return (warm[0], wall.name, taken) if warm else (taken[0], clock.name, taken)


def observe_memory(device, program, pass_name):
    """(bytes allocated before one call, peak bytes during it); CUDA only."""
    program.before(pass_name)
    synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    program.run(pass_name)
    synchronize(device)
    return before, torch.cuda.max_memory_allocated(device)
