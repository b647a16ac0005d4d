"""Rewrites the documents that are generated from code: `make documents`.

Those that follow every field and endpoint are brought up to date for a release: `make release` refuses to make one while any
differs from the code. A test compares the others, who may open and change what among them, with what is committed
(`tests/tools/test_generated_documents.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from portal.connect import needs
from portal.connect.dialects import documents as dialects
from tools import access, configuration, coverage_table, evidence, metrics
from tools.definitions import ROOT

AT_RELEASE: Mapping[str, Callable[[], str]] = {
    "docs/api-needs.md": lambda: needs.page() + "\n",
    "portal/services/README.md": coverage_table.written,
}
WITH_EACH_CHANGE: Mapping[str, Callable[[], str]] = {
    "docs/configuration.md": configuration.written,
    "docs/dialects.md": lambda: dialects.page((ROOT / "docs/dialects.md").read_text(encoding="utf-8")),
    "docs/metrics.md": metrics.written,
    "tests/ACCESS.md": lambda: access.table(coverage_table.application()),
    "tests/ASVS.md": evidence.table,
}
DOCUMENTS = {**AT_RELEASE, **WITH_EACH_CHANGE}
"""What each document says."""


def outdated(documents: Mapping[str, Callable[[], str]]) -> list[str]:
    """Return the documents that say something else than the code."""
    return [
        name for name, written in documents.items() if (ROOT / name).read_text(encoding="utf-8") != written()
    ]


def main() -> int:
    """Write all documents; with `--check`, only say which are out of date."""
    if sys.argv[1:] == ["--check"]:
        found = outdated(DOCUMENTS)
        for name in found:
            print(f"{name} isn't what the code says: run `make documents` and commit it.", file=sys.stderr)
        return 1 if found else 0
    for name, written in DOCUMENTS.items():
        (ROOT / name).write_text(written(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
