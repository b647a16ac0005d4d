"""The first tables."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "clinic_policies",
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("discloses_sex", sa.Boolean(), nullable=False),
        sa.Column("modules_off", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_clinic_policies")),
    )
    op.create_table(
        "emr_endpoints",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("is_syncing", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_emr_endpoints")),
    )
    op.create_table(
        "failed_sign_ins",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("username", sa.String(length=64), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_failed_sign_ins")),
    )
    with op.batch_alter_table("failed_sign_ins", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_failed_sign_ins_at"), ["at"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_failed_sign_ins_username"), ["username", "address"], unique=False
        )

    op.create_table(
        "inbound_addresses",
        sa.Column(
            "kind",
            sa.Enum("Sms", "Email", "Payment", name="addresskind", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column("address", sa.String(length=254), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.PrimaryKeyConstraint("kind", "address", name=op.f("pk_inbound_addresses")),
    )
    with op.batch_alter_table("inbound_addresses", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_inbound_addresses_tenant_id"), ["tenant_id"], unique=False)

    op.create_table(
        "kept_answers",
        sa.Column("owner", sa.String(length=160), nullable=False),
        sa.Column("method", sa.String(length=8), nullable=False),
        sa.Column("path", sa.String(length=400), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("body_hash", sa.String(length=64), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
        sa.Column("kept_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("owner", "method", "path", "key", name=op.f("pk_kept_answers")),
    )
    with op.batch_alter_table("kept_answers", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_kept_answers_kept_at"), ["kept_at"], unique=False)

    op.create_table(
        "notification_settings",
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("items", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("quiet_hours", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("language", sa.String(), nullable=True),
        sa.Column("creation_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("creator_id", sa.String(length=36), nullable=True),
        sa.Column("last_modification_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_modifier_id", sa.String(length=36), nullable=True),
        sa.Column("concurrency_stamp", sa.String(length=36), nullable=False),
        sa.PrimaryKeyConstraint("person_id", name=op.f("pk_notification_settings")),
    )
    op.create_table(
        "notifications",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column(
            "severity",
            sa.Enum("Info", "Success", "Warning", "Urgent", name="severity", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column("is_read", sa.Boolean(), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("entity_type", sa.String(), nullable=True),
        sa.Column("entity_id", sa.String(length=36), nullable=True),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("creation_time", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notifications")),
    )
    with op.batch_alter_table("notifications", schema=None) as batch_op:
        batch_op.create_index(
            "ix_notifications_recipient", ["tenant_id", "person_id", "creation_time"], unique=False
        )

    op.create_table(
        "patients",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=True),
        sa.Column("mrn", sa.String(), nullable=False),
        sa.Column("first_name", sa.String(), nullable=False),
        sa.Column("last_name", sa.String(), nullable=False),
        sa.Column("preferred_name", sa.String(), nullable=True),
        sa.Column("date_of_birth", sa.Date(), nullable=False),
        sa.Column("email", sa.String(), nullable=True),
        sa.Column("phone_number", sa.String(), nullable=True),
        sa.Column("address", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column(
            "preferred_channel",
            sa.Enum("Portal", "Email", "Sms", "Phone", name="channel", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column("emergency_contact", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("kept_by_emr", sa.Boolean(), nullable=False),
        sa.Column("creation_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("creator_id", sa.String(length=36), nullable=True),
        sa.Column("last_modification_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_modifier_id", sa.String(length=36), nullable=True),
        sa.Column("concurrency_stamp", sa.String(length=36), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_patients")),
    )
    with op.batch_alter_table("patients", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_patients_tenant_id"), ["tenant_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_patients_user_id"), ["user_id"], unique=False)

    op.create_table(
        "payments",
        sa.Column("id", sa.String(length=200), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("amount", sa.Integer(), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("succeeded", sa.Boolean(), nullable=False),
        sa.Column("told_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", "tenant_id", name=op.f("pk_payments")),
    )
    op.create_table(
        "physicians",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("person_id", sa.String(length=36), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("specialty", sa.String(), nullable=False),
        sa.Column("location_id", sa.String(length=36), nullable=True),
        sa.Column("location_name", sa.String(), nullable=True),
        sa.Column("time_zone", sa.String(), nullable=False),
        sa.Column("color", sa.String(), nullable=True),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("working_hours", sa.JSON(none_as_null=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_physicians")),
    )
    with op.batch_alter_table("physicians", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_physicians_tenant_id"), ["tenant_id"], unique=False)

    op.create_table(
        "revoked_tokens",
        sa.Column("jti", sa.String(length=36), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("jti", name=op.f("pk_revoked_tokens")),
    )
    with op.batch_alter_table("revoked_tokens", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_revoked_tokens_expires_at"), ["expires_at"], unique=False)

    op.create_table(
        "signing_keys",
        sa.Column("kid", sa.String(), nullable=False),
        sa.Column("private_pem", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("retires_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("kid", name=op.f("pk_signing_keys")),
    )
    op.create_table(
        "tenants",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("display_name", sa.String(), nullable=False),
        sa.Column("accent", sa.String(length=7), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tenants")),
        sa.UniqueConstraint("name", name=op.f("uq_tenants_name")),
    )
    op.create_table(
        "webhook_deliveries",
        sa.Column("webhook_id", sa.String(length=200), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("webhook_id", name=op.f("pk_webhook_deliveries")),
    )
    with op.batch_alter_table("webhook_deliveries", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_webhook_deliveries_received_at"), ["received_at"], unique=False)

    op.create_table(
        "busy_times",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("physician_id", sa.String(length=36), nullable=False),
        sa.Column("start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("end", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["physician_id"], ["physicians.id"], name=op.f("fk_busy_times_physician_id_physicians")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_busy_times")),
    )
    with op.batch_alter_table("busy_times", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_busy_times_physician_id"), ["physician_id"], unique=False)

    op.create_table(
        "cases",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("case_number", sa.String(), nullable=False),
        sa.Column("patient_id", sa.String(length=36), nullable=False),
        sa.Column("partner_id", sa.String(length=36), nullable=True),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column(
            "treatment_type",
            sa.Enum(
                "Antagonist",
                "LongAgonist",
                "ShortFlare",
                "Ppos",
                "MildStimulation",
                "NaturalCycle",
                "FetNatural",
                "FetMedicated",
                "Iui",
                "EggFreezing",
                "DonorCycle",
                name="protocoltype",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column(
            "status",
            sa.Enum(
                "Planned",
                "Waitlist",
                "Active",
                "OnHold",
                "Finished",
                "Cancelled",
                "EnteredInError",
                name="carestatus",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("physician_id", sa.String(length=36), nullable=True),
        sa.Column("coordinator_id", sa.String(length=36), nullable=True),
        sa.Column("diagnosis", sa.String(), nullable=True),
        sa.Column("notes", sa.String(), nullable=True),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("closed_reason", sa.String(), nullable=True),
        sa.Column("creation_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("creator_id", sa.String(length=36), nullable=True),
        sa.Column("last_modification_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_modifier_id", sa.String(length=36), nullable=True),
        sa.Column("concurrency_stamp", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(["partner_id"], ["patients.id"], name=op.f("fk_cases_partner_id_patients")),
        sa.ForeignKeyConstraint(["patient_id"], ["patients.id"], name=op.f("fk_cases_patient_id_patients")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cases")),
    )
    with op.batch_alter_table("cases", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_cases_patient_id"), ["patient_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_cases_tenant_id"), ["tenant_id"], unique=False)

    op.create_table(
        "clients",
        sa.Column("client_id", sa.String(length=128), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("secret_hash", sa.String(length=64), nullable=False),
        sa.Column("grant_types", sa.JSON(), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("redirect_uris", sa.JSON(), nullable=False),
        sa.Column("post_logout_redirect_uris", sa.JSON(), nullable=False),
        sa.Column("backchannel_logout_uri", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_clients_tenant_id_tenants")),
        sa.PrimaryKeyConstraint("client_id", name=op.f("pk_clients")),
    )
    op.create_table(
        "consent_forms",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("patient_id", sa.String(length=36), nullable=False),
        sa.Column("partner_id", sa.String(length=36), nullable=True),
        sa.Column("case_id", sa.String(length=36), nullable=True),
        sa.Column("episode_id", sa.String(length=36), nullable=True),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column(
            "status",
            sa.Enum(
                "Draft",
                "Pending",
                "PartiallySigned",
                "Signed",
                "Revoked",
                "Expired",
                "Superseded",
                name="consentstatus",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("body", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("statements", sa.JSON(none_as_null=True), nullable=False),
        sa.Column(
            "signing_order",
            sa.Enum("Any", "Sequential", name="signingorder", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column("content_hash", sa.String(length=64), nullable=False),
        sa.Column("file_id", sa.String(length=36), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("effective_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoke_reason", sa.String(), nullable=True),
        sa.Column("revoked_by_id", sa.String(length=36), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("supersedes_id", sa.String(length=36), nullable=True),
        sa.Column("superseded_by_id", sa.String(length=36), nullable=True),
        sa.Column("procedure_date", sa.Date(), nullable=True),
        sa.Column("creation_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("creator_id", sa.String(length=36), nullable=True),
        sa.Column("last_modification_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_modifier_id", sa.String(length=36), nullable=True),
        sa.Column("concurrency_stamp", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(
            ["partner_id"], ["patients.id"], name=op.f("fk_consent_forms_partner_id_patients")
        ),
        sa.ForeignKeyConstraint(
            ["patient_id"], ["patients.id"], name=op.f("fk_consent_forms_patient_id_patients")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_consent_forms")),
    )
    with op.batch_alter_table("consent_forms", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_consent_forms_case_id"), ["case_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_consent_forms_episode_id"), ["episode_id"], unique=False)
        batch_op.create_index("ix_consent_forms_list", ["tenant_id", "creation_time"], unique=False)
        batch_op.create_index(batch_op.f("ix_consent_forms_partner_id"), ["partner_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_consent_forms_patient_id"), ["patient_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_consent_forms_procedure_date"), ["procedure_date"], unique=False)

    op.create_table(
        "conversations",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("patient_id", sa.String(length=36), nullable=True),
        sa.Column("prospect_id", sa.String(length=36), nullable=True),
        sa.Column("episode_id", sa.String(length=36), nullable=True),
        sa.Column(
            "channel",
            sa.Enum("Portal", "Email", "Sms", "Phone", name="channel", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column("reply_email", sa.String(), nullable=True),
        sa.Column("reply_sms", sa.String(), nullable=True),
        sa.Column("last_message_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["patient_id"], ["patients.id"], name=op.f("fk_conversations_patient_id_patients")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversations")),
    )
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_conversations_episode_id"), ["episode_id"], unique=False)
        batch_op.create_index("ix_conversations_list", ["tenant_id", "last_message_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_conversations_patient_id"), ["patient_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_conversations_prospect_id"), ["prospect_id"], unique=False)

    op.create_table(
        "embryo_storage",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("patient_id", sa.String(length=36), nullable=False),
        sa.Column("episode_id", sa.String(length=36), nullable=False),
        sa.Column("embryo_code", sa.String(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("grade", sa.String(), nullable=False),
        sa.Column("grading_system", sa.String(), nullable=False),
        sa.Column("cryopreserved_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("method", sa.String(), nullable=False),
        sa.Column(
            "status",
            sa.Enum(
                "Stored",
                "Reserved",
                "OnHold",
                "Thawed",
                "Transferred",
                "Discarded",
                "Donated",
                "ShippedOut",
                name="embryostatus",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("location", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("hold_reason", sa.String(), nullable=True),
        sa.Column("pgt_result_id", sa.String(length=36), nullable=True),
        sa.Column("consent_form_id", sa.String(length=36), nullable=True),
        sa.Column("storage_consented_until", sa.Date(), nullable=True),
        sa.Column("storage_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("statutory_limit", sa.Date(), nullable=True),
        sa.Column(
            "disposition",
            sa.Enum(
                "Undecided",
                "ContinueStorage",
                "Discard",
                "DonateResearch",
                "DonatePatient",
                "Transport",
                name="disposition",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("notes", sa.String(), nullable=True),
        sa.Column("creation_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("creator_id", sa.String(length=36), nullable=True),
        sa.Column("last_modification_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_modifier_id", sa.String(length=36), nullable=True),
        sa.Column("concurrency_stamp", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(
            ["patient_id"], ["patients.id"], name=op.f("fk_embryo_storage_patient_id_patients")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_embryo_storage")),
    )
    with op.batch_alter_table("embryo_storage", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_embryo_storage_consent_form_id"), ["consent_form_id"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_embryo_storage_episode_id"), ["episode_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_embryo_storage_patient_id"), ["patient_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_embryo_storage_tenant_id"), ["tenant_id"], unique=False)

    op.create_table(
        "people",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("username", sa.String(length=64), nullable=False),
        sa.Column("password_hash", sa.String(), nullable=False),
        sa.Column("given_name", sa.String(), nullable=False),
        sa.Column("family_name", sa.String(), nullable=False),
        sa.Column("email", sa.String(), nullable=False),
        sa.Column("locale", sa.String(length=16), nullable=False),
        sa.Column("roles", sa.JSON(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_people_tenant_id_tenants")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_people")),
        sa.UniqueConstraint("tenant_id", "username", name=op.f("uq_people_tenant_id_username")),
    )
    with op.batch_alter_table("people", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_people_username"), ["username"], unique=False)

    op.create_table(
        "prospects",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("first_name", sa.String(), nullable=False),
        sa.Column("last_name", sa.String(), nullable=False),
        sa.Column("email", sa.String(), nullable=True),
        sa.Column("phone_number", sa.String(), nullable=True),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column(
            "status",
            sa.Enum(
                "New",
                "Contacted",
                "Qualified",
                "WindowBooked",
                "Converted",
                "Lost",
                "Merged",
                name="prospectstatus",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("interest", sa.String(), nullable=True),
        sa.Column("patient_id", sa.String(length=36), nullable=True),
        sa.Column("merged_into_id", sa.String(length=36), nullable=True),
        sa.Column("creation_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("creator_id", sa.String(length=36), nullable=True),
        sa.Column("last_modification_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_modifier_id", sa.String(length=36), nullable=True),
        sa.Column("concurrency_stamp", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(
            ["patient_id"], ["patients.id"], name=op.f("fk_prospects_patient_id_patients")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_prospects")),
    )
    with op.batch_alter_table("prospects", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_prospects_tenant_id"), ["tenant_id"], unique=False)

    op.create_table(
        "protocols",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column(
            "type",
            sa.Enum(
                "Antagonist",
                "LongAgonist",
                "ShortFlare",
                "Ppos",
                "MildStimulation",
                "NaturalCycle",
                "FetNatural",
                "FetMedicated",
                "Iui",
                "EggFreezing",
                "DonorCycle",
                name="protocoltype",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column(
            "status",
            sa.Enum(
                "Draft",
                "Active",
                "OnHold",
                "Completed",
                "Cancelled",
                name="protocolstatus",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("description", sa.String(), nullable=True),
        sa.Column("patient_id", sa.String(length=36), nullable=True),
        sa.Column("episode_id", sa.String(length=36), nullable=True),
        sa.Column("physician_id", sa.String(length=36), nullable=True),
        sa.Column("start_date", sa.Date(), nullable=True),
        sa.Column("medications", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("monitoring", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("creation_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("creator_id", sa.String(length=36), nullable=True),
        sa.Column("last_modification_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_modifier_id", sa.String(length=36), nullable=True),
        sa.Column("concurrency_stamp", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(
            ["patient_id"], ["patients.id"], name=op.f("fk_protocols_patient_id_patients")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_protocols")),
    )
    with op.batch_alter_table("protocols", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_protocols_episode_id"), ["episode_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_protocols_patient_id"), ["patient_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_protocols_tenant_id"), ["tenant_id"], unique=False)

    op.create_table(
        "relationships",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("patient_id", sa.String(length=36), nullable=False),
        sa.Column("related_patient_id", sa.String(length=36), nullable=True),
        sa.Column("related_name", sa.String(), nullable=False),
        sa.Column(
            "type",
            sa.Enum(
                "Partner",
                "Spouse",
                "EggDonor",
                "SpermDonor",
                "EmbryoDonor",
                "GestationalCarrier",
                "IntendedParent",
                "EmergencyContact",
                "Proxy",
                name="relationshiptype",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("is_portal_shared", sa.Boolean(), nullable=False),
        sa.Column("start_date", sa.Date(), nullable=True),
        sa.Column("end_date", sa.Date(), nullable=True),
        sa.ForeignKeyConstraint(
            ["patient_id"], ["patients.id"], name=op.f("fk_relationships_patient_id_patients")
        ),
        sa.ForeignKeyConstraint(
            ["related_patient_id"], ["patients.id"], name=op.f("fk_relationships_related_patient_id_patients")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_relationships")),
    )
    with op.batch_alter_table("relationships", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_relationships_patient_id"), ["patient_id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_relationships_related_patient_id"), ["related_patient_id"], unique=False
        )

    op.create_table(
        "authorization_codes",
        sa.Column("code_hash", sa.String(length=64), nullable=False),
        sa.Column("client_id", sa.String(length=128), nullable=False),
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("redirect_uri", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("nonce", sa.String(), nullable=True),
        sa.Column("code_challenge", sa.String(length=128), nullable=False),
        sa.Column("sid", sa.String(length=36), nullable=False),
        sa.Column("auth_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("grant_id", sa.String(length=36), nullable=True),
        sa.ForeignKeyConstraint(
            ["client_id"], ["clients.client_id"], name=op.f("fk_authorization_codes_client_id_clients")
        ),
        sa.ForeignKeyConstraint(
            ["person_id"], ["people.id"], name=op.f("fk_authorization_codes_person_id_people")
        ),
        sa.PrimaryKeyConstraint("code_hash", name=op.f("pk_authorization_codes")),
    )
    with op.batch_alter_table("authorization_codes", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_authorization_codes_expires_at"), ["expires_at"], unique=False)

    op.create_table(
        "authorization_requests",
        sa.Column("handle_hash", sa.String(length=64), nullable=False),
        sa.Column("client_id", sa.String(length=128), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("is_pushed", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["client_id"], ["clients.client_id"], name=op.f("fk_authorization_requests_client_id_clients")
        ),
        sa.PrimaryKeyConstraint("handle_hash", name=op.f("pk_authorization_requests")),
    )
    with op.batch_alter_table("authorization_requests", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_authorization_requests_expires_at"), ["expires_at"], unique=False
        )

    op.create_table(
        "bookings",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("prospect_id", sa.String(length=36), nullable=False),
        sa.Column("physician_id", sa.String(length=36), nullable=False),
        sa.Column("location_id", sa.String(length=36), nullable=True),
        sa.Column("start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("end", sa.DateTime(timezone=True), nullable=False),
        sa.Column("time_zone", sa.String(), nullable=False),
        sa.Column("appointment_type", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("creation_time", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["physician_id"], ["physicians.id"], name=op.f("fk_bookings_physician_id_physicians")
        ),
        sa.ForeignKeyConstraint(
            ["prospect_id"], ["prospects.id"], name=op.f("fk_bookings_prospect_id_prospects")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bookings")),
    )
    with op.batch_alter_table("bookings", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_bookings_physician_id"), ["physician_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_bookings_prospect_id"), ["prospect_id"], unique=False)

    op.create_table(
        "consent_signatures",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("form_id", sa.String(length=36), nullable=False),
        sa.Column(
            "role",
            sa.Enum(
                "Patient",
                "Partner",
                "GameteProvider",
                "Donor",
                "Surrogate",
                "IntendedParent",
                "Witness",
                "Interpreter",
                "Clinician",
                name="signerrole",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("signed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "method",
            sa.Enum("TypedName", "Drawn", "Paper", name="signaturemethod", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column("language", sa.String(), nullable=True),
        sa.Column("content_hash", sa.String(length=64), nullable=False),
        sa.Column("typed", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["form_id"], ["consent_forms.id"], name=op.f("fk_consent_signatures_form_id_consent_forms")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_consent_signatures")),
        sa.UniqueConstraint("form_id", "person_id", name=op.f("uq_consent_signatures_form_id_person_id")),
    )
    with op.batch_alter_table("consent_signatures", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_consent_signatures_form_id"), ["form_id"], unique=False)

    op.create_table(
        "consent_signers",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("form_id", sa.String(length=36), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column(
            "role",
            sa.Enum(
                "Patient",
                "Partner",
                "GameteProvider",
                "Donor",
                "Surrogate",
                "IntendedParent",
                "Witness",
                "Interpreter",
                "Clinician",
                name="signerrole",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("order", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["form_id"], ["consent_forms.id"], name=op.f("fk_consent_signers_form_id_consent_forms")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_consent_signers")),
        sa.UniqueConstraint(
            "form_id", "role", "person_id", name=op.f("uq_consent_signers_form_id_role_person_id")
        ),
    )
    with op.batch_alter_table("consent_signers", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_consent_signers_form_id"), ["form_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_consent_signers_person_id"), ["person_id"], unique=False)

    op.create_table(
        "conversation_participants",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("conversation_id", sa.String(length=36), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_conversation_participants_conversation_id_conversations"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversation_participants")),
    )
    with op.batch_alter_table("conversation_participants", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_conversation_participants_conversation_id"), ["conversation_id"], unique=False
        )
        batch_op.create_index(
            batch_op.f("ix_conversation_participants_person_id"), ["person_id"], unique=False
        )

    op.create_table(
        "conversation_states",
        sa.Column("conversation_id", sa.String(length=36), nullable=False),
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_conversation_states_conversation_id_conversations"),
        ),
        sa.PrimaryKeyConstraint("conversation_id", "person_id", name=op.f("pk_conversation_states")),
    )
    op.create_table(
        "episodes",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("number", sa.String(), nullable=False),
        sa.Column(
            "type",
            sa.Enum(
                "Antagonist",
                "LongAgonist",
                "ShortFlare",
                "Ppos",
                "MildStimulation",
                "NaturalCycle",
                "FetNatural",
                "FetMedicated",
                "Iui",
                "EggFreezing",
                "DonorCycle",
                name="protocoltype",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column(
            "status",
            sa.Enum(
                "Planned",
                "Waitlist",
                "Active",
                "OnHold",
                "Finished",
                "Cancelled",
                "EnteredInError",
                name="carestatus",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column(
            "stage",
            sa.Enum(
                "Planned",
                "Baseline",
                "Stimulation",
                "Trigger",
                "Retrieval",
                "Fertilisation",
                "Culture",
                "Biopsy",
                "Freeze",
                "Transfer",
                "LutealSupport",
                "PregnancyTest",
                "EarlyScan",
                "Ended",
                name="stage",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column(
            "outcome",
            sa.Enum(
                "Pregnancy",
                "NoPregnancy",
                "NoTransfer",
                "Cancelled",
                "Completed",
                "EnteredInError",
                name="outcome",
                native_enum=False,
                length=32,
            ),
            nullable=True,
        ),
        sa.Column("start_date", sa.Date(), nullable=False),
        sa.Column("end_date", sa.Date(), nullable=True),
        sa.Column("patient_id", sa.String(length=36), nullable=False),
        sa.Column("partner_id", sa.String(length=36), nullable=True),
        sa.Column("case_id", sa.String(length=36), nullable=False),
        sa.Column("creation_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("creator_id", sa.String(length=36), nullable=True),
        sa.Column("last_modification_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_modifier_id", sa.String(length=36), nullable=True),
        sa.Column("concurrency_stamp", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(["case_id"], ["cases.id"], name=op.f("fk_episodes_case_id_cases")),
        sa.ForeignKeyConstraint(
            ["partner_id"], ["patients.id"], name=op.f("fk_episodes_partner_id_patients")
        ),
        sa.ForeignKeyConstraint(
            ["patient_id"], ["patients.id"], name=op.f("fk_episodes_patient_id_patients")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_episodes")),
    )
    with op.batch_alter_table("episodes", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_episodes_partner_id"), ["partner_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_episodes_patient_id"), ["patient_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_episodes_tenant_id"), ["tenant_id"], unique=False)

    op.create_table(
        "grants",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("client_id", sa.String(length=128), nullable=False),
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("sid", sa.String(length=36), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["client_id"], ["clients.client_id"], name=op.f("fk_grants_client_id_clients")
        ),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_grants_person_id_people")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_grants")),
    )
    with op.batch_alter_table("grants", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_grants_ends_at"), ["ends_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_grants_sid"), ["sid"], unique=False)

    op.create_table(
        "messages",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("conversation_id", sa.String(length=36), nullable=False),
        sa.Column("sender_id", sa.String(length=36), nullable=True),
        sa.Column("sender_name", sa.String(), nullable=False),
        sa.Column(
            "side",
            sa.Enum("Inbound", "Outbound", name="messageside", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column(
            "channel",
            sa.Enum("Portal", "Email", "Sms", "Phone", name="channel", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("external_id", sa.String(length=255), nullable=True),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name=op.f("fk_messages_conversation_id_conversations")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_messages")),
    )
    with op.batch_alter_table("messages", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_messages_external_id"), ["external_id"], unique=False)
        batch_op.create_index("ix_messages_thread", ["conversation_id", "sent_at"], unique=False)

    op.create_table(
        "sign_ins",
        sa.Column("sid", sa.String(length=36), nullable=False),
        sa.Column("cookie_hash", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("auth_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_sign_ins_person_id_people")),
        sa.PrimaryKeyConstraint("sid", name=op.f("pk_sign_ins")),
        sa.UniqueConstraint("cookie_hash", name=op.f("uq_sign_ins_cookie_hash")),
    )
    with op.batch_alter_table("sign_ins", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_sign_ins_expires_at"), ["expires_at"], unique=False)

    op.create_table(
        "alerts",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("episode_id", sa.String(length=36), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column(
            "severity",
            sa.Enum("Info", "Success", "Warning", "Urgent", name="severity", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["episode_id"], ["episodes.id"], name=op.f("fk_alerts_episode_id_episodes")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alerts")),
    )
    with op.batch_alter_table("alerts", schema=None) as batch_op:
        batch_op.create_index("ix_alerts_episode", ["episode_id"], unique=False)

    op.create_table(
        "appointments",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("episode_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("physician_id", sa.String(length=36), nullable=True),
        sa.Column("start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("end", sa.DateTime(timezone=True), nullable=False),
        sa.Column("time_zone", sa.String(), nullable=False),
        sa.Column("location", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["episode_id"], ["episodes.id"], name=op.f("fk_appointments_episode_id_episodes")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_appointments")),
    )
    with op.batch_alter_table("appointments", schema=None) as batch_op:
        batch_op.create_index("ix_appointments_episode", ["episode_id"], unique=False)

    op.create_table(
        "attachments",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("message_id", sa.String(length=36), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("file_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name=op.f("fk_attachments_message_id_messages")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attachments")),
    )
    with op.batch_alter_table("attachments", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_attachments_file_id"), ["file_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_attachments_message_id"), ["message_id"], unique=False)

    op.create_table(
        "care_team_members",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("episode_id", sa.String(length=36), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("physician_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["episode_id"], ["episodes.id"], name=op.f("fk_care_team_members_episode_id_episodes")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_care_team_members")),
    )
    with op.batch_alter_table("care_team_members", schema=None) as batch_op:
        batch_op.create_index("ix_care_team_members_episode", ["episode_id"], unique=False)

    op.create_table(
        "directories",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("episode_id", sa.String(length=36), nullable=False),
        sa.Column("parent_id", sa.String(length=36), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("creation_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("creator_id", sa.String(length=36), nullable=True),
        sa.Column("last_modification_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_modifier_id", sa.String(length=36), nullable=True),
        sa.Column("concurrency_stamp", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(
            ["episode_id"], ["episodes.id"], name=op.f("fk_directories_episode_id_episodes")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_directories")),
    )
    with op.batch_alter_table("directories", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_directories_episode_id"), ["episode_id"], unique=False)

    op.create_table(
        "files",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("episode_id", sa.String(length=36), nullable=True),
        sa.Column("directory_id", sa.String(length=36), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("creation_time", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["episode_id"], ["episodes.id"], name=op.f("fk_files_episode_id_episodes")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_files")),
    )
    with op.batch_alter_table("files", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_files_episode_id"), ["episode_id"], unique=False)

    op.create_table(
        "message_states",
        sa.Column("message_id", sa.String(length=36), nullable=False),
        sa.Column("person_id", sa.String(length=36), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name=op.f("fk_message_states_message_id_messages")
        ),
        sa.PrimaryKeyConstraint("message_id", "person_id", name=op.f("pk_message_states")),
    )
    op.create_table(
        "monitoring",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("episode_id", sa.String(length=36), nullable=False),
        sa.Column("date", sa.Date(), nullable=False),
        sa.Column("cycle_day", sa.Integer(), nullable=False),
        sa.Column("follicles", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("endometrium_mm", sa.Double(), nullable=True),
        sa.Column("endometrium_pattern", sa.String(), nullable=True),
        sa.Column("e2", sa.Double(), nullable=True),
        sa.Column("lh", sa.Double(), nullable=True),
        sa.Column("p4", sa.Double(), nullable=True),
        sa.Column("unit", sa.String(), nullable=False),
        sa.Column("verified", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["episode_id"], ["episodes.id"], name=op.f("fk_monitoring_episode_id_episodes")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_monitoring")),
    )
    with op.batch_alter_table("monitoring", schema=None) as batch_op:
        batch_op.create_index("ix_monitoring_episode", ["episode_id"], unique=False)

    op.create_table(
        "pgt_results",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=36), nullable=False),
        sa.Column("embryo_storage_id", sa.String(length=36), nullable=False),
        sa.Column("embryo_code", sa.String(), nullable=False),
        sa.Column("episode_id", sa.String(length=36), nullable=False),
        sa.Column(
            "test_type",
            sa.Enum("PgtA", "PgtM", "PgtSr", "PgtP", name="pgttype", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column("laboratory", sa.String(), nullable=False),
        sa.Column("biopsied_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reported_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "status",
            sa.Enum(
                "Ordered",
                "InLab",
                "Reported",
                "Released",
                "Amended",
                name="pgtstatus",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column(
            "call",
            sa.Enum(
                "Euploid",
                "LowMosaic",
                "HighMosaic",
                "Aneuploid",
                "Segmental",
                "NoResult",
                "Inconclusive",
                "Unaffected",
                "Carrier",
                "Affected",
                "Balanced",
                "Unbalanced",
                name="pgtcall",
                native_enum=False,
                length=32,
            ),
            nullable=True,
        ),
        sa.Column("mosaic_percent", sa.Double(), nullable=True),
        sa.Column("thresholds", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("abnormalities", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("condition", sa.String(), nullable=True),
        sa.Column("sex_disclosed", sa.Boolean(), nullable=False),
        sa.Column("sex", sa.String(length=16), nullable=True),
        sa.Column("comment", sa.String(), nullable=True),
        sa.Column("report_file_id", sa.String(length=36), nullable=True),
        sa.Column("released_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["embryo_storage_id"],
            ["embryo_storage.id"],
            name=op.f("fk_pgt_results_embryo_storage_id_embryo_storage"),
        ),
        sa.ForeignKeyConstraint(
            ["episode_id"], ["episodes.id"], name=op.f("fk_pgt_results_episode_id_episodes")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pgt_results")),
    )
    with op.batch_alter_table("pgt_results", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_pgt_results_episode_id"), ["episode_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_pgt_results_tenant_id"), ["tenant_id"], unique=False)

    op.create_table(
        "refresh_tokens",
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("grant_id", sa.String(length=36), nullable=False),
        sa.Column("issued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("replaced_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["grant_id"], ["grants.id"], name=op.f("fk_refresh_tokens_grant_id_grants"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_refresh_tokens")),
    )
    with op.batch_alter_table("refresh_tokens", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_refresh_tokens_expires_at"), ["expires_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_refresh_tokens_grant_id"), ["grant_id"], unique=False)

    op.create_table(
        "timeline_events",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("episode_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column(
            "stage",
            sa.Enum(
                "Planned",
                "Baseline",
                "Stimulation",
                "Trigger",
                "Retrieval",
                "Fertilisation",
                "Culture",
                "Biopsy",
                "Freeze",
                "Transfer",
                "LutealSupport",
                "PregnancyTest",
                "EarlyScan",
                "Ended",
                name="stage",
                native_enum=False,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=True),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("verified", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["episode_id"], ["episodes.id"], name=op.f("fk_timeline_events_episode_id_episodes")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_timeline_events")),
    )
    with op.batch_alter_table("timeline_events", schema=None) as batch_op:
        batch_op.create_index("ix_timeline_events_episode", ["episode_id"], unique=False)

    op.create_table(
        "file_contents",
        sa.Column("file_id", sa.String(length=36), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["file_id"], ["files.id"], name=op.f("fk_file_contents_file_id_files")),
        sa.PrimaryKeyConstraint("file_id", name=op.f("pk_file_contents")),
    )


def downgrade() -> None:
    op.drop_table("file_contents")
    with op.batch_alter_table("timeline_events", schema=None) as batch_op:
        batch_op.drop_index("ix_timeline_events_episode")

    op.drop_table("timeline_events")
    with op.batch_alter_table("refresh_tokens", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_refresh_tokens_grant_id"))
        batch_op.drop_index(batch_op.f("ix_refresh_tokens_expires_at"))

    op.drop_table("refresh_tokens")
    with op.batch_alter_table("pgt_results", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_pgt_results_tenant_id"))
        batch_op.drop_index(batch_op.f("ix_pgt_results_episode_id"))

    op.drop_table("pgt_results")
    with op.batch_alter_table("monitoring", schema=None) as batch_op:
        batch_op.drop_index("ix_monitoring_episode")

    op.drop_table("monitoring")
    op.drop_table("message_states")
    with op.batch_alter_table("files", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_files_episode_id"))

    op.drop_table("files")
    with op.batch_alter_table("directories", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_directories_episode_id"))

    op.drop_table("directories")
    with op.batch_alter_table("care_team_members", schema=None) as batch_op:
        batch_op.drop_index("ix_care_team_members_episode")

    op.drop_table("care_team_members")
    with op.batch_alter_table("attachments", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_attachments_message_id"))
        batch_op.drop_index(batch_op.f("ix_attachments_file_id"))

    op.drop_table("attachments")
    with op.batch_alter_table("appointments", schema=None) as batch_op:
        batch_op.drop_index("ix_appointments_episode")

    op.drop_table("appointments")
    with op.batch_alter_table("alerts", schema=None) as batch_op:
        batch_op.drop_index("ix_alerts_episode")

    op.drop_table("alerts")
    with op.batch_alter_table("sign_ins", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_sign_ins_expires_at"))

    op.drop_table("sign_ins")
    with op.batch_alter_table("messages", schema=None) as batch_op:
        batch_op.drop_index("ix_messages_thread")
        batch_op.drop_index(batch_op.f("ix_messages_external_id"))

    op.drop_table("messages")
    with op.batch_alter_table("grants", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_grants_sid"))
        batch_op.drop_index(batch_op.f("ix_grants_ends_at"))

    op.drop_table("grants")
    with op.batch_alter_table("episodes", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_episodes_tenant_id"))
        batch_op.drop_index(batch_op.f("ix_episodes_patient_id"))
        batch_op.drop_index(batch_op.f("ix_episodes_partner_id"))

    op.drop_table("episodes")
    op.drop_table("conversation_states")
    with op.batch_alter_table("conversation_participants", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_conversation_participants_person_id"))
        batch_op.drop_index(batch_op.f("ix_conversation_participants_conversation_id"))

    op.drop_table("conversation_participants")
    with op.batch_alter_table("consent_signers", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_consent_signers_person_id"))
        batch_op.drop_index(batch_op.f("ix_consent_signers_form_id"))

    op.drop_table("consent_signers")
    with op.batch_alter_table("consent_signatures", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_consent_signatures_form_id"))

    op.drop_table("consent_signatures")
    with op.batch_alter_table("bookings", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_bookings_prospect_id"))
        batch_op.drop_index(batch_op.f("ix_bookings_physician_id"))

    op.drop_table("bookings")
    with op.batch_alter_table("authorization_requests", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_authorization_requests_expires_at"))

    op.drop_table("authorization_requests")
    with op.batch_alter_table("authorization_codes", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_authorization_codes_expires_at"))

    op.drop_table("authorization_codes")
    with op.batch_alter_table("relationships", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_relationships_related_patient_id"))
        batch_op.drop_index(batch_op.f("ix_relationships_patient_id"))

    op.drop_table("relationships")
    with op.batch_alter_table("protocols", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_protocols_tenant_id"))
        batch_op.drop_index(batch_op.f("ix_protocols_patient_id"))
        batch_op.drop_index(batch_op.f("ix_protocols_episode_id"))

    op.drop_table("protocols")
    with op.batch_alter_table("prospects", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_prospects_tenant_id"))

    op.drop_table("prospects")
    with op.batch_alter_table("people", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_people_username"))

    op.drop_table("people")
    with op.batch_alter_table("embryo_storage", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_embryo_storage_tenant_id"))
        batch_op.drop_index(batch_op.f("ix_embryo_storage_patient_id"))
        batch_op.drop_index(batch_op.f("ix_embryo_storage_episode_id"))
        batch_op.drop_index(batch_op.f("ix_embryo_storage_consent_form_id"))

    op.drop_table("embryo_storage")
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_conversations_prospect_id"))
        batch_op.drop_index(batch_op.f("ix_conversations_patient_id"))
        batch_op.drop_index("ix_conversations_list")
        batch_op.drop_index(batch_op.f("ix_conversations_episode_id"))

    op.drop_table("conversations")
    with op.batch_alter_table("consent_forms", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_consent_forms_procedure_date"))
        batch_op.drop_index(batch_op.f("ix_consent_forms_patient_id"))
        batch_op.drop_index(batch_op.f("ix_consent_forms_partner_id"))
        batch_op.drop_index("ix_consent_forms_list")
        batch_op.drop_index(batch_op.f("ix_consent_forms_episode_id"))
        batch_op.drop_index(batch_op.f("ix_consent_forms_case_id"))

    op.drop_table("consent_forms")
    op.drop_table("clients")
    with op.batch_alter_table("cases", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_cases_tenant_id"))
        batch_op.drop_index(batch_op.f("ix_cases_patient_id"))

    op.drop_table("cases")
    with op.batch_alter_table("busy_times", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_busy_times_physician_id"))

    op.drop_table("busy_times")
    with op.batch_alter_table("webhook_deliveries", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_webhook_deliveries_received_at"))

    op.drop_table("webhook_deliveries")
    op.drop_table("tenants")
    op.drop_table("signing_keys")
    with op.batch_alter_table("revoked_tokens", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_revoked_tokens_expires_at"))

    op.drop_table("revoked_tokens")
    with op.batch_alter_table("physicians", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_physicians_tenant_id"))

    op.drop_table("physicians")
    op.drop_table("payments")
    with op.batch_alter_table("patients", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_patients_user_id"))
        batch_op.drop_index(batch_op.f("ix_patients_tenant_id"))

    op.drop_table("patients")
    with op.batch_alter_table("notifications", schema=None) as batch_op:
        batch_op.drop_index("ix_notifications_recipient")

    op.drop_table("notifications")
    op.drop_table("notification_settings")
    with op.batch_alter_table("kept_answers", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_kept_answers_kept_at"))

    op.drop_table("kept_answers")
    with op.batch_alter_table("inbound_addresses", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_inbound_addresses_tenant_id"))

    op.drop_table("inbound_addresses")
    with op.batch_alter_table("failed_sign_ins", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_failed_sign_ins_username"))
        batch_op.drop_index(batch_op.f("ix_failed_sign_ins_at"))

    op.drop_table("failed_sign_ins")
    op.drop_table("emr_endpoints")
    op.drop_table("clinic_policies")
