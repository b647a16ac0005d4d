"""What is wrong with the configuration."""

from __future__ import annotations


class ConfigurationError(Exception):
    """The configuration can't be used; `faults` holds one line for each error."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults
