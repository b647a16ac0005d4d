"""PGTResult: read (care API specification §4)."""

from __future__ import annotations

from datetime import datetime

import msgspec

from portal.careservice import database
from portal.careservice.api.caller import Caller
from portal.careservice.api.endpoint import api, endpoint
from portal.careservice.api.records import Record
from portal.careservice.domain import documents, pgt_results
from portal.careservice.domain.enumerations import PgtCall, PgtStatus, PgtType
from portal.careservice.domain.permissions import Act
from portal.careservice.domain.pgt_results import SeenAbnormality, Thresholds

MODULE = "PGTResult"


class PgtResultRecord(Record, kw_only=True):
    """The result of an embryo's genetic test; free text is left out while the embryo's sex isn't disclosed."""

    id: str
    embryo_storage_id: str
    embryo_code: str
    episode_id: str
    test_type: PgtType
    laboratory: str
    biopsied_at: datetime
    reported_at: datetime | None
    status: PgtStatus
    call: PgtCall | None
    mosaic_percent: float | None
    thresholds: Thresholds | None
    abnormalities: list[SeenAbnormality]
    condition: str | msgspec.UnsetType | None = msgspec.UNSET
    sex_disclosed: bool
    sex: str | None
    comment: str | msgspec.UnsetType | None = msgspec.UNSET
    report_file_id: str | None
    released_at: datetime | None


@api.get("/api/care/pgt-results/<result_id>")
@endpoint(Act.READ_PGT_RESULT, MODULE)
def get_pgt_result(caller: Caller, result_id: str) -> PgtResultRecord:
    """One result; sex and sex chromosomes are included only if clinic and result allow it."""
    session = database.session()
    result = pgt_results.find(session, caller.actor, result_id)
    seen = pgt_results.masked(session, result)
    return PgtResultRecord(
        id=result.id,
        embryo_storage_id=result.embryo_storage_id,
        embryo_code=result.embryo_code,
        episode_id=result.episode_id,
        test_type=result.test_type,
        laboratory=result.laboratory,
        biopsied_at=result.biopsied_at,
        reported_at=result.reported_at,
        status=result.status,
        call=result.call,
        mosaic_percent=result.mosaic_percent,
        thresholds=result.thresholds,
        abnormalities=seen.abnormalities,
        condition=seen.condition,
        sex_disclosed=seen.sex_disclosed,
        sex=seen.sex,
        comment=seen.comment,
        report_file_id=documents.visible_report(session, caller.actor, result.report_file_id),
        released_at=result.released_at,
    )
