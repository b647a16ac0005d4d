"""Genetic test results of embryos (care API specification §4, group PGTResult).

The API omits an embryo's sex unless the clinic discloses it, but a laboratory's comments may reveal it in many languages
and notations. While it isn't disclosed, therefore, only structured members are passed on and no free text at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, ClassVar

from msgspec.structs import replace

from portal.config.modules import Module
from portal.services.api import Group
from portal.services.client import Care
from portal.services.decoding import Choice, Id, Measure, Record, Timed
from portal.services.patient_ref import PatientRef
from portal.services.uses import SOMETIMES, WITHHELD


class PgtType(Choice):
    """The kind of a genetic test of an embryo."""

    PGT_A = "PgtA"
    PGT_M = "PgtM"
    PGT_SR = "PgtSr"
    PGT_P = "PgtP"


class PgtStatus(Choice):
    """The status of a genetic test; patients see it from Released on."""

    ORDERED = "Ordered"
    IN_LAB = "InLab"
    REPORTED = "Reported"
    RELEASED = "Released"
    AMENDED = "Amended"


UNKNOWN_STATUS = PgtStatus("Unknown")
"""In place of a status that isn't known here and may be any text."""

RELEASED = frozenset({PgtStatus.RELEASED, PgtStatus.AMENDED})
"""The statuses in which patients see a result."""


class PgtCall(Choice):
    """The laboratory's result of a genetic test."""

    EUPLOID = "Euploid"
    LOW_MOSAIC = "LowMosaic"
    HIGH_MOSAIC = "HighMosaic"
    ANEUPLOID = "Aneuploid"
    SEGMENTAL = "Segmental"
    NO_RESULT = "NoResult"
    INCONCLUSIVE = "Inconclusive"
    UNAFFECTED = "Unaffected"
    CARRIER = "Carrier"
    AFFECTED = "Affected"
    BALANCED = "Balanced"
    UNBALANCED = "Unbalanced"


class Thresholds(Record, frozen=True, kw_only=True):
    """The laboratory's cut-offs, in percent of abnormal cells."""

    shown_on: ClassVar = ("pgt_results",)

    euploid_below: Annotated[Measure | None, "euploid below this percentage"] = None
    aneuploid_above: Annotated[Measure | None, "aneuploid above this percentage"] = None


class Abnormality(Record, frozen=True, kw_only=True):
    """An abnormality of a chromosome."""

    shown_on: ClassVar = ("pgt_results",)

    chromosome: Annotated[str, "affected chromosome"] = ""
    change: Annotated[str, "kind of abnormality"] = ""


class PgtResult(Timed, frozen=True, kw_only=True):
    """The genetic test of one embryo."""

    shown_on: ClassVar = ("pgt_results",)

    id: Id
    embryo_code: Annotated[str, "embryo code"]
    status: Annotated[PgtStatus, "status; patients see it once released"]
    embryo_storage_id: Annotated[Id | None, "link to the embryo"] = None
    episode_id: Annotated[Id | None, "link to the treatment"] = None
    test_type: Annotated[PgtType | None, "kind of test"] = None
    laboratory: Annotated[str, "laboratory"] = ""
    biopsied_at: Annotated[datetime | None, "date of the biopsy"] = None
    reported_at: Annotated[datetime | None, "date of the report"] = None
    call: Annotated[PgtCall | None, "result"] = None
    mosaic_percent: Annotated[Measure | None, "percentage of abnormal cells"] = None
    thresholds: Annotated[Thresholds, "the laboratory's cut-offs"] = Thresholds()
    abnormalities: Annotated[tuple[Abnormality, ...], "abnormal chromosomes"] = ()
    condition: Annotated[str | None, "condition tested for", SOMETIMES, WITHHELD] = None
    sex_disclosed: Annotated[bool, "whether texts and sex may be shown; without it they are withheld"] = False
    sex: Annotated[str | None, "sex, if disclosed", SOMETIMES, WITHHELD] = None
    comment: Annotated[str | None, "laboratory's comment", SOMETIMES, WITHHELD] = None
    report_file_id: Annotated[Id | None, "link to the report"] = None
    released_at: Annotated[datetime | None, "when it was released to patients"] = None

    @property
    def patient_ref(self) -> PatientRef:
        return PatientRef(None, "", self.episode_id)

    @property
    def is_released(self) -> bool:
        return self.status in RELEASED

    @property
    def is_amended(self) -> bool:
        """Whether the laboratory changed it after its release."""
        return self.status == PgtStatus.AMENDED

    @property
    def is_mosaic(self) -> bool:
        """Whether the laboratory classified it as mosaic."""
        return self.call in (PgtCall.LOW_MOSAIC, PgtCall.HIGH_MOSAIC)

    @property
    def withholds(self) -> frozenset[str]:
        return frozenset()


class WithheldResult(PgtResult, frozen=True, kw_only=True):
    """A result whose sex isn't disclosed, as filtered by the portal (portal.services.pgt_results)."""

    withheld: frozenset[str] = frozenset()

    @property
    def withholds(self) -> frozenset[str]:
        """The withheld texts, by member."""
        return self.withheld


