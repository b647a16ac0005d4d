"""Third-party identity servers, fetched from their registries: collected only with CARE_TEST_FULL=1."""

from __future__ import annotations

from tests.support.full import FULL

collect_ignore_glob = [] if FULL else ["test_*.py"]
