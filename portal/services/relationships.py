"""Patient relationships (care API specification §4, group PatientRelationship); read as part of an episode."""

from __future__ import annotations

from portal.services.client import Care
from portal.services.endpoints import DELETE_RELATIONSHIP


def delete_relationship(care: Care, relationship_id: str) -> None:
    """End the relationship and all sharing at once; read its episode again afterwards.

    DELETE /api/care/relationships/{id} (care API specification §4). The record stays, with its end date, while a form or a
    stored embryo names both people. Raises `NotFound` if it has already ended or been removed.
    """
    care.act(DELETE_RELATIONSHIP, None, id=relationship_id)
