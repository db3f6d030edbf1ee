"""New inputs for each timed call, and looks at some. Needs PyTorch, no GPU."""

import io
import json
import unittest
import unittest.mock

from test_assay_peer import (
    ATTENTION, NORM, SETTINGS, LibraryLayerNorm, LibraryNorm, Textbook, assay_peer, torch)
from test_torch_model import PASSES, ModelStep, toy_case

from assay_peer import renewal, timed_looks
from assay_peer.timed_looks import TimedLooks

LARGE_NORM = {"workload": "norm", "rows": 64, "n_cols": 300}


def case_of(parameters):
    return assay_peer.Case({"protocol": 1, "parameters": SETTINGS | parameters, "passes": []})


def lines_of(message, build):
    text = io.StringIO()
    assay_peer.answer(message, build, assay_peer.Output(text))
    return [json.loads(line) for line in text.getvalue().splitlines()]


def answer(build, parameters, pass_name="forward"):
    """(the pass' time, its looks or None)"""
    message = {"protocol": 1, "passes": [pass_name],
               "parameters": SETTINGS | {"measure.samples": 8} | parameters}
    lines = lines_of(message, build)
    time = next(line["series"] for line in lines if "series" in line)
    return time, next((line["looks"] for line in lines if "looks" in line), None)


class Renewal(unittest.TestCase):
    def contents(self, parameters, pass_name, level, calls=4):
        """The inputs' contents of each call, and the program."""
        program = LibraryNorm(case_of(parameters))
        made = renewal.Renewal(program, pass_name, level)
        seen = []
        for _ in range(calls):
            made.ahead()
            made.behind()
            seen.append({name: tensor.detach().clone()
                         for name, tensor in program.inputs(pass_name).items()})
        return seen, program, made

    def test_an_element_of_each_4_kib_is_new_to_each_call(self):
        for precision, in_block in (("fp32", 1024), ("bf16", 2048), ("fp16", 2048)):
            seen, program, made = self.contents(LARGE_NORM | {"precision": precision},
                                                "backward", "fast")
            built = LibraryNorm(case_of(LARGE_NORM | {"precision": precision}))
            for name in ("x", "dout"):
                origin = built.inputs("backward")[name].detach().flatten()
                for contents in seen:
                    differ = (contents[name].flatten() != origin).split(in_block)
                    self.assertEqual([int(block.sum()) for block in differ], [1] * len(differ))
                for before, after in zip(seen, seen[1:]):
                    self.assertFalse(before[name].equal(after[name]))
            self.assertTrue(all(tensor.isfinite().all() for tensor in seen[-1].values()))
            made.restore()
            for name, tensor in program.inputs("backward").items():
                self.assertTrue(tensor.equal(built.inputs("backward")[name]), name)

    def test_at_full_and_of_small_inputs_most_are_new(self):
        for parameters, level in ((LARGE_NORM, "full"), (NORM, "fast")):
            seen, *_ = self.contents(parameters, "backward", level)
            for before, after in zip(seen, seen[1:]):
                for name in ("x", "dout"):
                    share = (before[name] != after[name]).float().mean()
                    self.assertGreater(share, 0.3, (level, name))
                self.assertFalse(before["weight"].equal(after["weight"]))

    def test_the_addresses_stay(self):
        program = LibraryNorm(case_of(LARGE_NORM))
        before = {name: tensor.data_ptr() for name, tensor in program.inputs("backward").items()}
        made = renewal.Renewal(program, "backward", "full")
        made.ahead()
        made.behind()
        self.assertEqual(before, {name: tensor.data_ptr()
                                  for name, tensor in program.inputs("backward").items()})

    def test_other_runs_have_other_contents(self):
        one, another = (self.contents(LARGE_NORM, "forward", "fast")[0] for _ in range(2))
        self.assertFalse(one[0]["x"].equal(another[0]["x"]))

    def test_tokens_stay_in_their_range(self):
        tokens = torch.randint(50, (4, 8))
        built = tokens.clone()
        one = renewal.RenewedInput(tokens, 50, full=False)
        for key in (3, 4):
            one.renew(key)
            self.assertTrue(((tokens >= 0) & (tokens < 50)).all())
            self.assertTrue((tokens != built).all())
        one.renew(0)
        self.assertTrue(tokens.equal(built))

    def test_a_transposed_input_is_renewed_and_one_with_gaps_is_left(self):
        tensor = torch.randn(30, 40).t()
        self.assertTrue(renewal.RenewedInput.can_renew(tensor, 0))
        self.assertFalse(renewal.RenewedInput.can_renew(torch.randn(30, 40)[:, ::2], 0))
        self.assertFalse(renewal.RenewedInput.can_renew(torch.ones(1).expand(9), 0))
        before = tensor.clone()
        renewal.RenewedInput(tensor, 0, full=True).renew(9)
        self.assertFalse(tensor.equal(before))


