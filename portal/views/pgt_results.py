"""An embryo's genetic test: the laboratory's call, what it means and doesn't mean, and the laboratory's cut-offs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flask import Blueprint, Response, g, url_for
from markupsafe import Markup

from portal.config.consent_templates.law import law_of
from portal.config.modules import Module
from portal.config.tenants import Side
from portal.i18n.gettext import _
from portal.i18n.locale import is_rtl
from portal.services.client import Care
from portal.services.episodes import Episode, get_episode
from portal.services.errors import CareError, NotFound
from portal.services.gather import attempt, gather, known
from portal.services.patients import Patient
from portal.services.pgt_results import PgtBrief, PgtCall, PgtResult, PgtType, get_pgt_result
from portal.services.storage import EmbryoStorage
from portal.state.session_records import Person
from portal.views.recent import name_opened
from portal.views.written_afterwards import Written, read_talks, written_afterwards
from portal.web import audit, labels, seen_results
from portal.web.choice_names import choice_name
from portal.web.drawings.cut_offs import cut_off_chart
from portal.web.filters import local, long_date, number
from portal.web.guard import signed_in
from portal.web.htmx import render
from portal.web.modules import has_module, whole
from portal.web.not_given import not_given
from portal.web.pages import Page
from portal.web.said import said

bp = whole(Module.RESULTS, Blueprint("pgt_results", __name__, url_prefix="/pgt-results"))


class ResultPage(Page, template="pgt_results/show.html", about="result"):
    """A result; `written` is what the clinic wrote to a patient once it was released."""

    result: PgtResult
    view: ResultView
    written: Written | CareError | None


@bp.get("/<record:result_id>")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person, result_id: str) -> Response:
    """Show a result; for patients, it isn't found before its release."""
    result, talks = gather(lambda: get_pgt_result(care, result_id), lambda: read_talks(care, person))
    if isinstance(result, CareError):
        raise result
    if person.is_patient and not result.is_released:
        raise NotFound
    audit.shown("pgt-result.read", "pgt-result", result.id)
    before = seen_results.previous_calls(person, [result]).get(result.id)
    episode = _episode_of(care, result) if person.is_staff else None
    view = ResultView(result, episode, before)
    name_opened(view.patient.full_name if view.patient else "", view.code)
    released = local(result.released_at).date() if result.released_at else None
    written = written_afterwards(talks, result.episode_id, released)
    return render(ResultPage(result=result, view=view, written=written))


def _episode_of(care: Care, result: PgtResult) -> Episode | None:
    """The treatment of the embryo that was tested; None if it can't be read."""
    id_ = result.episode_id
    return known(attempt(lambda: get_episode(care, id_))) if id_ else None


