"""Webhook: inbound SMS, inbound e-mail, payment provider (care API specification §4).

Not a bearer token but a signature over the raw body authenticates the sender (Standard Webhooks; docs/assumptions.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec
from flask import Blueprint, Response, request
from sqlalchemy.orm import Session

from portal.careservice import clock, database, transactions
from portal.careservice.api import errors
from portal.careservice.api.payload import bytes_up_to
from portal.careservice.domain.inbound import deliveries, payments
from portal.careservice.domain.inbound.email import take_mail
from portal.careservice.domain.inbound.sms import take_text_message
from portal.careservice.settings import current_settings
from portal.careservice.webhooks.forms import TooLarge, form_of
from portal.careservice.webhooks.payloads import EventKind, PaymentEvent, mail, payment_event, text_message
from portal.careservice.webhooks.signature import is_signed_by_twilio, signed_id

T = TypeVar("T")

bp = Blueprint("webhooks", __name__)
errors.handle(bp)

SMS_BYTES = 64 * 1024
EMAIL_BYTES = 25 * 1024 * 1024
PAYMENT_BYTES = 256 * 1024
"""The largest body of each kind of webhook."""


class Receipt(msgspec.Struct, rename="camel", kw_only=True):
    """The answer to a webhook: whether it had an effect, and the id of the message or payment that it became."""

    accepted: bool
    id: str | None


@bp.errorhandler(transactions.Busy)
def answer_busy(_error: transactions.Busy) -> Response:
    """503: no error code is documented here, and senders deliver again what wasn't accepted."""
    return Response(status=503, headers={"Retry-After": str(transactions.RETRY_AFTER_SECONDS)})


@bp.errorhandler(TooLarge)
def answer_too_large(_error: TooLarge) -> Response:
    """413, as for any body that is larger than is accepted."""
    return Response(status=413)


@bp.post("/smsinbound")
def receive_sms() -> Response:
    """Store an SMS as a message; it is signed by the standard scheme or, for clinics with a Twilio account, Twilio's."""
    if "X-Twilio-Signature" in request.headers:
        return _receive_from_twilio()
    return _receive("sms", SMS_BYTES, lambda body, kind: text_message(form_of(body, kind)), take_text_message)


@bp.post("/emailinbound")
def receive_email() -> Response:
    """Store an e-mail as a message, its attachments as files."""
    receiver = current_settings().mail_receiver
    return _receive("email", EMAIL_BYTES, lambda body, kind: mail(body, kind, receiver), take_mail)


@bp.post("/api/payment/webhook/payment-provider")
def receive_payment() -> Response:
    """Extend the storage that a payment is for; unknown kinds of event have no effect."""
    return _receive("payment", PAYMENT_BYTES, payment_event, _take_payment)


def _take_payment(session: Session, event: PaymentEvent | EventKind) -> str | None:
    return payments.take_payment(session, event) if isinstance(event, PaymentEvent) else None


def _receive(
    kind: str, most: int, read: Callable[[bytes, str], T], take: Callable[[Session, T], str | None]
) -> Response:
    """Answer a webhook: 413, 401, as an earlier delivery was, or by `take`; `read` and `take` may raise Invalid."""
    body = bytes_up_to(most)
    if body is None:
        return Response(status=413)
    secrets = current_settings().webhook_secrets.get(kind, ())
    webhook_id = signed_id(request.headers, body, secrets, clock.now())
    if webhook_id is None:
        return Response(status=401)
    payload = read(body, request.content_type or "")
    return _once(kind, webhook_id, lambda session: take(session, payload))


def _receive_from_twilio() -> Response:
    """Like `_receive`, for the clinics whose Auth Token signed the form; the answer is empty TwiML."""
    body = bytes_up_to(SMS_BYTES)
    if body is None:
        return Response(status=413)
    form = form_of(body, request.content_type or "")
    url = current_settings().issuer + request.full_path.rstrip("?")
    signature = request.headers["X-Twilio-Signature"]
    clinics = {
        tenant
        for tenant, tokens in current_settings().twilio_tokens.items()
        for token in tokens
        if is_signed_by_twilio(token, url, form.fields, signature)
    }
    if not clinics:
        return Response(status=401)
    text = text_message(form)
    taken = _once("twilio", text.sid, lambda session: take_text_message(session, text, of_clinics=clinics))
    return taken if taken.status_code != 200 else Response("<Response/>", mimetype="application/xml")


def _once(kind: str, webhook_id: str, take: Callable[[Session], str | None]) -> Response:
    """The answer of an earlier delivery, or of `take`, which others wait for: what it takes has been read before."""
    session = database.session()
    delivery = deliveries.recall(session, kind, webhook_id)
    if isinstance(delivery, bytes):
        return _json(delivery)
    taken = take(session)
    delivery.answer = msgspec.json.encode(Receipt(accepted=taken is not None, id=taken))
    session.flush()
    return _json(delivery.answer)


def _json(body: bytes) -> Response:
    return Response(body, mimetype="application/json", headers={"Cache-Control": "no-store"})
