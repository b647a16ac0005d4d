"""Embryos in storage: what a patient sees and decides, and the laboratory's inventory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from flask import Blueprint, Response, g, request, url_for
from markupsafe import Markup

from portal.services.client import Care
from portal.services.consents import all_consents
from portal.services.errors import CareError, NotFound
from portal.services.gather import gather
from portal.services.records import (
    ConsentForm,
    ConsentKind,
    Disposition,
    EmbryoStatus,
    EmbryoStorage,
    Episode,
    StorageLocation,
)
from portal.services.storage import choose_disposition, update_embryo_storage
from portal.sessions import Person
from portal.tenants import Side
from portal.views.episodes import is_rtl, reachable, read_episodes
from portal.views.reach import reach
from portal.web import audit, clinical
from portal.web.conflicts import EDIT_FORM, Comparison, Editing, Filled, Saved, attempt, outcome, shown
from portal.web.drawings.storage import Reach, storage_reaches
from portal.web.filters import local, long_date, today
from portal.web.forms import Fields, Form, Values, a_date, choice, day_of, sent, text
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, toast
from portal.web.permitted import EDIT_EMBRYO, may
from portal.web.unsent import typed_text
from portal.words import _, ngettext

bp = Blueprint("storage", __name__, url_prefix="/storage")

_NEAR_DAYS = 90
PRESSING_DAYS = 14
"""So many days before a date it is urgent, wherever it is shown."""


# ── what is in storage ──────────────────────────────────────────────────────────────────────────────────


@bp.get("")
@signed_in(Side.PATIENT, Side.STAFF)
def index(care: Care, person: Person) -> Response:
    """List the person's embryos, near dates first; for staff those of the episodes that they opened last."""
    found = read_episodes(care, reachable(care, person))
    entries = [Entry(embryo, episode) for episode in found.newest_first for embryo in episode.embryos]
    audit.note("storage.read", "done")
    return render(
        "storage/index.html",
        fragment="results",
        here=sorted((one for one in entries if one.is_here), key=Entry.order),
        gone=sorted((one for one in entries if not one.is_here), key=Entry.order),
        is_incomplete=found.is_incomplete,
    )


@bp.get("/<record:embryo_id>")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person, embryo_id: str) -> Response:
    """Show one embryo: a patient what they may decide, staff what the inventory holds."""
    episode, embryo = reach(care, person, _of_id(embryo_id))
    audit.note("embryo.read", "done", kind="embryo", id_=embryo.id)
    entry = Entry(embryo, episode)
    if person.is_patient:
        return render("storage/show.html", entry=entry, decisions=_decisions(embryo))
    edit = shown(_inventory(care, person, embryo_id), embryo) if _may_edit(person, embryo) else None
    return _inventory_page(entry, edit)


# ── what a patient decides ──────────────────────────────────────────────────────────────────────────────


@bp.get("/<record:embryo_id>/<decision>")
@signed_in(Side.PATIENT)
def decide(care: Care, person: Person, embryo_id: str, decision: str) -> Response:
    """Say what follows from one decision, and ask."""
    episode, embryo = reach(care, person, _of_id(embryo_id))
    audit.note("embryo.read", "done", kind="embryo", id_=embryo.id)
    wanted = _wanted(decision)
    if (obstacle := _obstacle(care, embryo, wanted)) is not None:
        return _refuse(episode, embryo, wanted, obstacle)
    return _ask(episode, embryo, decision, shown(_deciding(care, person, embryo_id, wanted), embryo))


@bp.post("/<record:embryo_id>/<decision>")
@signed_in(Side.PATIENT)
def confirm(care: Care, person: Person, embryo_id: str, decision: str) -> Response:
    """Tell the clinic the decision; sent twice it is one decision."""
    episode, embryo = reach(care, person, _of_id(embryo_id))
    wanted = _wanted(decision)
    if (obstacle := _obstacle(care, embryo, wanted)) is not None:
        return _refuse(episode, embryo, wanted, obstacle)
    result = attempt(_deciding(care, person, embryo_id, wanted), embryo)
    audit.note("embryo.decide", outcome(result), kind="embryo", id_=embryo.id)
    if not isinstance(result, Saved):
        return _ask(episode, embryo, decision, result)
    if result.record.disposition == wanted:
        toast(_("Embryo %(code)s: your decision is recorded.", code=embryo.embryo_code))
    else:
        toast(_("Embryo %(code)s is left as it is now.", code=embryo.embryo_code), tone="info")
    return redirect_to(url_for(".show", embryo_id=embryo.id, episode=episode.id))


