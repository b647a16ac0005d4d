"""Which contact details of patients are confirmed, the codes that confirm them, and senders who aren't surely known.

A record's e-mail is confirmed if it is the verified one of the account bound to it. Nothing says so of a telephone
number: staff or the patient confirm it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0012"
down_revision = "v0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for column in ("email_verified", "phone_number_verified"):
        op.add_column("patients", sa.Column(column, sa.Boolean(), server_default=sa.false(), nullable=False))
    op.execute(
        "UPDATE patients SET email_verified = true WHERE EXISTS ("
        "SELECT 1 FROM people WHERE people.id = coalesce(patients.user_id, patients.id)"
        " AND people.tenant_id = patients.tenant_id AND people.email_verified"
        " AND lower(people.email) = lower(patients.email))"
    )
    op.add_column("conversations", sa.Column("stranger", sa.String(length=255), nullable=True))
    op.add_column("conversations", sa.Column("possible_sender_ids", sa.JSON(), nullable=True))
    op.create_index(op.f("ix_conversations_stranger"), "conversations", ["stranger"])
    op.create_table(
        "contact_codes",
        sa.Column("patient_id", sa.String(length=36), nullable=False),
        sa.Column("contact", sa.String(length=32), nullable=False),
        sa.Column("address", sa.String(length=255), nullable=False),
        sa.Column("code", sa.String(length=8), nullable=False),
        sa.Column("wrong", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["patient_id"], ["patients.id"], name=op.f("fk_contact_codes_patient_id_patients")
        ),
        sa.PrimaryKeyConstraint("patient_id", "contact", name=op.f("pk_contact_codes")),
    )
    op.create_index(op.f("ix_contact_codes_address"), "contact_codes", ["address"])
