"""Patient relationships (care API specification §4, group PatientRelationship); read as part of an episode."""

from __future__ import annotations

from portal.services.client import Care
from portal.services.endpoints import DELETE_RELATIONSHIP


def delete_relationship(care: Care, relationship_id: str) -> None:
    """Removes it; read its episode again afterwards.

    DELETE /api/care/relationships/{id} (care API specification §4). Raises `Refused` while an active shared
    consent or a stored embryo depends on it, `NotFound` when it is gone already.
    """
    care.act(DELETE_RELATIONSHIP, object, id=relationship_id)