@dataclass(frozen=True, slots=True)
class ResultView:
    """A result in words; `episode` is its treatment, given to staff, `before` the call that the person saw first."""

    result: PgtResult
    episode: Episode | None = None
    before: seen_results.SeenCall | None = None

    @property
    def patient(self) -> Patient | None:
        """Whose embryo was tested, if that is known."""
        return self.episode.patient if self.episode else None

    @property
    def cohort(self) -> list[tuple[EmbryoStorage, PgtBrief | None]]:
        """All embryos of the treatment, each with its first test as on the treatment's page, if there are others than this."""
        if self.episode is None or len(self.episode.embryos) < 2 or not has_module("storage"):
            return []
        tests = {test.embryo_code: test for test in reversed(self.episode.pgt_results) if test.embryo_code}
        return [(embryo, tests.get(embryo.embryo_code)) for embryo in self.episode.embryos]

    @property
    def code(self) -> str:
        """The embryo's code, for staff with the patient's record number."""
        code = self.result.embryo_code
        return labels.with_record(code, self.patient) if self.patient else code

    @property
    def title(self) -> str:
        """The page's title."""
        code = self.code
        return _("Genetic test of embryo %(code)s", code=code) if code else _("Genetic test of an embryo")

    @property
    def words(self) -> list[str]:
        """The glossary's words that this result uses."""
        of_call = {PgtCall.EUPLOID: "euploid", PgtCall.ANEUPLOID: "aneuploid"}.get(
            self.result.call or PgtCall.LOW_MOSAIC, "mosaic"
        )
        of_changes = [
            kind
            for kind in ("trisomy", "monosomy")
            if any(kind in abnormality.change.casefold() for abnormality in self.result.abnormalities)
        ]
        return ["pgt-a", of_call, *of_changes, "blastocyst"]

    @property
    def call(self) -> str:
        """The laboratory's call, with its percentage of changed cells if it has one."""
        if self.result.call is None:
            is_untold = self.result.is_released and not_given("PgtResult.call")
            return _("Not given by the clinic’s system") if is_untold else _("No result yet")
        return _call_words(self.result.call, self.result.mosaic_percent)

    @property
    def change(self) -> str:
        """What the call was when the person looked before, and what it is since when; empty if it hasn't changed."""
        if self.before is None:
            return ""
        was = _call_words(PgtCall(self.before.call), self.before.percent)
        if self.result.reported_at is None:
            return _("When you looked before, it was: %(was)s. Now it is: %(now)s.", was=was, now=self.call)
        return _(
            "When you looked before, it was: %(was)s. Since %(day)s it is: %(now)s.",
            was=was,
            now=self.call,
            day=long_date(self.result.reported_at),
        )

    @property
    def tone(self) -> str:
        """The tone of its tag; no call is coloured as bad news."""
        good = (PgtCall.EUPLOID, PgtCall.UNAFFECTED, PgtCall.BALANCED)
        return "success" if self.result.call in good else "neutral"

    @property
    def test(self) -> str:
        """What was tested for; without words for what the law of the clinic's country doesn't allow."""
        names = {
            PgtType.PGT_A: _("PGT-A: the number of chromosomes"),
            PgtType.PGT_M: _("PGT-M: one inherited condition"),
            PgtType.PGT_SR: _("PGT-SR: rearranged chromosomes"),
            PgtType.PGT_P: _("PGT-P: estimated risks from many genes together"),
        }
        kind = self.result.test_type
        if kind is None or not law_of(g.tenant.country).allows_test(kind):
            return _("Genetic test")
        return names.get(kind) or str(kind)

    @property
    def cut_offs(self) -> list[str]:
        """The laboratory's cut-offs, in sentences."""
        below, above = self.result.thresholds.euploid_below, self.result.thresholds.aneuploid_above
        found: list[str] = []
        if below is not None:
            found.append(
                _("Below %(percent)s%% of changed cells it calls an embryo euploid.", percent=number(below))
            )
        if below is not None and above is not None:
            found.append(
                _("From %(low)s%% to %(high)s%% it calls it mosaic.", low=number(below), high=number(above))
            )
        if above is not None:
            found.append(_("Above %(percent)s%% it calls it aneuploid.", percent=number(above)))
        return found

    @property
    def chart(self) -> Markup | None:
        """The laboratory's bands from 0 to 100 % with this embryo's position; None without cut-offs."""
        result = self.result
        bands = {
            PgtCall.EUPLOID: 0,
            PgtCall.LOW_MOSAIC: 1,
            PgtCall.HIGH_MOSAIC: 1,
            PgtCall.ANEUPLOID: 2,
        }
        return cut_off_chart(
            result.thresholds.euploid_below,
            result.thresholds.aneuploid_above,
            result.mosaic_percent if result.is_mosaic else None,
            current=bands.get(result.call) if result.call else None,
            names=(
                choice_name(PgtCall.EUPLOID),
                _("Mosaic"),
                choice_name(PgtCall.ANEUPLOID),
            ),
            said=" ".join([*self.cut_offs, self.call]),
            number=number,
            rtl=is_rtl(),
        )

    @property
    def meaning(self) -> tuple[str, str]:
        """What the call means and doesn't mean."""
        return _meaning(self.result.call)

    @property
    def embryo_href(self) -> str | None:
        """The page of the embryo."""
        result = self.result
        if not result.embryo_storage_id or not has_module("storage"):
            return None
        return url_for("storage.show", embryo_id=result.embryo_storage_id, episode=result.episode_id)


