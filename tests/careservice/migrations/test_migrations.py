"""The schema, migrated step by step from an empty database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Engine, MetaData, inspect, select, text
from sqlalchemy.orm import Session

from portal.careservice import database, migrations
from portal.careservice.domain.consents.forms import ConsentForm
from portal.careservice.domain.documents import File
from portal.careservice.domain.embryos import EmbryoStorage, HoldCause
from portal.careservice.domain.enumerations import Disposition, EmbryoStatus
from portal.careservice.domain.patients import Patient
from portal.careservice.domain.prospects import Prospect
from portal.careservice.domain.protocols import FertilityProtocol
from portal.careservice.identity.tables import Person, RefreshToken, Tenant
from tests.support.postgres import database_url


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = database.connect(database_url(tmp_path / "care.db"))
    yield made
    made.dispose()


def test_the_migrations_create_the_schema_of_the_models(engine: Engine) -> None:
    migrations.upgrade(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, database.Base.metadata) == []


def test_a_second_start_changes_nothing(engine: Engine) -> None:
    migrations.upgrade(engine)
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO tenants (id, name, display_name, accent) VALUES ('1', 'x', 'X', '#000000')")
        )
    migrations.upgrade(engine)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM tenants")) == 1
        assert connection.scalar(text("SELECT count(*) FROM alembic_version")) == 1


def test_foreign_tables_are_left_alone(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE tenants (id INTEGER)"))
    with pytest.raises(migrations.OlderDatabase):
        migrations.upgrade(engine)
    with engine.connect() as connection:
        assert inspect(connection).get_table_names() == ["tenants"]


MOMENT = datetime(2026, 3, 4, 12, tzinfo=UTC)
MEDICINE = {"id": None, "drug": "d", "dose": 1.5, "unit": "IU", "route": "Oral", "startDay": 1, "time": None}
AUDIT: dict[str, Any] = {"creation_time": MOMENT, "concurrency_stamp": "s"}


def fill_the_first_version(engine: Engine) -> None:
    """Two clinics as a database of the first version keeps them."""
    migrations.upgrade(engine, "v0001")
    tables = MetaData()
    tables.reflect(engine)

    def add(table: str, **values: Any) -> None:
        connection.execute(tables.tables[table].insert().values(**values))

    with engine.begin() as connection:
        for name in ("river", "nowhere"):
            add("tenants", id=name, name=name, display_name=name, accent="#000000")
        add(
            "physicians", id="d", tenant_id="river", name="Dr", title="T", specialty="S",
            time_zone="Europe/London", is_active=True, working_hours=[],
        )  # fmt: skip
        for tenant, number in (("river", "07700 900182"), ("nowhere", "07700 900183")):
            add(
                "patients", id=f"p-{tenant}", tenant_id=tenant, mrn="1", first_name="A", last_name="B",
                date_of_birth=date(1990, 1, 1), phone_number=number, language="en", preferred_channel="Email",
                is_active=True, kept_by_emr=False,
                address={"line1": "1", "city": "C", "postalCode": "P", "country": "GB"}
                if tenant == "river"
                else None,
                emergency_contact={"name": "N", "phoneNumber": "(07700) 900 199", "relation": "R"}, **AUDIT,
            )  # fmt: skip
        for prospect, number in (("known", "+44 7700 900411"), ("odd", "ask for Ines")):
            add(
                "prospects", id=prospect, tenant_id="river", first_name="I", last_name="G", phone_number=number,
                source="Phone", status="New", **AUDIT,
            )  # fmt: skip
        add(
            "consent_forms", id="f", tenant_id="river", patient_id="p-river", title="T", kind="Disposition",
            version="1", status="Signed", body=[], statements=[], signing_order="Any",
            content_hash="0" * 64, **AUDIT,
        )  # fmt: skip
        add(
            "protocols", id="plan", tenant_id="river", name="P", type="Ppos", status="Active", monitoring=[],
            medications=[
                {**MEDICINE, "drugClass": "Gonadotropin"},
                {**MEDICINE, "drugClass": "hCG Trigger", "time": "21:00"},
            ], **AUDIT,
        )  # fmt: skip
        for code, reason, changed in (
            ("withdrawn", "Consent withdrawn", MOMENT.replace(day=9)),
            ("clinic", "Repeat biopsy", None),
            ("free", None, None),
        ):
            add(
                "embryo_storage", id=code, tenant_id="river", patient_id="p-river", episode_id="e",
                embryo_code=code, day=5, grade="4AA", grading_system="G", cryopreserved_at=MOMENT, method="V",
                status="OnHold" if reason else "Stored", hold_reason=reason, disposition="Discard",
                last_modification_time=changed, **AUDIT,
            )  # fmt: skip


def test_a_database_of_the_first_version_keeps_its_records(engine: Engine) -> None:
    fill_the_first_version(engine)
    migrations.upgrade(engine)
    with Session(engine) as session:
        places = {tenant.id: (tenant.country, tenant.time_zone) for tenant in session.scalars(select(Tenant))}
        assert places == {"river": ("GB", "Europe/London"), "nowhere": (None, "UTC")}
        known, unknown = session.get_one(Patient, "p-river"), session.get_one(Patient, "p-nowhere")
        assert (known.phone_number, unknown.phone_number) == ("+447700900182", "07700 900183")
        assert known.emergency_contact and known.emergency_contact.phone_number == "+447700900199"
        assert unknown.emergency_contact and unknown.emergency_contact.phone_number == "(07700) 900 199"
        numbers = {one.id: one.phone_number for one in session.scalars(select(Prospect))}
        assert numbers == {"known": "+447700900411", "odd": "ask for Ines"}
        form = session.get_one(ConsentForm, "f")
        assert (form.embryo_storage_ids, form.disposition, form.wish_taken_back_at) == (None, None, None)
        holds = {one.id: (one.hold_cause, one.stopped_at) for one in session.scalars(select(EmbryoStorage))}
        assert holds == {
            "withdrawn": (HoldCause.WITHDRAWAL, MOMENT.replace(day=9)),
            "clinic": (HoldCause.CLINIC, None),
            "free": (None, None),
        }
        medicines = session.get_one(FertilityProtocol, "plan").medications
        assert [(one.is_trigger, one.times, one.every_days, one.dose) for one in medicines] == [
            (False, [], 1, 1.5),
            (True, ["21:00"], 1, 1.5),
        ]
        kept = session.get_one(EmbryoStorage, "free")
        assert (kept.status, kept.disposition) == (EmbryoStatus.STORED, Disposition.DISCARD)


def to_version(engine: Engine, version: str) -> None:
    config = Config()
    config.set_main_option("script_location", Path(migrations.__file__).parent.as_posix())
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, version)


OF_BEFORE = (
    "INSERT INTO tenants (id, name, display_name, accent) VALUES ('t', 'x', 'X', '#000000')",
    "INSERT INTO people (id, tenant_id, username, password_hash, given_name, family_name, email, locale, roles,"
    " is_active) VALUES ('p', 't', 'a', '-', 'A', 'B', 'a@x.example', 'en', '[\"patient\"]', true)",
    "INSERT INTO files (id, tenant_id, name, media_type, size, sha256, creation_time)"
    " VALUES ('f', 't', 'Report.pdf', 'application/pdf', 1, '-', '2026-01-01 00:00:00+00:00')",
    "INSERT INTO clients (client_id, name, tenant_id, secret_hash, grant_types, scopes, redirect_uris,"
    " post_logout_redirect_uris) VALUES ('c', 'C', 't', '', '[]', '[]', '[]', '[]')",
    "INSERT INTO grants (id, client_id, person_id, sid, scope, ends_at)"
    " VALUES ('g', 'c', 'p', 's', 'openid', '2026-01-01 00:00:00+00:00')",
    "INSERT INTO refresh_tokens (token_hash, grant_id, issued_at, expires_at)"
    " VALUES ('r', 'g', '2026-01-01 00:00:00+00:00', '2026-01-01 00:00:00+00:00')",
)


def test_existing_people_files_and_sign_ins_get_the_safe_default(engine: Engine) -> None:
    to_version(engine, "v0001")
    with engine.begin() as connection:
        for statement in OF_BEFORE:
            connection.execute(text(statement))
    migrations.upgrade(engine)
    with database.new_session(engine) as session:
        kept = session.get_one(RefreshToken, "r")
        assert kept.grant.auth_time is None, (
            "the time is unknown, so acts that need a fresh sign-in are refused"
        )
        assert session.get_one(Person, "p").email_verified is False
        assert session.get_one(File, "f").is_patient_copy is False
