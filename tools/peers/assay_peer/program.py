"""The base of every variant."""


class Program:
    """Derive from this; its methods mean the same as in assay's C++ interface."""

    def before(self, pass_name):
        """Untimed work before each call: clears gradients, runs a backward's forward."""

    def run(self, pass_name):
        """The timed call. The clock waits for work left on the device."""
        raise NotImplementedError

    def counts(self, pass_name):
        """Counted quantities: {metric: value}."""
        return {}

    def exchange(self, pass_name):
        """Calls the pass once more for checking, after everything has been timed. Returns
        {"inputs": {name: tensor}, "outputs": {…}} with the names of docs/external.md; None leaves
        the pass unchecked."""
        return None

    def inputs(self, pass_name):
        """What the calls of a pass read, to be given new contents ahead of each: {name: tensor}; of
        whole numbers below n {name: (tensor, n)}. They keep their addresses."""
        return {}

    def read_before(self, pass_name):
        """The names of those inputs that `before` reads: they are renewed ahead of it."""
        return ()

    def outputs(self, pass_name):
        """What the last call left: {name: tensor}. Ahead of the next one NaN is written there."""
        return {}

    may_overflow = False  # outputs may hold NaN where a loss is scaled

    def ahead_of_look(self, pass_name):
        """Behind `before` of a call that is looked at: keeps what `look` needs and the call
        changes."""

    def look(self, pass_name, comparison):
        """Compares the last call's outputs with a reference for the inputs as they are now:
        `comparison.add(name, value, reference)` in any number of pieces, or raises Wrong. Without a
        method of its own a program's times are `self-timed`."""
        raise NotImplementedError

    def release(self):
        """Frees the memory that a pass left behind, for the next one."""
