"""The helper of external variants: exchange, operations. Needs PyTorch, no GPU."""

import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
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
from assay_peer import tensors

torch.set_num_threads(1)
SETTINGS = {
    "device": "cpu", "world_size": 1, "precision": "fp32", "compile": "eager",
    "measure.warmup": 1, "measure.samples": 2, "measure.calls_per_sample": 1,
    "measure.clock": "wall", "measure.seed": 3,
}
ATTENTION = {"workload": "attention", "batch": 2, "heads": 3, "seq_len": 5, "d_head": 4,
             "causal": True}
NORM = {"workload": "norm", "rows": 6, "n_cols": 10}


class Textbook(assay_peer.Attention):
    def forward(self, q, k, v):
        scores = q @ k.transpose(-2, -1) * self.scale
        if self.causal:
            scores = scores.masked_fill(torch.ones(5, 5, dtype=torch.bool).triu(1), float("-inf"))
        return torch.softmax(scores, -1) @ v


class LibraryNorm(assay_peer.Norm):
    def forward(self, x, weight):
        return torch.nn.functional.rms_norm(x, x.shape[-1:], weight.to(x.dtype), self.eps)


class LibraryLayerNorm(assay_peer.Norm):
    has_bias = True

    def forward(self, x, weight, bias):
        return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, self.eps)


def run(build, parameters, passes=("forward", "backward"), folder=None):
    """(series by (pass, metric), the other lines but those of looks)."""
    message = {"protocol": 1, "variant": "mine", "parameters": SETTINGS | parameters,
               "presets": {}, "passes": list(passes)}
    if folder is not None:
        message["exchange"] = {"folder": folder}
    text = io.StringIO()
    assay_peer.answer(message, build, assay_peer.Output(text))
    lines = [json.loads(line) for line in text.getvalue().splitlines()]
    series = {(line["series"]["pass"], line["series"]["metric"]): line["series"]
              for line in lines if "series" in line}
    return series, [line for line in lines if "series" not in line and "looks" not in line]


