"""A genetic test in words: the laboratory's call, what it means and doesn't mean, and the laboratory's cut-offs."""

from __future__ import annotations

from flask import g, url_for
from markupsafe import Markup

from portal.config.consent_templates.law import law_of
from portal.i18n.gettext import _
from portal.i18n.locale import is_rtl
from portal.services.episodes import Episode
from portal.services.patients import Patient
from portal.services.pgt_results import PgtBrief, PgtCall, PgtResult, PgtStatus, PgtType
from portal.services.storage import EmbryoStorage
from portal.values import Value
from portal.views.pgt_meanings import meaning_of
from portal.web import labels, seen_results
from portal.web.choice_names import choice_name
from portal.web.drawings.cut_offs import cut_off_chart
from portal.web.filters import number
from portal.web.glossary import terms_in
from portal.web.modules import has_module
from portal.web.not_given import not_given


def tested_in(episode: Episode | None, result: PgtResult) -> EmbryoStorage | None:
    """The embryo of the treatment that was tested, if that is known: by its id first, for a couple may have two of one code.

    A code that may be more than one isn't passed on; the embryo's own record may name the test.
    """
    if episode is None:
        return None
    id_, code = result.embryo_storage_id, result.embryo_code
    alike = [
        embryo
        for embryo in episode.embryos
        if embryo.id == id_ or embryo.pgt_result_id == result.id or (code and embryo.embryo_code == code)
    ]
    return min(alike, key=lambda embryo: (embryo.id != id_, embryo.pgt_result_id != result.id), default=None)


class ResultView(Value, frozen=True):
    """A result in words; `episode` is its treatment, given to staff, `before` the call that the person saw first, `embryo_code`
    its embryo's and `apart` what tells that from others of its code."""

    result: PgtResult
    episode: Episode | None = None
    before: seen_results.SeenCall | None = None
    embryo_code: str = ""
    apart: str = ""

    @property
    def tested(self) -> EmbryoStorage | None:
        """The embryo of the treatment that was tested, if that is known."""
        return tested_in(self.episode, self.result)

    @property
    def patient(self) -> Patient | None:
        """Whose embryo was tested, if that is known."""
        if self.episode is None:
            return None
        return self.episode.owner_of(self.tested) if self.tested else self.episode.patient

    def owner_of(self, embryo: EmbryoStorage) -> Patient | None:
        """Whose embryo of the treatment it is."""
        return self.episode.owner_of(embryo) if self.episode else None

    @property
    def cohort(self) -> list[tuple[EmbryoStorage, PgtBrief | None, list[PgtBrief]]]:
        """All embryos of the treatment, each with its test as on the treatment's page, none for the embryo of this result, and its
        other tests; nothing if that is this result alone."""
        if self.episode is None or not has_module("storage"):
            return []
        rows: list[tuple[EmbryoStorage, PgtBrief | None, list[PgtBrief]]] = []
        for embryo in self.episode.embryos:
            tests = [test for test in self.episode.tests_of(embryo) if test.id != self.result.id]
            first, others = (None, tests) if embryo == self.tested else (next(iter(tests), None), tests[1:])
            rows.append((embryo, first, others))
        return rows if len(rows) > 1 or any(others for _embryo, _test, others in rows) else []

    @property
    def code(self) -> str:
        """The embryo's code, for staff with the patient's record number, and what tells it apart."""
        code = self.result.embryo_code or self.embryo_code
        return f"{labels.with_record(code, self.patient) if self.patient else code}{self.apart}"

    @property
    def code_in_storage(self) -> str:
        """What the embryo's own record calls it, where that differs from the laboratory's code."""
        is_other = self.embryo_code and self.result.embryo_code not in ("", self.embryo_code)
        return self.embryo_code if is_other else ""

    @property
    def title(self) -> str:
        code = self.code
        return _("Genetic test of embryo %(code)s", code=code) if code else _("Genetic test of an embryo")

    @property
    def words(self) -> list[str]:
        """The ids of the terms for what was tested, found and changed."""
        of_changes = [
            kind
            for kind in ("trisomy", "monosomy")
            if any(kind in abnormality.change.casefold() for abnormality in self.result.abnormalities)
        ]
        return [*terms_in([self.test, self.call]), *of_changes, "blastocyst"]

    @property
    def call(self) -> str:
        """The laboratory's call, with its percentage of changed cells if it has one."""
        result = self.result
        if result.call is not None:
            return _call_words(result.call, result.mosaic_percent)
        if result.status in (PgtStatus.ORDERED, PgtStatus.IN_LAB):
            return _("No result yet")
        # a call that isn't known here isn't passed on
        return _("Not given by the clinic’s system") if not_given("PgtResult.call") else _("Not shown here")

    @property
    def change(self) -> str:
        """What the call was when the person looked before, and what it is now; empty if it hasn't changed.

        Not since when: an amended result may come with the day on which the first one was reported.
        """
        if self.before is None:
            return ""
        was = _call_words(PgtCall(self.before.call), self.before.percent)
        return _("When you looked before, it was: %(was)s. Now it is: %(now)s.", was=was, now=self.call)

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
        bands = {PgtCall.EUPLOID: 0, PgtCall.LOW_MOSAIC: 1, PgtCall.HIGH_MOSAIC: 1, PgtCall.ANEUPLOID: 2}
        return cut_off_chart(
            result.thresholds.euploid_below,
            result.thresholds.aneuploid_above,
            result.mosaic_percent if result.is_mosaic else None,
            current=bands.get(result.call) if result.call else None,
            names=(choice_name(PgtCall.EUPLOID), _("Mosaic"), choice_name(PgtCall.ANEUPLOID)),
            said=" ".join([*self.cut_offs, self.call]),
            number=number,
            rtl=is_rtl(),
        )

    @property
    def meaning(self) -> tuple[str, str]:
        return meaning_of(self.result.call)

    @property
    def embryo_href(self) -> str | None:
        result = self.result
        if not result.embryo_storage_id or not has_module("storage"):
            return None
        return url_for("storage.show", embryo_id=result.embryo_storage_id, episode=result.episode_id)


def _call_words(call: PgtCall, percent: float | None) -> str:
    words = choice_name(call)
    if percent is None:
        return words
    return _("%(call)s, %(percent)s%% of the cells changed", call=words, percent=number(percent))