def _wanted(decision: str) -> Disposition:
    if decision not in DECISIONS:
        raise NotFound
    return DECISIONS[decision]


DECISIONS = {
    "keep": Disposition.CONTINUE_STORAGE,
    "move": Disposition.TRANSPORT,
    "donate-research": Disposition.DONATE_RESEARCH,
    "donate-patients": Disposition.DONATE_PATIENT,
    "let-go": Disposition.DISCARD,
}
"""The last part of a decision's address, and what it says to the clinic."""

_NEEDS_FORM = (Disposition.DISCARD, Disposition.DONATE_RESEARCH, Disposition.DONATE_PATIENT)


@dataclass(frozen=True, slots=True)
class Decision:
    """One thing that may be decided; `is_chosen` when it is the wish already."""

    name: str
    title: str
    lede: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a decision can't be made now; `form` is the one to sign first, if the clinic has sent it."""

    words: str
    form: ConsentForm | None = None


def _decisions(embryo: EmbryoStorage) -> list[Decision]:
    """What may be decided about it in its state; while it is on hold, only to keep it."""
    if embryo.status not in (EmbryoStatus.STORED, EmbryoStatus.RESERVED, EmbryoStatus.ON_HOLD):
        return []
    words = {
        "keep": (_("Keep it in storage"), _("Renew, so that it stays frozen for you.")),
        "move": (_("Move it to another clinic"), _("It stays frozen and travels in a tank.")),
        "donate-research": (
            _("Donate it to research"),
            _("It helps others to learn, and is not transferred."),
        ),
        "donate-patients": (_("Donate it to other patients"), _("Someone else may have a child from it.")),
        "let-go": (_("Let it go"), _("Storage ends and it is not used.")),
    }
    names = ["keep"] if embryo.is_on_hold else list(DECISIONS)
    return [Decision(name, *words[name], embryo.disposition == DECISIONS[name]) for name in names]


def _obstacle(care: Care, embryo: EmbryoStorage, wanted: Disposition) -> Obstacle | None:
    """Why this can't be decided now: its state, a hold, or a form that isn't signed."""
    if wanted not in {DECISIONS[one.name] for one in _decisions(embryo)}:
        if embryo.is_on_hold:
            return Obstacle(
                _("This embryo is on hold. Until the clinic has talked with you, it can only be kept.")
            )
        return Obstacle(_("This embryo is no longer in storage, so there is nothing to decide."))
    if wanted not in _NEEDS_FORM:
        return None
    forms = _decision_forms(care, embryo)
    if forms is None or any(form.is_signed for form in forms):
        return None
    words = _("Before the clinic can do this, everyone concerned signs a form about what happens to embryos.")
    return Obstacle(words, next((form for form in forms if form.is_open), None))


def _decision_forms(care: Care, embryo: EmbryoStorage) -> list[ConsentForm] | None:
    """The forms on which such a decision rests; None when they can't be read, so that the API alone decides."""
    (forms,) = gather(lambda: all_consents(care, patient_id=embryo.patient_id))
    if isinstance(forms, CareError):
        return None
    kinds = (ConsentKind.DISPOSITION, ConsentKind.DONATION)
    return [form for form in forms if form.kind in kinds and form.patient_id in (embryo.patient_id, None)]


def _deciding(care: Care, person: Person, embryo_id: str, wanted: Disposition) -> Editing[EmbryoStorage]:
    """The wish alone is written; it is compared with what it was when the page was opened."""
    words = [(str(one), clinical.disposition_name(one)) for one in Disposition]
    return Editing(
        read=lambda: reach(care, person, _of_id(embryo_id))[1],
        values=lambda embryo: {"disposition": str(embryo.disposition)},
        fields=lambda embryo: {"disposition": choice(_("Your wish"), words)},
        write=lambda embryo, values: choose_disposition(
            care, embryo.id, disposition=Disposition(values["disposition"]), stamp=embryo.concurrency_stamp
        ),
    )


