"""Updates the pinned dependencies of pyproject.toml, with hashes and without index URLs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_OPTIONS = (
    *("--universal", "--python-version", "3.11", "--generate-hashes", "--upgrade", "--quiet"),
    *("--no-emit-index-url", "--no-emit-find-links", "--no-annotate", "--no-header"),
)
_SETS = {
    "portal": (),
    "tracing": ("--extra", "tracing"),
    "demo": ("--extra", "careservice"),
    "dev": ("--extra", "careservice", "--extra", "tracing", "--group", "dev"),
}


def main() -> int:
    for name, options in _SETS.items():
        command = [str(ROOT / ".venv/bin/uv"), "pip", "compile", "pyproject.toml", *options, *_OPTIONS]
        subprocess.run([*command, "-o", f"requirements/{name}.txt"], cwd=ROOT, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
