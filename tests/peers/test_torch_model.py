"""Runs tools/peers/torch_model.py on a toy model on the CPU, as the host would."""

import io
import json
import pathlib
import subprocess
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
from torch_model import ModelStep, Sizes
from transformer import (
    NORMS, Transformer, future_keys, library_attention, naive_attention, rotary_tables, rotate,
    rotate_in_reals)

torch.set_num_threads(1)
PASSES = ["inference", "forward", "backward", "forward_backward", "train_step"]
SIZE = {"d_model": 16, "d_ff": 24, "layers": 2, "heads": 4, "vocab_size": 50}


def toy_case(parameters=None, passes=None, protocol=1):
    return {
        "protocol": protocol,
        "parameters": {
            "workload": "model_step", "model": "toy", "architecture": "swiglu", "batch": 2,
            "seq_len": 8,
            "attention": "naive", "norm": "rmsnorm", "precision": "fp32", "compile": "torch_eager",
            "device": "cpu", "world_size": 1, "measure.warmup": 2, "measure.samples": 3,
            "measure.calls_per_sample": 2, "measure.clock": "wall", "measure.seed": 1,
        } | (parameters or {}),
        "presets": {"model": SIZE},
        "passes": passes or PASSES,
    }


def parsed(text):
    """(series by (pass, metric), the last line)."""
    lines = [json.loads(line) for line in text.splitlines()]
    *series, last = [line for line in lines if "looks" not in line]
    return {(line["series"]["pass"], line["series"]["metric"]): line["series"]
            for line in series}, last


def run(parameters=None, passes=None, protocol=1):
    text = io.StringIO()
    assay_peer.answer(toy_case(parameters, passes, protocol), lambda case: ModelStep(case, "eager"),
                      assay_peer.Output(text))
    return parsed(text.getvalue())


def norm_vectors(layers):
    return 2 * layers + 1


def swiglu_parameters(size):
    d, ff, layers, v = size["d_model"], size["d_ff"], size["layers"], size["vocab_size"]
    return 2 * v * d + layers * (4 * d * d + 3 * d * ff) + norm_vectors(layers) * d


def gelu_parameters(size, context):
    d, ff, layers, v = size["d_model"], size["d_ff"], size["layers"], size["vocab_size"]
    return v * d + context * d + layers * (4 * d * d + 2 * d * ff) + norm_vectors(layers) * d


