"""Results of genetic tests of embryos: who sees them when, and what of them never shows."""

from __future__ import annotations

import re
from datetime import datetime

import msgspec
from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, Session, mapped_column

from portal.careservice.database import Base, Id
from portal.careservice.domain import episodes
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.columns import Structs, one_of
from portal.careservice.domain.enumerations import PgtCall, PgtStatus, PgtType
from portal.careservice.domain.policies import discloses_sex
from portal.careservice.domain.rules import NotThere

RELEASED = (PgtStatus.RELEASED, PgtStatus.AMENDED)
"""The states in which a patient sees a result."""

_SEX = re.compile(
    r"\b(?:46|45|47|48)?[ ,]{0,2}(?:X{1,3}Y{1,2}|X{2,4}|X0|XO)\b"
    r"|\b(?:gonosom\w*|sex chromosomes?|chromosomes? [XY]\b|[XY][- ]chromosomes?|monosomy X|trisomy X"
    r"|(?:fe)?male|boy|girl|Turner|Klinefelter)\b",
    re.IGNORECASE,
)
_STRUCK = "[withheld]"


class Thresholds(msgspec.Struct, rename="camel", kw_only=True):
    """The laboratory's cut-offs, in per cent of aneuploid cells."""

    euploid_below: float | None = None
    aneuploid_above: float | None = None


class Abnormality(msgspec.Struct, rename="camel", kw_only=True):
    """What was found on one chromosome."""

    chromosome: str
    change: str


class PgtResult(Base):
    """The result of one embryo's genetic test."""

    __tablename__ = "pgt_results"

    id: Mapped[Id] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36), index=True)
    embryo_storage_id: Mapped[str] = mapped_column(ForeignKey("embryo_storage.id"))
    embryo_code: Mapped[str]
    episode_id: Mapped[str] = mapped_column(ForeignKey("episodes.id"), index=True)
    test_type: Mapped[PgtType] = mapped_column(one_of(PgtType))
    laboratory: Mapped[str]
    biopsied_at: Mapped[datetime]
    reported_at: Mapped[datetime | None]
    status: Mapped[PgtStatus] = mapped_column(one_of(PgtStatus))
    call: Mapped[PgtCall | None] = mapped_column(one_of(PgtCall))
    mosaic_percent: Mapped[float | None]
    thresholds: Mapped[Thresholds | None] = mapped_column(Structs(Thresholds))
    abnormalities: Mapped[list[Abnormality]] = mapped_column(Structs(list[Abnormality]))
    condition: Mapped[str | None]
    sex_disclosed: Mapped[bool] = mapped_column(default=False)
    sex: Mapped[str | None] = mapped_column(String(16))
    comment: Mapped[str | None]
    report_file_id: Mapped[str | None] = mapped_column(String(36))
    released_at: Mapped[datetime | None]


class SeenResult(msgspec.Struct, rename="camel", kw_only=True):
    """What of a result may be shown: sex and sex chromosomes gone, where they have to be."""

    sex_disclosed: bool
    sex: str | None
    comment: str | None
    condition: str | None
    abnormalities: list[Abnormality]


def is_visible(result: PgtResult, actor: Actor) -> bool:
    """Whether the result is out for `actor`: for staff always, for patients once it is released."""
    return actor.is_staff or result.status in RELEASED


def find(session: Session, actor: Actor, result_id: str) -> PgtResult:
    """The result as far as `actor` reaches, through its episode and, for patients, once it is released."""
    result = session.get(PgtResult, result_id)
    if result is None or result.tenant_id != actor.tenant_id or not is_visible(result, actor):
        raise NotThere
    episodes.find(session, actor, result.episode_id)
    return result


def masked(session: Session, result: PgtResult) -> SeenResult:
    """The parts of a result that could tell a sex: as they are only where clinic and result both allow it."""
    if result.sex_disclosed and discloses_sex(session, result.tenant_id):
        return SeenResult(
            sex_disclosed=True,
            sex=result.sex,
            comment=result.comment,
            condition=result.condition,
            abnormalities=result.abnormalities,
        )
    return SeenResult(
        sex_disclosed=False,
        sex=None,
        comment=_strike(result.comment),
        condition=_strike(result.condition),
        abnormalities=[
            Abnormality(chromosome=found.chromosome, change=_strike(found.change) or "")
            for found in result.abnormalities
            if not _is_sex_chromosome(found.chromosome)
        ],
    )


def _is_sex_chromosome(name: str) -> bool:
    return not {"x", "y"}.isdisjoint(re.findall(r"[a-z]", name.casefold().replace("chromosome", "")))


def _strike(text: str | None) -> str | None:
    return None if text is None else _SEX.sub(_STRUCK, text)
