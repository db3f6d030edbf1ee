"""How large an error looks at a model's step in PyTorch allow. Needs PyTorch, no GPU."""

import unittest

from test_assay_peer import torch

from assay_peer import Wrong
from assay_peer.case import Case
from assay_peer.comparison import Comparison
from model_look import an_ulp_off, compare_gradients, relative, tiled_attention
from torch.nn import functional as F
from torch_model import ModelStep
from transformer import future_keys, naive_attention


def gradients_of(attention, inputs, dout):
    leaves = [x.clone().requires_grad_() for x in inputs]
    return torch.autograd.grad(attention(*leaves), leaves, dout)


class Tiled(unittest.TestCase):
    def inputs(self, length, kv_heads=4):
        generator = torch.Generator().manual_seed(5)
        q, k, v, dout = (torch.randn(2, heads, length, 16, generator=generator, dtype=torch.double)
                         for heads in (4, kv_heads, kv_heads, 4))
        return (q, k, v), dout

    def test_is_attention(self):
        for kv_heads in (4, 2):
            inputs, dout = self.inputs(33, kv_heads)
            hidden = future_keys(33)
            mine = gradients_of(lambda q, k, v: tiled_attention(q, k, v, hidden), inputs, dout)
            right = gradients_of(lambda q, k, v: F.scaled_dot_product_attention(
                q, k, v, is_causal=True, enable_gqa=True), inputs, dout)
            for one, other in zip(mine, right):
                torch.testing.assert_close(one, other)

    def test_is_as_inexact_as_a_tiled_kernel(self):
        """Values that are alike for all keys leave small differences in dQ, where textbook
        attention says too little of a tiled kernel's error."""
        (q, k, v), dout = self.inputs(1024)
        narrow = [x.bfloat16() for x in (q, k, 1 + v / 16)]
        dout = dout.bfloat16()
        hidden = future_keys(1024)

        def library(q, k, v):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

        right = gradients_of(library, [x.double() for x in narrow], dout.double())
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
            flash = gradients_of(library, narrow, dout)
        with torch.autocast("cpu", dtype=torch.bfloat16):  # whose softmax is in fp32
            tiled, naive = (gradients_of(lambda q, k, v: attention(q, k, v, hidden), narrow, dout)
                            for attention in (tiled_attention, naive_attention))
        errors = [[relative(gradient.double(), exact) for gradient, exact in zip(found, right)]
                  for found in (flash, tiled, naive)]
        for of_flash, of_tiled, _ in zip(*errors):
            self.assertLess(of_flash, 1.5 * of_tiled)
        of_dq = [error[0] for error in errors]
        self.assertGreater(of_dq[0], 2 * of_dq[2])


class UlpOff(unittest.TestCase):
    def test_is_off_by_no_more(self):
        x = torch.randn(7, 33, generator=torch.Generator().manual_seed(3))
        off = (an_ulp_off(x) - x) / x
        self.assertTrue((off.abs() <= 2 * torch.finfo(torch.float32).eps).all())
        self.assertGreater((off > 0).sum(), 100)
        self.assertGreater((off < 0).sum(), 100)

    def test_makes_a_textbook_in_fp32_round_otherwise(self):
        """Heads of 64, whose root is exact, leave the two attentions of textbooks alike."""
        parameters = {"workload": "model_step", "device": "cpu", "architecture": "swiglu",
                      "norm": "rmsnorm", "precision": "fp32", "attention": "naive", "batch": 2,
                      "seq_len": 16, "max_grad_norm": 0, "world_size": 1}
        sizes = {"d_model": 64, "d_ff": 128, "layers": 2, "heads": 1, "vocab_size": 50}
        case = Case({"protocol": 1, "parameters": parameters, "passes": [],
                     "presets": {"model": sizes}})
        step = ModelStep(case, "eager")
        textbook = step.textbook(dict(step.model.named_parameters()))
        with torch.no_grad():
            right, near = (textbook.logits(0, narrow) for narrow in (False, True))
        differing = (right != near).float().mean().item()
        self.assertGreater(differing, 0.5)
        self.assertLess(relative(near, right), 1e-5)


class Sequences:
    """Stands for a textbook whose rounding changes some sequences' gradients by far more than
    others'."""

    def __init__(self, errors):
        self.errors = errors

    def gradients(self, sequence, narrow=False, draw=0):
        gradient = torch.tensor([3.0, 4.0])
        return None, {"w": gradient * (1 + narrow * self.errors[sequence])}