def _call_words(call: PgtCall, percent: float | None) -> str:
    words = choice_name(call)
    return words if percent is None else _("%(call)s, %(percent)s%%", call=words, percent=number(percent))


_SHARE = re.compile(r"(?<=^mosaic (?:gain|loss))\s*\([\d.,]+\s*%\)$")
"""How many of the cells: said of any other change, it would be one of some of the cells only."""


@bp.app_template_filter("change_in_words")
def change_in_words(change: str) -> Markup | str:
    """A known kind of change in plain words with the laboratory's beside it; else the laboratory's own."""
    kind = _SHARE.sub("", change.strip().casefold())
    plain = {
        "trisomy": _("three copies instead of two"),
        "monosomy": _("one copy instead of two"),
        "gain": _("more of it than usual"),
        "loss": _("less of it than usual"),
        "mosaic gain": _("more of it than usual, in some of the cells"),
        "mosaic loss": _("less of it than usual, in some of the cells"),
    }.get(kind)
    return Markup("<span>{} ({})</span>").format(plain, said(change)) if plain else said(change)


@bp.app_template_filter("pgt_meaning")
def meaning_line(call: PgtCall | None) -> str:
    """What a call means, in one sentence, for lists."""
    return _meaning(call)[0]


def _meaning(call: PgtCall | None) -> tuple[str, str]:
    few_cells = _(
        "Only a few cells from the outer layer were tested. They may differ from the rest of the embryo."
    )
    match call:
        case PgtCall.EUPLOID:
            return (
                _(
                    "In the cells that were tested, the laboratory found no change above its limit: no chromosome missing, none too many."
                ),
                _("It does not promise a pregnancy or a healthy child: many other things matter too. ")
                + few_cells,
            )
        case PgtCall.LOW_MOSAIC | PgtCall.HIGH_MOSAIC:
            return (
                _("Some of the tested cells had a change in their chromosomes and others had none."),
                _("It does not mean that a child would be ill. Some mosaic embryos lead to healthy children; with a "
                  "higher percentage fewer do. Talk with your clinic about whether to transfer it. ") + few_cells,
            )  # fmt: skip
        case PgtCall.ANEUPLOID:
            return (
                _("In the cells that were tested, chromosomes were missing or too many. Such embryos rarely lead to "
                  "a birth."),
                _("It says nothing about your other embryos, and nobody did anything wrong: this happens by chance "
                  "in many embryos. ") + few_cells,
            )  # fmt: skip
        case PgtCall.SEGMENTAL:
            return (
                _("A part of a chromosome was missing or doubled in the cells that were tested."),
                _("How much that matters depends on the part, and can’t be read from the word alone. ")
                + few_cells,
            )
        case PgtCall.UNAFFECTED:
            return (
                _("The embryo did not have the inherited condition that was tested for."),
                _("Other conditions were not tested. The test can be wrong in a few cases in a hundred."),
            )
        case PgtCall.CARRIER:
            return (
                _("The embryo carries one changed copy of the gene that was tested for."),
                _(
                    "Whether that matters for a child’s health depends on the condition: ask a genetic counsellor. Other conditions were not tested."
                ),
            )
        case PgtCall.AFFECTED:
            return (
                _("The embryo has the inherited condition that was tested for."),
                _("It does not say how strong the condition would be, and nothing about your other embryos."),
            )
        case PgtCall.BALANCED:
            return (
                _(
                    "In the cells that were tested, the laboratory found no part of a chromosome missing or doubled."
                ),
                _("It doesn’t always tell whether the embryo carries the rearrangement itself. ") + few_cells,
            )
        case PgtCall.UNBALANCED:
            return (
                _("A part of a chromosome was missing or doubled because of the rearrangement."),
                _("It says nothing about your other embryos. ") + few_cells,
            )
        case PgtCall.NO_RESULT | PgtCall.INCONCLUSIVE:
            return (
                _("The test gave no clear answer for this embryo."),
                _(
                    "It does not mean that something is wrong with it. The clinic will talk about testing it again."
                ),
            )
        case _:
            return (
                _("The clinic explains this result to you."),
                _("A result of a few cells is never a promise and never a verdict."),
            )