def _ask(episode: Episode, embryo: EmbryoStorage, name: str, edit: Filled | Comparison) -> Response:
    decision = next(one for one in _decisions(embryo) if one.name == name)
    return render(
        "storage/decide.html",
        status=edit.status,
        entry=Entry(embryo, episode),
        decision=decision,
        wanted=str(DECISIONS[name]),
        consequences=_consequences(embryo, DECISIONS[name]),
        edit=edit,
    )


def _refuse(episode: Episode, embryo: EmbryoStorage, wanted: Disposition, obstacle: Obstacle) -> Response:
    audit.note("embryo.decide", "refused", kind="embryo", id_=embryo.id)
    return render(
        "storage/cannot.html",
        status=403,
        entry=Entry(embryo, episode),
        wish=clinical.disposition_name(wanted),
        obstacle=obstacle,
    )


def _consequences(embryo: EmbryoStorage, wanted: Disposition) -> list[str]:
    """What follows from a decision, in sentences."""
    changeable = _("You can change your mind here until the clinic has acted on it.")
    match wanted:
        case Disposition.CONTINUE_STORAGE:
            paid = _paid_until(embryo)
            return [
                _("The embryo stays frozen, as it is now."),
                _("Storage is paid until %(day)s. That date moves on when the next payment has arrived.", day=long_date(paid))
                if paid
                else _("The clinic tells you what storage costs and until when it is paid."),
                _("How long you agreed to storage doesn’t change by this. Where it ends soon, the clinic sends you a form to renew it."),
                changeable,
            ]  # fmt: skip
        case Disposition.TRANSPORT:
            return [
                _("The clinic talks with you and the other clinic, and arranges the transport."),
                _("The embryo stays in storage here until it leaves, and storage is paid until then."),
                changeable,
            ]
        case Disposition.DONATE_RESEARCH:
            return [
                _(
                    "The embryo is used in a research project, and can’t be transferred to anybody afterwards."
                ),
                _("The form that was signed says which research is allowed."),
                _(
                    "Once it has been handed over, this can’t be undone. Until then you can change your mind here."
                ),
            ]
        case Disposition.DONATE_PATIENT:
            return [
                _(
                    "The embryo may be transferred to someone you don’t know, and a child may be born from it."
                ),
                _("The law says what such a child may learn about you. The clinic offers counselling first."),
                _(
                    "Once it has been handed over, this can’t be undone. Until then you can change your mind here."
                ),
            ]
        case _:
            return [
                _("The clinic takes the embryo out of storage, and it can’t be used any more."),
                _("This can’t be undone once it is done. Until then you can change your mind here."),
                _("If you want to talk first, your care team is there. There is no hurry."),
            ]


# ── the inventory ───────────────────────────────────────────────────────────────────────────────────────


@bp.post("/<record:embryo_id>")
@signed_in(Side.STAFF, roles=EDIT_EMBRYO)
@typed_text(*EDIT_FORM, "status", "location_*", "storage_expires_at", "notes")
def save(care: Care, person: Person, embryo_id: str) -> Response:
    """Save the inventory's record; before a move that is final the embryo's code is typed once more."""
    episode, embryo = reach(care, person, _of_id(embryo_id))
    entry = Entry(embryo, episode)
    if (asked := _retype(care, person, entry)) is not None:
        return asked
    result = attempt(_inventory(care, person, embryo_id), embryo)
    audit.note("embryo.update", outcome(result), kind="embryo", id_=embryo.id)
    if not isinstance(result, Saved):
        return _inventory_page(entry, result)
    toast(
        _("Embryo %(code)s is saved.", code=embryo.embryo_code)
        if result.is_changed
        else _("Nothing was changed.")
    )
    return redirect_to(url_for(".show", embryo_id=embryo.id, episode=episode.id))


_LOCATION = ("facility", "tank", "canister", "cane", "position")


