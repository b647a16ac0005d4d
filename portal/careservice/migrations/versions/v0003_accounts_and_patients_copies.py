"""When a person signed in, kept with what the sign-in gave."""

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
