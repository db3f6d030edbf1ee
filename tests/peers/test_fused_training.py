"""The parts of a training step that other packages fuse, with stand-ins, in PyTorch's model."""

import io
import json
import sys
import unittest
import unittest.mock

SKIPPED = 77  # what ctest takes as skipped
try:
    import torch
except ImportError as problem:
    print(f"skipped: {sys.executable} cannot import torch ({problem})")
    sys.exit(SKIPPED)
import stand_ins
from stand_ins import installed
from test_torch_model import PASSES, toy_case

import assay_peer
from fused_training import LigerHeadLoss, fused_adamw
from torch_model import program_of

torch.set_num_threads(1)
ADAM = {"transformer-engine": "transformer_engine.pytorch.optimizers", "apex": "apex.optimizers"}
WITHOUT = {name: None for name in ADAM.values()}


def answer(parameters, *options, mode="eager", passes=PASSES):
    """({pass: its time}, passes that were looked at, versions)"""
    text = io.StringIO()
    case = toy_case({"measure.warmup": 1, "measure.samples": 2} | parameters, passes)
    with unittest.mock.patch("gc.collect"):  # which takes longest here
        assay_peer.answer(case, lambda case: program_of(case, mode, *options),
                          assay_peer.Output(text))
    lines = [json.loads(line) for line in text.getvalue().splitlines()]
    series = [line["series"] for line in lines if "series" in line]
    return ({one["pass"]: one for one in series if one["metric"] == "time"},
            {line["looks"]["pass"] for line in lines if "looks" in line},
            lines[-1]["done"]["versions"])


class Training(unittest.TestCase):
    def assert_right(self, found, passes=PASSES):
        times, looked_at, _ = found
        for pass_name in passes:
            timed = times[pass_name]
            self.assertEqual((timed["outcome"], timed["reason"]), ("ok", ""))
        self.assertEqual(looked_at, set(passes))


class HeadLoss(Training):
    def test_every_pass_is_what_the_textbook_model_computes(self):
        for parameters in ({}, {"precision": "bf16"}, {"architecture": "gelu"}):
            with self.subTest(**parameters), installed(stand_ins.liger_losses()):
                found = answer(parameters, "liger")
                self.assert_right(found)
                self.assertIn("liger-kernel", found[-1])

    def test_the_rest_is_compiled(self):
        with installed(stand_ins.liger_losses()):
            passes = ["forward_backward"]
            self.assert_right(answer({"precision": "bf16"}, "liger", mode="default",
                                     passes=passes), passes)

    def test_it_is_called_as_it_is_in_the_dtype_of_autocast(self):
        losses = stand_ins.liger_losses()
        with installed(losses), unittest.mock.patch.object(
                losses.LigerFusedLinearCrossEntropyLoss, "forward",
                return_value=torch.ones(())) as forward:
            loss = LigerHeadLoss(assay_peer.Case(toy_case()))
            self.assertTrue(loss.fused._torchdynamo_disable)  # it reads a number off the device
            for dtype, wanted in ((None, torch.float32), (torch.bfloat16, torch.bfloat16)):
                loss(torch.ones(2, 3, 4), torch.ones(5, 4), torch.ones(2, 3), dtype)
                weight, hidden, targets = forward.call_args.args
                self.assertEqual((weight.dtype, hidden.dtype), (wanted, wanted))
                self.assertEqual((hidden.shape, targets.shape), ((6, 4), (6,)))

    def test_fp16_and_a_missing_package_are_unsupported(self):
        with installed(stand_ins.liger_losses()):
            times, _, _ = answer({"precision": "fp16"}, "liger")
            self.assertEqual(times["forward"]["outcome"], "unsupported")
            self.assertIn("too small for fp16", times["forward"]["reason"])
        absent = {"liger_kernel.transformers.fused_linear_cross_entropy": None}
        with installed(), unittest.mock.patch.dict(sys.modules, absent):
            times, _, _ = answer({}, "liger")
            self.assertEqual(times["forward"]["outcome"], "unsupported")
            self.assertIn("it needs the package liger-kernel", times["forward"]["reason"])


class AdamW(Training):
    def test_steps_are_those_of_adamw(self):
        for package, name in ADAM.items():
            for parameters in ({}, {"precision": "fp16"}, {"max_grad_norm": 0.1}):
                stand_in = stand_ins.module(name, FusedAdam=stand_ins.FusedAdam)
                with self.subTest(package, **parameters), \
                        unittest.mock.patch.dict(sys.modules, WITHOUT), installed(stand_in):
                    found = answer(parameters, "fused_adamw", passes=["train_step"])
                    self.assert_right(found, ["train_step"])
                    self.assertIn(package, found[-1])

    def test_parameters_move_as_with_pytorchs(self):
        stand_in = stand_ins.module(ADAM["apex"], FusedAdam=stand_ins.FusedAdam)
        with unittest.mock.patch.dict(sys.modules, WITHOUT), installed(stand_in):
            case = assay_peer.Case(toy_case())
            adamw = fused_adamw(case)
        moved = []
        for make in (adamw, torch.optim.AdamW):
            parameter = torch.nn.Parameter(torch.linspace(-1, 1, 9))
            optimizer = make([parameter], lr=1e-2)
            for _ in range(3):
                parameter.grad = parameter.detach() ** 2
                optimizer.step()
            moved.append(parameter.detach())
        torch.testing.assert_close(*moved)

    def test_without_both_packages(self):
        with installed(), unittest.mock.patch.dict(sys.modules, WITHOUT):
            times, _, _ = answer({}, "fused_adamw", passes=["train_step"])
        self.assertEqual(times["train_step"]["outcome"], "unsupported")
        for package in ADAM:
            self.assertIn(f"it needs the package {package}", times["train_step"]["reason"])


if __name__ == "__main__":
    unittest.main()
