"""An embryo's moves for staff: which are offered, and what is missing for the others."""

from __future__ import annotations

from flask import url_for

from portal.i18n.gettext import _, ngettext
from portal.services.client import Care
from portal.services.consents import all_consents
from portal.services.consents.forms import ConsentForm, ConsentKind
from portal.services.episodes import Episode, get_episode
from portal.services.gather import attempt, gather_all, known
from portal.services.rules.embryo_moves import (
    Evidence,
    Gap,
    Missing,
    Move,
    moves_of,
    names_embryo,
    needed_kinds,
)
from portal.services.storage import Disposition, EmbryoStatus, EmbryoStorage
from portal.state.session_records import Person
from portal.values import Value
from portal.views.consents.form_sources import address_to_create
from portal.views.consents.labels import listed
from portal.views.embryo_view import EmbryoView
from portal.web import labels
from portal.web.filters import now
from portal.web.not_given import not_given


class Reason(Value, frozen=True):
    """A sentence that says why a move isn't offered; `form` is the form concerned, with its address."""

    words: str
    form: ConsentForm | None

    @property
    def href(self) -> str | None:
        return url_for("consents.show", consent_id=self.form.id) if self.form else None


class Withheld(Value, frozen=True):
    """A move that isn't offered now, why, and where the form that it lacks is made."""

    name: str
    reasons: list[Reason]
    make_href: str | None = None


class Moves(Value, frozen=True):
    """The moves of an embryo, based on its patient's forms as read for this page."""

    episode: Episode
    evidence: Evidence
    person: Person

    def of(self, embryo: EmbryoStorage) -> tuple[Move, ...]:
        return moves_of(embryo, self.episode, self.evidence, self.person)

    def to(self, embryo: EmbryoStorage, status: EmbryoStatus) -> Move | None:
        """The move to `status`; None if the current status doesn't allow it."""
        return next((move for move in self.of(embryo) if move.status == status), None)

    def withheld(self, embryo: EmbryoStorage) -> list[Withheld]:
        return [
            Withheld(
                move_name(embryo, move.status),
                [reason(embryo, lack) for lack in move.missing],
                self._make_href(embryo, move),
            )
            for move in self.of(embryo)
            if not move.is_offered
        ]

    def _make_href(self, embryo: EmbryoStorage, move: Move) -> str | None:
        lacks_form = any(lack.gap in (Gap.NO_FORM, Gap.NOT_NAMED) for lack in move.missing)
        kinds = needed_kinds(move.status) if lacks_form else ()
        return address_to_create(kinds[0], self.episode.id, embryo.id) if kinds else None


def read_moves(care: Care, person: Person, view: EmbryoView) -> Moves:
    """Read the basis of the embryo's moves: its patient's forms, and the episodes of those that allow treatment."""
    embryo = view.embryo
    answer = attempt(lambda: all_consents(care, patient_id=embryo.patient_id or view.episode.patient.id))
    forms = known(answer)
    treatments = {
        form.episode_id
        for form in forms or ()
        if form.is_signed and form.kind == ConsentKind.TREATMENT and names_embryo(form, embryo.id)
    }
    episodes = {view.episode.id: view.episode}
    others = [id_ for id_ in treatments if id_ and id_ not in episodes]
    for found in gather_all([lambda id_=id_: get_episode(care, id_) for id_ in others]):
        if (episode := known(found)) is not None:
            episodes[episode.id] = episode
    evidence = (
        Evidence(None, episodes, now())
        if forms is None
        else Evidence(forms.items, episodes, now(), forms.is_whole)
    )
    return Moves(view.episode, evidence, person)


def move_name(embryo: EmbryoStorage, status: EmbryoStatus) -> str:
    """A move's label in laboratory terms; final ones say so."""
    if embryo.status == EmbryoStatus.THAWED and status == EmbryoStatus.STORED:
        return _("Stored (re-cryopreserved)")
    if embryo.status == EmbryoStatus.THAWED and status == EmbryoStatus.DISCARDED:
        return _("Discarded: did not survive (final)")
    words = labels.embryo_status_term(embryo, status)
    return _("%(status)s (final)", status=words) if EmbryoStorage.is_final(status) else words


def reason(embryo: EmbryoStorage, missing: Missing) -> Reason:
    return Reason(_words(embryo, missing), missing.form)


def _words(embryo: EmbryoStorage, missing: Missing) -> str:
    names = listed(list(missing.names))
    match missing.gap:
        case Gap.HELD_BY_PATIENT:
            return _(
                "On hold by the patient’s side. Only a new signed form that names this embryo ends that."
            )
        case Gap.HELD_BY_CLINIC:
            if not embryo.hold_reason and not_given("EmbryoStorage.holdReason"):
                return _("On hold, and the clinic’s system hasn’t given the reason. End the hold first.")
            return _("On hold by the clinic. End the hold first.")
        case Gap.FORMS_UNREADABLE:
            return _("The patient’s forms can’t be read right now.")
        case Gap.FORMS_PARTLY_READ:
            return _("None of the patient’s forms that could be read allows it; not all could be read.")
        case Gap.NO_FORM:
            return _("No signed form allows it.")
        case Gap.PATIENT_UNKNOWN:
            return _("The clinic’s system hasn’t said whose embryo this is, so no form can be matched to it.")
        case Gap.NOT_NAMED:
            if missing.form is None or missing.form.embryo_storage_ids is None:
                return _("The signed form doesn’t say which embryos it is about.")
            return _("The signed form doesn’t name this embryo.")
        case Gap.NOT_SIGNED | Gap.PARTY_MISSING:
            if not missing.names:
                return _("The form isn’t signed by everyone yet.")
            return ngettext(
                "%(names)s hasn’t signed yet.",
                "%(names)s haven’t signed yet.",
                len(missing.names),
                names=names,
            )
        case Gap.NOT_IN_FORCE:
            return _("The form is signed, but isn’t in force yet.")
        case Gap.TREATMENT_OVER:
            return _("The treatment that the form is for isn’t under way.")
        case Gap.TREATMENT_UNKNOWN:
            return _("The portal can’t tell whether the treatment that the form is for is under way.")
        case Gap.WISH_DIFFERS:
            if embryo.disposition is Disposition.UNDECIDED:
                return (
                    _("The clinic’s system hasn’t given the patient’s wish.")
                    if not_given("EmbryoStorage.disposition")
                    else _("The patient hasn’t decided what happens to this embryo.")
                )
            return _(
                "The wish on record is another: %(wish)s.", wish=labels.disposition_name(embryo.disposition)
            )
        case Gap.SECOND_PERSON:
            return _(
                "A second person’s signature is missing: a clinician’s or a witness’s, and not your own."
            )
