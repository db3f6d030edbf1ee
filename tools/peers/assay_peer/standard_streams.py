"""Standard input and output are the host's alone: what a variant prints goes to standard error, and
processes that it starts neither read what the host sends nor print among its lines."""

import os
import sys


def take():
    streams = (os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8"))
    with open(os.devnull, encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout.flush()  # what was printed before goes to standard error too
    return streams


# The host sets the variable; processes that the program starts are not run by the host.
taken = take() if os.environ.pop("ASSAY_PROTOCOL", None) else None


def both():
    global taken
    if taken is None:
        taken = take()
    return taken


def from_host():
    """The case, and the turns."""
    return both()[0]


def to_host():
    """The lines of the protocol."""
    return both()[1]
