"""Attention of other packages: what the variants hand to them, with stand-ins, and what they
decline. PyTorch's flex_attention runs as it is, on the CPU."""

import io
import json
import pathlib
import runpy
import sys
import types
import unittest
import unittest.mock

SKIPPED = 77  # what ctest takes as skipped
try:
    import torch
except ImportError as problem:
    print(f"skipped: {sys.executable} cannot import torch ({problem})")
    sys.exit(SKIPPED)
from torch.nn.attention import flex_attention as flex

import stand_ins
from stand_ins import installed

import assay_peer
from assay_peer import Unsupported, packages
from cudnn_attention import CudnnAttention
from flash_attention import FlashAttention3, FlashAttention4
from assay_peer.references import hidden_keys
from flex_attention import FlexAttention, seen_keys
from xformers_attention import XformersAttention, hide_flash_attn_4

torch.set_num_threads(1)
PEERS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "peers"
PASSES = ["inference", "forward", "backward", "forward_backward"]
SHAPE = {"batch": 2, "heads": 4, "seq_len": 24, "d_head": 16, "causal": True}
GROUPED = {"kv_heads": 2}
WINDOWS = [{"window": 7}, {"window": 7, "causal": False}, {"window": 24, "causal": False}]
ALL = [{}, {"causal": False}, {"precision": "fp16"}, GROUPED, GROUPED | {"window": 5}, *WINDOWS]
STREAM = unittest.mock.patch("torch.cuda.current_stream",
                             return_value=types.SimpleNamespace(cuda_stream=0))
PACKAGES = {  # variant: (its class, package, what stands in, cases that it takes)
    "flash_attention_3": (FlashAttention3, "flash-attn-3", stand_ins.flash_attn_3, ALL),
    "flash_attention_4": (FlashAttention4, "flash-attn-4", stand_ins.flash_attn_4, ALL),
    "xformers_attention": (XformersAttention, "xformers", stand_ins.xformers,
                           [{}, {"causal": False}, {"precision": "fp32"}, *WINDOWS]),
    "cudnn_frontend_attention": (CudnnAttention, "nvidia-cudnn-frontend", stand_ins.cudnn, ALL),
}


def message_of(parameters, passes=PASSES):
    return {"protocol": 1, "variant": "mine", "passes": list(passes), "parameters": {
        "workload": "attention", "precision": "bf16", "compile": "eager", "device": "cpu",
        "measure.warmup": 1, "measure.samples": 2, "measure.calls_per_sample": 1,
        "measure.clock": "wall", "measure.seed": 1} | SHAPE | parameters}


def answer(build, parameters, passes=PASSES):
    """({pass: its time, or with `looks` what they have found}, versions)"""
    text = io.StringIO()
    with STREAM, unittest.mock.patch("gc.collect"):  # which takes longest here
        assay_peer.answer(message_of(parameters, passes), build, assay_peer.Output(text))
    lines = [json.loads(line) for line in text.getvalue().splitlines()]
    series = [line["series"] for line in lines if "series" in line]
    return ({one["pass"]: one for one in series if one["metric"] == "time"},
            {line["looks"]["pass"] for line in lines if "looks" in line},
            lines[-1]["done"]["versions"])


