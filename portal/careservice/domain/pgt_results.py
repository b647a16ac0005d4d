"""Results of genetic tests of embryos: who sees them when, and what of them never shows."""

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
"""One of the chromosomes 1 to 22, with an arm or band of it (ISCN) where one is named."""
_CHANGE = re.compile(
    r"^(?:(?:whole|segmental|partial|complex|low|high|mosaic) ){0,3}"
    r"(?:gain|loss|trisomy|monosomy|tetrasomy|nullisomy|deletion|duplication|aneuploidy)"
    r"(?: \(?\d{1,3}(?:[.,]\d+)? ?%\)?)?$",
    re.IGNORECASE,
)
"""The words in which a change may be told while the sex isn't: none of them could tell it."""


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


class SeenAbnormality(msgspec.Struct, rename="camel", kw_only=True):
    """What was found on one chromosome; `change` is left out where its words are held back."""

    chromosome: str
    change: str | msgspec.UnsetType = msgspec.UNSET


class SeenResult(msgspec.Struct, rename="camel", kw_only=True):
    """What of a result may be shown: while its sex isn't told, what is structured and can't tell it.

    Free text, `comment` and `condition`, is left out then.
    """

    sex_disclosed: bool
    sex: str | None
    comment: str | msgspec.UnsetType | None
    condition: str | msgspec.UnsetType | None
    abnormalities: list[SeenAbnormality]


def is_released() -> ColumnElement[bool]:
    """The condition that picks results which patients may see."""
    return PgtResult.status.in_(RELEASED)


def tells_sex(session: Session, tenant_id: str) -> ColumnElement[bool]:
    """The condition that picks results whose sex the laboratory and the clinic both tell."""
    return PgtResult.sex_disclosed.is_(True) if discloses_sex(session, tenant_id) else false()


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
    """The parts of a result that could tell a sex: whole only where clinic and laboratory both allow it."""
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
