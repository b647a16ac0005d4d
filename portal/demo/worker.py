"""gunicorn's worker for the care service, which receives e-mail with attachments."""

from __future__ import annotations

from portal.server.worker import Worker


class LargeBodyWorker(Worker):
    """Accepts request bodies of at most 26 MB."""

    largest_body = 26 * 1024 * 1024
