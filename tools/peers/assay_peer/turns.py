"""Interleaved measuring: the program waits for its turn before it takes samples."""

import json
import os
import threading
import time

IDLE_WITHIN_S = 0.1


def await_idle_threads():
    """Waits, for at most IDLE_WITHIN_S, until no other thread of this process runs: pools spin for
    milliseconds and would take a core from the next turn."""
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
    """`ask(pass_name, taken, planned)` asks the host for a turn; `answers` is the stream of the
    host's lines."""

    def __init__(self, ask, answers):
        self._ask = ask
        self._answers = answers
        self._pass = None
        self._remaining = 0  # samples of this turn

    def wait(self, pass_name, taken, planned):
        """Called before each sample: returns at once within a turn, else waits for the next turn.
        True where other cases were measured since the last sample."""
        if pass_name == self._pass and self._remaining > 0:
            self._remaining -= 1
            return False
        self._pass = pass_name
        await_idle_threads()
        self._ask(pass_name, taken, planned)
        line = self._answers.readline()
        if not line:
            raise SystemExit("the host ended while this program waited for a turn")
        turn = json.loads(line)["turn"]
        self._remaining = turn["samples"] - 1
        return turn["after_others"]
