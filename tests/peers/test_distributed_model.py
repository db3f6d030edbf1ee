"""Trains a toy model on two ranks of a CPU by tools/peers/distributed_model.py, and has
tools/against_torch_distributed compare it with a stand-in for assay."""

import json
import os
import pathlib
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
SKIPPED = 77  # what ctest takes as skipped
try:
    import torch
    import torch.distributed as dist
except ImportError as problem:
    print(f"skipped: {sys.executable} cannot import torch ({problem})")
    sys.exit(SKIPPED)
if not (dist.is_available() and dist.is_gloo_available()):
    print("skipped: this PyTorch has no Gloo")
    sys.exit(SKIPPED)
sys.path.insert(0, str(TOOLS / "peers"))
from transformer import NORMS, Transformer, naive_attention
from torch.nn import functional as F

torch.set_num_threads(1)
SIZE = {"d_model": 16, "d_ff": 24, "layers": 2, "heads": 4, "vocab_size": 50}
RANKS, STEPS, BATCH, LENGTH = 2, 5, 2, 8


def tool(*options):
    return subprocess.run(
        [sys.executable, TOOLS / "against_torch_distributed", "--python", sys.executable,
         "--models", "toy", "--device", "cpu", "--attention", "naive", "--precision", "fp32",
         "--seq-len", str(LENGTH), "--rounds", "1", *options],
        capture_output=True, text=True, check=False)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def losses_by_hand():
    """[step][rank] of one process that trains on all ranks' tokens at once."""
    torch.manual_seed(1)
    model = Transformer(SIZE, "swiglu", LENGTH, naive_attention, NORMS["rmsnorm"])
    batches = []
    for rank in range(RANKS):
        torch.manual_seed(2 + rank)
        batches.append([torch.randint(SIZE["vocab_size"], (BATCH, LENGTH)) for _ in range(2)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        each = [F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
                for tokens, targets in batches]
        torch.stack(each).mean().backward()
        optimizer.step()
        losses.append([loss.item() for loss in each])
    return losses


class Ranks(unittest.TestCase):
    def run_ranks(self, way):
        spec = {"way": way, "model": SIZE, "architecture": "swiglu", "norm": "rmsnorm",
                "attention": "naive", "precision": "fp32", "batch": BATCH, "seq_len": LENGTH,
                "device": "cpu", "compile": False, "warmup": 2, "steps": STEPS - 2}
        with tempfile.TemporaryDirectory() as folder:
            store = pathlib.Path(folder)
            port = free_port()
            ranks = [subprocess.Popen(
                [sys.executable, TOOLS / "peers" / "distributed_model.py", json.dumps(spec),
                 store / "rank"],
                env=os.environ | {"RANK": str(rank), "WORLD_SIZE": str(RANKS),
                                  "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port})
                for rank in range(RANKS)]
            for rank in ranks:
                self.assertEqual(rank.wait(), 0)
            return [json.loads((store / f"rank.{rank}").read_text()) for rank in range(RANKS)]

    def check(self, way, held_by_a_rank, tolerance=2e-5):
        parameters = sum(p.numel() for p in Transformer(
            SIZE, "swiglu", LENGTH, naive_attention, NORMS["rmsnorm"]).parameters())
        figures = self.run_ranks(way)
        for rank, found in enumerate(figures):
            self.assertEqual(len(found["steps_s"]), STEPS - 2)
            for step, expected in enumerate(losses_by_hand()):
                self.assertAlmostEqual(found["losses"][step], expected[rank], delta=tolerance)
            self.assertEqual(found["state_bytes"]["parameters"], 4 * parameters * held_by_a_rank)
            self.assertEqual(found["state_bytes"]["gradients"], 4 * parameters * held_by_a_rank)
            self.assertAlmostEqual(found["state_bytes"]["optimizer"],
                                   8 * parameters * held_by_a_rank, delta=400)  # step counts

    def test_ddp_trains_as_one_process_does(self):
        self.check("ddp", 1)

    def test_ddp_that_sends_bf16_trains_nearly_as_one_process_does(self):
        self.check("ddp_bf16", 1, tolerance=2e-2)

    def test_fsdp_trains_as_one_process_does_and_holds_its_share(self):
        self.check("fsdp", 0.5)

    def test_fsdp_kept_trains_as_one_process_does(self):
        self.check("fsdp_kept", 0.5)


STAND_IN = """#!{python}
import json, sys
if sys.argv[1] == "export":
    with open(sys.argv[sys.argv.index("--output") + 1], "w") as out:
        for rank in range({case}["world_size"]):
            line = {{"case": {case}, "part": "", "rank": rank, "outcome": "{outcome}",
                     "reason": "{reason}"}}
            print(json.dumps(line | {{"pass": "train_step", "metric": "time",
                                      "samples": [{seconds}] * 3}}), file=out)
            print(json.dumps(line | {{"pass": "train_step", "metric": "peak_memory",
                                      "samples": [3 << 20]}}), file=out)
"""
ALONE = {"communication": "none", "world_size": 1}


class Tool(unittest.TestCase):
    def run_beside(self, stand_in, *options):
        """How the tool ended, the lines of results.jsonl, and what assay was asked to run."""
        with tempfile.TemporaryDirectory() as folder:
            assay = pathlib.Path(folder) / "assay"
            assay.write_text(stand_in)
            assay.chmod(assay.stat().st_mode | stat.S_IXUSR)
            ended = tool("--assay", str(assay), "--output", folder, "--steps", "2", "--warmup", "1",
                         *options)
            results = pathlib.Path(folder) / "results.jsonl"
            lines = results.read_text().splitlines() if results.exists() else []
            experiments = [file.read_text() for file in pathlib.Path(folder).glob("*.yaml")]
            return ended, [json.loads(line) for line in lines], "".join(experiments)

    def compare(self, seconds, outcome="ok", reason=""):
        stand_in = STAND_IN.format(python=sys.executable, case=ALONE, seconds=seconds,
                                   outcome=outcome, reason=reason)
        ended, lines, _ = self.run_beside(stand_in, "--variants", "single", "--peers", "single")
        return ended, lines

    def test_holds_bucketed_in_bf16_against_ddp_in_bf16(self):
        case = {"communication": "bucketed", "communication.gradients": "bf16", "world_size": 2}
        stand_in = STAND_IN.format(python=sys.executable, case=case, seconds=1e-9, outcome="ok",
                                   reason="")
        ended, lines, experiment = self.run_beside(stand_in, "--variants", "bucketed_bf16",
                                                   "--peers", "ddp_bf16")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertIn("communication: [{bucketed: {gradients: [bf16]}}]", experiment)
        self.assertEqual([line["name"] for line in lines], ["ddp_bf16", "bucketed_bf16"])
        self.assertRegex(ended.stdout, r"\| ddp_bf16 \| [\d.]+ \| bucketed_bf16 \| .*\| yes \|")

    def test_takes_assays_own_kernels_and_the_nearest_of_pytorch_beside_them(self):
        stand_in = STAND_IN.format(python=sys.executable, case=ALONE, seconds=1e-9, outcome="ok",
                                   reason="")
        for norm in ("rmsnorm_fused", "layernorm_fused"):
            ended, lines, experiment = self.run_beside(
                stand_in, "--attention", "flash", "--norm", norm, "--variants", "single", "--peers",
                "single")
            self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
            self.assertIn(f"norm: {norm}, attention: flash, ", experiment)
            self.assertIn("attention flash; peers with flash_libtorch.", ended.stdout)
            self.assertEqual([line["outcome"] for line in lines], ["ok", "ok"])

    def test_says_that_a_peer_is_met(self):
        ended, lines = self.compare(seconds=1e-9)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertRegex(ended.stdout, r"\| single \| [\d.]+ \| single \| 0\.000 .*\| yes \|")
        self.assertEqual([(line["side"], line["name"]) for line in lines],
                         [("torch", "single"), ("assay", "single")])
        self.assertEqual(lines[1]["ranks"][0]["peak_bytes"], 3 << 20)

    def test_says_that_a_peer_is_not_met(self):
        ended, _ = self.compare(seconds=1000)
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stdout, r"\| single \| 1000000\.000 .*\| NO \|")

    def test_tells_why_a_variant_was_not_measured(self):
        ended, _ = self.compare(seconds=1, outcome="oom", reason="no memory left")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("oom: no memory left", ended.stdout)

    def test_names_what_there_is(self):
        ended = tool("--variants", "fspd")
        self.assertEqual(ended.returncode, 2)
        self.assertIn("no variant 'fspd'; there are: single, naive", ended.stderr)


if __name__ == "__main__":
    unittest.main()
