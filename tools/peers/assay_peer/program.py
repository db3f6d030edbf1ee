"""What is measured."""


class Program:
    """Derive from this; the meanings are those of assay's C++ interface."""

    def before(self, pass_name):
        """Ahead of each call, outside the timed region: gradients to none, a backward's forward."""

    def run(self, pass_name):
        """The timed region. Work left on the device is waited for by the clock."""
        raise NotImplementedError

    def counts(self, pass_name):
        """Quantities counted rather than measured: {metric: value}."""
        return {}

    def exchange(self, pass_name):
        """One more call of the pass, for checking: {"inputs": {name: tensor}, "outputs": {…}} under
        the names that docs/external.md gives. None: the pass stays unchecked. Called after
        everything has been timed."""
        return None

    def release(self):
        """Lets go of what a failed pass left behind, so that the next one finds the memory."""
