"""The clocks of external variants. Needs PyTorch, no GPU."""

import unittest

from test_assay_peer import ATTENTION, Textbook, assay_peer, run, torch

from assay_peer import clocks


class Calls(assay_peer.Program):
    """Records the calls."""

    def __init__(self):
        self.made = []

    def before(self, pass_name):
        self.made.append("before")

    def run(self, pass_name):
        self.made.append("run")


class Clocks(unittest.TestCase):
    def time(self, **settings):
        program = Calls()
        device = torch.device("cpu")
        timing = clocks.time_pass(clocks.WallClock(device), device, program, "forward", **settings)
        return program.made, timing

    def test_before_goes_ahead_of_every_call(self):
        made, (first, name, samples) = self.time(warmup=3, samples=2, calls_per_sample=4)
        self.assertEqual(made, ["before", "run"] * (3 + 2 * 4))
        self.assertEqual(len(samples), 2)
        self.assertEqual(name, "wall")
        self.assertGreater(first, 0)

    def test_without_warm_up_the_first_sample_is_the_first_call(self):
        made, (first, _, samples) = self.time(warmup=0, samples=2, calls_per_sample=1)
        self.assertEqual(made, ["before", "run"] * 2)
        self.assertEqual(first, samples[0])

    def device_that_shows(self, order, shown, least_hold=0):
        """A stand-in for CUDA. Events lie 50 ms further apart than `shown` says of the last launch,
        and 30 ms more after a hold of fewer cycles than `least_hold`, which ends too early."""

        class Event:
            def __init__(self, enable_timing=False):
                self.timed = enable_timing

            def record(self):
                order.append("record" if self.timed else "released")

            def query(self):
                return order[-5] < least_hold

            def synchronize(self):
                order.append("wait")

            def elapsed_time(self, stop):
                return 50.0 + shown[order[-3]] + (30 if order[-6] < least_hold else 0)

        cuda = torch.cuda
        self.addCleanup(setattr, cuda, "Event", cuda.Event)
        self.addCleanup(setattr, cuda, "_sleep", cuda._sleep)
        cuda.Event, cuda._sleep = Event, order.append

    def test_events_are_recorded_behind_a_busy_stream(self):
        order = []
        # Spins of 10,000 and 160,000 cycles last 5 and 80 ms; no cycles would show 50 ms.
        self.device_that_shows(order, {"run": 250.0, 10_000: 5.0, 160_000: 80.0})

        class Program(Calls):
            def run(self, pass_name):
                order.append("run")

        clock = clocks.CudaEventClock(torch.device("cuda"))
        self.assertAlmostEqual(clock.sample(Program(), "forward", 2), 2 * 0.25)
        # 1.5 times the assumed 1 ms of a call, plus 20 µs, at 2 GHz.
        call = [3_040_000, "released", "record", "run", "record", "wait"]
        self.assertEqual(order[:6], call)
        self.assertEqual(order[-6:], call)
        short = [100_000, "released", "record", 10_000, "record", "wait"]
        self.assertEqual(order[6:12], short)
        self.assertEqual(len(order), 6 * (2 + 2 * 41))

    def test_spins_that_the_hold_did_not_outlast_do_not_count(self):
        order = []
        shown = {"run": 250.0, 10_000: 5.0, 160_000: 80.0}
        self.device_that_shows(order, shown, least_hold=150_000)  # the first hold is 100,000

        class Program(Calls):
            def run(self, pass_name):
                order.append("run")

        clock = clocks.CudaEventClock(torch.device("cuda"))
        self.assertAlmostEqual(clock.sample(Program(), "forward", 1), 0.25)

    def test_short_readings_are_each_followed_by_spins(self):
        order = []
        self.device_that_shows(order, {"run": -49.9, 10_000: -49.995, 160_000: -49.92})  # 100 µs

        class Program(Calls):
            def run(self, pass_name):
                order.append("run")

        clock = clocks.CudaEventClock(torch.device("cuda"))
        self.assertAlmostEqual(clock.sample(Program(), "forward", 1), 100e-6)
        taken = len(order)
        self.assertAlmostEqual(clock.sample(Program(), "forward", 1), 100e-6)
        self.assertEqual([made for made in order[taken:] if made in (10_000, 160_000)],
                         [10_000, 160_000])

    def prepare_where_the_device_outlives_the_stream(self, outlived_s, spin_s=10e-6):
        """Prepares a clock with calls of 10 µs, each of which the device outlives by this long, as
        it seems to do with a spin."""
        calls_s, program, spun = iter(outlived_s), Calls(), []
        readings = 0

        def reading():
            nonlocal readings
            readings += 1
            at = (0.0, 10e-6, 20e-6)
            if readings % 4:
                return at[readings % 4 - 1]
            return at[-1] + (spin_s if spun and spun.pop() else next(calls_s))

        class Stream:
            def synchronize(self):
                pass

        for place, name, made in ((torch.cuda, "current_stream", Stream),
                                  (torch.cuda, "synchronize", lambda *device: None),
                                  (torch.cuda, "_sleep", spun.append),
                                  (clocks.time, "perf_counter", reading)):
            self.addCleanup(setattr, place, name, getattr(place, name))
            setattr(place, name, made)
        clocks.CudaEventClock(torch.device("cuda")).prepare(program, "forward")
        return program.made

    def test_work_that_outlives_the_stream_is_refused(self):
        with self.assertRaisesRegex(assay_peer.Unsupported, "does not wait for .100 us of it."):
            self.prepare_where_the_device_outlives_the_stream(5 * [100e-6])

    def test_an_end_noticed_late_is_looked_at_again(self):
        made = self.prepare_where_the_device_outlives_the_stream([100e-6, 100e-6, 1e-6])
        self.assertEqual(made, ["before", "run"] * 3)

    def test_a_host_that_notices_spins_as_late_is_slow(self):
        made = self.prepare_where_the_device_outlives_the_stream([90e-6], spin_s=60e-6)
        self.assertEqual(made, ["before", "run"])

    def test_a_flush_goes_between_before_and_the_call(self):
        program = Calls()
        clock = clocks.WallClock(torch.device("cpu"), lambda: program.made.append("flush"))
        clock.sample(program, "forward", 2)
        self.assertEqual(program.made, ["before", "flush", "run"] * 2)

    def test_caches_are_flushed_or_left_warm_but_not_rotated(self):
        for policy, outcome in (("warm", "ok"), ("flush", "ok"), ("rotate", "unsupported")):
            series, _ = run(Textbook, ATTENTION | {"measure.cache": policy}, ["forward"])
            self.assertEqual(series["forward", "time"]["outcome"], outcome)

    def test_another_clock_is_unsupported(self):
        for clock, named in (("cuda_event", "CUDA device"), ("cuda_graph", "wall, cuda_event")):
            series, _ = run(Textbook, ATTENTION | {"measure.clock": clock})
            self.assertEqual(series["forward", "time"]["outcome"], "unsupported")
            self.assertIn(named, series["forward", "time"]["reason"])


if __name__ == "__main__":
    unittest.main()
