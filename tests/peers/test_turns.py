"""Interleaved measuring of external variants. Needs PyTorch, no GPU."""

import io
import json
import unittest
import unittest.mock

import torch

from test_assay_peer import NORM, SETTINGS, LibraryNorm, assay_peer

from assay_peer import clocks, timed_looks


def look_at_the_second(look):
    """Looks at the second reading alone, by `look`."""
    return unittest.mock.Mock(wants=lambda reading: reading == 1, look=look)


class InTurns(unittest.TestCase):
    def measure(self, turns, **settings):
        with unittest.mock.patch.object(timed_looks.TimedLooks, "wants", lambda _, at: at == 1):
            return self.measured(turns, **settings)

    def measured(self, turns, **settings):
        """(lines sent, calls of `run` before each line)."""
        text, calls = io.StringIO(), []

        class Counted(LibraryNorm):
            made = 0

            def run(self, pass_name):
                super().run(pass_name)
                Counted.made += 1

        class Noted(assay_peer.Output):
            def turn(self, *wanted):
                calls.append(Counted.made)
                super().turn(*wanted)

        message = {"protocol": 1, "passes": ["forward"], "turns": True,
                   "parameters": SETTINGS | NORM | settings}
        answers = io.StringIO("".join(json.dumps({"turn": turn}) + "\n" for turn in turns))
        assay_peer.answer(message, Counted, Noted(text), answers)
        return [json.loads(line) for line in text.getvalue().splitlines()], calls

    def test_it_asks_ahead_of_each_block_and_takes_an_untimed_sample_after_others(self):
        turns = [{"samples": 2, "after_others": True}, {"samples": 2, "after_others": False},
                 {"samples": 2, "after_others": True}]
        lines, calls = self.measure(turns, **{"measure.samples": 5, "measure.warmup": 3})
        self.assertEqual([line["turn"] for line in lines if "turn" in line],
                         [{"pass": "forward", "taken": taken, "planned": 5} for taken in (0, 2, 4)])
        # 3 warm-up calls; an uncounted one and two samples, the second with an untimed one behind
        # the look at it; two samples.
        self.assertEqual(calls, [3, 7, 9])
        series = next(line["series"] for line in lines if "series" in line)
        self.assertEqual(len(series["samples"]), 5)

    @unittest.skipUnless(torch.cuda.is_available(), "no GPU")
    def test_what_a_look_has_taken_on_a_gpu_goes_back_ahead_of_the_next_turn(self):
        device, most = torch.device("cuda"), 1 << 30
        held = []

        looks = look_at_the_second(
            lambda: torch.empty(most, dtype=torch.uint8, device=device))

        class AskedForTurns:
            def wait(self, *_):
                held.append(torch.cuda.memory_reserved())
                return True

        program = LibraryNorm(assay_peer.Case(
            {"protocol": 1, "passes": ["forward"],
             "parameters": SETTINGS | NORM | {"device": "cuda"}}))
        torch.cuda.empty_cache()
        clocks.time_pass(clocks.WallClock(device), device, program, "forward", 2, 4, 1,
                         AskedForTurns(), looks)
        self.assertEqual(len(held), 4)
        self.assertLess(max(held), most)
        clocks.time_pass(clocks.WallClock(device), device, program, "forward", 2, 4, 1, None,
                         looks)
        self.assertGreaterEqual(torch.cuda.memory_reserved(), most, "nobody else needs it")

    def test_a_look_gives_back_what_it_took_ahead_of_the_untimed_call_behind_it(self):
        made = []

        class Logged(LibraryNorm):
            def run(self, pass_name):
                super().run(pass_name)
                made.append("call")

        looks = look_at_the_second(lambda: made.append("look"))
        program = Logged(assay_peer.Case({"protocol": 1, "passes": ["forward"],
                                          "parameters": SETTINGS | NORM}))
        cpu = torch.device("cpu")
        in_turns = unittest.mock.Mock(wait=lambda *_: False)
        for turns, behind in ((in_turns, ["given back"]), (None, [])):
            made.clear()
            with unittest.mock.patch.object(clocks, "give_back_memory",
                                            lambda _: made.append("given back")):
                clocks.time_pass(clocks.WallClock(cpu), cpu, program, "forward", 0, 3, 1,
                                 turns, looks)
            self.assertEqual(made, ["call", "call", "look", *behind, "call", "call"])

    def test_long_samples_have_no_untimed_one_ahead(self):
        turns = [{"samples": 1, "after_others": True}] * 4
        with unittest.mock.patch.object(clocks, "long_reading_s", lambda _: 0):
            _, calls = self.measure(turns, **{"measure.samples": 4, "measure.warmup": 2})
        # One behind the warm-up, and one behind the look at the second sample.
        self.assertEqual(calls, [2, 4, 6, 7])

    def test_samples_are_long_on_a_gpu_alone(self):
        self.assertEqual(clocks.long_reading_s(torch.device("cuda")), 0.1)
        self.assertEqual(clocks.long_reading_s(torch.device("cpu")), float("inf"))

    def test_without_a_warm_up_nothing_precedes_the_very_first_sample(self):
        turns = [{"samples": 1, "after_others": True}, {"samples": 1, "after_others": True}]
        _, calls = self.measure(turns, **{"measure.samples": 2, "measure.warmup": 0})
        self.assertEqual(calls, [0, 1])

    def test_a_host_that_has_gone_ends_it(self):
        with self.assertRaises(SystemExit):
            self.measure([])


if __name__ == "__main__":
    unittest.main()
