"""Standard output is the host's alone; what a variant prints goes to standard error."""

import os
import sys


def take():
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout.flush()  # what was printed before goes to standard error too
    return stream


# The host sets the variable; processes that the program starts are not run by the host.
taken = take() if os.environ.pop("ASSAY_PROTOCOL", None) else None


def stream():
    """The lines for the host go here."""
    global taken
    if taken is None:
        taken = take()
    return taken
