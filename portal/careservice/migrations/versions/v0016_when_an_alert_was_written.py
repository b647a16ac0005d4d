"""When an alert was written, so that its relative words can be read. Alerts of before have no date."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0016"
down_revision = "v0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("alerts", sa.Column("creation_time", sa.DateTime(timezone=True), nullable=True))
