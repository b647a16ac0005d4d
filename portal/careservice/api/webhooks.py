"""Webhook: inbound SMS, inbound e-mail, payment provider (care API specification §4).

Not a bearer token but a signature over the raw body authenticates the sender (Standard Webhooks; docs/assumptions.md).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from flask import Blueprint, Response, request
from sqlalchemy.orm import Session

from portal.careservice import clock, database, transactions
from portal.careservice.api import errors
from portal.careservice.api.payload import bytes_up_to
from portal.careservice.domain.inbound import deliveries, email, payments, sms
from portal.careservice.settings import current_settings
from portal.careservice.webhooks import payloads
from portal.careservice.webhooks.signature import is_signed_by_twilio, signed_id

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


@bp.post("/smsinbound")
def receive_sms() -> Response:
    """Store an SMS as a message; it is signed by the standard scheme or, for clinics with a Twilio account, Twilio's."""
    if "X-Twilio-Signature" in request.headers:
        return _receive_from_twilio()
    return _receive(
        "sms",
        SMS_BYTES,
        lambda session, body, kind: sms.take_text_message(session, payloads.text_message(body, kind)),
    )


@bp.post("/emailinbound")
def receive_email() -> Response:
    """Store an e-mail as a message, its attachments as files."""
    receiver = current_settings().mail_receiver
    return _receive(
        "email",
        EMAIL_BYTES,
        lambda session, body, kind: email.take_mail(session, payloads.mail(body, kind, receiver)),
    )


@bp.post("/api/payment/webhook/payment-provider")
def receive_payment() -> Response:
    """Extend the storage that a payment is for; unknown kinds of event have no effect."""
    return _receive("payment", PAYMENT_BYTES, _payment)


def _payment(session: Session, body: bytes, content_type: str) -> str | None:
    event = payloads.payment_event(body, content_type)
    return payments.take_payment(session, event) if isinstance(event, payloads.PaymentEvent) else None


def _receive(kind: str, most: int, take: Callable[[Session, bytes, str], str | None]) -> Response:
    """Answer a webhook: 413, 401, as an earlier delivery was, or by `take`, which may raise Invalid."""
    body = bytes_up_to(most)
    if body is None:
        return Response(status=413)
    secrets = current_settings().webhook_secrets.get(kind, ())
    webhook_id = signed_id(request.headers, body, secrets, clock.now())
    if webhook_id is None:
        return Response(status=401)
    return _once(kind, webhook_id, lambda session: take(session, body, request.content_type or ""))


def _receive_from_twilio() -> Response:
    """Like `_receive`, for the clinics whose Auth Token signed the form; the answer is empty TwiML."""
    body = bytes_up_to(SMS_BYTES)
    if body is None:
        return Response(status=413)
    form = payloads.form_fields(body, request.content_type or "")
    url = current_settings().issuer + request.full_path.rstrip("?")
    signature = request.headers["X-Twilio-Signature"]
    clinics = {
        tenant
        for tenant, tokens in current_settings().twilio_tokens.items()
        for token in tokens
        if is_signed_by_twilio(token, url, form, signature)
    }
    if not clinics:
        return Response(status=401)
    text = payloads.text_message(body, request.content_type or "")
    taken = _once(
        "twilio", text.sid, lambda session: sms.take_text_message(session, text, of_clinics=clinics)
    )
    return taken if taken.status_code != 200 else Response("<Response/>", mimetype="application/xml")


def _once(kind: str, webhook_id: str, take: Callable[[Session], str | None]) -> Response:
    session = database.session()
    delivery = deliveries.recall(session, kind, webhook_id)
    if isinstance(delivery, bytes):
        return _json(delivery)
    try:
        taken = take(session)
    except payloads.TooLarge:
        return Response(status=413)
    delivery.answer = msgspec.json.encode(Receipt(accepted=taken is not None, id=taken))
    session.flush()
    return _json(delivery.answer)


def _json(body: bytes) -> Response:
    return Response(body, mimetype="application/json", headers={"Cache-Control": "no-store"})
