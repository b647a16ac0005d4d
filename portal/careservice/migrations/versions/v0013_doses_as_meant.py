"""Triggers marked as such, the hours of a day as a list, and each hormone's unit."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0013"
down_revision = "v0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("monitoring", sa.Column("units", sa.JSON(none_as_null=True), nullable=True))
    connection = op.get_bind()
    monitoring = sa.table("monitoring", sa.column("id"), sa.column("unit"), sa.column("units", sa.JSON()))
    units = connection.scalars(sa.select(monitoring.c.unit).where(monitoring.c.unit != "").distinct()).all()
    for unit in units:
        connection.execute(sa.update(monitoring).where(monitoring.c.unit == unit).values(units={"e2": unit}))
    protocols = sa.table("protocols", sa.column("id"), sa.column("medications", sa.JSON()))
    for id_, medications in connection.execute(sa.select(protocols.c.id, protocols.c.medications)).all():
        connection.execute(
            sa.update(protocols)
            .where(protocols.c.id == id_)
            .values(medications=[_completed(medication) for medication in medications])
        )


def _completed(medication: dict[str, object]) -> dict[str, object]:
    time = medication.get("time")
    return {
        **medication,
        "isTrigger": "trigger" in str(medication.get("drugClass", "")).casefold(),
        "times": [time] if time else [],
    }
