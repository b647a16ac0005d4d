"""Consent forms' embryos and dispositions, causes of holds, ends of storage, clinics' countries and time zones."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
from __future__ import annotations

import json
from collections import Counter
from typing import Any

import phonenumbers
import sqlalchemy as sa
from alembic import op

revision = "v0002"
down_revision = "v0001"
branch_labels = None
depends_on = None

_DISPOSITIONS = ("Undecided", "ContinueStorage", "Discard", "DonateResearch", "DonatePatient", "Transport")
_STATUSES = (
    *("Stored", "Reserved", "OnHold", "Thawed"),
    *("Transferred", "Discarded", "Donated", "ShippedOut"),
)


def upgrade() -> None:
    with op.batch_alter_table("tenants", schema=None) as batch_op:
        batch_op.add_column(sa.Column("country", sa.String(length=2), nullable=True))
        batch_op.add_column(
            sa.Column("time_zone", sa.String(length=64), server_default="UTC", nullable=False)
        )
    with op.batch_alter_table("consent_forms", schema=None) as batch_op:
        batch_op.add_column(sa.Column("embryo_storage_ids", sa.JSON(), nullable=True))
        batch_op.add_column(
            sa.Column(
                "disposition",
                sa.Enum(*_DISPOSITIONS, name="disposition", native_enum=False, length=32),
                nullable=True,
            )
        )
        batch_op.add_column(sa.Column("wish_taken_back_at", sa.DateTime(timezone=True), nullable=True))
    with op.batch_alter_table("embryo_storage", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column(
                "hold_cause",
                sa.Enum(
                    *("Clinic", "Withdrawal", "WishTakenBack"),
                    name="holdcause",
                    native_enum=False,
                    length=32,
                ),
                nullable=True,
            )
        )
        batch_op.add_column(sa.Column("stopped_at", sa.DateTime(timezone=True), nullable=True))
        batch_op.add_column(sa.Column("thaw_form_id", sa.String(length=36), nullable=True))
    op.create_table(
        "storage_ends",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("embryo_id", sa.String(length=36), nullable=False),
        sa.Column(
            "status",
            sa.Enum(*_STATUSES, name="embryostatus", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column(
            "reason",
            sa.Enum(
                *("limit-passed", "death", "court-order"), name="endreason", native_enum=False, length=32
            ),
            nullable=False,
        ),
        sa.Column("explanation", sa.String(), nullable=False),
        sa.Column("first_name", sa.String(), nullable=False),
        sa.Column("second_name", sa.String(), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["embryo_id"],
            ["embryo_storage.id"],
            name=op.f("fk_storage_ends_embryo_id_embryo_storage"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_storage_ends")),
    )
    with op.batch_alter_table("storage_ends", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_storage_ends_embryo_id"), ["embryo_id"], unique=False)
    connection = op.get_bind()
    _set_hold_causes(connection)
    _locate_clinics(connection)
    _normalize_numbers(connection)


def downgrade() -> None:
    op.drop_table("storage_ends")
    with op.batch_alter_table("embryo_storage", schema=None) as batch_op:
        for name in ("thaw_form_id", "stopped_at", "hold_cause"):
            batch_op.drop_column(name)
    with op.batch_alter_table("consent_forms", schema=None) as batch_op:
        for name in ("wish_taken_back_at", "disposition", "embryo_storage_ids"):
            batch_op.drop_column(name)
    with op.batch_alter_table("tenants", schema=None) as batch_op:
        for name in ("time_zone", "country"):
            batch_op.drop_column(name)


def _set_hold_causes(connection: sa.Connection) -> None:
    """Until now the service wrote only one reason, that of a withdrawal; every other hold is the clinic's."""
    connection.execute(
        sa.text(
            "UPDATE embryo_storage SET"
            " hold_cause = CASE WHEN hold_reason = 'Consent withdrawn' THEN 'Withdrawal' ELSE 'Clinic' END,"
            " stopped_at = CASE WHEN hold_reason = 'Consent withdrawn'"
            " THEN COALESCE(last_modification_time, creation_time) END"
            " WHERE status = 'OnHold'"
        )
    )


def _locate_clinics(connection: sa.Connection) -> None:
    """Set each clinic's time zone and country to the commonest among its physicians and its patients' addresses."""
    zones: dict[str, Counter[str]] = {}
    for tenant_id, zone in connection.execute(sa.text("SELECT tenant_id, time_zone FROM physicians")):
        zones.setdefault(tenant_id, Counter())[zone] += 1
    countries: dict[str, Counter[str]] = {}
    for tenant_id, address in connection.execute(sa.text("SELECT tenant_id, address FROM patients")):
        country = str((_decoded(address) or {}).get("country", "")).upper()
        if country in phonenumbers.SUPPORTED_REGIONS:
            countries.setdefault(tenant_id, Counter())[country] += 1
    for tenant_id in connection.scalars(sa.text("SELECT id FROM tenants")).all():
        for column, found in (("time_zone", zones.get(tenant_id)), ("country", countries.get(tenant_id))):
            if found:
                connection.execute(
                    sa.text(f"UPDATE tenants SET {column} = :value WHERE id = :id"),  # noqa: S608 - ours
                    {"value": found.most_common(1)[0][0], "id": tenant_id},
                )


def _normalize_numbers(connection: sa.Connection) -> None:
    """Convert telephone numbers to E.164; what can't be parsed stays unchanged."""
    country_of = dict(connection.execute(sa.text("SELECT id, country FROM tenants")).all())  # pyright: ignore[reportCallIssue]
    for table in ("patients", "prospects"):
        rows = connection.execute(
            sa.text(f"SELECT id, tenant_id, phone_number FROM {table} WHERE phone_number IS NOT NULL")  # noqa: S608
        ).all()
        changed = [
            {"number": number, "id": record_id}
            for record_id, tenant_id, given in rows
            if (number := _e164(given, country_of.get(tenant_id))) != given
        ]
        if changed:
            connection.execute(
                sa.text(f"UPDATE {table} SET phone_number = :number WHERE id = :id"),  # noqa: S608
                changed,
            )
    contacts = sa.table("patients", sa.column("id"), sa.column("emergency_contact", sa.JSON))
    rows = connection.execute(sa.text("SELECT id, tenant_id, emergency_contact FROM patients")).all()
    for record_id, tenant_id, kept in rows:
        contact = _decoded(kept)
        if not contact:
            continue
        number = _e164(contact["phoneNumber"], country_of.get(tenant_id))
        if number != contact["phoneNumber"]:
            connection.execute(
                contacts.update()
                .where(contacts.c.id == record_id)
                .values(emergency_contact=contact | {"phoneNumber": number})
            )


def _decoded(kept: Any) -> Any:
    return json.loads(kept) if isinstance(kept, str) else kept


def _e164(given: str, country: str | None) -> str:
    try:
        number = phonenumbers.parse(given, country)
    except phonenumbers.NumberParseException:
        return given
    if number.extension or not phonenumbers.is_possible_number(number):
        return given
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
