"""Measuring in turns with others: ahead of its samples the program waits for its turn."""

import json


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
        self._ask(pass_name, taken, planned)
        line = self._answers.readline()
        if not line:
            raise SystemExit("the host has gone while a turn was awaited")
        turn = json.loads(line)["turn"]
        self._left = turn["samples"] - 1
        return turn["after_others"]
