"""Connections to electronic medical records (care API specification §4, group EmrEndpointConfig)."""

from __future__ import annotations

from portal.config.strong_sign_in import Act
from portal.services.api import Group
from portal.services.client import Care
from portal.services.demand import FRESH, Demand

DELETE_EMR_ENDPOINT = Group("EmrEndpointConfig").delete(
    "/api/emr-integration/endpoints/{id}", demand=Demand(FRESH, Act.ADMINISTRATION)
)


def delete_emr_endpoint(care: Care, emr_endpoint_id: str) -> None:
    """Remove the connection.

    Raises `Refused` while a synchronisation runs, `NotFound` when it is gone already.
    """
    care.act(DELETE_EMR_ENDPOINT, None, id=emr_endpoint_id)
