"""When a person signed in, who may be bound to a record, and which reports were written for patients."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0003"
down_revision = "v0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("grants") as grants:
        grants.add_column(sa.Column("auth_time", sa.DateTime(timezone=True), nullable=True))
    with op.batch_alter_table("files") as files:
        files.add_column(
            sa.Column("is_patient_copy", sa.Boolean(), server_default=sa.false(), nullable=False)
        )
