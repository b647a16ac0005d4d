"""Notifications about a consent form."""

from __future__ import annotations

from sqlalchemy.orm import Session

from portal.careservice.domain import notifications
from portal.careservice.domain.consents.forms import ConsentForm
from portal.careservice.domain.enumerations import Severity


def ask_next_signers(session: Session, form: ConsentForm, already_asked: set[str] | None = None) -> None:
    """Ask those whose turn it is to sign, except the people in `already_asked`."""
    people_in_turn = {signer.person_id for signer in form.next_signers()} - (already_asked or set())
    _announce(session, form, people_in_turn, "ConsentRequested", Severity.INFO)


def tell_signers(session: Session, form: ConsentForm, kind: str, severity: Severity) -> None:
    """Notify everybody whom the form names as a signer."""
    everybody = {signer.person_id for signer in form.required_signers}
    _announce(session, form, everybody, kind, severity)


def _announce(session: Session, form: ConsentForm, who: set[str], kind: str, severity: Severity) -> None:
    notifications.announce(
        session,
        tenant_id=form.tenant_id,
        who=who,
        kind=kind,
        entity=("ConsentForm", form.id),
        severity=severity,
        data={"episodeId": form.episode_id} if form.episode_id else {},
    )