class Gradients(unittest.TestCase):
    def look(self, factor, errors=(0.0, 0.1), most_norm=0, precision="bf16"):
        compare_gradients(Sequences(errors), {"w": factor * torch.tensor([3.0, 4.0])}, len(errors),
                          most_norm, Comparison(precision))

    def test_may_be_off_as_the_batch_rounded(self):
        # Of the batch the textbook's error is 0.05, half a tenth: three times that and twice 0.02.
        for factor in (1.18, 0.82):
            self.look(factor)
        for factor in (1.2, 0.8):
            with self.assertRaisesRegex(Wrong, "grad.w differs .* allowed are 0.19"):
                self.look(factor)

    def test_may_be_off_as_sequences_round_that_cancel(self):
        # Two errors of 0.5 beside a batch's 10: 0.071, though their sum is nothing.
        for factor in (1.27, 0.73):
            self.look(factor, errors=(0.1, -0.1))
        for factor in (1.3, 0.7):
            with self.assertRaisesRegex(Wrong, "grad.w differs .* allowed are 0.28"):
                self.look(factor, errors=(0.1, -0.1))

    def test_may_be_off_as_sequences_round_alike(self):
        self.look(1.43, errors=(0.1, 0.1))  # 4 · 0.1 + 0.04
        with self.assertRaisesRegex(Wrong, "grad.w differs .* allowed are 0.44"):
            self.look(1.45, errors=(0.1, 0.1))

    def test_may_be_off_by_more_where_rounding_changes_a_tenth(self):
        self.look(1.4, errors=(0.0, 0.24))  # 4 · 0.12 + 0.04
        with self.assertRaises(Wrong):
            self.look(1.54, errors=(0.0, 0.24))

    def test_may_be_off_as_products_of_split_operands_are_in_fp32(self):
        # The textbook's error is 0.005: 2 · 1.05 · 0.02 and twice 1e-4.
        self.look(1.0421, errors=(0.0, 0.01), precision="fp32")
        with self.assertRaisesRegex(Wrong, "grad.w differs .* allowed are 0.042"):
            self.look(1.0423, errors=(0.0, 0.01), precision="fp32")

    def test_may_be_off_as_the_largest_of_several_draws_in_fp32(self):
        draws = set()

        class Lucky(Sequences):
            def gradients(self, sequence, narrow=False, draw=0):
                draws.add(draw)
                self.errors = {1: (1e39,), 2: (0.01,)}.get(draw, (0.0,))  # the first overflows
                return super().gradients(sequence, narrow)

        def look(factor, precision, most_norm=0):
            draws.clear()
            compare_gradients(Lucky(()), {"w": factor * torch.tensor([3.0, 4.0])}, 1, most_norm,
                              Comparison(precision))

        look(1.0001, "fp32")
        self.assertEqual(draws, {0})
        look(1.08, "fp32")  # 2 · 1.1 · 0.04
        self.assertEqual(draws, {0, 1, 2})
        look(0.92, "fp32", most_norm=10)
        self.assertEqual(draws, {0, 1, 2})
        with self.assertRaisesRegex(Wrong, "grad.w differs .* allowed are 0.088"):
            look(1.1, "fp32")
        self.assertEqual(draws, set(range(8)))
        with self.assertRaisesRegex(Wrong, "grad.w differs .* allowed are 0.04"):
            look(1.1, "bf16")
        self.assertEqual(draws, {0})

    def test_may_be_off_by_no_more_where_the_textbook_overflows(self):
        self.look(1.03, errors=(0.0, 1e39))
        with self.assertRaises(Wrong):
            self.look(1.05, errors=(0.0, 1e39))

    def test_are_compared_as_clipped(self):
        self.look(0.2, most_norm=1)
        with self.assertRaises(Wrong):
            self.look(1, most_norm=1)

    def test_may_be_clipped_by_a_norm_that_rounding_has_changed(self):
        """Rounding makes half of the largest gradient's norm; the others are exact."""
        exact = {name: torch.tensor([0.3, 0.4]) for name in ("a", "b", "c")}

        class Textbook:
            def gradients(self, sequence, narrow=False, draw=0):
                loud = torch.tensor([10.0, 9.0 if narrow else 0.0])
                return None, {"loud": loud, **{name: x.clone() for name, x in exact.items()}}

        def look(of_loud, of_a=1.0, factor=1.0):
            gradients = {"loud": torch.tensor([10.0, of_loud]), **exact, "a": of_a * exact["a"]}
            norm = torch.stack([gradient.norm() for gradient in gradients.values()]).norm()
            clipped = {name: gradient * factor / norm for name, gradient in gradients.items()}
            compare_gradients(Textbook(), clipped, 1, 1.0, Comparison("bf16"))

        look(-9.0)  # of a norm of 13.5, where the reference's is 10
        look(0.0)
        for of_a in (1.1, 0.9, 0.0):
            with self.assertRaisesRegex(Wrong, "grad.[abc] differs"):
                look(-9.0, of_a)
        for factor in (0.1, 0.5, 0.9):
            with self.assertRaisesRegex(Wrong, "grad.[abc] differs"):
                look(-9.0, factor=factor)
        with self.assertRaisesRegex(Wrong, "the norm of all gradients differs"):
            look(-9.0, factor=1.1)

    def test_may_all_be_zero_under_a_limit(self):
        class Textbook:
            def gradients(self, sequence, narrow=False, draw=0):
                return None, {"w": torch.zeros(2)}

        compare_gradients(Textbook(), {"w": torch.zeros(2)}, 1, 1.0, Comparison("bf16"))
        with self.assertRaisesRegex(Wrong, "grad.w differs"):
            compare_gradients(Textbook(), {"w": torch.full((2,), 0.1)}, 1, 1.0,
                              Comparison("bf16"))

    def test_may_not_be_missing(self):
        with self.assertRaisesRegex(Wrong, "grad.w is missing"):
            compare_gradients(Sequences((0.0,)), {}, 1, 0, Comparison("bf16"))


if __name__ == "__main__":
    unittest.main()
