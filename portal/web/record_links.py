"""The kinds of record, each declared once: its page, its names, its label, and how staff open one by its id."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from urllib.parse import quote

from flask import g

from portal.i18n.gettext import _, for_each_language
from portal.parse import record_id
from portal.services.client import Care
from portal.services.consents import get_consent
from portal.services.episodes import get_episode
from portal.services.pgt_results import get_pgt_result
from portal.state.session_records import Person
from portal.values import Value
from portal.web import modules
from portal.web.guard import admits
from portal.web.permissions import may
from portal.web.routing import endpoint_at


class Kind(Value, frozen=True):
    """A kind of record: its name, as in the audit record, and the address of its page.

    - `also`: other names of the care API. Case, hyphens and underscores make no difference.
    - `label`: its name in the list of records opened last; None if that doesn't list them.
    - `read`: reads one by its id; None if the care API can't.
    - `act`: what staff have to be allowed (`portal.web.permissions`) to open one that can't be read by its id.
    """

    name: str
    page: str
    also: tuple[str, ...] = ()
    label: Callable[[], str] | None = None
    read: Callable[[Care, str], object] | None = None
    act: str | None = None

    def is_opened_by_id(self, person: Person) -> bool:
        """Whether this member of staff can open one by its id."""
        is_theirs = may(person, self.act) if self.act else self.read is not None
        return is_theirs and address_of(self.name, "id") is not None


KINDS = (
    Kind("patient", "/patients/{id}", label=lambda: _("Patient")),
    Kind("episode", "/episodes/{id}", label=lambda: _("Episode"), read=get_episode),
    Kind("consent", "/consents/{id}", ("ConsentForm",), lambda: _("Consent form"), get_consent),
    Kind("pgt-result", "/pgt-results/{id}", label=lambda: _("PGT result"), read=get_pgt_result),
    Kind("prospect", "/prospects/{id}/book", label=lambda: _("Enquiry"), act="prospect.edit"),
    Kind(
        "emr-endpoint",
        "/emr-endpoints/{id}/remove",
        ("EmrEndpointConfig",),
        label=lambda: _("EMR connection"),
        act="connection.remove",
    ),
    Kind("conversation", "/conversations/{id}", label=lambda: _("Conversation")),
    Kind("protocol", "/protocols/{id}", ("FertilityProtocol",), lambda: _("Protocol")),
    Kind("file", "/files/{id}", ("Document",)),
    Kind("embryo", "/storage/{id}", ("EmbryoStorage",)),
)
_NOTHING: Mapping[str, object] = MappingProxyType({})


def address_of(kind: str, id_: str | None, *, data: Mapping[str, object] = _NOTHING) -> str | None:
    """Return the address of the page about a record, or None where the portal has none, or the id can't be one.

    `data` is what else is known of the record, by the names of the care API: an embryo's `episodeId` says where it is
    found, a `mergeId` that an enquiry is to be merged.
    """
    pattern, known_id = _PAGES.get(_squeezed(kind)), record_id(id_)
    if pattern is None or known_id is None:
        return None
    merge_id = data.get("mergeId") if "/prospects/" in pattern else None
    if merge_id:
        pattern = "/prospects/{id}/merge"
    address = pattern.format(id=quote(known_id, safe=""))
    if modules.off() and endpoint_at(pattern.format(id="id")) is None:
        return None
    episode_id = data.get("episodeId")
    if "/storage/" in pattern and isinstance(episode_id, str) and record_id(episode_id):
        return f"{address}?episode={quote(episode_id, safe='')}"
    if isinstance(merge_id, str) and record_id(merge_id):
        return f"{address}?merge={quote(merge_id, safe='')}"
    return address


def page_of(entity_type: str | None, id_: str | None, data: Mapping[str, object]) -> str | None:
    """Return the address of the page about the record that a notification names, if its reader may open it."""
    address = address_of(entity_type or "", id_, data=data)
    return address if address and admits(address, g.person) else None


def kind_at(path: str) -> str | None:
    labelled = (kind for kind in KINDS if kind.label)
    return next((kind.name for kind in labelled if path.startswith(kind.page.partition("{id}")[0])), None)


@for_each_language
def labels() -> dict[str, str]:
    return {kind.name: kind.label() for kind in KINDS if kind.label}


def _squeezed(kind: str) -> str:
    return kind.casefold().replace("_", "").replace("-", "")


_PAGES = {_squeezed(name): kind.page for kind in KINDS for name in (kind.name, *kind.also)}
