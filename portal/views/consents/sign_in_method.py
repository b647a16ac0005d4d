"""How a signer had signed in, for the receipt: by password, with a code, by passkey (RFC 8176); and what their passkey confirmed."""

from __future__ import annotations

import msgspec
from flask import Blueprint

from portal.context import context
from portal.i18n.gettext import _
from portal.services.consents.forms import ConsentForm, Signature, SigningMethod
from portal.state.operations import State
from portal.state.session_records import Person
from portal.views.consents.signing import Progress, purpose_of
from portal.web.filters import in_a_row


def register(bp: Blueprint) -> None:
    bp.add_app_template_filter(sign_in_words, "sign_in_method")


def with_own_sign_in(form: ConsentForm, person: Person) -> list[Signature]:
    """The form's signatures; where the API doesn't tell how this person signed in and confirmed, as this portal knows it.

    One on paper needed no sign-in, even if they had begun to sign in the portal.
    """
    return [
        _as_known_here(signature, form, person)
        if signature.person_id == person.sub and (signature.acr is None or signature.passkey is None)
        else signature
        for signature in form.signatures
    ]


def _as_known_here(signature: Signature, form: ConsentForm, person: Person) -> Signature:
    operation = context().operations.newest(person.sub, purpose_of(form, signature.role))
    if operation is None or signature.method in (SigningMethod.PAPER, SigningMethod.DRAWN):
        return signature
    progress = msgspec.convert(operation.data, Progress)
    if operation.state is State.OPEN and not progress.is_unconfirmed:  # never sent
        return signature
    if signature.acr is None:
        signature = msgspec.structs.replace(signature, acr=progress.acr or None, amr=progress.amr)
    return msgspec.structs.replace(signature, passkey=signature.passkey or progress.passkey)


def sign_in_words(signature: Signature) -> str | None:
    """`password, one-time code`, and the class that the identity server names; None if nothing is known."""
    known = _words()
    methods = [known.get(method, method) for method in signature.amr or ()]
    said = in_a_row(list(dict.fromkeys(word for word in methods if word)))
    if said and signature.acr:
        return f"{said} ({signature.acr})"
    return said or signature.acr


def _words() -> dict[str, str]:
    """The registered methods (RFC 8176), and the embedded server's, in words; those that only say how the others were used
    have none.
    """
    passkey, eyes = _("passkey or security key"), _("eye recognition")
    return {
        "pwd": _("password"),
        "pin": _("PIN"),
        "otp": _("one-time code"),
        "sms": _("code by text message"),
        "tel": _("phone call"),
        "hwk": passkey,
        "swk": passkey,
        "pop": passkey,
        "sc": _("smart card"),
        "fpt": _("fingerprint"),
        "face": _("face recognition"),
        "iris": eyes,
        "retina": eyes,
        "vbm": _("voice recognition"),
        "kba": _("security questions"),
        "recovery": _("recovery code"),
        **dict.fromkeys(("mfa", "mca", "user", "geo", "rba"), ""),
    }