def read_safetensors(path):
    """{name: (dtype, shape, bytes)}, read by the format's description."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(length)), file.read()
    return {name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])])
            for name, entry in header.items()}


def numbers(entry):
    dtype, shape, data = entry
    return torch.frombuffer(bytearray(data), dtype={"F32": torch.float32}[dtype]).view(shape)


class Operations(unittest.TestCase):
    def exchange(self, build, parameters, pass_name):
        with tempfile.TemporaryDirectory() as folder:
            series, lines = run(build, parameters, [pass_name], folder)
            self.assertEqual(series[pass_name, "time"]["outcome"], "ok", series)
            self.assertEqual(lines[0], {"check": {"pass": pass_name,
                                                  "file": f"{pass_name}.safetensors"}})
            return read_safetensors(pathlib.Path(folder) / f"{pass_name}.safetensors")

    def test_attention_hands_over_what_the_library_computes(self):
        for causal in (True, False):
            handed = self.exchange(Textbook, ATTENTION | {"causal": causal}, "backward")
            q, k, v = (numbers(handed[f"input.{name}"]).requires_grad_() for name in "qkv")
            self.assertEqual(q.shape, (2, 3, 5, 4))
            out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            out.backward(numbers(handed["input.dout"]))
            torch.testing.assert_close(numbers(handed["output.out"]), out.detach())
            for name, leaf in zip("qkv", (q, k, v)):
                torch.testing.assert_close(numbers(handed[f"output.grad.{name}"]), leaf.grad)

    def test_groups_and_a_window_are_for_those_that_say_so(self):
        class Library(assay_peer.Attention):
            grouped = windowed = True

            def forward(self, q, k, v):
                places = torch.arange(5)
                far = places[:, None] - places >= self.window
                hidden = far | (places > places[:, None])
                return torch.nn.functional.scaled_dot_product_attention(
                    q, k, v, attn_mask=~hidden, enable_gqa=True)

        wanted = ATTENTION | {"heads": 4, "kv_heads": 2, "window": 2}
        handed = self.exchange(Library, wanted, "backward")
        self.assertEqual(numbers(handed["input.k"]).shape, (2, 2, 5, 4))
        self.assertEqual(numbers(handed["output.grad.v"]).shape, (2, 2, 5, 4))
        series, _ = run(Library, wanted)
        # By hand: 8 heads, 1 + 4 · 2 pairs; 160 elements of q and out, 80 of k and v.
        self.assertEqual(series["forward", "flops"]["samples"], [4 * 8 * 9 * 4])
        self.assertEqual(series["forward", "bytes"]["samples"], [2 * (160 + 80) * 4])
        for refused in ({"heads": 4, "kv_heads": 2}, {"window": 2}):
            series, _ = run(Textbook, ATTENTION | refused)
            self.assertEqual(series["forward", "time"]["outcome"], "unsupported")

    def test_a_residual_is_added_and_its_gradient_handed_on(self):
        handed = self.exchange(LibraryNorm, NORM | {"residual": True}, "backward")
        x, residual = (numbers(handed[f"input.{name}"]) for name in ("x", "residual"))
        torch.testing.assert_close(numbers(handed["output.sum"]), x + residual)
        torch.testing.assert_close(numbers(handed["output.grad.x"]),
                                   numbers(handed["output.grad.residual"]))
        alone = torch.autograd.functional.vjp(
            lambda total: torch.nn.functional.rms_norm(total, (10,), numbers(handed["input.weight"]),
                                                       1e-5),
            x + residual, numbers(handed["input.dout"]))[1]
        torch.testing.assert_close(numbers(handed["output.grad.x"]),
                                   alone + numbers(handed["input.dsum"]))

    def test_norms_hand_over_their_parameters(self):
        handed = self.exchange(LibraryLayerNorm, NORM, "forward_backward")
        self.assertEqual(
            sorted(handed),
            ["input.bias", "input.dout", "input.weight", "input.x", "output.grad.bias",
             "output.grad.weight", "output.grad.x", "output.out"])
        # A bias adds to every row: its gradient is the sum of the output's.
        torch.testing.assert_close(numbers(handed["output.grad.bias"]),
                                   numbers(handed["input.dout"]).sum(0))

    def test_a_forward_has_no_gradients(self):
        handed = self.exchange(LibraryNorm, NORM | {"precision": "bf16"}, "forward")
        self.assertEqual(sorted(handed), ["input.weight", "input.x", "output.out"])
        self.assertEqual(handed["input.x"][:2], ("BF16", [6, 10]))
        self.assertEqual(handed["input.weight"][:2], ("F32", [10]))

    def test_the_seed_draws_the_inputs(self):
        first, again, other = (self.exchange(LibraryNorm, NORM | {"measure.seed": seed}, "forward")
                               for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first["input.x"], other["input.x"])

    def test_counts(self):
        # By hand: 6 heads, 15 pairs of a causal 5 × 5, d_head 4; 120 elements of 4 bytes.
        series, _ = run(Textbook, ATTENTION)
        for pass_name, flops, tensors_moved in (("forward", 4, 4), ("backward", 10, 8)):
            counted = series[pass_name, "flops"]
            self.assertEqual((counted["samples"], counted["unit"]), ([flops * 90 * 4], "FLOP"))
            moved = series[pass_name, "bytes"]
            self.assertEqual((moved["samples"], moved["unit"]), ([tensors_moved * 480], "byte"))

    def test_unsupported_with_a_reason(self):
        for build, parameters, named in [
            (Textbook, NORM, "workload 'norm'"),
            (LibraryNorm, NORM | {"precision": "tf32"}, "TF32"),
            (LibraryNorm, NORM | {"compile": "cuda_graph"}, "cuda_graph"),
        ]:
            series, _ = run(build, parameters)
            self.assertEqual(series["backward", "time"]["outcome"], "unsupported")
            self.assertIn(named, series["backward", "time"]["reason"])

    def test_without_a_backward_that_pass_is_unsupported(self):
        class Forward(LibraryNorm):
            def forward(self, x, weight):
                return super().forward(x, weight).detach()

        series, _ = run(Forward, NORM)
        self.assertEqual(series["forward", "time"]["outcome"], "ok")
        self.assertEqual(series["backward", "time"]["outcome"], "unsupported")
        self.assertEqual(series["backward", "time"]["reason"], "this norm has no backward")


class Failures(unittest.TestCase):
    def test_a_pass_that_fails_late_has_one_outcome_and_no_figures(self):
        class Uncounted(LibraryNorm):
            def counts(self, pass_name):
                raise RuntimeError("cannot count")

        class Forgetful(LibraryNorm):
            """Fails behind a warm-up call, two timed ones and an untimed one between these."""
            calls = 0

            def run(self, pass_name):
                super().run(pass_name)
                self.calls += 1

            def counts(self, pass_name):
                raise torch.OutOfMemoryError(f"after {self.calls} calls")

        for build, outcome, reason in ((Uncounted, "error", "RuntimeError: cannot count"),
                                       (Forgetful, "oom", "after 4 calls")):
            text = io.StringIO()
            message = {"protocol": 1, "parameters": SETTINGS | NORM, "passes": ["forward"]}
            assay_peer.answer(message, build, assay_peer.Output(text))
            lines = [json.loads(line) for line in text.getvalue().splitlines()]
            series = [line["series"] for line in lines if "series" in line]
            self.assertEqual([(one["metric"], one["outcome"], one["reason"]) for one in series],
                             [("time", outcome, reason)])


    def test_what_means_out_of_memory(self):
        for message in ("CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED when calling",
                        "CUDNN_STATUS_ALLOC_FAILED", "Cannot allocate memory",
                        "DefaultCPUAllocator: can't allocate memory: you tried"):
            class Full(LibraryNorm):
                def forward(self, x, weight):
                    raise RuntimeError(message)

            series, _ = run(Full, NORM, ["forward"])
            self.assertEqual(series["forward", "time"]["outcome"], "oom", message)


class StandardStreams(unittest.TestCase):
    """The host reads nothing that a program prints, before or after it serves."""

    def run_program(self, script):
        case = {"protocol": 1, "passes": ["forward"], "parameters": SETTINGS | NORM}
        finished = subprocess.run(
            [sys.executable, "-c", script], input=json.dumps(case), text=True, timeout=120,
            env=os.environ | {"PYTHONPATH": str(PEERS), "ASSAY_PROTOCOL": "1",
                              "PYTHONUNBUFFERED": ""},
            capture_output=True, check=True)
        return [json.loads(line) for line in finished.stdout.splitlines()], finished.stderr

    def test_printing_anywhere(self):
        lines, errors = self.run_program(
            "print('first of all')\n"
            "import assay_peer, subprocess, sys, torch\n"
            "print('ahead'); subprocess.run(['echo', 'by a child'])\n"
            "class Mine(assay_peer.Norm):\n"
            "    def forward(self, x, weight):\n"
            "        print('inside'); return torch.rms_norm(x, x.shape[1:], weight, self.eps)\n"
            "assay_peer.serve(Mine)\n"
            "print('afterwards ' * 20000)\n")
        self.assertEqual(lines[0]["series"]["outcome"], "ok")
        self.assertEqual(list(lines[-1]), ["done"])
        for said in ("first of all", "ahead", "by a child", "inside", "afterwards"):
            self.assertIn(said, errors)

    def test_what_it_starts_reads_nothing_of_the_hosts(self):
        lines, errors = self.run_program(
            "import assay_peer, subprocess, torch\n"
            "print('read', len(subprocess.run(['cat'], capture_output=True).stdout))\n"
            "class Mine(assay_peer.Norm):\n"
            "    def forward(self, x, weight):\n"
            "        return torch.rms_norm(x, x.shape[1:], weight, self.eps)\n"
            "assay_peer.serve(Mine)\n")
        self.assertEqual(lines[0]["series"]["outcome"], "ok")
        self.assertIn("read 0\n", errors)

    def test_without_torch(self):
        lines, errors = self.run_program(
            "import sys; sys.modules['torch'] = None\nprint('ahead')\nimport assay_peer")
        self.assertEqual(lines[0]["series"]["outcome"], "unsupported")
        self.assertEqual(list(lines[1]), ["done"])
        self.assertIn("ahead", errors)


class Unchecked(unittest.TestCase):
    def lines(self, build, folder):
        series, lines = run(build, NORM, ["forward"], folder)
        self.assertEqual(series["forward", "time"]["outcome"], "ok")
        return lines

    def test_says_why(self):
        class Silent(LibraryNorm):
            def exchange(self, pass_name):
                return None

        class Broken(LibraryNorm):
            def exchange(self, pass_name):
                raise RuntimeError("no such thing")

        with tempfile.TemporaryDirectory() as folder:
            for build, where, reason in [
                (Silent, folder, "exchanges no tensors"),
                (Broken, folder, "no such thing"),
                (LibraryNorm, folder + "/absent", "No such file"),
            ]:
                unchecked = self.lines(build, where)[0]["unchecked"]
                self.assertEqual(unchecked["pass"], "forward")
                self.assertIn(reason, unchecked["reason"])

    def test_too_much_is_not_written(self):
        original, tensors.LIMIT_BYTES = tensors.LIMIT_BYTES, 100
        try:
            with tempfile.TemporaryDirectory() as folder:
                self.assertIn("GiB", self.lines(LibraryNorm, folder)[0]["unchecked"]["reason"])
                self.assertEqual(list(pathlib.Path(folder).iterdir()), [])
        finally:
            tensors.LIMIT_BYTES = original

    def test_a_dtype_that_the_format_lacks(self):
        class Complex(LibraryNorm):
            def exchange(self, pass_name):
                return {"inputs": {}, "outputs": {"out": torch.zeros(2, dtype=torch.complex64)}}

        with tempfile.TemporaryDirectory() as folder:
            reason = self.lines(Complex, folder)[0]["unchecked"]["reason"]
            self.assertIn("output.out is torch.complex64", reason)
            self.assertIn("torch.float32", reason)
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

    def test_a_failed_pass_is_not_exchanged(self):
        class Failing(LibraryNorm):
            def run(self, pass_name):
                raise RuntimeError("never")

        with tempfile.TemporaryDirectory() as folder:
            series, lines = run(Failing, NORM, ["forward"], folder)
        self.assertEqual(series["forward", "time"]["outcome"], "error")
        self.assertEqual([list(line) for line in lines], [["done"]])


class File(unittest.TestCase):
    def test_every_dtype_as_bytes(self):
        given = {
            "a": torch.tensor([[1.5, -2.0]]), "b": torch.tensor(3.0, dtype=torch.float64),
            "c": torch.tensor([1.0], dtype=torch.float16), "d": torch.tensor([-7]),
            "e": torch.tensor([1.0], dtype=torch.bfloat16), "f": torch.zeros(0, 3),
            "g": torch.arange(6, dtype=torch.int32).view(2, 3).t(),
        }
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.safetensors"
            tensors.write_safetensors(path, given)
            read = read_safetensors(path)
        self.assertEqual(read["a"], ("F32", [1, 2], struct.pack("<2f", 1.5, -2)))
        self.assertEqual(read["b"], ("F64", [], struct.pack("<d", 3)))
        self.assertEqual(read["c"], ("F16", [1], struct.pack("<e", 1)))
        self.assertEqual(read["d"], ("I64", [1], struct.pack("<q", -7)))
        self.assertEqual(read["e"], ("BF16", [1], b"\x80\x3f"))
        self.assertEqual(read["f"], ("F32", [0, 3], b""))
        # In row order, whatever the strides.
        self.assertEqual(read["g"], ("I32", [3, 2], struct.pack("<6i", 0, 3, 1, 4, 2, 5)))


if __name__ == "__main__":
    unittest.main()
