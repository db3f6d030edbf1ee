"""Runs what tools/peers/torch_operations.py compiles on the CPU, as the host would: values are
compared with textbook operations by the looks at timed calls and again here."""

import io
import json
import pathlib
import sys
import unittest

PEERS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "peers"
SKIPPED = 77  # what ctest takes as skipped
try:
    import torch
except ImportError as problem:
    print(f"skipped: {sys.executable} cannot import torch ({problem})")
    sys.exit(SKIPPED)
sys.path.insert(0, str(PEERS))
import assay_peer
from torch_model import program_of

torch.set_num_threads(1)
PASSES = ["forward", "backward", "forward_backward"]
ATTENTION = {"workload": "attention", "batch": 2, "heads": 2, "seq_len": 24, "d_head": 8,
             "causal": True, "attention": "naive"}
NORM = {"workload": "norm", "rows": 12, "n_cols": 16, "norm": "rmsnorm"}


def case_of(parameters):
    return {
        "protocol": 1, "variant": "torch_compile", "passes": PASSES,
        "parameters": {
            "precision": "fp32", "compile": "torch_compile", "device": "cpu", "measure.warmup": 1,
            "measure.samples": 2, "measure.calls_per_sample": 1, "measure.clock": "wall",
            "measure.seed": 1,
        } | parameters,
    }


def series_of(parameters):
    text = io.StringIO()
    assay_peer.answer(case_of(parameters), lambda case: program_of(case, "default"),
                      assay_peer.Output(text))
    found = [json.loads(line) for line in text.getvalue().splitlines()]
    return {(line["series"]["pass"], line["series"]["metric"]): line["series"]
            for line in found if "series" in line}


class TorchOperations(unittest.TestCase):
    def test_every_pass_is_right_and_timed(self):
        for parameters in [ATTENTION, ATTENTION | {"causal": False}, NORM,
                           NORM | {"norm": "layernorm", "precision": "bf16"},
                           NORM | {"residual": True}]:
            with self.subTest(parameters):
                series = series_of(parameters)
                for pass_name in PASSES:
                    timed = series[pass_name, "time"]
                    self.assertEqual((timed["outcome"], timed["reason"]), ("ok", ""))
                    self.assertEqual(len(timed["samples"]), 2)

    def test_takes_textbook_variants_alone(self):
        for parameters, named in [
            (ATTENTION | {"attention": "flash"}, "attention 'flash'"),
            (NORM | {"norm": "rmsnorm_fused"}, "norm 'rmsnorm_fused'"),
            (NORM | {"compile": "cuda_graph"}, "compile 'cuda_graph'"),
        ]:
            with self.subTest(parameters):
                timed = series_of(parameters)["forward", "time"]
                self.assertEqual(timed["outcome"], "unsupported")
                self.assertIn(named, timed["reason"])


if __name__ == "__main__":
    unittest.main()
