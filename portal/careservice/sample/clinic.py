"""Creating the records of a sample clinic: its people by name, dates and times, and the usual kinds of record."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy.orm import Session

from portal.careservice.domain.consents.content import content_hash
from portal.careservice.domain.consents.forms import ConsentForm, Signature, Signer
from portal.careservice.domain.conversations import (
    Attachment,
    Conversation,
    ConversationState,
    Message,
    MessageState,
    Participant,
)
from portal.careservice.domain.documents import Directory, File, FileContent
from portal.careservice.domain.enumerations import (
    Channel,
    ConsentStatus,
    MessageSide,
    Severity,
    SignatureMethod,
    SignerRole,
    SigningOrder,
)
from portal.careservice.domain.inbound.addresses import AddressKind, InboundAddress
from portal.careservice.domain.notifications import Notification
from portal.careservice.domain.patients import Address, EmergencyContact, Patient
from portal.careservice.ids import sample_id
from portal.careservice.sample.consent_texts import Template
from portal.careservice.sample.people import PEOPLE

SMS_NUMBERS = {"riverside": "+447700900321", "harbour": "+447700900322"}
"""Each clinic's number for text messages, from a range that is reserved for fiction."""


@dataclass(frozen=True)
class Somebody:
    """A person named in forms and messages; `id` is the `sub`, or a patient's record id without an account."""

    id: str
    name: str
    role: str


WITH_LOG_IN = {person.username: Somebody(person.id, person.name, person.role) for person in PEOPLE}
_SUBS = frozenset(person.id for person in PEOPLE)


