"""Browsers with their own budget for wrong passwords, and failures counted by clinic and browser."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0005"
down_revision = "v0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "known_browsers",
        sa.Column("cookie_hash", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["person_id"], ["people.id"], name=op.f("fk_known_browsers_person_id_people")
        ),
        sa.PrimaryKeyConstraint("cookie_hash", "person_id", name=op.f("pk_known_browsers")),
    )
    op.create_index(op.f("ix_known_browsers_expires_at"), "known_browsers", ["expires_at"])
    op.add_column("failed_sign_ins", sa.Column("tenant_id", sa.String(length=36), nullable=True))
    op.add_column("failed_sign_ins", sa.Column("browser", sa.String(length=64), nullable=True))
    op.create_index(op.f("ix_failed_sign_ins_address"), "failed_sign_ins", ["address"])