class WithStandIns(unittest.TestCase):
    def test_every_pass_is_what_textbook_attention_computes(self):
        for name, (build, package, stand_in, cases) in PACKAGES.items():
            for parameters in cases:
                with self.subTest(name, **parameters), installed(stand_in()):
                    passes = ["inference", "forward_backward"] if parameters else PASSES
                    times, looked_at, versions = answer(build, parameters, passes)
                    for pass_name in passes:
                        timed = times[pass_name]
                        self.assertEqual((timed["outcome"], timed["reason"]), ("ok", ""))
                    self.assertEqual(looked_at, set(passes))
                    self.assertIn(package, versions)

    def test_gradients_keep_the_layout_of_their_inputs(self):
        for name, (build, _, stand_in, _) in PACKAGES.items():
            with self.subTest(name), installed(stand_in()), STREAM:
                program = build(assay_peer.Case(message_of({})))
                program.before("forward_backward")
                program.run("forward_backward")
                outputs = program.outputs("forward_backward")
                for name_of_leaf, leaf in program.leaves.items():
                    self.assertEqual(outputs[f"grad.{name_of_leaf}"].stride(), leaf.stride())

    def test_what_they_decline(self):
        for name, parameters, capability, named in [
            ("flash_attention_3", {"precision": "fp32"}, (9, 0), "flash-attn-3 takes bf16 or fp16"),
            ("flash_attention_3", {"d_head": 12}, (9, 0), "flash-attn-3 has no kernel"),
            ("flash_attention_4", {"precision": "fp32"}, (9, 0), "flash-attn-4 takes bf16 or fp16"),
            ("flash_attention_4", {"d_head": 264}, (9, 0), "heads of 264"),
            ("flash_attention_4", {"d_head": 192}, (10, 0), "heads of 192"),
            ("xformers_attention", GROUPED, (9, 0), "as many heads"),
            ("cudnn_frontend_attention", {"precision": "fp32"}, (9, 0),
             "nvidia-cudnn-frontend takes bf16 or fp16"),
        ]:
            build, _, stand_in, _ = PACKAGES[name]
            with self.subTest(name, **parameters), installed(stand_in(), capability=capability):
                times, _, _ = answer(build, parameters)
                for pass_name in PASSES:
                    self.assertEqual(times[pass_name]["outcome"], "unsupported")
                    self.assertIn(named, times[pass_name]["reason"])

    def test_wider_heads_where_the_gpu_has_them(self):
        for d_head, capability in ((192, (9, 0)), (256, (9, 0)), (256, (10, 0))):
            with installed(stand_ins.flash_attn_4(), capability=capability):
                times, _, _ = answer(FlashAttention4, {"d_head": d_head}, ["forward"])
                self.assertEqual(times["forward"]["outcome"], "ok")

    def test_without_their_package(self):
        absent = {"flash_attn_interface": None, "flash_attn.cute": None, "xformers.ops": None,
                  "cudnn": None}
        for name, (build, package, _, _) in PACKAGES.items():
            with self.subTest(name), installed(), unittest.mock.patch.dict(sys.modules, absent):
                times, _, _ = answer(build, {})
                self.assertEqual(times["forward"]["outcome"], "unsupported")
                self.assertIn(f"it needs the package {package}", times["forward"]["reason"])

    def test_an_operation_that_the_build_lacks(self):
        def flash_attn_func(*arguments, **named):
            raise RuntimeError("This flash attention build does not support backward.")

        with installed(stand_ins.module("flash_attn_interface", flash_attn_func=flash_attn_func)):
            times, _, _ = answer(FlashAttention3, {}, ["forward"])
            self.assertEqual(times["forward"]["outcome"], "unsupported")

    def test_xformers_names_its_operators(self):
        with installed(stand_ins.xformers()):
            _, _, versions = answer(XformersAttention, {})
            self.assertEqual(versions["xformers operators"], "fa2F@2.8.3, fa2B@2.8.3")
        with installed(stand_ins.xformers(refuses="No operator\n  found: too new")):
            times, _, _ = answer(XformersAttention, {})
            self.assertEqual(times["forward"]["outcome"], "unsupported")
            self.assertEqual(times["forward"]["reason"], "xformers: No operator found: too new")
        with installed(stand_ins.xformers(loaded=False)):
            times, _, _ = answer(XformersAttention, {})
            self.assertEqual(times["forward"]["outcome"], "unsupported")
            self.assertIn("nvidia-cuda-runtime-cu12", times["forward"]["reason"])

    def test_xformers_does_not_take_flash_attn_4_for_2(self):
        for origin, hidden in ((None, True), ("flash_attn/__init__.py", False)):
            found = types.SimpleNamespace(origin=origin)
            with unittest.mock.patch.dict(sys.modules), unittest.mock.patch(
                    "importlib.util.find_spec", return_value=found):
                sys.modules.pop("flash_attn", None)
                hide_flash_attn_4()
                self.assertEqual("flash_attn" in sys.modules, hidden)

    def test_cudnn_names_its_version_and_who_executes(self):
        with installed(stand_ins.cudnn()):
            _, _, versions = answer(CudnnAttention, {})
            self.assertEqual(versions["nvidia-cudnn-frontend cuDNN"], "9.19.0")
            self.assertEqual(versions["nvidia-cudnn-frontend engines"],
                             "inference by cuDNN, forward by cuDNN, backward by cuDNN")

    def test_cudnn_without_a_backward_has_a_forward(self):
        with installed(stand_ins.cudnn(without_backward=True)):
            times, _, _ = answer(CudnnAttention, {})
        for pass_name in ("backward", "forward_backward"):
            self.assertEqual(times[pass_name]["outcome"], "unsupported")
            self.assertEqual(times[pass_name]["reason"], "cuDNN 9.19.0: no engine for this")
        self.assertEqual(times["forward"]["outcome"], "ok")


class Flex(unittest.TestCase):
    def test_inference_is_what_textbook_attention_computes(self):
        for parameters in ({}, GROUPED | {"window": 7, "causal": False}):
            with self.subTest(**parameters):
                times, looked_at, _ = answer(
                    FlexAttention, {"seq_len": 128, "precision": "fp32"} | parameters,
                    ["inference", "forward"])
                timed = times["inference"]
                self.assertEqual((timed["outcome"], timed["reason"]), ("ok", ""))
                self.assertEqual(looked_at, {"inference"})
                self.assertEqual(times["forward"]["outcome"], "unsupported")
                self.assertIn("no backward on a CPU", times["forward"]["reason"])

    def test_a_length_at_which_it_is_wrong_on_a_cpu(self):
        times, _, _ = answer(FlexAttention, {}, ["inference"])
        self.assertEqual(times["inference"]["outcome"], "unsupported")
        self.assertIn("multiples of 128", times["inference"]["reason"])

    def test_masks(self):
        program = types.SimpleNamespace(shape=(1, 1, 24, 16))
        for causal, window in ((True, 0), (True, 1), (True, 7), (False, 1), (False, 7)):
            program.causal, program.window = causal, window
            seen = flex.create_mask(seen_keys(causal, window), None, None, 24, 24, device="cpu")
            hidden = hidden_keys(program, torch.arange(24))
            self.assertTrue(seen[0, 0].equal(~hidden), (causal, window))


class Packages(unittest.TestCase):
    def test_one_that_fails_beside_others_is_told_from_one_that_is_missing(self):
        for problem, told in [(ModuleNotFoundError("No module named 'any'"), "ModuleNotFoundError"),
                              (AttributeError("no such\nname"), "AttributeError: no such")]:
            with unittest.mock.patch("importlib.import_module", side_effect=problem), \
                    self.assertRaisesRegex(Unsupported, f"the package some-package, whose any "
                                                        f"cannot be imported: {told}"):
                packages.imported("any", "some-package")

    def test_the_version_is_stored(self):
        with unittest.mock.patch.dict(packages.used, clear=True):
            self.assertIs(packages.imported("torch", "torch"), torch)
            self.assertIs(packages.imported("json", "no-such-package"), json)
            self.assertEqual(packages.used["no-such-package"], "unknown")
            self.assertTrue(packages.used["torch"].startswith(torch.__version__.split("+")[0]))


class Gpus(unittest.TestCase):
    def test_only_those_that_a_package_is_made_for(self):
        with unittest.mock.patch("torch.cuda.get_device_capability", return_value=(8, 6)):
            gpu = torch.device("cuda")
            self.assertEqual(packages.require_gpu(gpu, "any"), (8, 6))
            self.assertEqual(packages.require_gpu(gpu, "any", 8, 9), (8, 6))
            with self.assertRaisesRegex(Unsupported, r"some is for GPUs of .* 9\.x or 10\.x, this "
                                                     r"one has 8\.6"):
                packages.require_gpu(gpu, "some", 9, 10)
        with self.assertRaisesRegex(Unsupported, "some needs an NVIDIA GPU"):
            packages.require_gpu(torch.device("cpu"), "some", 9)


class Descriptors(unittest.TestCase):
    """The commands of the variants that need a GPU, on a CPU."""

    def test_they_say_what_they_need(self):
        norm = {"workload": "norm", "rows": 4, "n_cols": 8}
        model = {"workload": "model_step", "architecture": "gelu", "attention": "naive",
                 "norm": "rmsnorm"}
        for name, parameters in [
            *((name, {}) for name in PACKAGES),
            ("rmsnorm_quack", norm), ("rmsnorm_liger", norm), ("layernorm_liger", norm),
            ("torch_compile_liger", model), ("torch_compile_fused_adamw", model),
        ]:
            with self.subTest(name):
                lines = (PEERS / f"{name}.yaml").read_text().splitlines()
                described = dict(line.split(": ", 1) for line in lines)
                self.assertEqual(described["name"], name)
                python, *command = described["command"].strip("[]").split(", ")
                self.assertEqual(python, "python3")
                timed = self.answer(command, parameters)
                self.assertEqual(timed["outcome"], "unsupported")
                self.assertIn("needs an NVIDIA GPU", timed["reason"])

    def answer(self, command, parameters):
        with unittest.mock.patch.object(assay_peer, "serve") as serve, \
                unittest.mock.patch.object(sys, "argv", command):
            runpy.run_path(str(PEERS / command[0]), run_name="__main__")
            (build,) = serve.call_args.args
            times, _, _ = answer(build, parameters, ["forward"])
        return times["forward"]


if __name__ == "__main__":
    unittest.main()