class Looks(unittest.TestCase):
    def setUp(self):
        # A busy machine makes looks too long to be repeated.
        limit = unittest.mock.patch.object(timed_looks, "CHEAP_S", 1e9)
        limit.start()
        self.addCleanup(limit.stop)

    def test_an_honest_norm_is_looked_at_three_times(self):
        for build in (LibraryNorm, LibraryLayerNorm):
            for residual in (False, True):
                for precision in ("fp32", "bf16"):
                    for pass_name in ("inference", "forward", "backward", "forward_backward"):
                        time, looks = answer(build, LARGE_NORM | {
                            "residual": residual, "precision": precision}, pass_name)
                        where = (build.__name__, residual, precision, pass_name, time["reason"])
                        self.assertEqual(time["outcome"], "ok", where)
                        self.assertEqual((looks["pass"], looks["integrity"]), (pass_name, "fast"))
                        self.assertEqual(looks["looks"], 3)
                        self.assertGreaterEqual(looks["renewed_inputs"], 2)
                        self.assertLessEqual(looks["error"], looks["tolerance"])

    def test_an_honest_attention(self):
        for causal in (True, False):
            for pass_name in ("forward", "backward"):
                time, looks = answer(Textbook, ATTENTION | {"causal": causal}, pass_name)
                self.assertEqual(time["outcome"], "ok", time["reason"])
                self.assertEqual(looks["looks"], 3)

    def test_without_a_warm_up_only_the_last_call_is_looked_at(self):
        _, looks = answer(LibraryNorm, NORM | {"measure.warmup": 0})
        self.assertEqual(looks["looks"], 1)

    def test_full_looks_at_one_in_ten(self):
        case = case_of(NORM | {"measure.integrity": "full"})
        drawn = TimedLooks(case, LibraryNorm(case), "forward", 1000, 1)
        self.assertGreater(len(drawn._more), 50)
        self.assertLess(len(drawn._more), 160)
        _, looks = answer(LibraryNorm, NORM | {"measure.integrity": "full"})
        self.assertEqual(looks["integrity"], "full")
        self.assertGreaterEqual(looks["looks"], 3)

    def test_the_inputs_are_afterwards_what_they_were(self):
        programs = []

        def build(case):
            programs.append(LibraryNorm(case))
            return programs[-1]

        answer(build, NORM)
        for name, leaf in programs[0].leaves.items():
            self.assertTrue(leaf.equal(LibraryNorm(case_of(NORM)).leaves[name]), name)

    def test_a_program_without_a_look_tells_of_none(self):
        class Plain(assay_peer.Program):
            def __init__(self, case):
                self.x = torch.ones(8)

            def inputs(self, pass_name):
                return {"x": self.x}

            def run(self, pass_name):
                self.x.sum()

        time, looks = answer(Plain, {})
        self.assertEqual(time["outcome"], "ok")
        self.assertIsNone(looks)

    def test_a_reference_that_does_not_fit_is_told(self):
        class Large(LibraryNorm):
            def look(self, pass_name, comparison):
                raise torch.OutOfMemoryError("out of memory\nby a trace")

        time, looks = answer(Large, NORM)
        self.assertEqual(len(time["samples"]), 8)
        self.assertEqual((looks["looks"], looks["left_out"]), (0, "out of memory"))

    def test_every_pass_of_a_model(self):
        for parameters in ({}, {"architecture": "gelu", "precision": "bf16",
                                "attention": "flash_libtorch"},
                           {"precision": "fp16", "norm": "layernorm", "max_grad_norm": 0.1},
                           {"max_grad_norm": 0.1}):
            case = toy_case(parameters | {"measure.samples": 5})
            lines = lines_of(case, lambda case: ModelStep(case, "eager"))
            reasons = [line["series"]["reason"] for line in lines if "series" in line]
            looks = {line["looks"]["pass"]: line["looks"] for line in lines if "looks" in line}
            self.assertEqual(sorted(looks), sorted(PASSES), (parameters, reasons))
            for pass_name, one in looks.items():
                self.assertEqual(one["looks"], 3, pass_name)
                self.assertEqual(one["renewed_inputs"], 1 if pass_name == "inference" else 2)
                self.assertLessEqual(one["error"], one["tolerance"])