class TorchModel(unittest.TestCase):
    def test_as_a_program(self):
        finished = subprocess.run(
            [sys.executable, str(PEERS / "torch_model.py"), "eager"], text=True,
            input=json.dumps(toy_case(passes=["inference"])), capture_output=True, check=True)
        series, last = parsed(finished.stdout)
        self.assertEqual(series["inference", "time"]["outcome"], "ok")
        self.assertIn("done", last)

    def test_every_pass_has_its_samples(self):
        series, last = run()
        for pass_name in PASSES:
            timed = series[pass_name, "time"]
            self.assertEqual(timed["outcome"], "ok")
            self.assertEqual((timed["unit"], timed["clock"], timed["rank"]), ("s", "wall", 0))
            self.assertEqual(len(timed["samples"]), 3)
            self.assertTrue(all(sample > 0 for sample in timed["samples"]))
            self.assertEqual(len(series[pass_name, "first_call_time"]["samples"]), 1)
        self.assertIn("torch", last["done"]["versions"])

    def test_parameter_counts(self):
        for parameters, expected in [
            ({"architecture": "swiglu"}, swiglu_parameters(SIZE)),
            ({"architecture": "gelu"}, gelu_parameters(SIZE, context=8)),
            ({"architecture": "swiglu", "norm": "layernorm"},
             swiglu_parameters(SIZE) + norm_vectors(SIZE["layers"]) * SIZE["d_model"]),
        ]:
            with self.subTest(parameters):
                series, _ = run(parameters, ["inference"])
                self.assertEqual(series["inference", "parameters"]["samples"], [expected])

    def test_flops_are_those_of_products(self):
        # By hand, of 16 tokens: 5152 weights of the head and of two blocks with 1024 and 1152 each,
        # gelu's 1024 and 768; 36 pairs of a causal 8 × 8 for 2 sequences and 2 blocks, 4 · 16 each.
        for architecture, weights in (("swiglu", 5152), ("gelu", 4384)):
            series, _ = run({"architecture": architecture})
            forward = 2 * 16 * weights + 9216
            for pass_name, times in zip(PASSES, (1, 1, 2, 3, 3)):
                counted = series[pass_name, "flops"]
                self.assertEqual((counted["samples"], counted["unit"]), ([times * forward], "FLOP"))

    def test_counting_formula_gives_the_published_sizes(self):
        small = {"d_model": 768, "d_ff": 3072, "layers": 12, "vocab_size": 10000}
        self.assertEqual(swiglu_parameters(small), 128_625_408)
        self.assertEqual(gelu_parameters(small, context=0), 92_633_856)

    def test_attention_norms_and_precisions_it_maps(self):
        for parameters in [
            {"attention": "flash_libtorch", "precision": "bf16", "norm": "rmsnorm_libtorch"},
            {"attention": "math_libtorch", "precision": "fp16", "norm": "layernorm"},
            {"attention": "naive", "precision": "tf32", "architecture": "gelu"},
        ]:
            with self.subTest(parameters):
                series, _ = run(parameters, ["train_step"])
                self.assertEqual(series["train_step", "time"]["outcome"], "ok")

    def test_weights_cast_ahead(self):
        text = io.StringIO()
        case = toy_case({"precision": "bf16"})
        assay_peer.answer(case, lambda case: ModelStep(case, "eager", cast=True),
                          assay_peer.Output(text))
        series, _ = parsed(text.getvalue())
        outcomes = {name: series[name, "time"]["outcome"] for name in PASSES}
        self.assertEqual(outcomes.pop("train_step"), "unsupported")
        self.assertEqual(set(outcomes.values()), {"ok"}, series)

    def test_answers_unsupported_with_a_reason(self):
        for parameters, named in [
            ({"attention": "mine"}, "mine"),
            ({"norm": "mine"}, "mine"),
            ({"precision": "int4"}, "int4"),
            ({"measure.clock": "cuda_event"}, "cuda_event"),
            ({"world_size": 2}, "one rank"),
            ({"attention": "cudnn_libtorch"}, "backend"),
        ]:
            with self.subTest(parameters):
                series, last = run(parameters, ["inference", "backward"])
                for pass_name in ("inference", "backward"):
                    timed = series[pass_name, "time"]
                    self.assertEqual(timed["outcome"], "unsupported")
                    self.assertIn(named, timed["reason"])
                    self.assertEqual(timed["samples"], [])
                self.assertIn("done", last)

    def test_one_unknown_pass_leaves_the_others(self):
        series, _ = run(passes=["sideways", "inference"])
        self.assertEqual(series["sideways", "time"]["outcome"], "unsupported")
        self.assertEqual(series["inference", "time"]["outcome"], "ok")

    def test_without_torch_it_says_so(self):
        finished = subprocess.run(
            [sys.executable, "-c", "import sys; sys.modules['torch'] = None; import torch_model"],
            text=True, input=json.dumps(toy_case(passes=["inference", "backward"])), cwd=PEERS,
            capture_output=True, check=True)
        series, _ = parsed(finished.stdout)
        for pass_name in ("inference", "backward"):
            self.assertEqual(series[pass_name, "time"]["outcome"], "unsupported")
            self.assertIn("torch", series[pass_name, "time"]["reason"])

    def test_refuses_another_protocol(self):
        series, _ = run(passes=["inference"], protocol=99)
        self.assertEqual(series["inference", "time"]["outcome"], "unsupported")
        self.assertIn("99", series["inference", "time"]["reason"])


