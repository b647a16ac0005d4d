"""EmrEndpointConfig: delete (care API specification §4)."""

from __future__ import annotations

from portal.careservice import database
from portal.careservice.api.caller import Caller
from portal.careservice.api.endpoint import api, endpoint
from portal.careservice.domain import emr_endpoints
from portal.careservice.domain.permissions import Act

MODULE = "EmrEndpointConfig"


@api.delete("/api/emr-integration/endpoints/<endpoint_id>")
@endpoint(Act.DELETE_EMR_ENDPOINT, MODULE)
def delete_emr_endpoint(caller: Caller, endpoint_id: str) -> None:
    """204; 404 if it is already deleted."""
    emr_endpoints.remove(database.session(), caller.actor, endpoint_id)
