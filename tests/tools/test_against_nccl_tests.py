"""tools/against_nccl_tests with stand-ins for both programs: what it asks, reads and concludes."""

import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "against_nccl_tests"

# As nccl-tests prints it: out of place first, then in place, times in us.
PERF = """#!/bin/sh
echo "perf $*" >> "$CALLS"
echo "# nThread 2 nGpus 1"
echo "#       size         count      type   redop    root     time   algbw   busbw  wrong     time   algbw   busbw  wrong"
echo "        1024           256     float     sum      -1    10.00    0.10    0.10      0    20.00    0.05    0.05      0"
echo "        4096          1024     float     sum      -1    40.00    0.10    0.10      0      N/A     N/A     N/A    N/A"
echo "# Avg bus bandwidth    : 0.1"
"""

# Times in s of two ranks, whose mean counts; --output is the last word.
ASSAY = """#!/usr/bin/env python3
import json, os, sys
with open(os.environ["CALLS"], "a") as calls:
    calls.write("assay " + sys.argv[1] + "\\n")
if sys.argv[1] == "run":
    with open(os.environ["ASKED"], "w") as asked:
        asked.write(open(sys.argv[2]).read())
else:
    with open(sys.argv[-1], "w") as lines:
        for placement, size, layer, samples in json.loads(os.environ["TIMES"]):
            for sample in samples:
                lines.write(json.dumps({
                    "metric": "time", "outcome": "ok", "pass": "all_reduce", "samples": [sample],
                    "case": {"placement": placement, "size": size, "layer": layer}}) + "\\n")
"""

AGREEING = [["out_of_place", 1024, "nccl", [10.1e-6, 10.2e-6]],
            ["in_place", 1024, "nccl", [20e-6, 20e-6]],
            ["out_of_place", 4096, "nccl", [40e-6, 40e-6]],
            ["out_of_place", 1024, "c10d", [13e-6, 13e-6]]]


class AgainstNcclTests(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.kept.name)
        for name, text in (("all_reduce_perf", PERF), ("assay", ASSAY)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(stat.S_IRWXU)

    def tearDown(self):
        self.kept.cleanup()

    def run_tool(self, times, *words):
        environment = dict(os.environ, TIMES=json.dumps(times), CALLS=str(self.folder / "calls"),
                           ASKED=str(self.folder / "asked"))
        return subprocess.run(
            [sys.executable, str(TOOL), "--assay", str(self.folder / "assay"), "--nccl-tests",
             str(self.folder), "--passes", "all_reduce", "--from", "1K", "--to", "4K", "--factor",
             "4", "--output", str(self.folder / "out"), *words],
            env=environment, capture_output=True, text=True, check=False)

    def test_it_takes_turns_in_an_order_that_turns_too(self):
        ended = self.run_tool(AGREEING, "--rounds", "2")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        calls = [line.split()[0:2] for line in (self.folder / "calls").read_text().splitlines()]
        self.assertEqual([call[0] for call in calls],
                         ["perf", "assay", "assay", "assay", "assay", "perf"])

    def test_both_make_the_same_calls(self):
        self.run_tool(AGREEING, "--rounds", "1", "--calls", "7", "--warmup", "3")
        perf = (self.folder / "calls").read_text().splitlines()[0]
        self.assertEqual(perf, "perf -t 2 -g 1 -b 1024 -e 4096 -f 4 -n 7 -w 3 -a 1")
        asked = (self.folder / "asked").read_text()
        for part in ("size: [1024 B, 4096 B]", "calls: 7", "warmup: 3", "world_size: 2",
                     "span: 4096 B", "layer: [nccl,c10d]", "passes: [all_reduce]"):
            self.assertIn(part, asked)

    def test_the_table_has_the_mean_of_ranks_beside_theirs(self):
        ended = self.run_tool(AGREEING, "--rounds", "1")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("| all_reduce | out_of_place | 1024 | 10.00 | 0.0 | 10.15 | +1.5 | "
                      "13.00 | +30.0 | yes |", ended.stdout)
        self.assertIn("| all_reduce | in_place | 1024 | 20.00 | 0.0 | 20.00 | +0.0 | N/A |",
                      ended.stdout)
        self.assertNotIn("| all_reduce | in_place | 4096 |", ended.stdout)

    def test_three_percent_are_no_agreement(self):
        times = [["out_of_place", 1024, "nccl", [10.3e-6, 10.3e-6]], *AGREEING[1:]]
        ended = self.run_tool(times, "--rounds", "1")
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("| 10.30 | +3.0 | 13.00 | +30.0 | NO |", ended.stdout)

    def test_nor_is_a_size_that_only_they_have(self):
        ended = self.run_tool(AGREEING[:2], "--rounds", "1")
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("| all_reduce | out_of_place | 4096 | 40.00 | 0.0 | N/A |", ended.stdout)

    def test_a_program_that_fails_is_named(self):
        (self.folder / "all_reduce_perf").write_text("#!/bin/sh\nexit 5\n")
        ended = self.run_tool(AGREEING, "--rounds", "1")
        self.assertEqual(ended.returncode, 2)
        self.assertIn("all_reduce_perf", ended.stderr)
        self.assertIn("ended with 5 and 0 figures", ended.stderr)


if __name__ == "__main__":
    unittest.main()
