"""The clinics' addresses for inbound webhooks; those to any other address have no effect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from sqlalchemy import String, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from portal.careservice.database import Base, Id
from portal.careservice.domain.columns import one_of


class AddressKind(StrEnum):
    """The kind of a clinic's address."""

    SMS = "Sms"
    EMAIL = "Email"
    PAYMENT = "Payment"


class InboundAddress(Base):
    """A number, mailbox or payment account of a clinic, as in webhooks: lower case, numbers without spaces."""

    __tablename__ = "inbound_addresses"

    kind: Mapped[AddressKind] = mapped_column(one_of(AddressKind), primary_key=True)
    address: Mapped[str] = mapped_column(String(254), primary_key=True)
    tenant_id: Mapped[Id] = mapped_column(index=True)


def clinic_of(session: Session, kind: AddressKind, addresses: Sequence[str]) -> str | None:
    """The id of the clinic that the first known one of `addresses` belongs to, None if none is known."""
    rows = session.execute(
        select(InboundAddress.address, InboundAddress.tenant_id).where(
            InboundAddress.kind == kind, InboundAddress.address.in_(addresses)
        )
    )
    clinics = dict(rows.all())
    return next((clinics[address] for address in addresses if address in clinics), None)


def without_spaces(number: str) -> str:
    """A telephone number without separators between its digits."""
    return "".join(character for character in number if character not in " -()./\t")


def mailbox_of(address: str) -> str:
    """`address` without its subaddress (RFC 5233): `reply@clinic.example` for `reply+x@clinic.example`."""
    local, _, domain = address.partition("@")
    return f"{local.partition('+')[0]}@{domain}"


def own_mailbox(session: Session, tenant_id: str, addresses: Iterable[str]) -> str:
    """The first mailbox among `addresses` that is the clinic's; one has to be."""
    return next(
        mailbox
        for mailbox in map(mailbox_of, addresses)
        if clinic_of(session, AddressKind.EMAIL, [mailbox]) == tenant_id
    )
