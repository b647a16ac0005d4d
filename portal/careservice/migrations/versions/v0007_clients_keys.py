"""Clients' own keys, and the assertions that were signed with them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0007"
down_revision = "v0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("clients", sa.Column("jwks", sa.JSON(), nullable=True))
    op.create_table(
        "client_assertions",
        sa.Column("jti_hash", sa.String(length=64), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("jti_hash", name=op.f("pk_client_assertions")),
    )
    op.create_index(op.f("ix_client_assertions_expires_at"), "client_assertions", ["expires_at"])
