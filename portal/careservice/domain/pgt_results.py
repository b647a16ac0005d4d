"""Results of genetic tests of embryos: who sees them when, and which parts are withheld."""

from __future__ import annotations

import re
from datetime import datetime

import msgspec
from sqlalchemy import ForeignKey, String, false
from sqlalchemy.orm import Mapped, Session, mapped_column
from sqlalchemy.sql import ColumnElement

from portal.careservice.database import Base, Id
from portal.careservice.domain import episodes
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.columns import Structs, one_of
from portal.careservice.domain.enumerations import PgtCall, PgtStatus, PgtType
from portal.careservice.domain.policies import discloses_sex
from portal.careservice.domain.rules import NotThere

RELEASED = (PgtStatus.RELEASED, PgtStatus.AMENDED)
"""The states in which a patient sees a result."""

_AUTOSOME = re.compile(
    r"^\s*(?:chromosome |chr\.? ?)?((?:[1-9]|1\d|2[0-2])(?:[pq](?:ter|\d\d?(?:\.\d\d?)?)?)?)\s*$",
    re.IGNORECASE,
)
"""One of the chromosomes 1 to 22, optionally with an arm or band (ISCN)."""
_CHANGE = re.compile(
    r"^(?:(?:whole|segmental|partial|complex|low|high|mosaic) ){0,3}"
    r"(?:gain|loss|trisomy|monosomy|tetrasomy|nullisomy|deletion|duplication|aneuploidy)"
    r"(?: \(?\d{1,3}(?:[.,]\d+)? ?%\)?)?$",
    re.IGNORECASE,
)
"""The descriptions of a change that can't reveal the sex, so that they may be shown while it isn't disclosed."""


class Thresholds(msgspec.Struct, rename="camel", kw_only=True):
    """The laboratory's cut-offs, in per cent of aneuploid cells."""

    euploid_below: float | None = None
    aneuploid_above: float | None = None


class Abnormality(msgspec.Struct, rename="camel", kw_only=True):
    """A finding on one chromosome."""

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


class SeenAbnormality(msgspec.Struct, rename="camel", kw_only=True):
    """A finding on one chromosome; `change` is left out if it is withheld."""

    chromosome: str
    change: str | msgspec.UnsetType = msgspec.UNSET


class SeenResult(msgspec.Struct, rename="camel", kw_only=True):
    """The parts of a result that may be shown.

    While its sex isn't disclosed, these are structured findings that can't reveal it; `comment` and `condition`, which
    are free text, are left out.
    """

    sex_disclosed: bool
    sex: str | None
    comment: str | msgspec.UnsetType | None
    condition: str | msgspec.UnsetType | None
    abnormalities: list[SeenAbnormality]


def is_released() -> ColumnElement[bool]:
    """The condition that selects the results that patients may see."""
    return PgtResult.status.in_(RELEASED)


def is_sex_disclosed(session: Session, tenant_id: str) -> ColumnElement[bool]:
    """The condition that selects the results whose sex both laboratory and clinic disclose."""
    return PgtResult.sex_disclosed.is_(True) if discloses_sex(session, tenant_id) else false()


def is_visible(result: PgtResult, actor: Actor) -> bool:
    """Whether `actor` may see the result: staff always, patients once it is released."""
    return actor.is_staff or result.status in RELEASED


def find(session: Session, actor: Actor, result_id: str) -> PgtResult:
    """The result, if `actor` may see it and its episode; raises NotThere."""
    result = session.get(PgtResult, result_id)
    if result is None or result.tenant_id != actor.tenant_id or not is_visible(result, actor):
        raise NotThere
    episodes.find(session, actor, result.episode_id)
    return result


def masked(session: Session, result: PgtResult) -> SeenResult:
    """The parts of a result that could reveal a sex, complete only if clinic and laboratory both disclose it."""
    if result.sex_disclosed and discloses_sex(session, result.tenant_id):
        return SeenResult(
            sex_disclosed=True,
            sex=result.sex,
            comment=result.comment,
            condition=result.condition,
            abnormalities=[
                SeenAbnormality(chromosome=found.chromosome, change=found.change)
                for found in result.abnormalities
            ],
        )
    return SeenResult(
        sex_disclosed=False,
        sex=None,
        comment=msgspec.UNSET,
        condition=msgspec.UNSET,
        abnormalities=[seen for found in result.abnormalities if (seen := _autosomal(found)) is not None],
    )


def _autosomal(found: Abnormality) -> SeenAbnormality | None:
    name = _AUTOSOME.match(found.chromosome)
    if name is None:
        return None
    change = found.change if _CHANGE.match(found.change) else msgspec.UNSET
    return SeenAbnormality(chromosome=name[1], change=change)
