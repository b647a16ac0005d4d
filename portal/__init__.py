"""The portal. `VERSION` is the release's, as in pyproject.toml."""

VERSION = "0.1.0"
