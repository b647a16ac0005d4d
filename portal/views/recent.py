"""Records that a member of staff opened recently, by name; stored sealed in the session, and deleted with it."""

from __future__ import annotations

import msgspec
from flask import Blueprint, Response, g, request, session

from portal.state.session_records import Person
from portal.web import audit, modules
from portal.web.filters import in_a_row
from portal.web.htmx import is_htmx
from portal.web.record_links import address_of, kind_at, labels
from portal.web.routing import endpoint_at

bp = Blueprint("recent", __name__)

_RECENT = "opened"
_REMEMBERED = 10
_LONGEST = 120


class Opened(msgspec.Struct, frozen=True, array_like=True):
    """A record that was opened: its kind and id, whose it is, and its name."""

    kind: str
    id: str
    name: str = ""
    about: str = ""

    @property
    def title(self) -> str:
        """Whose record it is; if it names nobody, its own name or else its kind."""
        return self.name or self.about or self.words

    @property
    def line(self) -> str:
        """The kind, and the record's own name if the heading is a person's."""
        return in_a_row([part for part in (self.words, self.about) if part and part != self.title], " · ")

    @property
    def words(self) -> str:
        return labels().get(self.kind, self.kind)

    @property
    def href(self) -> str:
        return address_of(self.kind, self.id) or "/open"


def name_opened(name: str, about: str = "") -> None:
    """Note whose record this page shows and its name, for the list of recent records."""
    g.opened_as = (name[:_LONGEST], about[:_LONGEST])


@bp.after_app_request
def remember(response: Response) -> Response:
    """Put the record shown at the top of the list; rereading the same one causes no write."""
    person: Person | None = g.get("person")
    if (
        person is None
        or not person.is_staff
        or not request.view_args
        or request.method != "GET"
        or response.status_code != 200
        or response.mimetype != "text/html"
        or is_htmx()
    ):
        return response
    kind = kind_at(request.path)
    if kind is None:
        return response
    id_ = str(next(iter(request.view_args.values())))
    before = recently_opened()
    known = next((record for record in before if (record.kind, record.id) == (kind, id_)), Opened(kind, id_))
    name, about = g.get("opened_as") or (known.name, known.about)
    opened = Opened(kind, id_, name, about)
    if before[:1] != [opened]:
        kept = [opened, *(record for record in before if (record.kind, record.id) != (kind, id_))][
            :_REMEMBERED
        ]
        session[_RECENT] = msgspec.to_builtins(kept)
    return response


def show_recent(most: int = _REMEMBERED) -> list[Opened]:
    """Return the recent records for a page that shows them, and record in the audit trail that they were shown."""
    shown = recently_opened()[:most]
    for record in shown:
        if record.name:
            audit.note_kept_read("opened.list", "opened", record.id)
    return shown


def recently_opened() -> list[Opened]:
    """Return the records that this person opened in this session, newest first."""
    kept = msgspec.convert(session.get(_RECENT, []), list[Opened])
    return [record for record in kept if endpoint_at(record.href)] if modules.off() else kept