def _inventory(care: Care, person: Person, embryo_id: str) -> Editing[EmbryoStorage]:
    return Editing(
        read=lambda: reach(care, person, _of_id(embryo_id))[1],
        values=_inventory_values,
        fields=_inventory_fields,
        write=lambda embryo, values: _write(care, embryo, values),
    )


def _inventory_values(embryo: EmbryoStorage) -> Values:
    return {
        "status": str(embryo.status),
        **{f"location_{name}": getattr(embryo.location, name, "") for name in _LOCATION},
        "storage_expires_at": day.isoformat() if (day := _paid_until(embryo)) else "",
        "notes": embryo.notes or "",
    }


def _inventory_fields(embryo: EmbryoStorage) -> Fields:
    moves = [
        (str(status), _status_words(embryo, status)) for status in (embryo.status, *embryo.next_statuses)
    ]
    return {
        "status": choice(
            _("Status"),
            moves,
            radios=True,
            known={str(status): _status_words(embryo, status) for status in EmbryoStatus},
            wrong=_("Its present state doesn’t allow this step."),
        ),
        "location_facility": text(_("Facility"), longest=100),
        "location_tank": text(_("Tank"), longest=40),
        "location_canister": text(_("Canister"), longest=40),
        "location_cane": text(_("Cane"), longest=40),
        "location_position": text(_("Position"), longest=40),
        "storage_expires_at": text(_("Paid until"), kind="date", check=a_date),
        "notes": text(_("Notes"), kind="textarea", longest=10_000),
    }


def _status_words(embryo: EmbryoStorage, status: EmbryoStatus) -> str:
    """The field's own terms; what is final says so."""
    if embryo.status == EmbryoStatus.THAWED and status == EmbryoStatus.STORED:
        return _("Stored (re-cryopreserved)")
    words = clinical.embryo_status_term(status)
    return _("%(status)s (final)", status=words) if EmbryoStorage.is_final(status) else words


def _write(care: Care, embryo: EmbryoStorage, values: Values) -> EmbryoStorage | None:
    place = {name: values[f"location_{name}"] for name in _LOCATION}
    return update_embryo_storage(
        care,
        embryo.id,
        status=EmbryoStatus(values["status"]),
        location=StorageLocation(**place) if any(place.values()) else None,
        storage_expires_at=_instant_of(embryo, day_of(values["storage_expires_at"])),
        disposition=embryo.disposition,
        notes=values["notes"] or None,
        stamp=embryo.concurrency_stamp,
    )


def _paid_until(embryo: EmbryoStorage) -> date | None:
    """The day, at the clinic, until which it is paid."""
    return local(embryo.storage_expires_at).date() if embryo.storage_expires_at else None


def _instant_of(embryo: EmbryoStorage, day: date | None) -> datetime | None:
    """The instant to write for a day: the record's own where the day is the same, else the day's start at the clinic."""
    if day is None or day == _paid_until(embryo):
        return embryo.storage_expires_at if day else None
    return datetime.combine(day, time(), tzinfo=g.tenant.time_zone).astimezone(UTC)


def _retype(care: Care, person: Person, entry: Entry) -> Response | None:
    """The page that asks for the embryo's code before a final move; None once it is typed, or something is wrong."""
    embryo, given = entry.embryo, request.form
    wanted = EmbryoStatus(given.get("status") or str(embryo.status))
    is_final = EmbryoStorage.is_final(wanted) and wanted in embryo.next_statuses
    typed = given.get("code")
    if not is_final or given.get("keep-status") == "now" or (typed or "").strip() == embryo.embryo_code:
        return None
    form = Form(_inventory_fields(embryo), sent(_inventory_values(embryo)))
    if not form.validate():
        return None
    carried = [
        (name, given[name]) for name in given if name in ("opened", "seen") or name.startswith("keep-")
    ]
    wishes = _wishes_for(wanted)
    return render(
        "storage/final.html",
        fragment="edit",
        status=200 if typed is None else 422,
        entry=entry,
        wanted=clinical.embryo_status_term(wanted),
        differs=bool(wishes) and embryo.disposition not in wishes,
        carried=[*carried, *((field.name, field.data or "") for field in form)],
        typed=typed,
    )


