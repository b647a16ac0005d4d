"""A signature, given once. What is raised in its place has a page of its own (portal.views.consents.sign_pages)."""

from __future__ import annotations

from dataclasses import dataclass

from flask import g
from msgspec.structs import replace

from portal.context import context
from portal.services.client import Care
from portal.services.consents import get_consent, sign_consent, signing_demand
from portal.services.consents.forms import ConsentForm
from portal.services.errors import Conflict, Invalid, Refused, Unavailable
from portal.services.rules.signing import open_role
from portal.state.operations import State
from portal.state.session_records import Person
from portal.state.signature_proofs import SignatureProofs
from portal.views.consents.signing import Signing, Step, resume
from portal.web.act_once import Reopened, Unconfirmed, act_once

_RETRIES = 2
"""How often others may sign at the same moment."""


@dataclass(eq=False)
class HasSigned(Exception):
    form: ConsentForm


@dataclass(eq=False)
class CannotSign(Exception):
    """It isn't the person's to sign, or not now; they may have signed it."""

    care: Care
    form: ConsentForm


@dataclass(eq=False)
class StalePage(Exception):
    """The submitted page was from another visit, or shows another text."""

    care: Care
    signing: Signing


@dataclass(eq=False)
class Incomplete(Exception):
    """Something is missing that this step asks for."""

    signing: Signing
    step: Step


@dataclass(eq=False)
class SignInNeeded(Exception):
    """The person has to sign in once more first."""

    signing: Signing


@dataclass(eq=False)
class StartOver(Exception):
    """The steps have to be shown again as they are now; `was_changed`: the signature was refused for a change of the form."""

    form: ConsentForm
    was_changed: bool = False


@dataclass(eq=False)
class NotSigned(Exception):
    """The signature certainly didn't arrive."""

    care: Care
    signing: Signing


@dataclass(eq=False)
class SignatureRefused(Exception):
    care: Care
    signing: Signing
    code: str


@dataclass(eq=False)
class NameNotTaken(Exception):
    """The API doesn't accept the typed name, though it is the form's or the person's own."""

    signing: Signing


@dataclass(eq=False)
class SignatureUnconfirmed(Exception):
    """A signature was sent, and nothing says whether it arrived; `is_readable`: the record doesn't show it."""

    signing: Signing
    is_readable: bool
    status: int


def open_signing(care: Care, person: Person, consent_id: str, mark: str | None) -> Signing:
    """Read the form and return the person's open signing of it; `mark` is the submitted page's.

    Raises `HasSigned`, `CannotSign`, `SignatureUnconfirmed` and `StalePage`.
    """
    form = get_consent(care, consent_id)
    role = open_role(form, person)
    if role is None:
        raise CannotSign(care, form)
    demand = signing_demand(role, form.kind)
    signing = resume(form, person, role, demand, is_fresh=care.suffices(demand))
    if signing.is_fresh and g.tenant.fresh_sign_in_for_each_signature:
        is_free = _proofs().is_free(g.tenant.key, person, signing.operation.id)
        signing = replace(signing, is_fresh=is_free)
    if signing.operation.state is State.DONE:
        raise HasSigned(form)
    if signing.operation.state is not State.OPEN:
        raise SignatureUnconfirmed(signing, is_readable=True, status=200 if mark is None else 202)
    if mark not in (None, signing.mark):
        raise StalePage(care, signing)
    return signing


def require_complete(signing: Signing) -> None:
    """Raise `Incomplete` or `SignInNeeded` unless everything is there that a signature takes."""
    if signing.step is not Step.NAME:
        raise Incomplete(signing, signing.step)
    if not signing.is_fresh:
        raise SignInNeeded(signing)
    if not signing.is_name_right:
        raise Incomplete(signing, Step.NAME)


def _require_proof(signing: Signing) -> None:
    """Where the clinic asks for a sign-in for each signature, let this one prove no other."""
    if not g.tenant.fresh_sign_in_for_each_signature:
        return
    if not _proofs().take(
        g.tenant.key, signing.person, signing.operation.id
    ):  # it has proved another meanwhile
        raise SignInNeeded(signing)


def _proofs() -> SignatureProofs:
    return SignatureProofs(context().vault, context().clock)


def sign_once(care: Care, signing: Signing) -> None:
    """Sign, unless an earlier post did. Raises the errors of this module."""
    _require_proof(signing)
    form = signing.form
    try:
        act_once(
            signing.attempt,
            lambda _key: _send(care, signing),
            shows=signing.is_in,
            look=lambda: get_consent(care, form.id),
            event="consent.sign",
            id_=form.id,
            limit=context().settings.limit_signing,
        )
    except (Reopened, Conflict) as error:
        raise StartOver(form, was_changed=isinstance(error, Conflict)) from error
    except Unconfirmed as error:
        raise SignatureUnconfirmed(signing, error.is_readable, error.status) from error
    except Unavailable as error:
        raise NotSigned(care, signing) from error
    except Invalid as error:
        if "signature" not in error.fields:
            raise
        raise NameNotTaken(signing) from error
    except Refused as error:
        raise SignatureRefused(care, signing, error.code) from error


def _send(care: Care, signing: Signing) -> ConsentForm:
    """Sign; if someone else has signed meanwhile, sign the new version as long as its text is the same."""
    for _retry in range(_RETRIES):
        try:
            return _sign(care, signing)
        except Conflict:
            newer = signing.rebase(get_consent(care, signing.form.id))
            if newer is None:
                raise
            signing = newer
    return _sign(care, signing)


def _sign(care: Care, signing: Signing) -> ConsentForm:
    form = signing.form
    return sign_consent(care, form.id, signing.signature, kind=form.kind, operation=signing.attempt.key)
