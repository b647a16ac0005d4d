"""Whether an e-mail's sender was verified; unknown for earlier ones."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0006"
down_revision = "v0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("messages", sa.Column("sender_verified", sa.Boolean(), nullable=True))