def _wishes_for(status: EmbryoStatus) -> tuple[Disposition, ...]:
    """The wishes that a final move carries out; none where it doesn't rest on one."""
    carried_out = {
        EmbryoStatus.DISCARDED: (Disposition.DISCARD,),
        EmbryoStatus.DONATED: (Disposition.DONATE_RESEARCH, Disposition.DONATE_PATIENT),
        EmbryoStatus.SHIPPED_OUT: (Disposition.TRANSPORT,),
    }
    return carried_out.get(status, ())


def _inventory_page(entry: Entry, edit: Filled | Comparison | None) -> Response:
    return render(
        "storage/inventory.html", fragment="edit", status=edit.status if edit else 200, entry=entry, edit=edit
    )


def _may_edit(person: Person, embryo: EmbryoStorage) -> bool:
    return may(person, "embryo.edit") and not embryo.is_terminal


# ── what the templates show ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Until:
    """One of the three dates: what it is, the day, and how near it is in words (None while it is far)."""

    term: str
    explained: str
    day: date | None
    near: str | None
    tone: str


@dataclass(frozen=True, slots=True)
class Entry:
    """An embryo and the episode that holds it, as a page shows them."""

    embryo: EmbryoStorage
    episode: Episode

    @property
    def is_here(self) -> bool:
        """Whether it lies in storage."""
        return self.embryo.status in (EmbryoStatus.STORED, EmbryoStatus.RESERVED, EmbryoStatus.ON_HOLD) or (
            not self.embryo.status.known
        )

    @property
    def href(self) -> str:
        """Its page."""
        return url_for("storage.show", embryo_id=self.embryo.id, episode=self.episode.id)

    @property
    def untils(self) -> list[Until]:
        """The three dates, each by itself, in plain words."""
        embryo = self.embryo
        return [
            _until(
                _("You agreed to storage until"),
                _(
                    "Until then your signed consent lets the clinic keep it. You can renew it with a new form."
                ),
                embryo.storage_consented_until,
            ),
            _until(
                _("Storage is paid until"),
                _(
                    "This date moves on when a payment arrives. Nothing happens to the embryo just because it passes."
                ),
                _paid_until(embryo),
            ),
            _until(
                _("The law allows storage until"),
                _("The longest that anybody may store it. Nobody can extend this."),
                embryo.statutory_limit,
            ),
        ]

    @property
    def nearest(self) -> Until | None:
        """The date that presses, if one does."""
        near = [one for one in self.untils if one.near and one.day]
        return min(near, key=lambda one: one.day or date.max, default=None)

    @property
    def drawing(self) -> Markup | None:
        """The three dates as a picture with the same facts in words."""
        reaches = [Reach(one.term, one.day) for one in self.untils if one.day]
        return storage_reaches(reaches, today=today(), write=long_date, rtl=is_rtl())

    @property
    def place(self) -> str:
        """Where it lies, for staff."""
        place = self.embryo.location
        return " / ".join(part for name in _LOCATION if (part := getattr(place, name, "")))

    def order(self) -> tuple[date, str]:
        """Near dates first, then by code."""
        days = (one.day for one in self.untils if one.day)
        return (min(days, default=date.max), self.embryo.embryo_code)


def _until(term: str, explained: str, day: date | None) -> Until:
    left = (day - today()).days if day else _NEAR_DAYS + 1
    if left > _NEAR_DAYS:
        return Until(term, explained, day, None, "neutral")
    if left < 0:
        return Until(term, explained, day, _("This date has passed"), "urgent")
    words = ngettext("In %(num)s day", "In %(num)s days", left) if left else _("Today")
    return Until(term, explained, day, words, "urgent" if left <= PRESSING_DAYS else "attention")


def _of_id(embryo_id: str) -> Callable[[Episode], EmbryoStorage | None]:
    def pick(episode: Episode) -> EmbryoStorage | None:
        embryos: Iterable[EmbryoStorage] = episode.embryos
        return next((embryo for embryo in embryos if embryo.id == embryo_id), None)

    return pick
