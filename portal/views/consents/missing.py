"""Sentences about missing signatures: who hasn't signed yet, and who can't because they have no account."""

from __future__ import annotations

from portal.i18n.gettext import _, ngettext
from portal.services.consents.forms import ConsentForm, Signer, SignerRole
from portal.services.rules.signing import others_missing, signed_in_another_role, unseen_by, without_account
from portal.state.session_records import Person
from portal.views.consents.labels import names_of
from portal.web.choice_names import choice_name


def missing_words(form: ConsentForm, person: Person) -> list[str]:
    """What keeps an open form from being signed, apart from the reader's own signature, or from coming into force."""
    if form.is_signed_by_all:
        return [_("Everyone has signed. The clinic’s system doesn’t have it in force yet.")]
    waiting = others_missing(form, person)
    words = [*account_words(without_account(form, person)), *_second_role_words(signed_in_another_role(form))]
    if not waiting:
        return words
    names = names_of(waiting)
    return [
        ngettext("%(names)s hasn’t signed yet", "%(names)s haven’t signed yet", len(waiting), names=names),
        *words,
    ]


def _second_role_words(signers: tuple[Signer, ...]) -> list[str]:
    """Why a form waits that asks a person again who has signed."""
    return [
        _(
            "%(name)s has signed in one role, and is asked as %(role)s, too. Everyone signs once here: the clinic has to record the rest.",
            name=signer.name,
            role=choice_name(signer.role),
        )
        for signer in signers
    ]


def unseen_words(form: ConsentForm, role: SignerRole) -> str:
    """Tell a witness who on the patient's side hasn't signed; empty for everyone else, and once all have."""
    waiting = unseen_by(form, role)
    words = ngettext(
        "%(names)s hasn’t signed yet. A witness signs after seeing it done.",
        "%(names)s haven’t signed yet. A witness signs after seeing it done.",
        len(waiting),
        names=names_of(waiting),
    )
    return words if waiting else ""


def account_words(signers: tuple[Signer, ...]) -> list[str]:
    if not signers:
        return []
    words = ngettext(
        "%(names)s has no account yet: the form waits",
        "%(names)s have no account yet: the form waits",
        len(signers),
        names=names_of(signers),
    )
    return [words]
