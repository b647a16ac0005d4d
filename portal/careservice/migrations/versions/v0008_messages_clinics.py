"""Each message's clinic, so that a search reads only one clinic's messages."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0008"
down_revision = "v0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("messages", sa.Column("tenant_id", sa.String(length=36), nullable=True))
    op.execute(
        "UPDATE messages SET tenant_id ="
        " (SELECT tenant_id FROM conversations WHERE conversations.id = messages.conversation_id)"
    )
    op.create_index(op.f("ix_messages_tenant_id"), "messages", ["tenant_id"])