class Memoising(LibraryNorm):
    """Knows its inputs by their addresses."""

    def __init__(self, case):
        super().__init__(case)
        self.known = {}

    def forward(self, x, weight):
        if x.data_ptr() not in self.known:
            self.known[x.data_ptr()] = super().forward(x, weight).detach()
        return self.keep(self.known[x.data_ptr()])

    def keep(self, out):
        return out


class Cheats(unittest.TestCase):
    def refused(self, build, parameters, pass_name="forward"):
        time, looks = answer(build, parameters, pass_name)
        self.assertEqual(time["outcome"], "wrong", time)
        self.assertEqual(time["samples"], [])
        self.assertIsNone(looks)
        self.assertTrue(time["reason"].startswith("in a timed call: "), time["reason"])
        return time["reason"]

    def test_memoising_by_address(self):
        self.assertIn("out holds NaN", self.refused(Memoising, LARGE_NORM))

        class Copying(Memoising):
            def keep(self, out):
                return out.clone()

        for precision in ("fp32", "bf16"):
            for integrity in ("fast", "full"):
                self.assertIn("differs from the reference", self.refused(
                    Copying, LARGE_NORM | {"precision": precision,
                                           "measure.integrity": integrity}))

    def test_a_gradient_from_before(self):
        class Backward(torch.autograd.Function):
            known = {}

            @staticmethod
            def forward(ctx, x, weight, eps):
                ctx.save_for_backward(x, weight)
                ctx.eps = eps
                return torch.rms_norm(x, x.shape[-1:], weight, eps)

            @staticmethod
            def backward(ctx, dout):
                x, weight = ctx.saved_tensors
                if x.data_ptr() not in Backward.known:
                    with torch.enable_grad():
                        wide = [t.detach().requires_grad_() for t in (x, weight)]
                        out = torch.rms_norm(wide[0], x.shape[-1:], wide[1], ctx.eps)
                    Backward.known[x.data_ptr()] = torch.autograd.grad(out, wide, dout)
                return *(t.clone() for t in Backward.known[x.data_ptr()]), None

        class Remembering(LibraryNorm):
            def forward(self, x, weight):
                return Backward.apply(x, weight, self.eps)

        self.assertIn("grad.", self.refused(Remembering, LARGE_NORM, "backward"))

    def test_work_left_out(self):
        class Half(LibraryNorm):
            def forward(self, x, weight):
                out = super().forward(x, weight)
                out[-1] = 0
                return out

        self.assertIn("out differs", self.refused(Half, LARGE_NORM))

    def test_inputs_changed_or_handed_back(self):
        class Changing(LibraryNorm):
            def forward(self, x, weight):
                out = super().forward(x, weight)
                with torch.no_grad():
                    x[0, 0] = x[0, 0] * (1 + 1e-6) + 1e-6
                return out

        self.assertIn("changed its input x", self.refused(Changing, LARGE_NORM, "inference"))

        class InPlace(LibraryNorm):
            def forward(self, x, weight):
                return x.detach().copy_(super().forward(x, weight))

        self.assertIn("shares memory", self.refused(InPlace, LARGE_NORM))

    def test_a_model_that_remembers(self):
        class Remembering(ModelStep):
            known = None

            def run(self, pass_name):
                super().run(pass_name)
                if pass_name == "inference":
                    self.known = self.logits.clone() if self.known is None else self.known
                    self.logits = self.known.clone()

        class Lazy(ModelStep):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                self.optimizer.step = lambda *_, **__: None

        for build, pass_name, reason in ((Remembering, "inference", "logits"),
                                         (Lazy, "train_step", "made no step")):
            lines = lines_of(toy_case({"measure.samples": 4}, [pass_name]),
                             lambda case: build(case, "eager"))
            self.assertEqual(lines[0]["series"]["outcome"], "wrong", lines)
            self.assertIn(reason, lines[0]["series"]["reason"])


if __name__ == "__main__":
    unittest.main()
