"""Rewrites the documents that are generated from code: `make documents`.

A test compares each with what is committed (`tests/tools/test_generated_documents.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from portal.connect import needs
from portal.connect.dialects import documents as dialects
from tools import access, configuration, coverage_table, evidence
from tools.definitions import ROOT

DOCUMENTS: Mapping[str, Callable[[], str]] = {
    "docs/api-needs.md": lambda: needs.page() + "\n",
    "docs/configuration.md": configuration.written,
    "docs/dialects.md": lambda: dialects.page((ROOT / "docs/dialects.md").read_text(encoding="utf-8")),
    "docs/contract/portal-needs.json": lambda: (
        json.dumps(needs.document(), indent=2, ensure_ascii=False) + "\n"
    ),
    "portal/services/README.md": coverage_table.written,
    "tests/ACCESS.md": lambda: access.table(coverage_table.application()),
    "tests/ASVS.md": evidence.table,
}
"""What each document says."""


if __name__ == "__main__":
    for name, written in DOCUMENTS.items():
        (ROOT / name).write_text(written(), encoding="utf-8")
