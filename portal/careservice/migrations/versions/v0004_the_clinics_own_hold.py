"""The clinic's own hold of an embryo, preserved while the patient's side holds it as well.

Columns are added one by one, not in a batch, as in v0003. Clinics' holds that were replaced earlier are unknown.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0004"
down_revision = "v0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "embryo_storage",
        sa.Column("held_by_clinic", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    op.add_column("embryo_storage", sa.Column("clinic_hold_reason", sa.String(), nullable=True))
