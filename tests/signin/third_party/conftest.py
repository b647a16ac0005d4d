"""Third-party identity servers, fetched from their registries: collected only with CARE_TEST_FULL=1."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("CARE_TEST_FULL") == "1" else ["test_*.py"]
