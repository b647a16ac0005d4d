"""Who recorded a withdrawal for whom, the form behind an embryo's final status, and treatments that were stopped."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0011"
down_revision = "v0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("consent_forms", sa.Column("revoked_by_name", sa.String(), nullable=True))
    op.add_column("consent_forms", sa.Column("on_behalf_of", sa.String(length=36), nullable=True))
    op.add_column("consent_forms", sa.Column("told_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("consent_forms", sa.Column("told_by", sa.String(length=32), nullable=True))
    op.add_column("embryo_storage", sa.Column("end_form_id", sa.String(length=36), nullable=True))
    op.add_column("episodes", sa.Column("stopped_at", sa.DateTime(timezone=True), nullable=True))
