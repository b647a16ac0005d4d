"""Runs the drills of docs/runbook.md: each is a test that breaks the running program. `python -m tools.drills [NAME…]`."""

from __future__ import annotations

import re
import subprocess
import sys

from tools.definitions import ROOT

_ROW = re.compile(r"^\| `(\w+)` \| .* \| \[([^\]]+)\]\(\.\./([^)]+)\) \| (.*) \|$", re.MULTILINE)


def drills() -> dict[str, tuple[str, str]]:
    """Return each drill's test, as pytest names it, and the alerts that it fires."""
    text = (ROOT / "docs/runbook.md").read_text(encoding="utf-8")
    return {
        name: (f"{file}::test_{words.replace(' ', '_')}", alerts)
        for name, words, file, alerts in _ROW.findall(text)
    }


def main(names: list[str]) -> int:
    """Run these drills, or all; return 2 for one that isn't known."""
    known = drills()
    if unknown := sorted({*names} - {*known}):
        print(f"There is no drill {', '.join(unknown)}: {', '.join(known)}", file=sys.stderr)
        return 2
    tests = [known[name][0] for name in names or known]
    return subprocess.run([sys.executable, "-m", "pytest", "-v", *tests], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
