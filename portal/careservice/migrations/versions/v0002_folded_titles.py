"""Titles as they are searched for, and where a waiting sign-in comes from, which may be a browser as well as a network."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from portal.careservice.domain.folding import folded

revision = "v0002"
down_revision = "v0001"
branch_labels = None
depends_on = None

_FOLDED = {
    "consent_forms": ("folded_title", "title", "kind"),
    "conversations": ("folded_subject", "subject"),
    "notifications": ("folded_text", "title", "body"),
    "protocols": ("folded_name", "name"),
}
"""By table: the new column, and those of which it holds the words."""


def upgrade() -> None:
    for name, (column, *sources) in _FOLDED.items():
        with op.batch_alter_table(name) as batch_op:
            batch_op.add_column(sa.Column(column, sa.String(), nullable=False, server_default=""))
        _fill(name, column, sources)
        with op.batch_alter_table(name) as batch_op:
            batch_op.alter_column(column, server_default=None)
    _fill("physicians", "folded_name", ("name", "specialty", "location_name"))
    with op.batch_alter_table("authorization_requests") as batch_op:
        batch_op.drop_index(batch_op.f("ix_authorization_requests_network"))
        batch_op.alter_column("network", new_column_name="place")
    with op.batch_alter_table("authorization_requests") as batch_op:
        batch_op.create_index(batch_op.f("ix_authorization_requests_place"), ["place"], unique=False)


def _fill(name: str, column: str, sources: Sequence[str]) -> None:
    table = sa.table(name, *map(sa.column, ("id", column, *sources)))
    connection = op.get_bind()
    for id_, *words in connection.execute(sa.select(table.c.id, *(table.c[one] for one in sources))).all():
        text = folded(" ".join(word or "" for word in words))
        connection.execute(table.update().where(table.c.id == id_).values({column: text}))
