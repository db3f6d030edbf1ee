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

    def release(self):
        """Frees the memory that a pass left behind, for the next one."""
