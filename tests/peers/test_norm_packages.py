"""Norms of other packages: what the variants hand to stand-ins of them, and what they decline."""

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

import assay_peer
from liger_norms import WIDEST_ROW, LigerLayerNorm, LigerRmsNorm
from quack_rmsnorm import QuackRmsNorm

torch.set_num_threads(1)
PASSES = ["inference", "forward", "backward", "forward_backward"]
EPS = assay_peer.Norm.eps
VARIANTS = {  # (its class, package, what stands in)
    "rmsnorm_quack": (QuackRmsNorm, "quack-kernels", stand_ins.quack),
    "rmsnorm_liger": (LigerRmsNorm, "liger-kernel", stand_ins.liger),
    "layernorm_liger": (LigerLayerNorm, "liger-kernel", stand_ins.liger),
}


def answer(build, parameters):
    """({pass: its time}, passes that were looked at, versions)"""
    text = io.StringIO()
    message = {"protocol": 1, "variant": "mine", "passes": PASSES, "parameters": {
        "workload": "norm", "rows": 6, "n_cols": 40, "precision": "fp32", "compile": "eager",
        "device": "cpu", "measure.warmup": 1, "measure.samples": 2,
        "measure.calls_per_sample": 1, "measure.clock": "wall", "measure.seed": 1} | parameters}
    with unittest.mock.patch("gc.collect"):  # which takes longest here
        assay_peer.answer(message, build, assay_peer.Output(text))
    lines = [json.loads(line) for line in text.getvalue().splitlines()]
    series = [line["series"] for line in lines if "series" in line]
    return ({one["pass"]: one for one in series if one["metric"] == "time"},
            {line["looks"]["pass"] for line in lines if "looks" in line},
            lines[-1]["done"]["versions"])


class WithStandIns(unittest.TestCase):
    def test_every_pass_is_what_a_textbook_norm_computes(self):
        for name, (build, package, stand_in) in VARIANTS.items():
            for residual in (False, True):
                for precision in ("fp32", "bf16", "fp16"):
                    if residual and build.has_bias:
                        continue
                    parameters = {"residual": residual, "precision": precision}
                    with self.subTest(name, **parameters), installed(stand_in(EPS)):
                        times, looked_at, versions = answer(build, parameters)
                        for timed in times.values():
                            self.assertEqual((timed["outcome"], timed["reason"]), ("ok", ""))
                        self.assertEqual(looked_at, set(PASSES))
                        self.assertIn(package, versions)

    def test_what_they_decline(self):
        for build, parameters, named in [
            (LigerLayerNorm, {"residual": True}, "liger-kernel has no LayerNorm that adds"),
            (LigerLayerNorm, {"n_cols": WIDEST_ROW + 1, "rows": 1}, "up to 65536 columns"),
            (LigerRmsNorm, {"n_cols": WIDEST_ROW + 1, "rows": 1}, "up to 65536 columns"),
        ]:
            with self.subTest(build, **parameters), installed(stand_ins.liger(EPS)):
                times, _, _ = answer(build, parameters)
                for timed in times.values():
                    self.assertEqual(timed["outcome"], "unsupported")
                    self.assertIn(named, timed["reason"])

    def test_without_their_package(self):
        absent = {"quack": None, "liger_kernel.ops": None}
        for name, (build, package, _) in VARIANTS.items():
            with self.subTest(name), installed(), unittest.mock.patch.dict(sys.modules, absent):
                times, _, _ = answer(build, {})
                self.assertEqual(times["forward"]["outcome"], "unsupported")
                self.assertIn(f"it needs the package {package}", times["forward"]["reason"])


if __name__ == "__main__":
    unittest.main()
