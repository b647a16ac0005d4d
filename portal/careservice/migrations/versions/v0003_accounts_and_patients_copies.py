"""When a person signed in, who may be bound to a record, and which reports are patients' own copies.

Columns are added one by one, not in a batch: that would recreate SQLite's tables, and dropping the old ones would
either delete the rows that refer to them or fail because of these.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0003"
down_revision = "v0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("grants", sa.Column("auth_time", sa.DateTime(timezone=True), nullable=True))
    op.add_column("patients", sa.Column("email_changed_by_id", sa.String(length=36), nullable=True))
    for table, name in (("people", "email_verified"), ("files", "is_patient_copy")):
        op.add_column(table, sa.Column(name, sa.Boolean(), server_default=sa.false(), nullable=False))
