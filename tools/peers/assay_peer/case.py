"""The case as the host sent it."""

import torch

PROTOCOL = 1


class Unsupported(Exception):
    """The variant cannot do what the case asks: the cell shows N/A with this reason."""


class Wrong(Exception):
    """A timed call has not done its work: the pass is `wrong` with this reason."""


class Case:
    """One case: `parameters` and `presets` as the host sent them, and the passes to measure."""

    def __init__(self, message):
        if message.get("protocol") != PROTOCOL:
            raise Unsupported(
                f"the host speaks protocol {message.get('protocol')}, this helper {PROTOCOL}"
            )
        self.variant = message.get("variant", "")
        self.parameters = message["parameters"]
        self.presets = message.get("presets", {})
        self.passes = message["passes"]
        self.exchange_folder = message.get("exchange", {}).get("folder")

    def get(self, name, default=None):
        return self.parameters.get(name, default)

    def require(self, name, *accepted):
        """The parameter's value; Unsupported when it is missing or not one of `accepted`."""
        value = self.parameters.get(name)
        if value is None:
            raise Unsupported(f"the case does not say '{name}'")
        if accepted and value not in accepted:
            choices = ", ".join(str(choice) for choice in accepted)
            raise Unsupported(f"{name} '{value}' is not one of: {choices}")
        return value

    @property
    def seed(self):
        return int(self.get("measure.seed", 0))

    @property
    def device(self):
        name = self.get("device", "cpu")
        if name == "cuda" and not torch.cuda.is_available():
            raise Unsupported("this Python's torch sees no CUDA device")
        return torch.device(name)
