"""Measuring in turns with others: ahead of its samples the program waits for its turn."""

import json
import os
import threading
import time

IDLE_WITHIN_S = 0.1


def await_idle_threads():
    """Returns when no other thread of this process runs, or soon: pools go on spinning for
    milliseconds, and would keep a core from whoever has the next turn."""
    end = time.monotonic() + IDLE_WITHIN_S
    while _another_runs() and time.monotonic() < end:
        time.sleep(2e-4)


def _another_runs():
    own = str(threading.get_native_id())
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/stat") as stat:
                state = stat.read().rpartition(")")[2].split()[0]
        except OSError:
            continue  # it has ended
        if task != own and state == "R":
            return True
    return False


class Turns:
    """`ask(pass_name, taken, planned)` tells the host that the next samples can be taken, and
    `answers` are the lines that the host sends."""

    def __init__(self, ask, answers):
        self._ask = ask
        self._answers = answers
        self._pass = None
        self._left = 0  # samples of the turn

    def wait(self, pass_name, taken, planned):
        """Ahead of each sample: returns at once within a turn, else when it is the next. True where
        others were measured since the last sample."""
        if pass_name == self._pass and self._left > 0:
            self._left -= 1
            return False
        self._pass = pass_name
        await_idle_threads()
        self._ask(pass_name, taken, planned)
        line = self._answers.readline()
        if not line:
            raise SystemExit("the host has gone while a turn was awaited")
        turn = json.loads(line)["turn"]
        self._left = turn["samples"] - 1
        return turn["after_others"]
