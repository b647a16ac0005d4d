"""Results of genetic tests of embryos."""

from __future__ import annotations

from datetime import datetime

from portal.services.decoding import Choice, Id, Measure, Record, Timed


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

    euploid_below: Measure | None = None
    aneuploid_above: Measure | None = None


class Abnormality(Record, frozen=True, kw_only=True):
    """An abnormality of a chromosome."""

    chromosome: str = ""
    change: str = ""


class PgtResult(Timed, frozen=True, kw_only=True):
    """The genetic test of one embryo."""

    id: Id
    embryo_code: str
    status: PgtStatus
    embryo_storage_id: Id | None = None
    episode_id: Id | None = None
    test_type: PgtType | None = None
    laboratory: str = ""
    biopsied_at: datetime | None = None
    reported_at: datetime | None = None
    call: PgtCall | None = None
    mosaic_percent: Measure | None = None
    thresholds: Thresholds = Thresholds()
    abnormalities: tuple[Abnormality, ...] = ()
    condition: str | None = None
    sex_disclosed: bool = False
    sex: str | None = None
    comment: str | None = None
    report_file_id: Id | None = None
    released_at: datetime | None = None

    @property
    def is_released(self) -> bool:
        """Whether patients may see it."""
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
        """The withheld texts, by member: none in a result as sent by the API."""
        return frozenset()


class WithheldResult(PgtResult, frozen=True, kw_only=True):
    """A result whose sex isn't disclosed, as filtered by the portal (portal.services.pgt_results)."""

    withheld: frozenset[str] = frozenset()

    @property
    def withholds(self) -> frozenset[str]:
        """The withheld texts, by member."""
        return self.withheld
