"""PatientRelationship: delete (care API specification §4)."""

from __future__ import annotations

from portal.careservice import database
from portal.careservice.api.caller import Caller
from portal.careservice.api.endpoint import api, endpoint
from portal.careservice.api.records import Record, columns
from portal.careservice.domain import relationships
from portal.careservice.domain.patients import Relationship
from portal.careservice.domain.permissions import Act

MODULE = "PatientRelationship"


class RelationshipRecord(Record, kw_only=True):
    """What another person is to a patient, until `endDate`."""

    __annotations__ = columns(Relationship)


@api.delete("/api/care/relationships/<relationship_id>")
@endpoint(Act.DELETE_RELATIONSHIP, MODULE)
def delete_relationship(caller: Caller, relationship_id: str) -> None:
    """204; 404 if it is already deleted. If an open form or a stored embryo depends on it, it is ended, not deleted."""
    relationships.end(database.session(), caller.actor, relationship_id)
