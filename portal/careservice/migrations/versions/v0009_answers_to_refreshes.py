"""What a refresh token was answered with, so that its second use in the grace period gets the same answer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0009"
down_revision = "v0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("refresh_tokens", sa.Column("sealed_answer", sa.Text(), nullable=True))