class PgtBrief(Record, frozen=True, kw_only=True):
    """A genetic test in an episode's list."""

    shown_on: ClassVar = ("episodes", "pgt_results")

    id: Id
    embryo_code: Annotated[str, "embryo code"] = ""
    status: Annotated[PgtStatus | None, "status of the test"] = None
    call: Annotated[PgtCall | None, "result"] = None

    @property
    def is_released(self) -> bool:
        return self.status in RELEASED

    @property
    def is_withheld(self) -> bool:
        """Whether patients don't see it yet; not where the API doesn't say."""
        return self.status is not None and not self.is_released


READ_PGT_RESULT = Group("PGTResult", Module.RESULTS).get(
    "/api/care/pgt-results/{id}", PgtResult, shows="pgt-result"
)


AUTOSOMES = range(1, 23)
"""The chromosomes whose changes reveal nothing about the sex."""


def get_pgt_result(care: Care, result_id: str) -> PgtResult:
    """The result; anything that could reveal the sex is withheld unless it is disclosed.

    Raises `NotFound` for a patient before release.
    """
    result = care.read(READ_PGT_RESULT, id=result_id)
    return result if result.sex_disclosed else without_sex(result)


def without_sex(result: PgtResult) -> WithheldResult:
    """The parts of a result that can't reveal the sex: ids, times, numbers, known choices, changes in chromosomes 1 to 22.

    `withheld` names the laboratory's texts that are held back. Changes in sex chromosomes are removed without a trace.
    """
    texts = {"condition": result.condition, "comment": result.comment}
    return WithheldResult(
        id=result.id,
        embryo_code=result.embryo_code if _CODE.fullmatch(result.embryo_code) else "",
        status=result.status if result.status.known else UNKNOWN_STATUS,
        embryo_storage_id=_reference(result.embryo_storage_id),
        episode_id=_reference(result.episode_id),
        test_type=result.test_type if result.test_type and result.test_type.known else None,
        biopsied_at=result.biopsied_at,
        reported_at=result.reported_at,
        released_at=result.released_at,
        call=result.call if result.call and result.call.known else None,
        mosaic_percent=result.mosaic_percent,
        thresholds=result.thresholds,
        abnormalities=tuple(_on_autosomes(result.abnormalities)),
        report_file_id=_reference(result.report_file_id),
        withheld=frozenset(name for name, text in texts.items() if text and text.strip()),
    )


def known_only(brief: PgtBrief) -> PgtBrief:
    """The same for a test in an episode's list: without the text of a call or status that isn't a known choice."""
    return replace(
        brief,
        call=brief.call if brief.call and brief.call.known else None,
        status=brief.status if brief.status is None or brief.status.known else UNKNOWN_STATUS,
    )


def _on_autosomes(abnormalities: tuple[Abnormality, ...]) -> Iterator[Abnormality]:
    for abnormality in abnormalities:
        named = _CHROMOSOME.fullmatch(abnormality.chromosome)
        if named and int(named[1]) in AUTOSOMES:
            change = abnormality.change if _is_of_known_words(abnormality.change) else ""
            yield Abnormality(chromosome=str(int(named[1])), change=change)


def _is_of_known_words(change: str) -> bool:
    """Whether a change consists only of cytogenetic terms and bands that don't name a chromosome."""
    text = change.casefold()
    return not (_SEX_CHROMOSOME.search(text) or _BETWEEN.sub("", _WORD.sub("", text)))


def _reference(id_: str | None) -> str | None:
    return id_ if id_ and _ID.fullmatch(id_) else None


_CODE = re.compile(r"(?:(?!O?[XY][XYO]*(?![A-Z]))[A-Z]{1,3}[-. ]?)?[0-9]{1,6}(?:[-./][0-9]{1,6})*")
"""An embryo's code: initials and numbers, but not X and Y alone."""

_ID = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=[^0-9]*[0-9])[0-9A-HJKMNP-TV-Z]{26}|[0-9]{1,18}",
    re.IGNORECASE,
)
"""An id that can't be a word: a UUID (RFC 9562), a ULID or a number."""

_CHROMOSOME = re.compile(r"\s*(?:chr(?:omosome)?[. ]*)?([0-9]{1,2})\s*", re.IGNORECASE)

_WORD = re.compile(
    r"(?<![^\W\d_])(?:(?:mono|tri|tetra|nulli)somy|mosaic(?:ism)?|segmental|partial|whole|complete|"
    r"gains?|loss(?:es)?|deletion|duplication|del|dup|high|low|level|of|in|cells|arm|"
    r"[pq](?:ter)?(?:[0-9]{1,2}(?:\.[0-9]{1,3})?)?(?:[pq](?:ter)?(?:[0-9]{1,2}(?:\.[0-9]{1,3})?)?)?)(?![^\W\d_])"
)
_SEX_CHROMOSOME = re.compile(r"(?<![0-9.])2[34](?![0-9.]|\s*%)")
"""The numbers 23 and 24, which stand for X and Y, unless they are percentages."""

_BETWEEN = re.compile(r"[0-9\s.,;%()+\-–~≈/]+")
