"""Considerate words about how an episode ended."""

from __future__ import annotations

from datetime import date

from portal.i18n.gettext import _, ngettext
from portal.services.cases import CareStatus
from portal.services.episodes import Episode, EpisodeStage, Outcome
from portal.web.filters import local
from portal.web.modules import has_module

ONLY_VERIFIED = (EpisodeStage.PREGNANCY_TEST, EpisodeStage.EARLY_SCAN)
"""The stages whose events a patient reads once they are verified."""
_FAREWELL_DAYS = 84
"""For how long a pregnancy is spoken of: nobody tells the portal how it went on."""


def words_of_ending(episode: Episode, today: date, *, is_own: bool) -> tuple[str, str]:
    """Return a short line and a longer one about an episode that has ended, as they are right on that day.

    To a partner (not `is_own`) a pregnancy is the patient's.
    """
    if _is_mistake(episode):
        return _("Entered by mistake"), _("This record was made by mistake. Nothing in it concerns you.")
    match None if _rests_on_unverified(episode) else episode.outcome:
        case Outcome.PREGNANCY if episode.end_date and (today - episode.end_date).days <= _FAREWELL_DAYS:
            return _("This treatment has ended"), (
                _("You left our care pregnant. We wish you all the best.")
                if is_own
                else _(
                    "%(name)s left our care pregnant. We wish you both all the best.",
                    name=episode.patient.called,
                )
            )
        case Outcome.NO_PREGNANCY:
            return (
                _("This treatment has ended"),
                _("We are sorry that it didn’t lead to a pregnancy. There is no hurry; whenever you want to talk, "
                  "your care team is there."),
            )  # fmt: skip
        case Outcome.NO_TRANSFER:
            return (
                _("This treatment has ended"),
                _("There was no transfer this time, and we know how hard that is. Your care team will talk the next "
                  "steps through with you when you are ready."),
            )  # fmt: skip
        case Outcome.CANCELLED:
            return (
                _("This treatment was stopped early"),
                _("That is disappointing, and it was decided with care. Your care team will go through what comes "
                  "next with you."),
            )  # fmt: skip
        case _ if episode.status == CareStatus.CANCELLED:
            return (
                _("This treatment was stopped early"),
                _("Your care team will go through what comes next with you."),
            )
        case _:
            return _("This treatment is complete"), _(
                "Everything about it stays here, whenever you want to look."
            )


def frozen_in(episode: Episode) -> str:
    """How many embryos were frozen in an episode; empty if none, or if the clinic doesn't show their storage.

    Those frozen before it began are there to be transferred.
    """
    days = [local(embryo.cryopreserved_at).date() for embryo in episode.embryos if embryo.cryopreserved_at]
    count = sum(episode.start_date is None or day >= episode.start_date for day in days)
    if not count or _is_mistake(episode) or not has_module("storage"):
        return ""
    return ngettext("%(num)s embryo was frozen.", "%(num)s embryos were frozen.", count)


def _is_mistake(episode: Episode) -> bool:
    return episode.outcome == Outcome.ENTERED_IN_ERROR or episode.status == CareStatus.ENTERED_IN_ERROR


def _rests_on_unverified(episode: Episode) -> bool:
    """Whether the outcome is that of a pregnancy test or early scan, and nobody has verified any of them."""
    verified = {entry.verified for entry in episode.timeline if entry.stage in ONLY_VERIFIED}
    return episode.outcome in (Outcome.PREGNANCY, Outcome.NO_PREGNANCY) and verified == {False}
