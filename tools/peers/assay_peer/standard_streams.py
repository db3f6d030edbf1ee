"""Reserves standard input and output for the host: what a variant and its child processes print
goes to standard error, and the children read nothing."""

import os
import sys


def take():
    streams = (os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8"))
    with open(os.devnull, encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout.flush()  # earlier output goes to standard error too
    return streams


# The host sets the variable for this process; its child processes must not inherit it.
taken = take() if os.environ.pop("ASSAY_PROTOCOL", None) else None


def both():
    global taken
    if taken is None:
        taken = take()
    return taken


def from_host():
    """Stream of the case and the turns."""
    return both()[0]


def to_host():
    """Stream for the lines of the protocol."""
    return both()[1]
