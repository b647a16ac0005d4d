"""Authorization requests that wait for a sign-in, counted by the browser's network."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0010"
down_revision = "v0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("authorization_requests", sa.Column("network", sa.String(length=64), nullable=True))
    op.create_index(op.f("ix_authorization_requests_network"), "authorization_requests", ["network"])
