"""Where the portal shows each kind of record: the one table of kinds and addresses.

A kind is named by the portal (`pgt-result`, as in the audit record) or by the care API (`PGTResult`); case, hyphens and
underscores make no difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import quote

from portal.parse import record_id
from portal.web import modules
from portal.web.routing import endpoint_at

_PAGES = {
    "episode": "/episodes/{id}",
    "consent": "/consents/{id}",
    "consentform": "/consents/{id}",
    "conversation": "/conversations/{id}",
    "file": "/files/{id}",
    "document": "/files/{id}",
    "pgtresult": "/pgt-results/{id}",
    "embryo": "/storage/{id}",
    "embryostorage": "/storage/{id}",
    "protocol": "/protocols/{id}",
    "fertilityprotocol": "/protocols/{id}",
    "prospect": "/prospects/{id}/book",
    "emrendpoint": "/emr-endpoints/{id}/remove",
    "emrendpointconfig": "/emr-endpoints/{id}/remove",
}
_NOTHING: Mapping[str, object] = MappingProxyType({})


def address_of(kind: str, id_: str | None, *, data: Mapping[str, object] = _NOTHING) -> str | None:
    """Return the address of the page about a record, or None where the portal has none, or the id can't be one.

    `data` is what else is known of the record, by the names of the care API: an embryo's `episodeId` says where it is
    found, a `mergeId` that an enquiry is to be merged.
    """
    pattern, known_id = _PAGES.get(_squeezed(kind)), record_id(id_)
    if pattern is None or known_id is None:
        return None
    if "/prospects/" in pattern and data.get("mergeId"):
        pattern = "/prospects/{id}/merge"
    address = pattern.format(id=quote(known_id, safe=""))
    if modules.off() and endpoint_at(pattern.format(id="id")) is None:
        return None
    episode_id = data.get("episodeId")
    if "/storage/" in pattern and isinstance(episode_id, str) and record_id(episode_id):
        return f"{address}?episode={quote(episode_id, safe='')}"
    return address


def is_at(kind: str, path: str) -> bool:
    """Whether the page at this path is about a record of the kind."""
    pattern = _PAGES.get(_squeezed(kind), "")
    return bool(pattern) and path.startswith(pattern.partition("{id}")[0])


def _squeezed(kind: str) -> str:
    return kind.casefold().replace("_", "").replace("-", "")
