"""The first tables, as the models have them until the first release: `make released` then writes them out here."""

from __future__ import annotations

from alembic import op

from portal.careservice import database

revision = "v0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables of all models."""
    database.Base.metadata.create_all(op.get_bind())