class Exchange(unittest.TestCase):
    def test_hands_over_a_call_and_the_model_it_was_made_on(self):
        for precision in ("fp32", "fp16"):
            for pass_name in PASSES[1:]:
                case = assay_peer.Case(toy_case({"precision": precision}))
                handed = ModelStep(case, "eager").exchange(pass_name)
                inputs, outputs = handed["inputs"], handed["outputs"]
                model = Transformer(SIZE, "swiglu", 8, naive_attention, NORMS["rmsnorm"])
                model.load_state_dict({name: tensor for name, tensor in inputs.items()
                                       if name not in ("tokens", "targets")})
                logits = model(inputs["tokens"])
                loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1),
                                                         inputs["targets"].flatten())
                tolerance = {"fp32": 1e-5, "fp16": 1e-2}[precision]
                given = outputs["losses"][0] if pass_name == "train_step" else outputs["loss"]
                self.assertAlmostEqual(given.item(), loss.item(), delta=tolerance)
                if pass_name == "forward":
                    self.assertNotIn("grad.head.weight", outputs)
                    continue
                loss.backward()
                for name, parameter in model.named_parameters():
                    off = (outputs[f"grad.{name}"] - parameter.grad).norm()
                    self.assertLess(off, 10 * tolerance * parameter.grad.norm(), (pass_name, name))
                if pass_name == "train_step":
                    self.assertEqual(outputs["losses"].shape, (5,))
                    self.assertLess(outputs["losses"][4], outputs["losses"][0])

    def test_a_large_model_is_checked_on_a_small_one(self):
        sizes = Sizes({"d_model": 2560, "d_ff": 10240, "layers": 32, "heads": 32,
                       "vocab_size": 10000}, batch=4, length=512)
        on_gpu = sizes.reduced(on_cpu=False)
        self.assertEqual(on_gpu.model, {"d_model": 480, "heads": 6, "d_ff": 1920, "layers": 2,
                                        "vocab_size": 1000})
        self.assertEqual((on_gpu.batch, on_gpu.length), (2, 256))
        self.assertEqual(sizes.reduced(on_cpu=True).model["d_model"], 240)


class Model(unittest.TestCase):
    """The model against independent arithmetic."""

    def test_attention_forms_agree_and_are_causal(self):
        q, k, v = (torch.randn(2, 3, 7, 8, dtype=torch.float64) for _ in range(3))
        out = naive_attention(q, k, v, future_keys(7))
        torch.testing.assert_close(out, library_attention(q, k, v, None))
        torch.testing.assert_close(out[:, :, 0], v[:, :, 0])

    def test_rotation_keeps_lengths_and_depends_on_distance_only(self):
        tables = rotary_tables(9, 8)
        for form in (rotate, rotate_in_reals):
            with self.subTest(form.__name__):
                q, k = torch.randn(8), torch.randn(8)
                turned_q, turned_k = (form(x.expand(9, 8), *tables) for x in (q, k))
                torch.testing.assert_close(turned_q.norm(dim=-1), q.norm().expand(9))
                torch.testing.assert_close(turned_q[5] @ turned_k[3], turned_q[8] @ turned_k[6])
                # Pair 0 rotates by one radian per position, anticlockwise.
                x = torch.tensor([1.0, 0, 0, 0, 0, 0, 0, 0])
                torch.testing.assert_close(form(x.expand(9, 8), *tables)[1, :2],
                                           torch.tensor([0.5403023, 0.8414710]))

    def test_rotations_agree(self):
        x = torch.randn(2, 3, 5, 8)
        tables = rotary_tables(5, 8)
        torch.testing.assert_close(rotate(x, *tables), rotate_in_reals(x, *tables))

    def test_norm_agrees_with_the_library(self):
        x = torch.randn(4, 16)
        torch.testing.assert_close(NORMS["rmsnorm"](16)(x), NORMS["rmsnorm_libtorch"](16)(x))


if __name__ == "__main__":
    unittest.main()