@dataclass(frozen=True)
class Clinic:
    """The clinic and the time for which records are created."""

    session: Session
    name: str
    now: datetime
    time_zone: str

    @property
    def id(self) -> str:
        """The tenant's id."""
        return sample_id("tenant", self.name)

    @property
    def today(self) -> date:
        """Today's date in the clinic's time zone."""
        return self.now.astimezone(ZoneInfo(self.time_zone)).date()

    def day(self, offset: int) -> date:
        """The date `offset` days from today."""
        return self.today + timedelta(days=offset)

    def at(self, offset: int, clock: str) -> datetime:
        """The instant at `clock` (HH:MM at the clinic) `offset` days from today."""
        local = datetime.combine(self.day(offset), time.fromisoformat(clock), ZoneInfo(self.time_zone))
        return local.astimezone(UTC)

    def patient(self, key: str, mrn: str, born: date, **more: Any) -> Patient:
        """A patient with an account, by user name."""
        person = next(person for person in PEOPLE if person.username == key)
        details: dict[str, Any] = {
            "first_name": person.given_name,
            "last_name": person.family_name,
            "email": person.email,
            "email_verified": True,
            "phone_number_verified": "phone_number" in more,
            "address": Address(line1="14 Quayside", city="Bristol", postal_code="BS1 6UN", country="GB"),
            "emergency_contact": EmergencyContact(
                name="Margaret Hart", phone_number="+447700900199", relation="Mother"
            ),
        }
        patient = Patient(
            id=sample_id("patient", key),
            tenant_id=self.id,
            user_id=person.id,
            mrn=mrn,
            date_of_birth=born,
            creation_time=self.at(-400, "10:00"),
            **(details | more),
        )
        self.session.add(patient)
        self.session.flush()
        return patient

    def consent(
        self,
        key: str,
        template: Template,
        patient: Patient,
        signers: Sequence[tuple[SignerRole, Somebody]],
        *,
        status: ConsentStatus,
        sent: int,
        signed: Iterable[Somebody] = (),
        order: SigningOrder = SigningOrder.ANY,
        version: str = "3.1",
        **more: Any,
    ) -> ConsentForm:
        """A form of `template`, sent `sent` days from today and signed by those of `signed`.

        Signers without an account have signed on paper.
        """
        body, statements = template.body, template.statements
        digest = content_hash(
            title=template.title,
            kind=template.kind,
            version=version,
            body=body,
            statements=statements,
            embryo_storage_ids=more.get("embryo_storage_ids"),
            disposition=more.get("disposition"),
        )
        role_of = {person.id: role for role, person in signers}
        sent_at = self.at(sent, "09:15")
        signatures = [
            Signature(
                role=role_of[person.id],
                person_id=person.id,
                name=person.name,
                signed_at=sent_at + timedelta(hours=5 + 3 * index),
                method=SignatureMethod.TYPED_NAME if person.id in _SUBS else SignatureMethod.PAPER,
                language="en",
                content_hash=digest,
                typed=person.name,
            )
            for index, person in enumerate(signed)
        ]
        details: dict[str, Any] = {}
        if status in (ConsentStatus.SIGNED, ConsentStatus.REVOKED, ConsentStatus.SUPERSEDED) and signatures:
            details["effective_at"] = signatures[-1].signed_at
        form = ConsentForm(
            id=sample_id("consent", key),
            tenant_id=self.id,
            patient_id=patient.id,
            title=template.title,
            kind=template.kind,
            version=version,
            language="en",
            status=status,
            body=body,
            statements=statements,
            signing_order=order,
            content_hash=digest,
            sent_at=None if status == ConsentStatus.DRAFT else sent_at,
            creation_time=sent_at,
            creator_id=WITH_LOG_IN["nora" if self.name == "riverside" else "omar"].id,
            required_signers=[
                Signer(position=index, role=role, person_id=person.id, name=person.name, order=index + 1)
                for index, (role, person) in enumerate(signers)
            ],
            signatures=signatures,
            **(details | more),
        )
        self.session.add(form)
        return form

    def directory(self, key: str, episode_id: str, name: str, parent: Directory | None = None) -> Directory:
        """A folder of an episode."""
        directory = Directory(
            id=sample_id("directory", key),
            tenant_id=self.id,
            episode_id=episode_id,
            parent_id=parent.id if parent else None,
            name=name,
        )
        self.session.add(directory)
        return directory

    def file(
        self, key: str, name: str, media_type: str, content: bytes, *, days: int, **place: str | None
    ) -> File:
        """A file, made `days` days from today; `place` is its `episode_id` and `directory_id`."""
        file = File(
            id=sample_id("file", key),
            tenant_id=self.id,
            name=name,
            media_type=media_type,
            size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            creation_time=self.at(days, "11:00"),
            **place,
        )
        self.session.add(file)
        self.session.flush()
        self.session.add(FileContent(file_id=file.id, content=content))
        return file

    def conversation(
        self,
        key: str,
        subject: str,
        people: Sequence[Somebody],
        messages: Sequence[tuple[Somebody, float, str]],
        *,
        channel: Channel = Channel.PORTAL,
        unread_by: Iterable[Somebody] = (),
        unread: int = 1,
        attached: Sequence[File] = (),
        **about: str | None,
    ) -> Conversation:
        """A thread of `messages` (sender, days ago, text); the newest `unread` of them are unread by `unread_by`.

        `attached` is attached to the last message.
        """
        moments = [self.now - timedelta(days=ago) for _, ago, _ in messages]
        conversation = Conversation(
            id=sample_id("conversation", key),
            tenant_id=self.id,
            subject=subject,
            channel=channel,
            reply_email=f"reply+{sample_id('conversation', key)[:8]}@{self.name}.example",
            reply_sms=SMS_NUMBERS[self.name] if channel == Channel.SMS else None,
            last_message_at=max(moments),
            participants=[
                Participant(position=index, person_id=person.id, name=person.name, role=person.role)
                for index, person in enumerate(people)
            ],
            **about,
        )
        self.session.add(conversation)
        self.session.flush()
        waiting = {person.id for person in unread_by}
        for index, ((sender, _, body), sent_at) in enumerate(zip(messages, moments, strict=True)):
            message = Message(
                id=sample_id("message", f"{key}-{index}"),
                conversation_id=conversation.id,
                tenant_id=conversation.tenant_id,
                sender_id=sender.id,
                sender_name=sender.name,
                side=MessageSide.INBOUND if sender.role == "patient" else MessageSide.OUTBOUND,
                channel=channel,
                body=body,
                sent_at=sent_at,
            )
            if index == len(messages) - 1:
                message.attachments = [
                    Attachment(
                        position=place,
                        file_id=file.id,
                        name=file.name,
                        media_type=file.media_type,
                        size=file.size,
                    )
                    for place, file in enumerate(attached)
                ]
            self.session.add(message)
            self.session.flush()
            for person in self._readers(people):
                if person.id != sender.id and not (person.id in waiting and index >= len(messages) - unread):
                    self.session.add(
                        MessageState(
                            message_id=message.id, person_id=person.id, read_at=sent_at + timedelta(hours=2)
                        )
                    )
        return conversation

    def add_addresses(self) -> None:
        """Add the clinic's addresses for text messages, e-mails and payments."""
        for kind, address in (
            (AddressKind.SMS, SMS_NUMBERS[self.name]),
            (AddressKind.EMAIL, f"reply@{self.name}.example"),
            (AddressKind.EMAIL, f"hello@{self.name}.example"),
            (AddressKind.PAYMENT, f"acct_{self.name}"),
        ):
            self.session.add(InboundAddress(kind=kind, address=address, tenant_id=self.id))

    def archive(self, key: str, person: Somebody) -> None:
        """Archive a conversation for a person."""
        self.session.add(
            ConversationState(
                conversation_id=sample_id("conversation", key), person_id=person.id, archived_at=self.now
            )
        )

    def _readers(self, people: Sequence[Somebody]) -> list[Somebody]:
        # Staff see every thread of the clinic, so all of them have read the old ones.
        staff = [
            WITH_LOG_IN[person.username]
            for person in PEOPLE
            if person.tenant == self.name and person.role != "patient"
        ]
        return [person for person in people if person.role == "patient"] + staff

    def notify(
        self,
        person: Somebody,
        kind: str,
        title: str,
        body: str,
        *,
        ago: float,
        severity: Severity = Severity.INFO,
        is_read: bool = False,
        about: tuple[str, str] | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        """Add a notification from `ago` days ago."""
        made = self.now - timedelta(days=ago)
        key = f"{person.id}-{kind}-{ago}-{title}-{about}"
        self.session.add(
            Notification(
                id=sample_id("notification", key),
                tenant_id=self.id,
                person_id=person.id,
                type=kind,
                title=title,
                body=body,
                severity=severity,
                is_read=is_read,
                read_at=made + timedelta(hours=3) if is_read else None,
                entity_type=about[0] if about else None,
                entity_id=about[1] if about else None,
                data=data or {},
                creation_time=made,
            )
        )
