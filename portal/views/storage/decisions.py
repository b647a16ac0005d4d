"""What may be decided about an embryo, and what follows from it."""

from __future__ import annotations

from portal.i18n.gettext import _
from portal.services.storage import Disposition, EmbryoStorage
from portal.values import Value
from portal.views.embryo_view import paid_until
from portal.web.filters import long_date, today
from portal.web.not_given import not_given

SAID_HERE = {
    "keep": Disposition.CONTINUE_STORAGE,
    "leave-open": Disposition.UNDECIDED,
    "take-back": Disposition.UNDECIDED,
}


BY_FORM = {
    "move": Disposition.TRANSPORT,
    "donate-research": Disposition.DONATE_RESEARCH,
    "donate-patients": Disposition.DONATE_PATIENT,
    "end-storage": Disposition.DISCARD,
}


DECISIONS = {**SAID_HERE, **BY_FORM}
"""The dispositions by the last part of a decision's address: made here, or by signing a form."""


class Decision(Value, frozen=True):
    """An option; `is_chosen` if it is the current disposition."""

    name: str
    title: str
    lede: str
    is_chosen: bool


def decisions_about(embryo: EmbryoStorage) -> list[Decision]:
    """Return the options for the embryo in its current state.

    A decision made by a form can only be revoked; while the embryo is on hold by the clinic, it can only be kept.
    """
    words = {
        "keep": (_("Keep it in storage"), _("It stays frozen for you.")),
        "leave-open": (_("Leave it open"), _("You haven’t decided yet, and say so to the clinic.")),
        "take-back": (_("Take my decision back"), _("The embryo goes on hold. You can do this at any time.")),
        "move": (_("Move it to another clinic"), _("It stays frozen and travels in a tank.")),
        "donate-research": (
            _("Donate it to research"),
            _("It helps others to learn, and is not transferred."),
        ),
        "donate-patients": (
            _("Donate it to other patients"),
            _("Another person or couple could have a child."),
        ),
        "end-storage": (
            _("End storage"),
            _("The embryo would be allowed to perish. We’ll talk with you first."),
        ),
    }
    return [Decision(name, *words[name], embryo.disposition == DECISIONS[name]) for name in _names(embryo)]


def _names(embryo: EmbryoStorage) -> list[str]:
    if embryo.has_final_wish:
        decided = next(name for name, wish in BY_FORM.items() if wish == embryo.disposition)
        return [] if embryo.is_terminal else [decided, "take-back"]
    if not embryo.is_in_storage:
        return []
    open_ = ["leave-open"] if embryo.disposition == Disposition.CONTINUE_STORAGE else []
    return ["keep", *open_, *(() if _is_held_by_clinic(embryo) else BY_FORM)]


def is_stopped_by_clinic(embryo: EmbryoStorage, decision: str) -> bool:
    """Whether the clinic's hold is why this can't be decided now."""
    return (
        _is_held_by_clinic(embryo)
        and not embryo.has_final_wish
        and decision not in (*_names(embryo), "take-back")
    )


def _is_held_by_clinic(embryo: EmbryoStorage) -> bool:
    return embryo.is_on_hold and not embryo.is_held_by_patient


def obstacle_to(embryo: EmbryoStorage, decision: str) -> str | None:
    """Why this can't be decided now: the embryo's status, a hold, or an earlier decision."""
    if decision in _names(embryo):
        return None
    if embryo.has_final_wish and not embryo.is_terminal:
        return _("A signed form decided what happens to this embryo. Take that decision back first.")
    if decision == "take-back" and embryo.is_in_storage:
        return _("No decision that a form made stands for this embryo, so there is nothing to take back.")
    if is_stopped_by_clinic(embryo, decision):
        return _("This embryo is on hold. Until the clinic has talked with you, it can only be kept.")
    if embryo.is_in_storage and not_given("EmbryoStorage.disposition"):
        return _(
            "The clinic’s system hasn’t given what is on record for this embryo, so this can’t be said here. Ask the clinic."
        )
    if embryo.is_in_storage:
        return _("This is what the clinic has on record already.")
    if not embryo.status.known:
        return _(
            "The portal doesn’t know the state of this embryo, so nothing can be decided here. Ask the clinic."
        )
    return _("This embryo is no longer in storage, so there is nothing to decide.")


def consequences_of(embryo: EmbryoStorage, name: str) -> list[str]:
    once_signed = _(
        "Once the form is signed, you can still take it back here until the clinic has acted on it. The embryo then goes on hold."
    )
    match name:
        case "keep":
            paid = paid_until(embryo)
            return [
                _("The embryo stays on hold: saying this doesn’t end the hold.")
                if embryo.is_on_hold
                else _("The embryo stays frozen, as it is now."),
                _(
                    "Storage is paid until %(day)s. That date moves on when the next payment has arrived.",
                    day=long_date(paid),
                )
                if paid and paid >= today()
                else _(
                    "Storage was paid until %(day)s. That date moves on when the next payment has arrived.",
                    day=long_date(paid),
                )
                if paid
                else _("The clinic tells you what storage costs and until when it is paid."),
                _(
                    "How long you agreed to storage doesn’t change by this. When that time ends, the clinic asks you with a form of its own."
                ),
                _("You can change your mind here at any time."),
            ]
        case "leave-open":
            return [
                _("The embryo stays frozen, as it is now."),
                _("The clinic sees that you haven’t decided yet."),
                _("You can change your mind here at any time."),
            ]
        case "take-back":
            return [
                _(
                    "What the form decided no longer holds, and the form allows nothing more, also for other embryos that it names. You can still read it."
                ),
                _("The embryo goes on hold: nobody at the clinic can thaw, use or move it.")
                if embryo.is_in_storage
                else _("The embryo goes on hold: the clinic does nothing more with it."),
                _("The hold ends only when everyone concerned has signed a new form that names this embryo."),
                _("If you want to talk first, your care team is there. There is no hurry."),
            ]
        case "move":
            return [
                _("The clinic talks with you and the other clinic, and arranges the transport."),
                _("The embryo stays in storage here until it leaves, and storage is paid until then."),
                once_signed,
            ]
        case "donate-research":
            return [
                _(
                    "The embryo is used in a research project, and can’t be transferred to anybody afterwards."
                ),
                _("The form says which research is allowed."),
                _("Once it has been handed over, this can’t be undone."),
                once_signed,
            ]
        case "donate-patients":
            return [
                _(
                    "The embryo may be transferred to someone you don’t know, and a child may be born from it."
                ),
                _("The law says what such a child may learn about you. The clinic offers counselling first."),
                _("Once it has been handed over, this can’t be undone."),
                once_signed,
            ]
        case _:
            return [
                _(
                    "The clinic takes the embryo out of storage. Once this has been done, it can’t be undone. Until then you can change your mind."
                ),
                once_signed,
                _("If you want to talk first, your care team is there. There is no hurry."),
            ]
