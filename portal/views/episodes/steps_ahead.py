"""The steps of a treatment that are still to come, in words."""

from __future__ import annotations

from collections.abc import Iterable

from portal.i18n.gettext import _, for_each_language
from portal.i18n.locale import language
from portal.services.episodes import Appointment, EpisodeStage
from portal.values import Value
from portal.web.choice_names import choice_name
from portal.web.glossary import by_language
from portal.web.labels import visit_name, visit_purpose

_TERMS = {
    EpisodeStage.STIMULATION: "stimulation",
    EpisodeStage.TRIGGER: "trigger",
    EpisodeStage.RETRIEVAL: "collection",
    EpisodeStage.BIOPSY: "biopsy",
    EpisodeStage.FREEZE: "vitrified",
    EpisodeStage.TRANSFER: "transfer",
}
"""The terms of the glossary that say what happens in a step."""
_VISITS = {
    EpisodeStage.RETRIEVAL: "EggCollection",
    EpisodeStage.TRANSFER: "EmbryoTransfer",
    EpisodeStage.PREGNANCY_TEST: "PregnancyTest",
    EpisodeStage.EARLY_SCAN: "EarlyScan",
}
"""The kind of visit in which a step happens."""


class Step(Value, frozen=True):
    """A step: what happens in it (empty if that isn't known here), and its visit if one is planned."""

    label: str
    meaning: str
    visit: Appointment | None


def step_of(stage: EpisodeStage, visits: Iterable[Appointment]) -> Step:
    """Return a step in words, with the first of these visits in which it happens; their kinds are in the reader's language."""
    kind = visit_name(_VISITS[stage]) if stage in _VISITS else None
    visit = next((visit for visit in visits if visit_purpose(visit.kind) == kind), None)
    term = _TERMS.get(stage)
    meaning = by_language()[language()][term].meaning if term else _meanings().get(stage, "")
    return Step(choice_name(stage), meaning, visit)


@for_each_language
def _meanings() -> dict[EpisodeStage, str]:
    return {
        EpisodeStage.BASELINE: _("A scan, and often a blood test, before the medicines begin."),
        EpisodeStage.FERTILISATION: _(
            "Eggs and sperm are brought together in the laboratory. The next day shows which eggs were fertilised."
        ),
        EpisodeStage.CULTURE: _(
            "The embryos grow in the laboratory for up to a week. Usually not all of them keep growing."
        ),
        EpisodeStage.LUTEAL_SUPPORT: _(
            "Medicines help the lining of the womb. Keep taking them until the clinic tells you to stop."
        ),
        EpisodeStage.PREGNANCY_TEST: _("A blood test, usually about two weeks later."),
        EpisodeStage.EARLY_SCAN: _("If the test is positive: a first scan, two or three weeks after it."),
    }
