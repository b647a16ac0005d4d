"""The link that an enquirer books by: what it says, what was booked with it, and the API as the clinic's service client."""

from __future__ import annotations

from typing import cast

from flask import Blueprint, current_app, g
from flask.blueprints import BlueprintSetupState

from portal.config.modules import Module
from portal.context import Context, context
from portal.signin.service_client import ServiceBearers, ServiceCare
from portal.state.booking_links import OWNER, BookingLink, BookingLinks
from portal.state.operations import Operation, State
from portal.values import Value
from portal.web.guard import of_request
from portal.web.modules import whole

bp = whole(Module.BOOKING, Blueprint("booking", __name__, url_prefix="/book"))


class _Booking(Value, frozen=True):
    """Per-process state of these pages."""

    links: BookingLinks
    bearers: ServiceBearers


@bp.record_once
def _prepare(setup: BlueprintSetupState) -> None:
    the = cast("Context", setup.app.extensions["portal"])
    links = BookingLinks(the.settings.secret_keys, the.clock)
    setup.app.extensions["booking"] = _Booking(links, ServiceBearers(the.settings.timeouts, the.clock))


class BrokenLink(Exception):
    """The address isn't one that the clinic made."""


def read_link(signed: str) -> BookingLink:
    link = links().read(signed, clinic=g.tenant.key)
    if link is None or g.tenant.service_client is None:
        raise BrokenLink
    return link


def booked_with(link: BookingLink) -> Operation | None:
    """The link's operation; None if nothing has been booked with it, even if an attempt was refused."""
    operation = context().operations.find(OWNER, link.id, link.purpose)
    return operation if operation and operation.state is not State.OPEN else None


def clinics_care() -> ServiceCare:
    """A client for the care API with the clinic's service credentials, for this request."""
    the, tenant = context(), g.tenant
    bearer = _booking().bearers.of(tenant, tenant.service_client, the.sign_in.provider(tenant))
    return ServiceCare(
        **of_request(bearer, tenant.auth_url, tenant.key, "service", ""),
        clinic=tenant.tenant_id or tenant.key,
    )


def links() -> BookingLinks:
    return _booking().links


def _booking() -> _Booking:
    return cast("_Booking", current_app.extensions["booking"])
