"""The kernels of tools/peers/triton_rmsnorm.py, interpreted on the CPU, against float64."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

PEERS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "peers"
SKIPPED = 77  # what ctest takes as skipped
os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported
try:
    import torch
    import triton
except ImportError as problem:
    print(f"skipped: {sys.executable} lacks a module ({problem})")
    sys.exit(SKIPPED)
sys.path.insert(0, str(PEERS))
import triton_rmsnorm
from triton_rmsnorm import RmsNormFunction

torch.set_num_threads(1)
TOLERANCES = {torch.float32: 1e-5, torch.bfloat16: 1e-2, torch.float16: 2e-3}


def relative_error(value, reference):
    return ((value.double() - reference).norm() / reference.norm()).item()


def inputs(rows, n_cols, dtype, seed=0):
    torch.manual_seed(seed)
    x = (torch.randn(rows, n_cols) * 3 + 0.5).to(dtype).requires_grad_()
    weight = (torch.rand(n_cols) + 0.5).requires_grad_()
    return x, weight, torch.randn(rows, n_cols).to(dtype)


class Kernels(unittest.TestCase):
    def compare(self, rows, n_cols, dtype):
        x, weight, dout = inputs(rows, n_cols, dtype)
        out = RmsNormFunction.apply(x, weight, 1e-5)
        out.backward(dout)
        wide_x, wide_weight = (t.detach().double().requires_grad_() for t in (x, weight))
        reference = torch.nn.functional.rms_norm(wide_x, (n_cols,), wide_weight, 1e-5)
        reference.backward(dout.double())
        tolerance = TOLERANCES[dtype]
        self.assertEqual((out.dtype, x.grad.dtype), (dtype, dtype))
        self.assertLess(relative_error(out, reference), tolerance)
        self.assertLess(relative_error(x.grad, wide_x.grad), 2 * tolerance)
        self.assertLess(relative_error(weight.grad, wide_weight.grad), 2 * tolerance)

    def test_any_shape_and_dtype(self):
        for rows, n_cols in ((1, 8), (3, 7), (6, 1000), (13, 129), (9, 64)):
            for dtype in TOLERANCES:
                with self.subTest(rows=rows, n_cols=n_cols, dtype=dtype):
                    self.compare(rows, n_cols, dtype)

    def test_more_columns_than_a_program_holds(self):
        original, triton_rmsnorm.WIDEST_BLOCK = triton_rmsnorm.WIDEST_BLOCK, 64
        try:
            for n_cols in (65, 200, 1100):
                self.compare(5, n_cols, torch.float32)
        finally:
            triton_rmsnorm.WIDEST_BLOCK = original

    def test_statistics_are_taken_in_fp32(self):
        for magnitude in (2e4, 1e-3):  # their squares overflow and underflow fp16
            x = (torch.tensor([[1.0, -1.0, 1.0, -1.0] * 4]) * magnitude).half()
            out = RmsNormFunction.apply(x, torch.ones(16), 0.0)
            torch.testing.assert_close(out, x.sign())

    def test_gradients_are_the_same_each_time_and_strides_do_not_matter(self):
        gradients = []
        for strided in (False, False, True):
            x, weight, dout = inputs(11, 50, torch.float32)
            given = x.t().contiguous().t() if strided else x
            RmsNormFunction.apply(given, weight, 1e-5).backward(
                dout.t().contiguous().t() if strided else dout)
            gradients.append((x.grad, weight.grad))
        for gradient in gradients[1:]:
            self.assertTrue(gradient[0].equal(gradients[0][0]))
            self.assertTrue(gradient[1].equal(gradients[0][1]))


ALONE = {"workload": "norm", "rows": 2, "n_cols": 8}
IN_A_MODEL = {"workload": "model_step", "model": "toy", "architecture": "gelu", "batch": 1,
              "seq_len": 4, "attention": "naive", "norm": "rmsnorm_triton"}


class Answers(unittest.TestCase):
    def answer(self, prelude, environment, parameters=None, passes=("forward",)):
        model = {"d_model": 16, "d_ff": 24, "layers": 2, "heads": 2, "vocab_size": 30}
        case = {"protocol": 1, "passes": list(passes), "presets": {"model": model}, "parameters": {
            "precision": "fp32", "device": "cpu", "compile": "eager", "measure.clock": "wall",
            "measure.warmup": 1, "measure.samples": 1} | (parameters or ALONE)}
        script = f"{prelude}\nimport runpy\nrunpy.run_path('triton_rmsnorm.py', run_name='__main__')"
        finished = subprocess.run(
            [sys.executable, "-c", script], input=json.dumps(case), text=True, cwd=PEERS,
            env=os.environ | environment, capture_output=True, check=True)
        return json.loads(finished.stdout.splitlines()[0])["series"]

    def test_as_a_program(self):
        self.assertEqual(self.answer("", {})["outcome"], "ok")

    def test_in_a_model(self):
        for pass_name in ("forward", "forward_backward"):
            timed = self.answer("", {}, IN_A_MODEL, [pass_name])
            self.assertEqual((timed["outcome"], timed["reason"]), ("ok", ""))

    def test_in_no_compiled_model(self):
        timed = self.answer("", {}, IN_A_MODEL | {"compile": "cuda_graph"})
        self.assertEqual(timed["outcome"], "unsupported")

    def test_without_a_gpu_it_says_so(self):
        timed = self.answer("", {"TRITON_INTERPRET": "0"})
        self.assertEqual(timed["outcome"], "unsupported")
        self.assertIn("needs a GPU", timed["reason"])

    def test_without_triton_it_says_so(self):
        timed = self.answer("import sys; sys.modules['triton'] = None", {})
        self.assertEqual(timed["outcome"], "unsupported")
        self.assertIn("triton", timed["reason"])


if __name__ == "__main__":
    unittest.main()
